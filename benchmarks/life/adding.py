"""Adding: batches and single memories, beside what people write by hand."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import count

import numpy as np
import psycopg
from pgvector.psycopg import register_vector
from rich.progress import Progress
from sqlalchemy import create_engine

from benchmarks.data import DIMENSIONS
from benchmarks.measurement import Measurement
from benchmarks.measuring import measured
from pgrecall import MemoryRepository, NewMemory, migrate
from pgrecall.core.ids import new_id
from pgrecall.migrate.connecting import database_url

BATCH, FEW, ROUNDS, SINGLE = 20_000, 2_000, 5, 300
MEMORY = (
    "INSERT INTO pgrecall.agent_memories (agent_id, id, content, embedding) VALUES (%s, %s, %s, %s)"
)
EVENT = (
    "INSERT INTO pgrecall.memory_events (agent_id, memory_id, id, event_type) "
    "VALUES (%s, %s, %s, 'initial')"
)
MANY, LOOP, EXECUTED = "add_many", "prepared INSERTs, one commit", "executemany, one commit"
ADD, BY_HAND = "add", "two prepared INSERTs and COMMIT"


def adding(url: str, progress: Progress, *, index: bool, seed: int) -> list[Measurement]:
    """Each contender adds the same memories, with an event each, to the same table."""
    migrate.upgrade(url, dimensions=DIMENSIONS, embedding_index=index)
    vectors = np.random.default_rng(seed).normal(size=(BATCH, DIMENSIONS)).astype(np.float32)
    memories = [
        NewMemory(f"Memory {n}: what came of the matter of day {n % 365}.", embedding=vector)
        for n, vector in enumerate(vectors)
    ]
    engine = create_engine(database_url(url))
    repo = MemoryRepository(engine)
    with psycopg.connect(url) as connection:
        register_vector(connection)
        by_hand = _ByHand(connection)
        rates = _rates(repo, by_hand, memories, 1 if index else ROUNDS, progress)
        timed = measured(
            {
                ADD: lambda pair: repo.add("single", pair[0]),
                BY_HAND: lambda pair: by_hand.loop("by hand", [pair[1]]),
            },
            list(zip(_others(memories[:FEW], 100), _others(memories[:FEW], 101), strict=True)),
            SINGLE,
            progress,
            seed=seed,
            what="adding one",
        )
    engine.dispose()

    def over(contender: str) -> float:
        pairs = zip(rates[MANY], rates[contender], strict=True)
        return statistics.median(ours / theirs for ours, theirs in pairs)

    return [
        *(
            Measurement(f"{name} of {BATCH if name == MANY else FEW:,}", max(found), "rows/s")
            for name, found in rates.items()
        ),
        Measurement(f"{MANY} / {LOOP}", over(LOOP), "×", None if index else 3.0, at_least=True),
        Measurement(f"{MANY} / {EXECUTED}", over(EXECUTED), "×"),
        Measurement(ADD, 1e3 * timed[ADD].median, "ms"),
        Measurement(BY_HAND, 1e3 * timed[BY_HAND].median, "ms"),
        Measurement(f"{ADD} / {BY_HAND}", timed[ADD].over(timed[BY_HAND]), "×", 2.0),
    ]


def _others(memories: list[NewMemory], number: int) -> list[NewMemory]:
    """The same texts with other vectors, since an HNSW index stores equal ones as one."""
    return [replace(one, embedding=np.roll(one.embedding, number)) for one in memories]  # type: ignore[arg-type]


class _ByHand:
    """Inserts each memory and its event, and commits once."""

    def __init__(self, connection: psycopg.Connection) -> None:
        self._connection = connection

    def loop(self, agent: str, memories: Sequence[NewMemory]) -> None:
        for memory in memories:
            id_ = new_id()
            given = (agent, id_, memory.content, memory.embedding)
            self._connection.execute(MEMORY, given, prepare=True)
            self._connection.execute(EVENT, (agent, id_, new_id()), prepare=True)
        self._connection.commit()

    def executemany(self, agent: str, memories: Sequence[NewMemory]) -> None:
        given = [(agent, new_id(), memory.content, memory.embedding) for memory in memories]
        with self._connection.cursor() as cursor:
            cursor.executemany(MEMORY, given)
            cursor.executemany(EVENT, [(agent, id_, new_id()) for _, id_, *_ in given])
        self._connection.commit()


def _rates(
    repo: MemoryRepository,
    by_hand: _ByHand,
    memories: list[NewMemory],
    rounds: int,
    progress: Progress,
) -> dict[str, list[float]]:
    """Contender → rows a second in each round, each time for a new agent."""
    calls = count(1)
    work: dict[str, tuple[Callable[[str, list[NewMemory]], object], list[NewMemory]]] = {
        MANY: (repo.add_many, memories),
        LOOP: (by_hand.loop, memories[:FEW]),
        EXECUTED: (by_hand.executemany, memories[:FEW]),
    }
    rates: dict[str, list[float]] = {name: [] for name in work}
    task = progress.add_task("adding", total=len(work) * (rounds + 1))
    for number in range(-1, rounds):  # the first warms up
        for name, (add, chosen) in work.items():
            call = next(calls)
            given = _others(chosen if number >= 0 else chosen[:FEW], call)
            start = time.perf_counter()
            add(f"agent {call}", given)
            if number >= 0:
                rates[name].append(len(given) / (time.perf_counter() - start))
            progress.advance(task)
    progress.remove_task(task)
    return rates
