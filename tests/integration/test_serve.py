"""`pgrecall serve` and `pgrecall keys` as processes: start, keys, several workers, and the stop."""

from __future__ import annotations

import asyncio
import re
import signal
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx
import psycopg
import pytest
import uvicorn
from sqlalchemy import create_engine

from pgrecall import migrate, pin_search_path
from pgrecall.cli.serve import require_loopback
from pgrecall.errors import InputError
from pgrecall.migrate.service_keys import create_key, revoke_key
from pgrecall.service import shutdown
from pgrecall.service.application import create_app
from pgrecall.testing import new_database
from tests.integration.commands import Run
from tests.integration.serving import ROLE, Process, started, stop


@pytest.fixture(scope="module")
def served_url(server_url: str, local_template: str) -> Iterator[str]:
    """A database for the processes of this file."""
    with new_database(server_url, local_template) as url:
        yield url


@pytest.fixture
def runs_on(served_url: str) -> str:
    return served_url


@contextmanager
def process(url: str, *options: str) -> Iterator[tuple[Process, str]]:
    """`pgrecall serve` once it is ready, and its address."""
    service, address = started("--database-url", url, *options)
    try:
        yield service, f"http://{address}"
    finally:
        stop(service)


def test_keys_are_created_listed_and_revoked(run: Run, served_url: str) -> None:
    [made] = run(
        "keys", "create", "--owner", "zoe", "--owner", "team:red", "--scope", "write", "--json"
    ).records
    shown = run("keys", "create", "--owner", "zoe", "--name", "reader")
    assert re.fullmatch(r"pgr_[0-9a-f]{12}_[0-9a-f]{64}\n", shown.out)

    listed = {one["id"]: one for one in run("keys", "list", "--json").records}
    assert listed[made["id"]]["owners"] == ["team:red", "zoe"]
    assert listed[made["id"]]["scope"] == "write"
    assert run("keys", "revoke", made["id"]).code == 0
    assert "revoked" in run("keys", "list").out
    for wrong in (
        ("revoke", made["id"]),
        ("revoke", "none"),
        ("create", "--owner", ""),
        ("create", "--owner", "team:"),
        ("create", "--owner", "zoe", "--scope", "all"),
        ("create", "--owner", "zoe", "--name", ""),
    ):
        assert run("keys", *wrong).code == 2, wrong


def test_without_keys_others_are_not_let_in() -> None:
    for host in ("127.0.0.1", "::1", "localhost", "127.1.2.3"):
        require_loopback(host)
    for host in ("0.0.0.0", "::", "10.0.0.1", "example.org", ""):
        with pytest.raises(InputError, match="requests need no key"):
            require_loopback(host)


def test_serve_refuses_what_would_protect_nothing(
    run: Run, served_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("pgrecall.cli.serve.launch", lambda *_: pytest.fail("it was started"))
    with psycopg.connect(served_url) as connection:
        connection.execute("DELETE FROM pgrecall.service_keys")
    refused = run("serve", "--host", "0.0.0.0")
    assert (refused.code, "requests need no key" in refused.err) == (2, True)
    assert run("keys", "create", "--owner", "zoe").code == 0
    refused = run("serve", "--host", "0.0.0.0")
    assert (refused.code, "migrate protect" in refused.err) == (2, True)


def test_a_service_whose_keys_are_all_revoked_stays_closed_unless_it_is_told_to_be_open(
    server_url: str, local_template: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "sevens.py").write_text("def sevens(query, texts):\n    return [7 for _ in texts]")
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    with new_database(server_url, local_template) as url:
        migrate.protect(url, ROLE)
        engine = pin_search_path(create_engine(url.replace("postgresql:", "postgresql+psycopg:")))
        revoke_key(engine, create_key(engine, owners=["zoe"])[0])
        engine.dispose()
        with process(url, "--role", ROLE) as (closed, address):
            assert httpx.get(f"{address}/memories?owner=zoe").status_code == 401
            assert "every key is revoked" in told(closed)
        options = ("--agent", "zoe", "--find-entities", "--rerank", "sevens:sevens")
        elsewhere = ("--timezone", "Pacific/Pago_Pago")
        with process(url, "--open", *options, *elsewhere) as (opened, address):
            new = {"content": "Zoe plays the cello.", "created_at": "2026-03-10T02:00Z"}
            stored = httpx.post(f"{address}/memories", json=new)
            context = httpx.post(f"{address}/context", json={"query": "cello"}, timeout=20).json()
            assert "20260309" in context["text"]
            asked = {"query": "which instrument?", "rerank": True}
            [hit] = httpx.post(f"{address}/search", json=asked, timeout=20).json()["results"]
            memory = hit["memory"]
            assert hit["rerank_score"] == 7
            assert (memory["agent_id"], memory["entities"]) == ("zoe", ["Zoe"])
            assert stored.status_code == 201
            said = told(opened)
    assert "without a key" in said
    assert "Traceback" not in said
    assert "every key is revoked" not in said


def told(service: Process) -> str:
    """What it has said once it is interrupted."""
    service.send_signal(signal.SIGINT)
    return service.said + service.communicate(timeout=40)[1]


def test_a_stop_under_load_loses_no_request_that_was_accepted(
    run: Run, served_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each memory that was answered 201 is there, and each that is there was answered, or its
    connection was broken after the server had stopped to take requests."""
    planted = "raise SystemExit('a worker imported what lies in the working folder')"
    (tmp_path / "multiprocessing.py").write_text(planted)
    monkeypatch.chdir(tmp_path)
    assert run("migrate", "protect", "--role", ROLE).code == 0
    [made] = run("keys", "create", "--owner", "load", "--scope", "maintain", "--json").records
    headers = {"Authorization": f"Bearer {made['token']}"}
    answered: set[str] = set()
    broken: set[str] = set()
    others: list[str] = []
    halted = threading.Event()

    def load(number: int, address: str) -> None:
        with httpx.Client(base_url=address, headers=headers, timeout=30) as client:
            for turn in range(10_000):
                content = f"memory {number} {turn}"
                try:
                    answer = client.post("/memories", json={"content": content})
                except httpx.TransportError:
                    broken.add(content)
                    return
                if answer.status_code == 201:
                    answered.add(content)
                else:
                    others.append(answer.text)
                if len(answered) > 60:
                    halted.set()

    with process(served_url, "--workers", "2", "--role", ROLE) as (started, address):
        metrics = httpx.get(f"{address}/metrics", headers=headers)
        assert metrics.status_code == 200
        threads = [threading.Thread(target=load, args=(n, address)) for n in range(8)]
        for thread in threads:
            thread.start()
        assert halted.wait(60)
        counted = httpx.get(f"{address}/metrics", headers=headers).text
        totals = re.findall(r'_count\{.*route="/memories",status="201"\} (\d+)', counted)
        assert sum(map(float, totals)) >= 60  # of both workers
        started.terminate()
        for thread in threads:
            thread.join(60)
        _, said = started.communicate(timeout=60)
        assert started.returncode in (0, 128 + signal.SIGTERM)

    with psycopg.connect(served_url) as connection:
        rows = connection.execute(
            "SELECT content FROM pgrecall.agent_memories WHERE agent_id = 'load'"
        )
        stored = {content for (content,) in rows}
    assert others == [], said
    assert stored == answered
    assert len(broken) == 8
    assert made["token"] not in said
    assert "Traceback" not in said


def test_a_connection_that_is_accepted_while_the_server_stops_is_closed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """uvicorn, which asks connections once, would serve it until its time of grace is over."""
    monkeypatch.setattr(shutdown, "_stopping", threading.Event())
    handled: list[int] = []
    before = signal.signal(signal.SIGTERM, lambda number, _: handled.append(number))

    async def connected() -> bytes:
        config = uvicorn.Config(create_app)
        config.load()
        state = uvicorn.server.ServerState()
        loop = asyncio.get_running_loop()
        listening = await loop.create_server(
            lambda: shutdown.Connection(config, state, {}), family=socket.AF_INET, port=0
        )
        address = listening.sockets[0].getsockname()
        async with listening:
            reader, writer = await asyncio.open_connection(*address)
            signal.raise_signal(signal.SIGTERM)
            late_reader, late_writer = await asyncio.open_connection(*address)
            read = await asyncio.wait_for(late_reader.read(), 20)
            assert not reader.at_eof()
            for one in (writer, late_writer):
                one.close()
                await one.wait_closed()
            while state.connections:
                await asyncio.sleep(0)
        return read

    shutdown.watch_signals()
    try:
        assert asyncio.run(connected()) == b""
    finally:
        signal.signal(signal.SIGTERM, before)
    assert handled == [signal.SIGTERM]
