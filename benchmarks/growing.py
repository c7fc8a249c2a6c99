"""`python -m benchmarks.growing`: a database that grows, on connections opened while it was empty.

Each call is timed beside the same call on a new connection to a database with the same memories
that has been analysed.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from itertools import islice
from typing import Annotated
from uuid import UUID

import psycopg
import typer
from rich.console import Console
from rich.progress import Progress

from benchmarks.data import DIMENSIONS, Corpus, Floats, Row
from benchmarks.index.machine import machine
from benchmarks.loading import copy_rows
from benchmarks.measurement import Measurement, print_table
from benchmarks.progress import progress_bar
from benchmarks.server import SETTINGS, repository, server
from pgrecall import MemoryRepository, NewMemory, migrate
from pgrecall.testing import new_database

AGENT = "growing"
SIZES = (100, 300, 1_000, 3_000, 10_000, 20_000)
GOAL, WARM_UP, TIMES = 1.3, 12, 25
TEXT = "the budget of the next release"
VACUUMED = f"{SETTINGS}autovacuum = on\nautovacuum_naptime = 5s\n"
Call = Callable[[MemoryRepository, Floats, UUID], object]
Fill = Callable[[str, list[Row]], None]

CALLS: dict[str, Call] = {
    "search": lambda repo, query, _: repo.search(AGENT, query, query_text=TEXT),
    "search, five_factor": lambda repo, query, _: repo.search(AGENT, query, profile="five_factor"),
    "search, team beside": lambda repo, query, _: repo.search(
        AGENT, query, query_text=TEXT, teams=["crew"], touch=False
    ),
    "search, last_access": lambda repo, query, _: repo.search(
        AGENT, query, query_text=TEXT, profile="last_access", touch=False
    ),
    "search, min_trust": lambda repo, query, _: repo.search(
        AGENT, query, query_text=TEXT, min_trust=0.5, touch=False
    ),
    "search, text": lambda repo, query, _: repo.search(
        AGENT, query, query_text=TEXT, text="budget", touch=False
    ),
    "search, entities": lambda repo, query, _: repo.search(
        AGENT, query, query_text=TEXT, entities=["Entity 7"], touch=False
    ),
    "explain": lambda repo, query, id_: repo.explain(AGENT, id_, query, query_text=TEXT),
    "context": lambda repo, query, _: repo.context(AGENT, query, query_text=TEXT),
    "record_outcome": lambda repo, _, id_: repo.record_outcome(AGENT, id_, "success"),
    "get": lambda repo, _, id_: repo.get(AGENT, id_),
    "label": lambda repo, _, id_: repo.labels.add(AGENT, id_, ["keyword"]),
}


def main(
    largest: Annotated[int, typer.Option(min=100, help="Memories at the end.")] = SIZES[-1],
    seed: Annotated[int, typer.Option(help="Decides all the data.")] = 0,
) -> None:
    """Grows a database from nothing: with autovacuum, without it, and by one batch."""
    console = Console()
    console.print(machine(), highlight=False)
    steps = [size for size in SIZES if size <= largest]
    for what, settings, sizes, fill in (
        ("autovacuum off", SETTINGS, steps, _copy),
        ("autovacuum on", VACUUMED, steps, _copy),
        ("one add_many, autovacuum off", SETTINGS, steps[-1:], _add),
    ):
        with progress_bar() as progress, server(settings) as url:
            worst = _grown(url, sizes, fill, seed, progress)
        found = [
            Measurement(f"{name}, at {size:,}", ratio, "×", GOAL)
            for name, (ratio, size) in worst.items()
        ]
        print_table(console, f"{what}: the worst of {len(sizes)} sizes", found)


def _grown(
    url: str, sizes: list[int], fill: Fill, seed: int, progress: Progress
) -> dict[str, tuple[float, int]]:
    """Call → its greatest ratio, and at how many memories."""
    with new_database(url) as young, new_database(url) as analysed:
        for one in (young, analysed):
            migrate.upgrade(one, dimensions=DIMENSIONS)
        corpus = Corpus.of(sizes[-1], seed)
        coming, queries = iter(corpus), corpus.queries(20)
        worst: dict[str, tuple[float, int]] = {}
        task = progress.add_task("growing", total=len(sizes))
        with repository(young) as grown_up:
            there = 20
            _timed([grown_up], queries, _filled([young, analysed], islice(coming, there), _copy))
            for size in sizes:
                newest = _filled([young, analysed], islice(coming, size - there), fill)
                there = size
                with psycopg.connect(analysed, autocommit=True) as connection:
                    connection.execute("ANALYZE")
                with repository(analysed) as fresh:
                    ours, theirs = _timed([grown_up, fresh], queries, newest)
                for name in CALLS:
                    ratio = ours[name] / theirs[name]
                    if ratio > worst.get(name, (0.0, 0))[0]:
                        worst[name] = ratio, size
                progress.advance(task)
        progress.remove_task(task)
    return worst


def _filled(urls: list[str], rows: Iterator[Row], fill: Fill) -> UUID:
    """Adds memories; returns the id of the last."""
    mine = [replace(row, agent_id=AGENT) for row in rows]
    for url in urls:
        fill(url, mine)
    return mine[-1].id


def _copy(url: str, rows: list[Row]) -> None:
    """Half of them have counters."""
    with psycopg.connect(url) as connection:
        copy_rows(connection, rows)


def _add(url: str, rows: list[Row]) -> None:
    """Half of them are touched."""
    with repository(url) as repo:
        repo.add_many(
            AGENT,
            [
                NewMemory(
                    row.content,
                    id=row.id,
                    embedding=row.embedding,
                    entities=row.entities,
                    trust=row.trust,
                    created_at=row.created_at,
                )
                for row in rows
            ],
        )
        repo.touch(AGENT, [row.id for row in rows if row.retrieval_count is not None])


def _timed(
    repos: Sequence[MemoryRepository], queries: list[Floats], id_: UUID
) -> list[dict[str, float]]:
    """Call → the median of its seconds, for each repository; all take turns."""
    seconds: list[dict[str, list[float]]] = [{name: [] for name in CALLS} for _ in repos]
    turns = list(zip(repos, seconds, strict=True))
    for number in range(-WARM_UP, TIMES):
        turns.reverse()  # the second finds more in the processor's cache
        for name, call in CALLS.items():
            for repo, taken in turns:
                began = time.perf_counter()
                call(repo, queries[number % len(queries)], id_)
                if number >= 0:
                    taken[name].append(time.perf_counter() - began)
    return [
        {name: statistics.median(of_one) for name, of_one in taken.items()} for taken in seconds
    ]


if __name__ == "__main__":
    typer.run(main)
