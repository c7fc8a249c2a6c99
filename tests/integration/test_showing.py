"""What the repository returns shows itself, as a notebook and a prompt use it."""

from __future__ import annotations

from typing import Any

import pytest
from sqlalchemy import Engine, create_engine, event
from sqlalchemy.ext.asyncio import AsyncConnection, AsyncSession, create_async_engine
from sqlalchemy.orm import Session

from pgrecall import (
    AsyncMemoryRepository,
    JudgedQuery,
    MemoryRepository,
    NewMemory,
    profiles,
)
from tests.integration.support import NORTH, NOW, at
from tests.unit.test_context_style import HOSTILE

TEA = "Ines drinks her tea without milk."


@pytest.fixture
def repo(shared_repo: MemoryRepository, agent: str) -> MemoryRepository:
    notes = [
        NewMemory(f"{TEA} {n} {text}", embedding=at(n), created_at=NOW, session="s", turn=n)
        for n, text in enumerate(HOSTILE[:20])
    ]
    shared_repo.add_many(agent, notes)
    return shared_repo


def returned(repo: MemoryRepository, agent: str) -> dict[str, tuple[Any, int]]:
    """What methods return, and the most characters of its repr."""
    asked: dict[str, Any] = {"keywords": "what does Ines drink?", "touch": False}
    hits = repo.search(agent, NORTH, **asked)
    judged = [JudgedQuery(NORTH, relevant={hits[0].memory.id: 1})]
    compared = [profiles.hybrid, profiles.trust]
    why = {"keywords": asked["keywords"]}
    return {
        "hits": (hits, 2_000),
        "hit": (hits[0], 200),
        "memory": (hits[0].memory, 200),
        "explanation": (repo.explain(agent, hits[0].memory.id, NORTH, **why), 500),
        "plan": (repo.plan(agent, NORTH), 500),
        "evaluation": (repo.evaluation.evaluate(agent, judged, profiles=compared), 500),
        "page": (repo.list(agent, limit=7), 2_000),
        "event": (repo.history(agent, hits[0].memory.id)[0], 200),
        "context": (repo.context(agent, NORTH, **asked), 200),
        "repository": (repo, 200),
    }


def test_a_cell_of_a_notebook_is_short_and_asks_nothing_of_the_database(
    repo: MemoryRepository, shared_engine: Engine, agent: str
) -> None:
    results = returned(repo, agent)
    sent: list[str] = []

    def note_down(*arguments: Any) -> None:
        sent.append(arguments[2])

    event.listen(shared_engine, "before_cursor_execute", note_down)
    shown = {
        name: (repr(one), str(one), one._repr_html_() if hasattr(one, "_repr_html_") else None)
        for name, (one, _) in results.items()
    }
    event.remove(shared_engine, "before_cursor_execute", note_down)

    assert sent == []
    for name, (short, whole, html) in shown.items():
        assert len(short) <= results[name][1], name
        assert "<script>" not in (html or "")
        assert whole
    tables = {name: html for name, (*_, html) in shown.items() if html is not None}
    assert {*tables} == {*results} - {"memory", "event", "repository"}
    assert all("━" in html for name, html in tables.items() if name != "plan")
    for name in ("hits", "hit", "explanation"):
        assert "█" in tables[name]
        assert "Ines drinks her tea" in tables[name]
    assert shown["plan"][1].count("\n") > 5
    assert [line.split()[0] for line in shown["evaluation"][1].splitlines()[3:5]] == [
        "hybrid",
        "trust",
    ]


BINDS = ["postgresql+psycopg://ada:s3cret@db.example:5433/app?sslpassword=s3cret&connect_timeout=1"]


def test_a_repository_shows_where_it_works_and_no_secret() -> None:
    engine, later = create_engine(BINDS[0]), create_async_engine(BINDS[0])
    place = "'ada@db.example:5433/app', schema='mine', embedder=None"
    for repo in (
        MemoryRepository(engine, schema="mine"),
        MemoryRepository(Session(engine), schema="mine"),
        AsyncMemoryRepository(later, schema="mine"),
        AsyncMemoryRepository(AsyncSession(later), schema="mine"),
        AsyncMemoryRepository(AsyncConnection(later), schema="mine"),
    ):
        assert repr(repo) == f"{type(repo).__name__}({place})"
        assert repr(repo.teams) == f"{type(repo).__name__}({place}, of teams)"
    assert repr(MemoryRepository(Session())).startswith("MemoryRepository('?'")
    socket = create_engine("postgresql+psycopg:///app?host=/run/a&password=s3cret")
    assert "'/run/a/app'" in repr(MemoryRepository(socket))
