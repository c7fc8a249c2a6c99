"""What a session of the pool was set to is so after a call as before it."""

from __future__ import annotations

import asyncio
import random
import time
from collections.abc import Callable, Iterator
from typing import Any, ClassVar, Literal

import psycopg
import pytest
from psycopg.pq import TransactionStatus
from sqlalchemy import Connection, Engine, create_engine, event, make_url, text
from sqlalchemy.ext.asyncio import AsyncEngine, create_async_engine

from pgrecall import AsyncMemoryRepository, MemoryRepository, NewMemory
from pgrecall.core.ids import new_id
from pgrecall.errors import MemoryNotFound
from pgrecall.service.rls_session import OWNERS, confine
from tests.integration.support import NORTH, at

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


# Calls that are interrupted

When = Literal["before", "midway", "after"]
CALLS: dict[str, Callable[[Any, str, int], Any]] = {
    "search": lambda repo, agent, n: repo.search(agent, NORTH, k=2),
    "get": lambda repo, agent, n: repo.get(agent, new_id()),
    "add": lambda repo, agent, n: repo.add(agent, NewMemory(f"new {n}", embedding=at(n))),
    "add_many": lambda repo, agent, n: repo.add_many(
        agent, [NewMemory(f"{word} {n}", embedding=at(n)) for word in ("one", "two")]
    ),
    "export": lambda repo, agent, n: repo.transfer.export(lambda lines: None, agent_id=agent),
}
each_call = pytest.mark.parametrize("name", CALLS)


class Interrupted(Exception):
    """As the handler of a signal raises it."""


class Place:
    """Where a call is interrupted: the how many-th time psycopg waits, and when then."""

    def __init__(self, number: int, when: When) -> None:
        self.number, self.when, self.waits = number, when, 0
        self.task: asyncio.Task[Any] | None = None

    def is_now(self, when: When) -> bool:
        self.waits += when == "before"
        return self.waits == self.number and when == self.when


class Interruptible(psycopg.Connection[Any]):
    place: ClassVar[Place | None] = None

    def wait(self, gen: Any, *arguments: Any, **options: Any) -> Any:
        place = self.place
        if place is None:
            return super().wait(gen, *arguments, **options)
        if place.is_now("before"):
            raise Interrupted
        if place.is_now("midway"):  # the server works on what was sent
            next(gen, None)
            raise Interrupted
        result = super().wait(gen, *arguments, **options)
        if place.is_now("after"):
            raise Interrupted
        return result


class Cancellable(psycopg.AsyncConnection[Any]):
    place: ClassVar[Place | None] = None

    async def wait(self, gen: Any, *arguments: Any, **options: Any) -> Any:
        place, task = self.place, asyncio.current_task()
        if place is None or task is None or task is not place.task:  # SQLAlchemy closes in another
            return await super().wait(gen, *arguments, **options)
        if place.is_now("before"):
            task.cancel()
        result = await super().wait(gen, *arguments, **options)
        if place.is_now("after"):
            task.cancel()
            await asyncio.sleep(0)
        return result


@pytest.fixture
def own_table(shared_engine: Engine) -> Iterator[None]:
    with shared_engine.begin() as connection:
        connection.execute(text("CREATE TABLE own (number int)"))
    yield
    with shared_engine.begin() as connection:
        connection.execute(text("DROP TABLE own"))


def examine(connection: Connection) -> None:
    """Fails unless the connection does in a transaction of the application's what it should."""
    driver: Any = connection.connection.driver_connection
    assert driver.info.transaction_status is TransactionStatus.IDLE
    assert state(connection) == ("read committed", None, False)
    connection.execute(text("SET LOCAL ROLE pg_monitor"))
    assert connection.scalar(text("SELECT current_user")) == "pg_monitor"
    connection.rollback()
    connection.execute(text("INSERT INTO own VALUES (1)"))
    connection.rollback()
    assert connection.scalar(text("SELECT count(*) FROM own")) == 0


@each_call
@pytest.mark.parametrize("when", ["before", "midway", "after"])
def test_a_call_interrupted_anywhere_leaves_its_connection_as_it_was(
    shared_url: str, agent: str, own_table: None, name: str, when: When
) -> None:
    dsn = make_url(shared_url).set(drivername="postgresql").render_as_string(hide_password=False)
    engine = create_engine(
        "postgresql+psycopg://", creator=lambda: Interruptible.connect(dsn), pool_size=1
    )
    repo = MemoryRepository(engine)
    call = CALLS[name]
    for n in range(3):
        call(repo, agent, n)
    number = interrupted = 0
    while True:
        number += 1
        Interruptible.place = place = Place(number, when)
        try:
            call(repo, agent, 10 + number)
        except Interrupted:
            interrupted += 1
        finally:
            Interruptible.place = None
        with engine.connect() as connection:
            examine(connection)
        if place.waits < number:
            break

    assert interrupted >= 2
    engine.dispose()


@each_call
@pytest.mark.parametrize("when", ["before", "after"])
def test_a_task_cancelled_anywhere_leaves_its_connection_as_it_was(
    shared_url: str, agent: str, own_table: None, name: str, when: When
) -> None:
    dsn = make_url(shared_url).set(drivername="postgresql").render_as_string(hide_password=False)

    async def run() -> None:
        engine = create_async_engine(
            "postgresql+psycopg://", async_creator=lambda: Cancellable.connect(dsn), pool_size=1
        )
        repo = AsyncMemoryRepository(engine)
        call = CALLS[name]
        for n in range(3):
            await call(repo, agent, n)
        number = cancelled = 0
        while True:
            number += 1
            Cancellable.place = place = Place(number, when)
            place.task = asyncio.create_task(call(repo, agent, 10 + number))
            try:
                await place.task
            except asyncio.CancelledError:
                cancelled += 1
            finally:
                Cancellable.place = None
            async with engine.connect() as connection:
                await connection.run_sync(examine)
            if place.waits < number:
                break

        assert cancelled >= 2
        await engine.dispose()

    asyncio.run(run())


def test_a_refused_task_keeps_its_connection(shared_url: str, agent: str) -> None:
    async def session(engine: AsyncEngine) -> int:
        async with engine.connect() as connection:
            return int(await connection.scalar(text("SELECT pg_backend_pid()")) or 0)

    async def run() -> None:
        engine = create_async_engine(shared_url, pool_size=1, max_overflow=0)
        before = await session(engine)
        with pytest.raises(MemoryNotFound):
            await AsyncMemoryRepository(engine).update(agent, new_id(), importance=0.1)
        assert await session(engine) == before
        await engine.dispose()

    asyncio.run(run())


def test_tasks_cancelled_on_a_busy_loop_leave_all_connections_as_they_were(
    shared_url: str, agent: str, own_table: None
) -> None:
    """psycopg lets other tasks run once a loop has been busy, at places where it does not wait."""

    async def run() -> None:
        engine = create_async_engine(shared_url, pool_size=8, max_overflow=0)
        repo = AsyncMemoryRepository(engine)
        await asyncio.gather(*(repo.count(agent) for _ in range(8)))
        cancelled = 0

        async def client() -> None:
            nonlocal cancelled
            for _ in range(12):
                task = asyncio.create_task(repo.search(agent, NORTH))
                await asyncio.sleep(random.uniform(0, 0.03))
                task.cancel()
                try:
                    await task
                except asyncio.CancelledError:
                    cancelled += 1
                time.sleep(0.006)

        await asyncio.gather(*(client() for _ in range(8)))

        assert cancelled >= 10
        held = [await engine.connect() for _ in range(8)]
        for connection in held:
            await connection.run_sync(examine)
            await connection.close()
        await engine.dispose()

    asyncio.run(run())


def test_owners_of_a_key_do_not_stay_on_a_session_whose_request_was_cancelled(
    shared_url: str,
) -> None:
    dsn = make_url(shared_url).set(drivername="postgresql").render_as_string(hide_password=False)

    async def seen(engine: AsyncEngine, owner: str) -> Any:
        OWNERS.set((owner,))
        async with engine.connect() as connection:
            driver: Any = (await connection.get_raw_connection()).driver_connection
            assert not driver.autocommit
            return await connection.scalar(text("SELECT current_setting('pgrecall.owners')"))

    async def run() -> None:
        engine = create_async_engine(
            "postgresql+psycopg://", async_creator=lambda: Cancellable.connect(dsn), pool_size=1
        )
        confine(engine, None, pooled=False)
        for when in ("before", "after"):
            for number in range(1, 4):
                assert await seen(engine, "ada") == "{ada}"
                Cancellable.place = place = Place(number, when)
                place.task = asyncio.create_task(seen(engine, "bob"))
                with pytest.raises(asyncio.CancelledError):
                    await place.task
                Cancellable.place = None
                assert await seen(engine, "ada") == "{ada}"
        await engine.dispose()

    asyncio.run(run())
