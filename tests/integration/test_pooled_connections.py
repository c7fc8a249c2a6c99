"""What a session of the pool was set to is so after a call as before it."""

from __future__ import annotations

import asyncio
import random
import time
from collections.abc import Callable, Iterator
from functools import partial
from itertools import product
from typing import Any, ClassVar, Literal, get_args

import psycopg
import pytest
from psycopg.pq import TransactionStatus
from sqlalchemy import Connection, Engine, create_engine, event, make_url, text
from sqlalchemy.ext.asyncio import create_async_engine

from pgrecall import AsyncMemoryRepository, MemoryRepository, NewMemory
from pgrecall.core.ids import new_id
from pgrecall.errors import MemoryNotFound
from pgrecall.service.gate import OWNERS, confine
from tests.integration.support import NORTH, at, awaited

BATCH = [NewMemory(word, embedding=at(2)) for word in ("two", "three")]


def be_serializable(connection: Any, _: object) -> None:
    cursor = connection.cursor()
    cursor.execute("SET SESSION CHARACTERISTICS AS TRANSACTION ISOLATION LEVEL SERIALIZABLE")
    connection.commit()


def state(connection: Connection) -> tuple[Any, ...]:
    driver: Any = connection.connection.driver_connection
    isolation = connection.scalar(text("SELECT current_setting('transaction_isolation')"))
    return (isolation, driver.isolation_level, driver.autocommit)


class Pool:
    """An engine of one kind with one connection, and what is looked at on it."""

    def __init__(self, kind: str, loop: asyncio.Runner, url: str, **options: Any) -> None:
        self.loop, self.later = loop, kind == "async"
        make: Any = create_async_engine if self.later else create_engine
        self.engine = make(url, pool_size=1, max_overflow=0, **options)
        face: Any = AsyncMemoryRepository if self.later else MemoryRepository
        self.own = face(self.engine)
        self.repo: Any = awaited(self.own, loop.run) if self.later else self.own

    def on_connection(self, look: Callable[[Connection], Any]) -> Any:
        if not self.later:
            with self.engine.connect() as connection:
                return look(connection)

        async def run() -> Any:
            async with self.engine.connect() as connection:
                return await connection.run_sync(look)

        return self.loop.run(run())

    def dispose(self) -> None:
        self.loop.run(self.engine.dispose()) if self.later else self.engine.dispose()


@pytest.mark.parametrize("level", [None, "AUTOCOMMIT"])
@pytest.mark.parametrize("kind", ["sync", "async"])
def test_a_session_stays_as_it_was(
    shared_url: str, agent: str, loop: asyncio.Runner, kind: str, level: str | None
) -> None:
    """From the start each is serializable; SQLAlchemy has seen that the server is not."""
    pool = Pool(kind, loop, shared_url, **({"isolation_level": level} if level else {}))
    pool.on_connection(lambda connection: None)
    pool.dispose()
    event.listen(pool.engine.sync_engine if pool.later else pool.engine, "connect", be_serializable)
    before = pool.on_connection(state)
    assert before[0] == "serializable"

    memory_id = pool.repo.add(agent, NewMemory("one", embedding=at(1)))
    pool.repo.add_many(agent, BATCH)
    assert pool.repo.touch(agent, memory_id) == 1
    with pytest.raises(MemoryNotFound):
        pool.repo.record_outcome(agent, new_id(), "success")

    assert pool.on_connection(state) == before
    pool.dispose()


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


def is_interrupted(pool: Pool, call: Callable[[Any], Any], place: Place) -> bool:
    """Carries out a call that is interrupted there, if it comes to it."""

    async def run() -> None:
        place.task = asyncio.create_task(call(pool.own))
        await place.task

    Interruptible.place = Cancellable.place = place
    try:
        pool.loop.run(run()) if pool.later else call(pool.own)
    except (Interrupted, asyncio.CancelledError):
        return True
    finally:
        Interruptible.place = Cancellable.place = None
    return False


def creator(url: str) -> dict[str, Any]:
    """Of connections that can be interrupted, of both kinds."""
    dsn = make_url(url).set(drivername="postgresql").render_as_string(hide_password=False)
    return {
        "sync": {"creator": lambda: Interruptible.connect(dsn)},
        "async": {"async_creator": lambda: Cancellable.connect(dsn)},
    }


@pytest.mark.parametrize("name", CALLS)
@pytest.mark.parametrize(
    ("kind", "when"),
    [*(("sync", when) for when in get_args(When)), ("async", "before"), ("async", "after")],
)
def test_a_call_interrupted_anywhere_leaves_its_connection_as_it_was(
    shared_url: str,
    agent: str,
    own_table: None,
    loop: asyncio.Runner,
    name: str,
    kind: str,
    when: When,
) -> None:
    pool = Pool(kind, loop, "postgresql+psycopg://", **creator(shared_url)[kind])
    for n in range(3):
        CALLS[name](pool.repo, agent, n)
    number = interrupted = 0
    while True:
        number += 1
        place = Place(number, when)
        call = partial(lambda n, repo: CALLS[name](repo, agent, 10 + n), number)
        interrupted += is_interrupted(pool, call, place)
        pool.on_connection(examine)
        if place.waits < number:
            break

    assert interrupted >= 2
    pool.dispose()


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
    shared_url: str, loop: asyncio.Runner
) -> None:
    pool = Pool("async", loop, "postgresql+psycopg://", **creator(shared_url)["async"])
    confine(pool.engine, None, pooled=False)

    async def seen(owner: str) -> Any:
        OWNERS.set((owner,))
        async with pool.engine.connect() as connection:
            driver: Any = (await connection.get_raw_connection()).driver_connection
            assert not driver.autocommit
            return await connection.scalar(text("SELECT current_setting('pgrecall.owners')"))

    moments: tuple[When, ...] = ("before", "after")
    for when, number in product(moments, range(1, 4)):
        assert loop.run(seen("ada")) == "{ada}"
        assert is_interrupted(pool, lambda _: seen("bob"), Place(number, when))
        assert loop.run(seen("ada")) == "{ada}"
    pool.dispose()
