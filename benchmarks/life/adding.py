"""Adding: a batch with its embeddings, against one INSERT per row."""

from __future__ import annotations

import time
from collections.abc import Callable

import numpy as np
import psycopg
from pgvector.psycopg import register_vector
from rich.progress import Progress
from sqlalchemy import create_engine

from benchmarks.data import DIMENSIONS
from benchmarks.measurement import Measurement
from pgrecall import MemoryRepository, NewMemory, migrate
from pgrecall.core.ids import new_id
from pgrecall.migrate.connecting import database_url

BATCH = 20_000
INSERT = (
    "INSERT INTO pgrecall.agent_memories (agent_id, id, content, embedding) VALUES (%s, %s, %s, %s)"
)


def adding(url: str, progress: Progress, *, index: bool, seed: int) -> list[Measurement]:
    """Every contender adds to the same table, each for an agent of its own."""
    migrate.upgrade(url, dimensions=DIMENSIONS)
    if index:
        migrate.embedding_index(url)
    engine = create_engine(database_url(url))
    repo = MemoryRepository(engine)
    vectors = np.random.default_rng(seed).normal(size=(BATCH, DIMENSIONS)).astype(np.float32)
    memories = [
        NewMemory(f"Memory {n}: what came of the matter of day {n % 365}.", embedding=vector)
        for n, vector in enumerate(vectors)
    ]
    few = BATCH // 20
    task = progress.add_task("adding", total=4)

    def rate(work: Callable[[], None], rows: int) -> float:
        start = time.perf_counter()
        work()
        seconds = time.perf_counter() - start
        progress.advance(task)
        return rows / seconds

    def one_statement_each(agent: str, rows: int, *, autocommit: bool) -> None:
        with psycopg.connect(url, autocommit=autocommit) as connection:
            register_vector(connection)
            for memory, vector in zip(memories[:rows], vectors, strict=False):
                connection.execute(INSERT, (agent, new_id(), memory.content, vector))

    repo.add_many("warm up", memories[:few])
    batch = rate(lambda: _added(repo, memories), BATCH)
    inserts = rate(lambda: one_statement_each("b", few, autocommit=True), few)
    inserted = rate(lambda: one_statement_each("c", few, autocommit=False), few)
    adds = rate(lambda: _one_by_one(repo, memories[:few]), few)
    progress.remove_task(task)
    engine.dispose()
    goal = None if index else 10.0
    return [
        Measurement(f"add_many of {BATCH:,}", batch, "rows/s"),
        Measurement("one INSERT per row, each committed", inserts, "rows/s"),
        Measurement("one INSERT per row, one commit", inserted, "rows/s"),
        Measurement("one add per row", adds, "rows/s"),
        Measurement("add_many over INSERTs, each committed", batch / inserts, "×", goal, True),
        Measurement("add_many over INSERTs, one commit", batch / inserted, "×"),
        Measurement("add_many over one add per row", batch / adds, "×"),
    ]


def _added(repo: MemoryRepository, memories: list[NewMemory]) -> None:
    repo.add_many("a", memories)


def _one_by_one(repo: MemoryRepository, memories: list[NewMemory]) -> None:
    for memory in memories:
        repo.add("d", memory)
