"""`python -m benchmarks.cancelling`: what cancelled calls leave of the connections of a pool."""

from __future__ import annotations

import asyncio
import logging
import random
import time
from collections import Counter
from collections.abc import Awaitable, Callable
from typing import Annotated, Any

import typer
from rich.console import Console
from sqlalchemy import text
from sqlalchemy.ext.asyncio import create_async_engine

from benchmarks.measurement import Measurement, print_table
from benchmarks.server import server
from pgrecall import AsyncMemoryRepository, NewMemory, migrate
from pgrecall.migrate.connecting import database_url

DIMENSIONS, TASKS = 8, 8
VECTOR = [1.0, *[0.5] * (DIMENSIONS - 1)]


def _new() -> NewMemory:
    return NewMemory(f"text {random.random()}", embedding=VECTOR)


CALLS: dict[str, Callable[[AsyncMemoryRepository], Awaitable[Any]]] = {
    "search": lambda repo: repo.search("agent", VECTOR),
    "get": lambda repo: repo.get("agent", key="none"),
    "add": lambda repo: repo.add("agent", _new()),
    "add_many": lambda repo: repo.add_many("agent", [_new(), _new()]),
    "export": lambda repo: repo.transfer.export(lambda lines: None, agent_id="agent"),
}


async def _measured(url: str, name: str, calls: int, busy: float, seed: int) -> list[Measurement]:
    random.seed(seed)
    engine = create_async_engine(database_url(url), pool_size=TASKS, max_overflow=0)
    repo = AsyncMemoryRepository(engine)
    await asyncio.gather(*(repo.search("agent", None) for _ in range(TASKS)))
    ended: Counter[str] = Counter()

    async def client() -> None:
        for _ in range(calls // TASKS):
            task = asyncio.ensure_future(CALLS[name](repo))
            await asyncio.sleep(random.uniform(0, 0.03))
            task.cancel()
            try:
                await task
                ended["done"] += 1
            except asyncio.CancelledError:
                ended["cancelled"] += 1
            except Exception:
                ended["failed"] += 1
            time.sleep(busy)  # the application's own work on the loop

    await asyncio.gather(*(client() for _ in range(TASKS)))
    held = [await engine.connect() for _ in range(TASKS)]
    changed = 0
    for connection in held:
        driver: Any = (await connection.get_raw_connection()).driver_connection
        changed += driver.autocommit or driver.isolation_level is not None
        await connection.execute(text("INSERT INTO own VALUES (1)"))
        await connection.rollback()
    rows = await held[0].scalar(text("SELECT count(*) FROM own"))
    await held[0].execute(text("DELETE FROM own"))
    await held[0].commit()
    for connection in held:
        await connection.close()
    await engine.dispose()
    return [
        Measurement(f"{name}: cancelled of {calls:,} calls", ended["cancelled"], ""),
        Measurement("  ended by another error", ended["failed"], "", 0),
        Measurement(f"  of {TASKS} connections changed", changed, "", 0),
        Measurement("  rows there after ROLLBACK", rows or 0, "", 0),
    ]


def main(
    calls: Annotated[int, typer.Option(min=TASKS, help="Calls of each kind.")] = 896,
    busy: Annotated[float, typer.Option(help="Seconds that each call's task blocks.")] = 0.006,
    seed: Annotated[int, typer.Option(help="Decides when calls are cancelled.")] = 0,
) -> None:
    """Cancels calls of eight tasks on a busy loop after 0 to 30 ms, then examines each pool."""
    logging.disable(logging.CRITICAL)
    found = []
    with server() as url:
        migrate.upgrade(url, dimensions=DIMENSIONS)
        asyncio.run(_prepared(url))
        for name in CALLS:
            found += asyncio.run(_measured(url, name, calls, busy, seed))
    print_table(Console(), f"{len(CALLS) * calls:,} calls, cancelled at random moments", found)


async def _prepared(url: str) -> None:
    engine = create_async_engine(database_url(url))
    await AsyncMemoryRepository(engine).add_many("agent", [_new() for _ in range(300)])
    async with engine.begin() as connection:
        await connection.execute(text("CREATE TABLE own (number int)"))
    await engine.dispose()


if __name__ == "__main__":
    typer.run(main)
