"""`python -m benchmarks.index.young`: a rank index that was just built, in a database that nobody
analysed or vacuumed."""

from __future__ import annotations

import statistics
import time
from collections.abc import Iterator
from contextlib import closing
from functools import partial
from typing import Annotated, Any

import psycopg
import typer
from rich.console import Console
from sqlalchemy import make_url

from benchmarks.data import Corpus, Floats, Row
from benchmarks.index.machine import machine
from benchmarks.measurement import Measurement, print_table
from benchmarks.server import repository, server
from pgrecall import MemoryRepository, NewMemory, migrate
from pgrecall.core.vectors import HalfVector

AGENT, BATCH, GOAL = "young", 2_000, 1.1
ASKED: dict[str, dict[str, Any]] = {
    "five_factor": {"profile": "five_factor"},
    "last_access": {"profile": "last_access"},
    "with words": {"query_text": "deadline of the release"},
    "tiers": {"profile": "five_factor", "tiers": ["long"]},
}


def main(
    memories: Annotated[int, typer.Option(min=5_000)] = 20_000,
    dimensions: Annotated[int, typer.Option(min=8)] = 384,
    searches: Annotated[int, typer.Option(help="Counted searches before the last.")] = 5_000,
    rounds: Annotated[int, typer.Option(min=5)] = 20,
    seed: Annotated[int, typer.Option(help="Decides all the data.")] = 0,
) -> None:
    """Times searches with strategy auto beside exact ones, in each state of the index."""
    console = Console()
    console.print(machine(), highlight=False)
    corpus = Corpus.of(2 * memories, seed)
    queries = [query[:dimensions] for query in corpus.queries(40)]
    coming = (
        NewMemory(
            f"{number} {row.content}",
            embedding=_shortened(row, dimensions),
            importance=row.importance,
            tier=row.tier,
            created_at=row.created_at,
        )
        for number, row in enumerate(corpus)
    )
    measure = partial(_measure, console, queries, rounds)
    with server() as url:
        migrate.upgrade(url, dimensions=dimensions)
        with repository(url) as repo:
            _add(repo, coming, memories)
            repo.rank_indexes.build(agent_id=AGENT)
        measure(url, "just built")
        with repository(url) as repo:
            for number in range(searches):
                query = queries[number % 40] + queries[number // 40 % 40] / (1 + number % 7)
                repo.search(AGENT, query, **list(ASKED.values())[number % 3])
        measure(url, f"after {searches:,} counted searches")
        with repository(url) as repo:
            _add(repo, coming, memories)
        measure(url, "after as many were added")


def _shortened(row: Row, dimensions: int) -> Floats:
    assert not isinstance(row.embedding, HalfVector)
    return row.embedding[:dimensions]


def _add(repo: MemoryRepository, coming: Iterator[NewMemory], number: int) -> None:
    for _ in range(0, number, BATCH):
        repo.add_many(AGENT, [next(coming) for _ in range(BATCH)])


def _measure(console: Console, queries: list[Floats], rounds: int, url: str, when: str) -> None:
    """As it is, and analysed in a copy, since the next state is to be one that nobody analysed."""
    with closing(psycopg.connect(url, autocommit=True)) as connection:
        connection.execute("CREATE DATABASE analysed TEMPLATE postgres")
    copy = make_url(url).set(database="analysed").render_as_string(hide_password=False)
    with psycopg.connect(copy, autocommit=True) as connection:
        connection.execute("ANALYZE")
    found = []
    for state, at in (("never analysed", url), ("analysed", copy)):
        with repository(at) as measured:
            for name, asked in ASKED.items():
                ratio = _ratio(measured, queries, rounds, asked)
                found.append(Measurement(f"{name}, {state}", ratio, "×", GOAL))
    with closing(psycopg.connect(url, autocommit=True)) as connection:
        connection.execute("DROP DATABASE analysed")
    print_table(console, f"auto beside exact, {when}", found)


def _ratio(
    repo: MemoryRepository, queries: list[Floats], rounds: int, asked: dict[str, Any]
) -> float:
    """The median, over the rounds, of the ratio within a round, after both were warm."""
    ratios = []
    for number in range(-8, rounds):
        seconds = {}
        for strategy in ("auto", "exact") if number % 2 else ("exact", "auto"):
            began = time.perf_counter()
            repo.search(AGENT, queries[number % 40], strategy=strategy, touch=False, **asked)
            seconds[strategy] = time.perf_counter() - began
        if number >= 0:
            ratios.append(seconds["auto"] / seconds["exact"])
    return statistics.median(ratios)


if __name__ == "__main__":
    typer.run(main)
