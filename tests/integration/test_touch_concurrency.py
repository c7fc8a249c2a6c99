from __future__ import annotations

import asyncio
import random
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from uuid import UUID

from sqlalchemy import Engine, create_engine
from sqlalchemy.ext.asyncio import create_async_engine

from pgrecall import Added, AsyncMemoryRepository, MemoryRepository, NewMemory
from tests.integration.support import sql

WORKERS, CALLS = 8, 50


def _ids(repo: MemoryRepository) -> list[Added]:
    return repo.add_many("agent", [NewMemory(str(i), embedding=None) for i in range(10)])


def _shuffled(ids: Sequence[UUID]) -> list[UUID]:
    return random.sample(ids, len(ids))


def _counts(engine: Engine) -> list[int]:
    return [n for (n,) in sql(engine, "SELECT retrieval_count FROM pgrecall.memory_usage")]


def test_overlapping_touches_of_eight_threads_lose_no_count(
    repo: MemoryRepository, engine: Engine, database_url: str
) -> None:
    ids = _ids(repo)
    pooled = create_engine(database_url, pool_size=WORKERS)
    shared = MemoryRepository(pooled)

    def work(_: int) -> list[int]:
        return [shared.touch("agent", _shuffled(ids)) for _ in range(CALLS)]

    with ThreadPoolExecutor(WORKERS) as threads:
        returned = list(threads.map(work, range(WORKERS)))
    pooled.dispose()

    assert returned == [[10] * CALLS] * WORKERS
    assert _counts(engine) == [WORKERS * CALLS] * 10


def test_overlapping_touches_of_eight_tasks_lose_no_count(
    repo: MemoryRepository, engine: Engine, database_url: str
) -> None:
    ids = _ids(repo)

    async def main() -> None:
        pooled = create_async_engine(database_url, pool_size=WORKERS)
        shared = AsyncMemoryRepository(pooled)

        async def work() -> None:
            for _ in range(CALLS):
                await shared.touch("agent", _shuffled(ids))

        await asyncio.gather(*(work() for _ in range(WORKERS)))
        await pooled.dispose()

    asyncio.run(main())

    assert _counts(engine) == [WORKERS * CALLS] * 10


def test_overlapping_first_touches_make_one_row_each(
    repo: MemoryRepository, engine: Engine, database_url: str
) -> None:
    ids = _ids(repo)
    pooled = create_engine(database_url, pool_size=WORKERS)
    shared = MemoryRepository(pooled)

    with ThreadPoolExecutor(WORKERS) as threads:
        list(threads.map(lambda _: shared.touch("agent", _shuffled(ids)), range(WORKERS)))
    pooled.dispose()

    assert _counts(engine) == [WORKERS] * 10
