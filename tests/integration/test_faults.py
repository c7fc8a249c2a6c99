"""What a caller is told, and what goes on, when the database fails in the middle of a call."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest
from sqlalchemy import Engine, QueuePool, create_engine
from sqlalchemy.exc import OperationalError
from sqlalchemy.ext.asyncio import AsyncEngine, create_async_engine

from pgrecall import (
    AsyncMemoryRepository,
    MemoryRepository,
    NewMemory,
    RetentionPolicy,
    import_file,
)
from pgrecall.errors import DatabaseTimeout, DatabaseUnavailable
from pgrecall.lifecycle import maintenance
from tests.integration.conftest import in_transaction
from tests.integration.support import NORTH, at, awaited, contents, sql, stored

BACKENDS = """
SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity WHERE application_name = 'pooled'
"""
END_OF_SESSION = """
CREATE FUNCTION public.end_session() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    PERFORM pg_terminate_backend(pg_backend_pid());
    RETURN NULL;
END $$
"""
Call = Callable[[MemoryRepository, UUID], Any]
READING: dict[str, Call] = {
    "get": lambda repo, id_: repo.get("agent", id_),
    "context": lambda repo, id_: repo.context("agent", NORTH, touch=False).tokens,
}
WRITING: dict[str, Call] = {
    "search": lambda repo, id_: repo.search("agent", NORTH),
    "record_outcome": lambda repo, id_: repo.record_outcome("agent", id_, "success"),
    "add_many": lambda repo, id_: repo.add_many(
        "agent", [NewMemory(text, embedding=NORTH) for text in ("milk", "bread")]
    ),
}
COUNTING: dict[str, Callable[[MemoryRepository], Any]] = {
    "search": lambda repo: repo.search("agent", NORTH, k=1),
    "turns": lambda repo: repo.search("agent", NORTH, k=1, surrounding_turns=1),
    "linked": lambda repo: repo.search("agent", NORTH, k=1, linked=1),
    "context": lambda repo: repo.context("agent", NORTH),
}


@pytest.fixture
def memory_id(engine: Engine) -> UUID:
    return MemoryRepository(engine).add("agent", NewMemory("tea", embedding=NORTH))


Opened = Callable[..., MemoryRepository]
FEW = 3


@pytest.fixture(params=["sync", "async"])
def opened(
    request: pytest.FixtureRequest, database_url: str, loop: asyncio.Runner
) -> Iterator[Opened]:
    """Opens repositories of one kind on engines of their own, with a few such connections."""
    with ExitStack() as stack:

        def make(**connect_args: Any) -> MemoryRepository:
            options: dict[str, Any] = {"pool_size": FEW, "connect_args": connect_args}
            if request.param == "sync":
                engine = create_engine(database_url, **options)
                stack.callback(engine.dispose)
                with ExitStack() as held:
                    for _ in range(FEW):
                        held.enter_context(engine.connect())
                return MemoryRepository(engine)
            later = create_async_engine(database_url, **options)
            stack.callback(lambda: loop.run(later.dispose()))

            async def connect_all() -> None:
                for one in [await later.connect() for _ in range(FEW)]:
                    await one.close()

            loop.run(connect_all())
            return awaited(AsyncMemoryRepository(later), loop.run)

        yield make


@pytest.mark.parametrize("name", READING)
def test_a_call_that_only_reads_repeats_itself_after_a_failover(
    opened: Opened, engine: Engine, memory_id: UUID, name: str
) -> None:
    repo = opened(application_name="pooled")
    before = READING[name](repo, memory_id)
    assert len(sql(engine, BACKENDS)) == FEW

    after = [READING[name](repo, memory_id) for _ in range(FEW + 1)]

    assert after == [before] * (FEW + 1)


def test_a_call_that_has_called_the_caller_does_not_repeat_itself(
    opened: Opened, engine: Engine, memory_id: UUID
) -> None:
    MemoryRepository(engine).add("other", NewMemory("milk", embedding=NORTH))
    written: list[str] = []

    def write(lines: list[str]) -> None:
        written.extend(lines)
        sql(engine, BACKENDS)

    with pytest.raises(DatabaseUnavailable):
        opened(application_name="pooled").transfer.export(write)
    assert len(written) == 1


@pytest.mark.parametrize("name", WRITING)
def test_a_failover_costs_one_call_and_not_one_for_each_connection(
    opened: Opened, engine: Engine, memory_id: UUID, name: str
) -> None:
    repo = opened(application_name="pooled")
    sql(engine, BACKENDS)
    failed = 0
    for _ in range(FEW + 2):
        try:
            WRITING[name](repo, memory_id)
        except DatabaseUnavailable:
            failed += 1

    # A search may find out before it counts.
    assert failed == 1 or (failed == 0 and name == "search")


@contextmanager
def sessions_that_end(
    engine: Engine, table: str, *, at_commit: bool = False, when: str = "INSERT", of: str = "true"
) -> Iterator[None]:
    """Each session ends that writes such a row of the table, at once or at its commit."""
    sql(engine, END_OF_SESSION)
    kind = "CONSTRAINT TRIGGER" if at_commit else "TRIGGER"
    deferred = "DEFERRABLE INITIALLY DEFERRED" if at_commit else ""
    sql(
        engine,
        f"CREATE {kind} ends AFTER {when} ON pgrecall.{table} {deferred} "
        f"FOR EACH ROW WHEN ({of}) EXECUTE FUNCTION public.end_session()",
    )
    try:
        yield
    finally:
        sql(engine, "DROP FUNCTION public.end_session CASCADE")


@pytest.mark.parametrize(
    ("name", "at_commit", "in_doubt"),
    [
        ("record_outcome", False, True),
        ("add_many", False, False),
        ("add_many", True, True),
        ("search", False, False),  # a count is not worth asking
    ],
)
def test_an_error_says_whether_a_change_may_have_been_made(
    either: MemoryRepository,
    engine: Engine,
    memory_id: UUID,
    name: str,
    at_commit: bool,
    in_doubt: bool,
) -> None:
    table = "memory_usage" if name == "search" else "memory_events"
    ending = sessions_that_end(engine, table, at_commit=at_commit)
    with ending, pytest.raises(DatabaseUnavailable) as raised:
        WRITING[name](either, memory_id)

    assert raised.value.may_have_changed == in_doubt
    assert ("may have been made" in str(raised.value)) == in_doubt


def test_in_a_callers_transaction_nothing_is_in_doubt(engine: Engine, memory_id: UUID) -> None:
    ending = sessions_that_end(engine, "memory_events", at_commit=False)
    with ending, pytest.raises(DatabaseUnavailable) as raised, engine.connect() as connection:
        MemoryRepository(connection).record_outcome("agent", memory_id, "success")
    assert not raised.value.may_have_changed


@contextmanager
def locked(engine: Engine, table: str) -> Iterator[None]:
    with engine.begin() as connection:
        connection.exec_driver_sql(f"LOCK TABLE pgrecall.{table} IN EXCLUSIVE MODE")
        yield


@pytest.mark.parametrize("setting", ["lock_timeout", "statement_timeout"])
def test_a_time_limit_names_its_setting(
    opened: Opened, engine: Engine, memory_id: UUID, setting: str
) -> None:
    repo = opened(options=f"-c {setting}=50")
    with (
        locked(engine, "memory_events"),
        pytest.raises(DatabaseTimeout, match=f"{setting}.*nothing was changed"),
    ):
        repo.invalidate("agent", memory_id)
    assert not sql(engine, "SELECT FROM pgrecall.agent_memories WHERE invalidated_at IS NOT NULL")


@pytest.mark.parametrize("name", COUNTING)
def test_a_search_that_cannot_count_answers_and_says_so(
    opened: Opened, engine: Engine, name: str
) -> None:
    repository = MemoryRepository(engine)
    first, second = repository.add_many(
        "agent",
        [
            NewMemory(text, embedding=at(angle), session="s", turn=angle)
            for text, angle in (("tea", 0), ("milk", 60))
        ],
    )
    repository.links.add("agent", first, second)
    call, repo = COUNTING[name], opened(options="-c lock_timeout=50")
    with locked(engine, "memory_usage"):
        found = call(repo)
    then = call(repo)

    assert (found.touched, then.touched) == (False, True)
    if name != "context":
        assert contents(found) == contents(then) != []
    used = sql(engine, "SELECT max(retrieval_count) FROM pgrecall.memory_usage")
    assert used == [(1,)]


def test_in_a_callers_transaction_it_raises(engine: Engine, memory_id: UUID) -> None:
    """The transaction is of no further use, and the caller has to know."""
    with locked(engine, "memory_usage"), engine.connect() as connection:
        connection.exec_driver_sql("SET LOCAL lock_timeout = 50")
        with pytest.raises(DatabaseTimeout, match="lock_timeout"):
            MemoryRepository(connection).search("agent", NORTH)


JOBS: dict[str, tuple[Call, str, str, str]] = {
    "maintain": (
        lambda repo, _: repo.maintenance.run(RetentionPolicy(max_age_hours=0), agent_id="agent"),
        *(
            "memory_events",
            "INSERT",
            "2 memories were archived and 0 deleted, and 0 of 1 tasks done",
        ),
    ),
    "erase_owner": (
        lambda repo, _: repo.erase_owner("agent", batch_size=1),
        *("agent_memories", "DELETE", "2 of 4 memories are erased"),
    ),
    "consolidate": (
        lambda repo, _: repo.consolidate("agent", min_similarity=0.9, min_size=2, more_than=0),
        *("agent_memories", "UPDATE", "[01] of 2 clusters are consolidated"),
    ),
}


@pytest.mark.parametrize("name", JOBS)
def test_an_interrupted_job_says_how_far_it_came(
    engine: Engine, memory_id: UUID, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    repo = MemoryRepository(engine)
    job, table, when, said = JOBS[name]
    monkeypatch.setattr(maintenance, "BATCH_SIZE", 1)
    alike = {"more tea": 1, "milk": 90, "more milk": 91}
    memories = [NewMemory(text, embedding=at(angle)) for text, angle in alike.items()]
    _, third, last = [repo.add("agent", memory) for memory in memories]
    column = "NEW.memory_id" if table == "memory_events" else "OLD.id"
    ending = sessions_that_end(engine, table, when=when, of=f"{column} IN ('{third}', '{last}')")
    with ending, pytest.raises(DatabaseUnavailable, match=f"{said}; the same call goes on"):
        job(repo, memory_id)

    job(repo, memory_id)


def test_an_interrupted_import_says_how_many_are_stored(engine: Engine, tmp_path: Path) -> None:
    path = tmp_path / "memories.jsonl"
    lines = [
        json.dumps({"content": text, "id": text, "embedding": list(NORTH)})
        for text in ("tea", "milk", "bread")
    ]
    path.write_text("\n".join(lines), encoding="utf-8")
    repo = MemoryRepository(engine)

    ending = sessions_that_end(engine, "agent_memories", of="NEW.content = 'bread'")
    with ending, pytest.raises(DatabaseUnavailable, match="2 memories are stored; the same call"):
        import_file(repo, "agent", path, batch_size=1)
    assert import_file(repo, "agent", path).added == 1


# What a connection that dies takes with it; see also test_killed_clients.py


@pytest.mark.parametrize("bind", ["Connection", "AsyncConnection"])
def test_the_callers_transaction_is_lost_with_its_connection(
    engine: Engine, async_engine: AsyncEngine, loop: asyncio.Runner, bind: str
) -> None:
    def work(repo: MemoryRepository) -> None:
        repo.add("agent", NewMemory("before", embedding=None))
        repo.add_many("agent", [NewMemory(str(n), embedding=NORTH) for n in range(9)])

    ending = sessions_that_end(engine, "agent_memories", of="NEW.content = '7'")
    with ending, pytest.raises(DatabaseUnavailable):
        in_transaction(bind, engine, async_engine, loop, work, commit=True)

    assert stored(engine, "agent") == 0


def test_a_search_whose_connection_dies_counts_nothing(engine: Engine, memory_id: UUID) -> None:
    ending = sessions_that_end(engine, "memory_usage", at_commit=True)
    with ending, engine.connect() as connection:
        assert len(MemoryRepository(connection).search("agent", NORTH)) == 1
        with pytest.raises(OperationalError):
            connection.commit()

    assert sql(engine, "SELECT * FROM pgrecall.memory_usage") == []


def test_a_connection_that_died_in_the_pool_is_replaced(
    database_url: str, engine: Engine, caplog: pytest.LogCaptureFixture
) -> None:
    """Without a word of SQLAlchemy's, which did not look when psycopg lost it."""
    victims = create_engine(database_url, poolclass=QueuePool, pool_size=1, max_overflow=0)
    repo = MemoryRepository(victims)
    repo.add("agent", NewMemory("a", embedding=NORTH))
    for _ in range(2):
        repo.search("agent", NORTH)
    [[victim]] = sql(victims, "SELECT pg_backend_pid()")
    sql(engine, "SELECT pg_terminate_backend(:victim, 5000)", victim=victim)

    with pytest.raises(DatabaseUnavailable):
        repo.search("agent", NORTH)

    assert len(repo.search("agent", NORTH)) == 1
    assert caplog.messages == []
    victims.dispose()
