"""What a connection that dies takes with it; see also test_killed_clients.py."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from typing import Any

import pytest
from sqlalchemy import Connection, Engine, QueuePool, create_engine, event
from sqlalchemy.exc import OperationalError
from sqlalchemy.ext.asyncio import create_async_engine

from pgrecall import AsyncMemoryRepository, MemoryRepository, NewMemory
from pgrecall.errors import DatabaseUnavailable
from tests.integration.support import NORTH, sql, stored

BATCH = [NewMemory(str(i), embedding=NORTH) for i in range(100)]


class Killer:
    """Ends the server's side of a connection right after it executed a statement with these words,
    which no other has."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self.armed_for: str | None = None

    def watch(self, victims: Engine) -> None:
        event.listen(victims, "after_cursor_execute", self._after)

    def _after(self, connection: Connection, cursor: Any, statement: str, *_: Any) -> None:
        if self.armed_for and self.armed_for in statement:
            self.armed_for = None
            driver: Any = connection.connection.driver_connection
            victim = driver.info.backend_pid
            sql(self._engine, "SELECT pg_terminate_backend(:victim, 5000)", victim=victim)


@pytest.fixture
def killer(engine: Engine) -> Killer:
    return Killer(engine)


@pytest.fixture
def pooled(database_url: str, killer: Killer) -> Iterator[Engine]:
    victims = create_engine(database_url, poolclass=QueuePool, pool_size=1, max_overflow=0)
    killer.watch(victims)
    yield victims
    victims.dispose()


@pytest.mark.parametrize("step", ["CREATE TEMPORARY TABLE", "remember_rows"])
def test_the_callers_transaction_is_lost_with_its_connection(
    pooled: Engine, killer: Killer, engine: Engine, step: str
) -> None:
    def work() -> None:
        with pooled.begin() as connection:
            repo = MemoryRepository(connection)
            repo.add("agent", NewMemory("before", embedding=None))
            killer.armed_for = step
            repo.add_many("agent", BATCH)

    with pytest.raises(DatabaseUnavailable):
        work()

    assert stored(engine, "agent") == 0


def test_an_asynchronous_callers_transaction_too(
    database_url: str, killer: Killer, engine: Engine
) -> None:
    async def work() -> None:
        victims = create_async_engine(database_url, pool_size=1)
        killer.watch(victims.sync_engine)
        try:
            async with victims.begin() as connection:
                repo = AsyncMemoryRepository(connection)
                await repo.add("agent", NewMemory("before", embedding=None))
                killer.armed_for = "CREATE TEMPORARY TABLE"
                await repo.add_many("agent", BATCH)
        finally:
            await victims.dispose()

    with pytest.raises(DatabaseUnavailable):
        asyncio.run(work())

    assert stored(engine, "agent") == 0


def test_a_search_whose_connection_dies_counts_nothing(
    pooled: Engine, killer: Killer, engine: Engine
) -> None:
    MemoryRepository(pooled).add("agent", NewMemory("a", embedding=NORTH))

    def work() -> None:
        with pooled.begin() as connection:
            killer.armed_for = ".touch("
            MemoryRepository(connection).search("agent", NORTH)

    with pytest.raises(OperationalError):  # of the caller's COMMIT
        work()

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
