"""`python -m benchmarks.statistics`: every call in three states of statistics.

The calls and the states are those of tests/integration/states.py: never analysed, analysed when a
thousandth was there, and analysed. The server is embedded, and autovacuum off.
"""

from __future__ import annotations

import re
import statistics
import time
from collections.abc import Iterator
from contextlib import ExitStack
from typing import Annotated

import psycopg
import typer
from tests.integration.states import NAMES, STATES, Shape, State, filled, state

from benchmarks.measuring import print_machine, print_table
from benchmarks.server import server
from pgrecall.errors import PgRecallError

AT_LENGTH = 2.0
"""Seconds from which on a call is timed once."""


def main(
    memories: Annotated[int, typer.Option(min=100, help="Memories of the one owner.")] = 20_000,
    owners: Annotated[int, typer.Option(min=1, help="Owners that share as many × 5.")] = 100,
    only: Annotated[str, typer.Option(help="A regular expression of calls.")] = "",
    times: Annotated[int, typer.Option(min=1, help="Executions of each call.")] = 5,
) -> None:
    """Compares each call with the same one in an analysed copy: milliseconds, and pages read."""
    print_machine()
    names = [name for name in NAMES if re.search(only, name) and not name.startswith("procedure")]
    shapes = [Shape("one owner", 1, memories), Shape("owners", owners, memories * 5 // owners)]
    with server() as here:
        for one in shapes:
            columns = "|".join(f"{name}, ms|pages" for name in STATES)
            with filled(here, one) as urls, ExitStack() as opened:
                states = {name: opened.enter_context(state(urls[name], one)) for name in STATES}
                title = f"{one.owners} × {one.memories:,}"
                print_table(f"{title}|{columns}|worst / analysed", rows(names, states, times))


def rows(names: list[str], states: dict[str, State], times: int) -> Iterator[list[object]]:
    """Each call in each state, and the worst ratio."""
    for name in names:
        found: dict[str, tuple[float, int]] = {}
        try:
            for one in reversed(STATES):
                pages = states[one].pages(name)
                first = _timed(states[one], name)
                again = range(times if first < AT_LENGTH else 1)  # the first execution caches
                seconds = statistics.median(_timed(states[one], name) for _ in again)
                found[one] = seconds, pages
        except (PgRecallError, psycopg.Error, TypeError) as error:
            yield [name, f"{type(error).__name__} {str(error)[:60]}"]
            continue
        cells = [cell for one in STATES for cell in (1e3 * found[one][0], found[one][1])]
        worst = max(seconds for seconds, _ in found.values()) / found["analysed"][0]
        yield [name, *cells, worst]


def _timed(where: State, name: str) -> float:
    began = time.perf_counter()
    where.run(name)
    return time.perf_counter() - began


if __name__ == "__main__":
    typer.run(main)
