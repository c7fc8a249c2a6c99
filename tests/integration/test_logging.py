"""What an operator sees: a line of the logger `pgrecall` for each call, and a name."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from sqlalchemy import Engine, make_url

from pgrecall import MemoryRepository, NewMemory
from pgrecall.errors import DatabaseReadOnly, InputError
from pgrecall.migrate.connecting import engine_of
from tests.integration.compass import North
from tests.integration.support import NORTH, at, sql

SECRET = "the door code is 4711"


@pytest.fixture
def logged(caplog: pytest.LogCaptureFixture) -> Iterator[Callable[[], list[dict[str, Any]]]]:
    """What was logged since it was asked last."""

    def facts() -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = [record.pgrecall for record in caplog.records]  # type: ignore[attr-defined]
        caplog.clear()
        return found

    with caplog.at_level(logging.DEBUG, "pgrecall"):
        yield facts


def test_each_call_is_one_line(
    either: MemoryRepository, logged: Callable[[], list[dict[str, Any]]]
) -> None:
    either.add_many("agent", [NewMemory(f"{n}", embedding=at(n)) for n in range(20)])
    either.search("agent", NORTH, k=7, filter={"similarity": {"$gte": 0.1}})
    either.context("agent", NORTH, k=4, max_tokens=500)
    either.teams.count(agent_id="red")

    facts = logged()
    assert all(one.pop("duration_ms") > 0 for one in facts)
    assert facts == [
        {"operation": "add_many", "owner": "'agent'", "rows": 20},
        {"operation": "search", "owner": "'agent'", "rows": 7, "strategy": "exact"},
        {"operation": "context", "owner": "'agent'", "rows": 4, "strategy": "exact"},
        {"operation": "count", "owner": "'team:red'", "rows": 0},
    ]


def test_the_line_says_it_in_words(
    repo: MemoryRepository, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.DEBUG, "pgrecall"):
        repo.count("an agent\nof many lines " + "x" * 100)

    [record] = caplog.records
    assert (record.name, record.levelname) == ("pgrecall", "DEBUG")
    start, _, end = record.getMessage().partition(" duration_ms=")
    assert start.startswith(r"operation=count owner='an agent\nof m")
    assert len(start) < 80
    assert end.endswith(" rows=0")


def test_a_job_is_a_line_after_those_of_its_transactions(
    either: MemoryRepository, logged: Callable[[], list[dict[str, Any]]]
) -> None:
    either.add_many("agent", [NewMemory(f"{n}", embedding=at(n)) for n in range(3)])
    logged()

    either.consolidate("agent", more_than=0)

    facts = logged()
    assert [(one["operation"], one.get("rows")) for one in facts] == [
        ("consolidate.clusters", 1),
        ("consolidate.consolidate_cluster", None),
        ("consolidate", 1),
    ]
    assert {one["owner"] for one in facts} == {"'agent'"}


def test_an_embedder_s_time_is_told_apart(
    engine: Engine, logged: Callable[[], list[dict[str, Any]]]
) -> None:
    repo = MemoryRepository(engine, embedder=North())

    repo.add("agent", "tea")
    repo.count("agent")

    [adding, counting] = logged()
    assert 0 < adding["embedding_ms"] < adding["duration_ms"]
    assert "embedding_ms" not in counting


def test_a_failure_is_told_by_its_class_and_state(
    engine: Engine, logged: Callable[[], list[dict[str, Any]]]
) -> None:
    reader = MemoryRepository(engine.execution_options(postgresql_readonly=True))

    with pytest.raises(DatabaseReadOnly):
        reader.add("agent", NewMemory("tea", embedding=NORTH))
    with pytest.raises(InputError):
        reader.add("", "tea")

    assert [(one["error"], one.get("sqlstate")) for one in logged()] == [
        ("DatabaseReadOnly", "25006"),
        ("InputError", None),
    ]


def test_no_line_has_a_text_or_a_vector(engine: Engine, caplog: pytest.LogCaptureFixture) -> None:
    repo = MemoryRepository(engine, embedder=North())
    caplog.set_level(logging.DEBUG, "pgrecall")

    memory_id = repo.add("agent", NewMemory(SECRET, embedding=[0.4711, *NORTH[1:]]))
    later = repo.supersede("agent", memory_id, SECRET + "!")
    repo.search("agent", SECRET, filter={"content": {"$match": SECRET}, "tags": SECRET})
    repo.feedback("agent", later, "useful", SECRET, query=SECRET)
    repo.invalidate("agent", later, reason=SECRET)
    wrong: tuple[Callable[[], Any], ...] = (
        lambda: repo.add(1, SECRET),  # type: ignore[arg-type]
        lambda: repo.add("agent", SECRET + "\0"),
        lambda: repo.update("agent", later, tags=SECRET),
        lambda: repo.search("agent", SECRET, filter={"status": SECRET}),
    )
    for call in wrong:
        with pytest.raises(InputError):
            call()

    assert len(caplog.records) == 9
    assert "4711" not in caplog.text
    assert "4711" not in str([vars(record) for record in caplog.records])


def test_what_is_slow_is_a_warning(engine: Engine, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.WARNING, "pgrecall")

    for slow_after in (None, 60, 0, 1e-9):
        MemoryRepository(engine, slow_after=slow_after).count("agent")

    assert [record.levelname for record in caplog.records] == ["WARNING", "WARNING"]
    with pytest.raises(InputError, match="slow_after must"):
        MemoryRepository(engine, slow_after=-1)


def test_the_command_line_connects_by_name(
    database_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("PGAPPNAME", raising=False)
    for name, given in (("pgrecall", {}), ("mine", {"application_name": "mine"})):
        engine = engine_of(make_url(database_url).update_query_dict(given))
        assert sql(engine, "SHOW application_name") == [(name,)]
