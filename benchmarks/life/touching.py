"""Touching: counting the retrieval of ten memories among many."""

from __future__ import annotations

import random
import statistics
import time
from uuid import UUID

from rich.progress import Progress
from sqlalchemy import Connection, Engine, create_engine, text

from benchmarks.data import AGENT, Corpus
from benchmarks.loading import Order, load
from benchmarks.measurement import Measurement
from pgrecall import MemoryRepository
from pgrecall.migrate.connecting import database_url

ROUNDS, WARM_UP, TOUCHED = 1_000, 50, 10


def touching(url: str, corpus: Corpus, progress: Progress) -> list[Measurement]:
    load(url, corpus, Order.INTERLEAVED, progress)
    engine = create_engine(database_url(url))
    ids = _ids(engine)
    task = progress.add_task("touching", total=2 * (ROUNDS + WARM_UP))
    chosen = random.Random(0)
    with engine.connect() as connection:  # one transaction: no flush to disk is waited for
        alone = _timed(MemoryRepository(connection), ids, chosen, progress, task)
        connection.rollback()
    before = _updates(engine)
    committed = _timed(MemoryRepository(engine), ids, chosen, progress, task)
    after = _updates(engine)
    progress.remove_task(task)
    engine.dispose()
    updates, hot, of_memories = (now - then for now, then in zip(after, before, strict=True))
    return [
        Measurement("touch, in a transaction", statistics.median(alone) * 1000, "ms", 0.6),
        Measurement("  90 % take at most", statistics.quantiles(alone, n=10)[-1] * 1000, "ms"),
        Measurement("touch and commit", statistics.median(committed) * 1000, "ms"),
        Measurement("HOT updates in memory_usage", 100 * hot / updates, "%", 95, at_least=True),
        Measurement("updates in agent_memories", of_memories, "rows", 0),
    ]


def _timed(
    repo: MemoryRepository, ids: list[UUID], chosen: random.Random, progress: Progress, task: object
) -> list[float]:
    seconds = []
    for number in range(ROUNDS + WARM_UP):
        ten = chosen.sample(ids, TOUCHED)
        start = time.perf_counter()
        repo.touch(AGENT, ten)
        if number >= WARM_UP:
            seconds.append(time.perf_counter() - start)
        progress.advance(task)  # type: ignore[arg-type]
    return seconds


def _ids(engine: Engine) -> list[UUID]:
    with engine.connect() as connection:
        found = connection.scalars(
            text("SELECT id FROM pgrecall.agent_memories WHERE agent_id = :agent"), {"agent": AGENT}
        )
        return list(found)


def _updates(engine: Engine) -> tuple[int, int, int]:
    with engine.connect() as connection:
        connection.execute(text("SELECT pg_stat_force_next_flush()"))
        connection.rollback()
        return (
            _counted(connection, "memory_usage", "n_tup_upd"),
            _counted(connection, "memory_usage", "n_tup_hot_upd"),
            _counted(connection, "agent_memories", "n_tup_upd"),
        )


def _counted(connection: Connection, table: str, counter: str) -> int:
    return int(
        connection.scalar(
            text(f"SELECT {counter} FROM pg_stat_user_tables WHERE relname = :table"),
            {"table": table},
        )
        or 0
    )
