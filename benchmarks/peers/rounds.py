"""Searches, writing and size in three settings, all stores in turn on one server."""

from __future__ import annotations

import random
import statistics
import time
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from itertools import chain

import psycopg

from benchmarks.data import Corpus, Row
from benchmarks.everyday import SIZES
from benchmarks.measuring import measured, say
from benchmarks.peers.by_hand import ByHand
from benchmarks.peers.given import TOPICS, Asked, Given, K, asked
from benchmarks.peers.langchain_store import LangChain
from benchmarks.peers.langgraph_store import LangGraph
from benchmarks.peers.mem0_store import Mem0
from benchmarks.peers.ours import Ours
from benchmarks.peers.store import Store
from benchmarks.server import server

FLAT = "no approximate index"
INDEXED = "with an approximate index"
ITERATIVE = "with hnsw.iterative_scan = strict_order too"
BATCH, WRITE_ROUNDS = 500, 4


@dataclass(frozen=True)
class Searched:
    """How long searches of one kind took, and what they found."""

    setting: str
    memories: int
    """Of the agent that asks."""
    by: str
    median_ms: float
    p95_ms: float
    over_ours: float
    """Median of the ratios within a round."""
    recall: float
    """Share of the K best memories that were found."""
    returned: float
    """Mean number of memories, of K."""


@dataclass(frozen=True)
class Stored:
    """What writing and space cost a store."""

    setting: str
    by: str
    written_per_second: float
    bytes_per_memory: float


@dataclass
class Compared:
    searches: list[Searched] = field(default_factory=list)
    stores: list[Stored] = field(default_factory=list)


def compared(rows: Mapping[str, Sequence[Row]], rounds: int, scale: float, seed: int) -> Compared:
    """Measures everything, on one server."""
    questions = {size: asked(size, rows, scale, seed) for size in SIZES}
    new = list(Corpus.of(2 * WRITE_ROUNDS * BATCH, seed + 1, TOPICS))
    batches = [new[start : start + BATCH] for start in range(0, len(new), BATCH)]
    given = Given([*chain(*rows.values()), *new], chain(*questions.values()))
    found = Compared()
    with server() as url:
        _load(url, given, rows)
        for setting in (FLAT, INDEXED, ITERATIVE):
            _prepare(url, given, setting)
            with _stores(url, given, indexed=setting != FLAT) as stores:
                for size, queries in questions.items():
                    some = rounds if size < 10_000 else rounds // 2
                    found.searches += _searched(setting, size, stores, queries, some)
                if setting != ITERATIVE:
                    sizes = _sizes(url, stores)
                    rates = _rates(stores, [batches.pop() for _ in range(WRITE_ROUNDS)])
                    found.stores += [Stored(setting, by, rates[by], sizes[by]) for by in sizes]
    return found


def _load(url: str, given: Given, rows: Mapping[str, Sequence[Row]]) -> None:
    """Into each store by its own methods, which need not wait for the disk here."""
    _set(url, "synchronous_commit = off")
    with _stores(url, given, new=True) as stores:
        say("loading")
        for agent_id in rows:
            for store in stores:
                store.load(agent_id, rows[agent_id])
    _set(url, "synchronous_commit = on")


def _prepare(url: str, given: Given, setting: str) -> None:
    if setting == INDEXED:
        say("building indexes")
        with _stores(url, given) as stores:
            for store in stores:
                store.index()
    elif setting == ITERATIVE:
        _set(url, "hnsw.iterative_scan = 'strict_order'")
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute("VACUUM (ANALYZE, FREEZE)")
        connection.execute("CHECKPOINT")


@contextmanager
def _stores(
    url: str, given: Given, *, new: bool = False, indexed: bool = False
) -> Iterator[list[Store]]:
    """Each on connections of its own."""
    with ExitStack() as stack:
        yield [
            Ours(url, stack),
            ByHand(url, stack),
            LangGraph(url, given, stack),
            Mem0(url, stack),
            LangChain(url, given, stack, new=new, indexed=indexed),
        ]


def _searched(
    setting: str,
    size: int,
    stores: Sequence[Store],
    queries: Sequence[Asked],
    rounds: int,
) -> list[Searched]:
    searches = {name: search for store in stores for name, search in store.searches().items()}
    answers = defaultdict[str, list[tuple[int, int]]](list)

    def note(name: str, number: int, answer: list[str]) -> None:
        best = queries[number % len(queries)].best
        answers[name].append((len(best.intersection(answer)), len(answer)))

    say(f"{setting}: agents of {size:,}")
    timings = measured(searches, queries, rounds, note=note)
    return [
        Searched(
            setting,
            size,
            name,
            timing.ms,
            timing.p95,
            timing.over(timings[Ours.name]),
            statistics.mean(right for right, _ in answers[name]) / K,
            statistics.mean(number for _, number in answers[name]),
        )
        for name, timing in timings.items()
    ]


def _rates(stores: Sequence[Store], batches: Sequence[Sequence[Row]]) -> dict[str, float]:
    """Memories a second: the median of the batches, each of another agent."""
    rates = defaultdict[str, list[float]](list)
    for batch in batches:
        for store in random.sample(stores, len(stores)):
            start = time.perf_counter()
            store.write(f"writer {batch[0].id}", batch)
            rates[store.name].append(len(batch) / (time.perf_counter() - start))
    return {name: statistics.median(found) for name, found in rates.items()}


def _sizes(url: str, stores: Sequence[Store]) -> dict[str, float]:
    """Bytes on disk per memory: tables, what is stored apart, and indexes."""
    with psycopg.connect(url) as connection:
        found = {}
        [[memories]] = connection.execute("SELECT count(*) FROM by_hand")  # as many as in each
        for store in stores:
            [[size]] = connection.execute(
                "SELECT sum(pg_total_relation_size(oid))::float8 FROM pg_class "
                f"WHERE relkind = 'r' AND {store.relations}"
            )
            found[store.name] = size / memories
        return found


def _set(url: str, setting: str) -> None:
    """For connections made from now on."""
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute(f"ALTER DATABASE postgres SET {setting}")
