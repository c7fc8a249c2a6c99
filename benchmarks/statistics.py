"""Times and pages of every call in three states of statistics: `python -m benchmarks.statistics`.

The calls and the states are those of tests/integration/states.py. Without a URL, the server is
embedded, and autovacuum off.
"""

from __future__ import annotations

import re
import statistics
import time
from collections.abc import Callable
from contextlib import ExitStack, nullcontext
from typing import Annotated

import psycopg
import typer
from rich.console import Console
from sqlalchemy import create_engine, make_url
from tests.integration.states import NAMES, STATES, Shape, State, filled, grow, state

from benchmarks.index.machine import machine
from benchmarks.server import SETTINGS, server
from pgrecall import MemoryRepository, migrate
from pgrecall.errors import PgRecallError
from pgrecall.testing import new_database

VACUUMED = f"{SETTINGS}autovacuum = on\n"
LEAST, GOAL = 0.005, 1.5
"""Seconds from which on times are compared, and their greatest ratio."""
AT_LENGTH = 2.0
"""Seconds from which on a call is timed once."""


def main(
    url: Annotated[str | None, typer.Argument(help="A server; default: embedded.")] = None,
    memories: Annotated[int, typer.Option(min=100, help="Memories of the one owner.")] = 20_000,
    owners: Annotated[int, typer.Option(min=1, help="Owners that share as many × 5.")] = 100,
    only: Annotated[str, typer.Option(help="A regular expression of calls.")] = "",
    shape: Annotated[str, typer.Option(help="one owner, owners, or both.")] = "both",
    times: Annotated[int, typer.Option(min=1, help="Executions of each call.")] = 5,
) -> None:
    """Compares each call with the same one in an analysed copy."""
    console = Console()
    console.print(machine(), highlight=False)
    names = [name for name in NAMES if re.search(only, name) and not name.startswith("procedure")]
    shapes = [Shape("one owner", 1, memories), Shape("owners", owners, memories * 5 // owners)]
    with nullcontext(url) if url else server(SETTINGS) as here:
        for one in shapes:
            if shape not in ("both", one.name):
                continue
            with filled(here, one) as urls, ExitStack() as opened:
                states = {name: opened.enter_context(state(urls[name], one)) for name in STATES}
                console.print(f"\n{one.owners} × {one.memories:,}: ms, pages; × analysed")
                for name in names:
                    console.print(_row(name, states, times), highlight=False)
    if not url:
        with server(VACUUMED) as here:
            _by_default(console, here, memories)


def _row(name: str, states: dict[str, State], times: int) -> str:
    """One call: never, tiny, analysed, and the worst ratios."""
    pages: dict[str, int] = {}
    seconds: dict[str, float] = {}
    for one in reversed(STATES):
        try:
            pages[one] = states[one].pages(name)
            first = _timed(states[one], name)
            again = range(times if first < AT_LENGTH else 1)  # the first execution caches
            seconds[one] = statistics.median(_timed(states[one], name) for _ in again)
        except (PgRecallError, psycopg.Error, TypeError) as error:
            return f"{name:36} {one}: {type(error).__name__} {str(error)[:60]}"
    worst = max(seconds.values()) / seconds["analysed"]
    marks = "time" if worst > GOAL and max(seconds.values()) >= LEAST else ""
    if max(pages.values()) > 2 * pages["analysed"] + 64:
        marks += " pages"
    found = "".join(f"{seconds[one] * 1e3:9.1f} {pages[one]:8}" for one in STATES)
    return f"{name:36}{found} × {worst:6.2f} {marks}"


def _timed(where: State, name: str) -> float:
    began = time.perf_counter()
    where.run(name)
    return time.perf_counter() - began


def _by_default(console: Console, here: str, memories: int) -> None:
    """20 memories analysed, then all added, as autovacuum is by default: at once, and analysed."""
    shape = Shape("by default", 1, memories)
    with new_database(here) as url:
        migrate.upgrade(url, dimensions=shape.dimensions)
        grow(url, shape, 1, 20)
        with psycopg.connect(url, autocommit=True) as connection:
            connection.execute("ANALYZE")
        grow(url, shape, 21, memories)
        console.print(f"\n20 analysed, {memories - 20:,} added: ms at once, analysed")
        with psycopg.connect(url, autocommit=True) as connection:
            first = _sample(url)
            connection.execute("ANALYZE")
            for name, seconds in _sample(url).items():
                ratio = first[name] / seconds
                mark = "time" if ratio > GOAL and first[name] >= LEAST else ""
                console.print(
                    f"{name:36}{first[name] * 1e3:9.1f}{seconds * 1e3:9.1f} × {ratio:6.2f} {mark}",
                    highlight=False,
                )


def _sample(url: str) -> dict[str, float]:
    """The calls that took longest of all in young databases."""
    engine = create_engine(make_url(url).set(drivername="postgresql+psycopg"))
    repository = MemoryRepository(engine)
    query = Shape("", 1, 1).at(3)
    calls: dict[str, Callable[[], object]] = {
        "labels.find": lambda: repository.labels.find("one", "onelabel"),
        "list labels total": lambda: repository.list("one", labels=["onelabel"], total=True),
        "list by use": lambda: repository.list("one", order="-retrieval_count"),
        "collect_garbage, dry run": lambda: repository.upkeep.collect_garbage(
            agent_id="one", dry_run=True
        ),
        "search": lambda: repository.search("one", query, query_text="tea milk"),
        "search, labels": lambda: repository.search("one", query, labels=["onelabel"]),
    }
    found = {}
    for name, call in calls.items():
        seconds = []
        for _ in range(3):
            began = time.perf_counter()
            call()
            seconds.append(time.perf_counter() - began)
        found[name] = statistics.median(seconds)
    engine.dispose()
    return found


if __name__ == "__main__":
    typer.run(main)
