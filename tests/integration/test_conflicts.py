from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any
from uuid import UUID

import psycopg
import pytest
from sqlalchemy import Engine, NullPool, create_engine
from sqlalchemy.ext.asyncio import create_async_engine

from pgrecall import AsyncMemoryRepository, MemoryRepository, NewMemory
from pgrecall.errors import DatabaseConflict, InputError
from tests.integration.support import NORTH, sql

REPEATABLE: Any = {"isolation_level": "REPEATABLE READ"}
LOCK = "UPDATE pgrecall.agent_memories SET importance = 0.9"


class CountingEmbedder:
    """Embeds everything as NORTH and counts how often it is asked."""

    def __init__(self) -> None:
        self.asked = 0

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        self.asked += 1
        return [NORTH for _ in texts]

    def embed_query(self, text: str) -> list[float]:
        return self.embed_documents([text])[0]


def _wait_until_somebody_waits(engine: Engine) -> None:
    waiting = (
        "SELECT FROM pg_stat_activity "
        "WHERE wait_event_type = 'Lock' AND datname = current_database()"
    )
    for _ in range(20_000):
        if sql(engine, waiting):
            return
    raise AssertionError("nobody waited for the lock")


@pytest.fixture
def memory_id(repo: MemoryRepository) -> UUID:
    return repo.add("agent", NewMemory("old", embedding=NORTH))


@pytest.fixture(params=["when made", "by option"])
def strict(request: pytest.FixtureRequest, database_url: str) -> Engine:
    """Meets a serialization failure when a row it waited for has changed."""
    if request.param == "when made":
        return create_engine(database_url, poolclass=NullPool, **REPEATABLE)
    return create_engine(database_url, poolclass=NullPool).execution_options(**REPEATABLE)


Meet = Callable[[Callable[[], Any]], Any]


@pytest.fixture
def meet(engine: Engine, memory_id: UUID) -> Iterator[Meet]:
    """Has a call wait for a rival that changes the memory and commits."""

    def met(call: Callable[[], Any]) -> Any:
        with engine.begin() as rival:
            rival.exec_driver_sql(LOCK)
            waiting = thread.submit(call)
            _wait_until_somebody_waits(engine)
        return waiting.result()

    with ThreadPoolExecutor(1) as thread:
        yield met


def test_a_call_on_an_engine_is_repeated_after_a_serialization_failure(
    strict: Engine, memory_id: UUID, meet: Meet
) -> None:
    embedder = CountingEmbedder()
    repo = MemoryRepository(strict, embedder=embedder)

    changed = meet(lambda: repo.update("agent", memory_id, content="new"))

    assert (changed.content, changed.importance) == ("new", 0.9)
    assert embedder.asked == 1


def test_a_repeated_call_has_all_that_an_iterator_gave(
    strict: Engine, memory_id: UUID, meet: Meet, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("DEBUG", "pgrecall")
    repo = MemoryRepository(strict)

    assert meet(lambda: repo.invalidate("agent", (one for one in [memory_id]))) == 1
    assert "retries=1" in caplog.text
    assert repo.count("agent") == 0


def test_a_repeated_call_that_is_awaited_has_it_too(
    database_url: str, memory_id: UUID, meet: Meet
) -> None:
    async def forget() -> int:
        strict = create_async_engine(database_url, poolclass=NullPool)
        strict = strict.execution_options(**REPEATABLE)
        return await AsyncMemoryRepository(strict).invalidate("agent", iter([memory_id]))

    assert meet(lambda: asyncio.run(forget())) == 1


def test_a_conflict_in_the_callers_transaction_is_the_callers_to_repeat(
    strict: Engine, memory_id: UUID, meet: Meet
) -> None:
    def update() -> None:
        with strict.begin() as connection:
            MemoryRepository(connection).update("agent", memory_id, importance=0.1)

    with pytest.raises(DatabaseConflict, match="may succeed when repeated") as caught:
        meet(update)

    cause = caught.value.__cause__
    assert isinstance(getattr(cause, "orig", cause), psycopg.Error)


def test_near_duplicates_are_not_looked_for_where_rivals_cannot_be_seen(
    strict: Engine, memory_id: UUID
) -> None:
    repo = MemoryRepository(strict)

    with pytest.raises(InputError, match="REPEATABLE READ"):
        repo.add("agent", NewMemory("tea", embedding=NORTH), near_duplicates=0.92)

    assert repo.count("agent") == 1
