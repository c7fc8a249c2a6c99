"""What a session of the pool was set to is so after a call as before it."""

from __future__ import annotations

import asyncio
from typing import Any, Literal

import pytest
from sqlalchemy import Connection, Engine, create_engine, event, text
from sqlalchemy.ext.asyncio import create_async_engine

from pgrecall import AsyncMemoryRepository, MemoryRepository, NewMemory
from pgrecall.core.ids import new_id
from pgrecall.errors import MemoryNotFound
from tests.integration.support import at

Level = Literal["READ COMMITTED", "AUTOCOMMIT"]
BATCH = [NewMemory(word, embedding=at(2)) for word in ("two", "three")]
each_level = pytest.mark.parametrize("level", [None, "AUTOCOMMIT"])


def be_serializable(connection: Any, _: object) -> None:
    cursor = connection.cursor()
    cursor.execute("SET SESSION CHARACTERISTICS AS TRANSACTION ISOLATION LEVEL SERIALIZABLE")
    connection.commit()


def options(level: Level | None) -> dict[str, Any]:
    return {"pool_size": 1} | ({} if level is None else {"isolation_level": level})


def watched(engine: Engine) -> None:
    """From here on each session is serializable; SQLAlchemy has seen that the server is not."""
    engine.dispose()
    event.listen(engine, "connect", be_serializable)


def state(connection: Connection) -> tuple[Any, ...]:
    driver: Any = connection.connection.driver_connection
    isolation = connection.scalar(text("SELECT current_setting('transaction_isolation')"))
    return (isolation, driver.isolation_level, driver.autocommit)


@each_level
def test_a_session_stays_as_it_was(shared_url: str, agent: str, level: Level | None) -> None:
    engine = create_engine(shared_url, **options(level))
    with engine.connect():
        pass
    watched(engine)
    with engine.connect() as connection:
        before = state(connection)
    repo = MemoryRepository(engine)

    memory_id = repo.add(agent, NewMemory("one", embedding=at(1)))
    repo.add_many(agent, BATCH)
    assert repo.touch(agent, memory_id) == 1
    with pytest.raises(MemoryNotFound):
        repo.record_outcome(agent, new_id(), "success")

    with engine.connect() as connection:
        assert state(connection) == before
        assert before[0] == "serializable"
    engine.dispose()


@each_level
def test_an_asynchronous_session_too(shared_url: str, agent: str, level: Level | None) -> None:
    async def run() -> None:
        engine = create_async_engine(shared_url, **options(level))
        async with engine.connect():
            pass
        await engine.dispose()
        watched(engine.sync_engine)
        async with engine.connect() as connection:
            before = await connection.run_sync(state)
        repo = AsyncMemoryRepository(engine)

        memory_id = await repo.add(agent, NewMemory("one", embedding=at(1)))
        await repo.add_many(agent, BATCH)
        assert await repo.touch(agent, memory_id) == 1
        with pytest.raises(MemoryNotFound):
            await repo.record_outcome(agent, new_id(), "success")

        async with engine.connect() as connection:
            assert await connection.run_sync(state) == before
            assert before[0] == "serializable"
        await engine.dispose()

    asyncio.run(run())
