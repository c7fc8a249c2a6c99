"""`python -m benchmarks.life`: what adding and touching cost beside what people write by hand."""

from __future__ import annotations

import random
import statistics
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from itertools import count
from typing import Annotated
from uuid import UUID

import numpy as np
import psycopg
import typer
from pgvector.psycopg import register_vector
from sqlalchemy import Connection, Engine, create_engine, text

from benchmarks.data import AGENT, DIMENSIONS, Corpus
from benchmarks.loading import load_rows
from benchmarks.measuring import measured, print_machine, print_table, say
from benchmarks.server import server
from pgrecall import MemoryRepository, NewMemory, migrate
from pgrecall.core.ids import new_id
from pgrecall.migrate.connecting import database_url

BATCH, FEW, ROUNDS, SINGLE = 20_000, 2_000, 5, 300
TOUCHES, TOUCHED = 1_000, 10
MEMORY = (
    "INSERT INTO pgrecall.agent_memories (agent_id, id, content, embedding) VALUES (%s, %s, %s, %s)"
)
EVENT = (
    "INSERT INTO pgrecall.memory_events (agent_id, memory_id, id, event_type) "
    "VALUES (%s, %s, %s, 'initial')"
)
MANY, LOOP, EXECUTED = "add_many", "prepared INSERTs, one commit", "executemany, one commit"
ADD, BY_HAND = "add", "two prepared INSERTs and COMMIT"
Work = dict[str, tuple[Callable[[str, list[NewMemory]], object], list[NewMemory]]]


class ByHand:
    """Inserts each memory and its event, and commits once."""

    def __init__(self, connection: psycopg.Connection) -> None:
        register_vector(connection)
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


def adding(url: str, seed: int) -> Iterator[list[object]]:
    """Each contender adds the same memories, with an event each, to the same table."""
    migrate.upgrade(url, dimensions=DIMENSIONS)
    vectors = np.random.default_rng(seed).normal(size=(BATCH, DIMENSIONS)).astype(np.float32)
    memories = [
        NewMemory(f"Memory {n}: what came of the matter of day {n % 365}.", embedding=vector)
        for n, vector in enumerate(vectors)
    ]
    engine = create_engine(database_url(url))
    repo = MemoryRepository(engine)
    with psycopg.connect(url) as connection:
        by_hand = ByHand(connection)
        work: Work = {
            MANY: (repo.add_many, memories),
            LOOP: (by_hand.loop, memories[:FEW]),
            EXECUTED: (by_hand.executemany, memories[:FEW]),
        }
        rates = _rates(work)
        pairs = list(zip(_others(memories[:FEW], 100), _others(memories[:FEW], 101), strict=True))
        timed = measured(
            {
                ADD: lambda pair: repo.add("single", pair[0]),
                BY_HAND: lambda pair: by_hand.loop("by hand", [pair[1]]),
            },
            pairs,
            SINGLE,
            seed=seed,
        )
    engine.dispose()
    for name, (_, some) in work.items():
        yield [f"{name} of {len(some):,}, rows a second", max(rates[name])]
    for name in (LOOP, EXECUTED):
        each = zip(rates[MANY], rates[name], strict=True)
        yield [f"{MANY} / {name}", statistics.median(ours / theirs for ours, theirs in each)]
    yield [f"{ADD}, ms", timed[ADD].ms]
    yield [f"{ADD} / {BY_HAND}", timed[ADD].over(timed[BY_HAND])]


def _others(memories: list[NewMemory], number: int) -> list[NewMemory]:
    """The same texts with other vectors, since an HNSW index stores equal ones as one."""
    return [replace(one, embedding=np.roll(one.embedding, number)) for one in memories]  # type: ignore[arg-type]


def _rates(work: Work) -> dict[str, list[float]]:
    """Contender → rows a second in each round, each time for a new agent."""
    calls = count(1)
    rates: dict[str, list[float]] = {name: [] for name in work}
    for number in range(-1, ROUNDS):  # the first warms up
        say(f"adding, round {number + 1}")
        for name, (add, chosen) in work.items():
            call = next(calls)
            given = _others(chosen if number >= 0 else chosen[:FEW], call)
            start = time.perf_counter()
            add(f"agent {call}", given)
            if number >= 0:
                rates[name].append(len(given) / (time.perf_counter() - start))
    return rates


def touching(url: str, corpus: Corpus) -> Iterator[list[object]]:
    """Counting the retrieval of ten memories among many."""
    load_rows(url, corpus)
    engine = create_engine(database_url(url))
    statement = text("SELECT id FROM pgrecall.agent_memories WHERE agent_id = :agent")
    with engine.connect() as connection:  # one transaction: no flush to disk is waited for
        ids = [*connection.scalars(statement, {"agent": AGENT})]
        alone = _timed(MemoryRepository(connection), ids)
        connection.rollback()
    before = _updates(engine)
    committed = _timed(MemoryRepository(engine), ids)
    updates, hot, of_memories = (
        now - then for now, then in zip(_updates(engine), before, strict=True)
    )
    engine.dispose()
    yield ["touch, in a transaction, ms", 1e3 * statistics.median(alone)]
    yield ["touch and commit, ms", 1e3 * statistics.median(committed)]
    yield ["HOT updates in memory_usage", f"{hot / updates:.0%}"]
    yield ["updates in agent_memories", of_memories]


def _timed(repo: MemoryRepository, ids: list[UUID]) -> list[float]:
    seconds, chosen = [], random.Random(0)
    for _ in range(50 + TOUCHES):
        ten = chosen.sample(ids, TOUCHED)
        start = time.perf_counter()
        repo.touch(AGENT, ten)
        seconds.append(time.perf_counter() - start)
    return seconds[50:]


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
    statement = text(f"SELECT {counter} FROM pg_stat_user_tables WHERE relname = :table")
    return int(connection.scalar(statement, {"table": table}) or 0)


def main(
    rows: Annotated[int, typer.Option(min=1_000, help="Memories that are there.")] = 100_000,
    seed: Annotated[int, typer.Option(help="Decides all the data.")] = 0,
) -> None:
    """Each on an embedded server of its own."""
    print_machine()
    with server() as url:
        corpus = Corpus.of(rows, seed)
        print_table(f"touching {TOUCHED} of {rows:,} memories|", touching(url, corpus))
    with server() as url:
        print_table(f"adding memories of {DIMENSIONS} dimensions|", adding(url, seed))


if __name__ == "__main__":
    typer.run(main)
