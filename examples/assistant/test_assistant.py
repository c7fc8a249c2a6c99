"""The application, tested on a real database by the fixtures of pgrecall.testing."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from socket import create_server
from typing import Any
from uuid import uuid4

import httpx
import pytest
from alembic import command
from sqlalchemy import Engine, select, text
from starlette.testclient import TestClient

from assistant.app import create_app
from assistant.assistant import Completion
from assistant.database import Turn, own_migrations, upgrade
from pgrecall import MemoryRepository

TEA = "I drink my tea without milk."


@pytest.fixture
def url(pgrecall_url: str) -> str:
    upgrade(pgrecall_url)
    return pgrecall_url


@pytest.fixture
def client(url: str) -> Iterator[TestClient]:
    with TestClient(create_app(url)) as client:
        yield client


def say(client: TestClient | httpx.Client, message: str, user: str = "ines") -> dict[str, Any]:
    answer = client.post(f"/users/{user}/messages", json={"message": message})
    assert answer.status_code == 200, answer.text
    said: dict[str, Any] = answer.json()
    return said


def test_it_remembers_what_each_user_said(
    client: TestClient, pgrecall_repository: MemoryRepository
) -> None:
    turn = say(client, TEA)
    known = say(client, "what do I drink?")
    assert TEA in known["reply"]
    assert known["memories"] == 1
    assert TEA not in say(client, "what do I drink?", user="tom")["reply"]

    [memory] = pgrecall_repository.list("ines")
    [event] = pgrecall_repository.history("ines", memory.id)
    assert event.run == turn["turn_id"]


def test_a_turn_and_its_memories_are_stored_together_or_not_at_all(
    url: str, pgrecall_engine: Engine, pgrecall_repository: MemoryRepository
) -> None:
    async def careless(instructions: str, message: str) -> Completion:
        return Completion("ok", ["good", ""])  # an empty text is no memory

    with TestClient(create_app(url, careless)) as client:
        assert client.post("/users/ines/messages", json={"message": TEA}).status_code == 422
    with pgrecall_engine.connect() as connection:
        assert connection.scalars(select(Turn.id)).all() == []
    assert pgrecall_repository.count("ines") == 0


def test_feedback_on_a_reply_reaches_its_memories_once(
    client: TestClient, pgrecall_repository: MemoryRepository
) -> None:
    say(client, TEA)
    turn = say(client, "what do I drink?")["turn_id"]
    for kind in ("useful", "incorrect"):
        judged = client.post(f"/turns/{turn}/feedback", json={"feedback": kind})
        assert judged.status_code == 204
    unknown = client.post(f"/turns/{uuid4()}/feedback", json={"feedback": "useful"})
    assert unknown.status_code == 404

    [memory] = pgrecall_repository.list("ines")
    assert memory.usefulness > 0.5
    events = pgrecall_repository.history("ines", memory.id)
    assert {event.metadata.get("query") for event in events} >= {"what do I drink?"}


def test_maintenance_begins_and_ends_with_the_application(
    client: TestClient, pgrecall_engine: Engine
) -> None:
    runs, late = text("SELECT count(*) FROM pgrecall.maintenance_runs"), time.monotonic() + 30
    with pgrecall_engine.connect().execution_options(isolation_level="AUTOCOMMIT") as connection:
        while not connection.scalar(runs):
            assert time.monotonic() < late


def test_own_migrations_leave_pgrecall_alone(url: str, pgrecall_engine: Engine) -> None:
    command.check(own_migrations(url))
    command.downgrade(own_migrations(url), "base")
    with pgrecall_engine.connect() as connection:
        assert connection.scalar(text("SELECT to_regclass('pgrecall.agent_memories')"))
        assert connection.scalar(text("SELECT to_regclass('turns')")) is None


def test_it_runs_by_one_command(tmp_path: Path) -> None:
    with closing(create_server(("127.0.0.1", 0))) as free:
        port = free.getsockname()[1]
    started = subprocess.Popen(
        [sys.executable, "-m", "assistant", str(tmp_path / "data")],
        cwd=Path(__file__).parents[1],
        env=os.environ | {"PORT": str(port)},
        stderr=subprocess.PIPE,
        text=True,
    )
    assert started.stderr is not None
    try:
        for line in started.stderr:
            if "Uvicorn running on" in line:
                break
        with httpx.Client(base_url=f"http://127.0.0.1:{port}", timeout=30) as client:
            say(client, TEA)
            assert TEA in say(client, "what do I drink?")["reply"]
    finally:
        started.terminate()
        _, said = started.communicate(timeout=30)
    assert started.returncode == 0
    assert "Traceback" not in said
    assert not (tmp_path / "data" / "postmaster.pid").exists()
