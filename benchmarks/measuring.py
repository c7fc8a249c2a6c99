"""Timing contenders against each other, so that a disturbance meets them all, and Markdown."""

from __future__ import annotations

import gc
import os
import platform
import random
import statistics
import sys
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

Q = TypeVar("Q")

WARM_UP_ROUNDS = 12
"""psycopg prepares a statement at its sixth use, PostgreSQL then plans it five times more before
it thinks of keeping a plan."""


@dataclass(frozen=True)
class Timing:
    """Seconds, one per round."""

    seconds: tuple[float, ...]

    @property
    def ms(self) -> float:
        """The median."""
        return 1e3 * statistics.median(self.seconds)

    @property
    def p95(self) -> float:
        """In milliseconds, as p99."""
        return 1e3 * statistics.quantiles(self.seconds, n=20, method="inclusive")[-1]

    @property
    def p99(self) -> float:
        return 1e3 * statistics.quantiles(self.seconds, n=100, method="inclusive")[-1]

    def over(self, other: Timing) -> float:
        """Median of the ratios within a round."""
        pairs = zip(self.seconds, other.seconds, strict=True)
        return statistics.median(mine / theirs for mine, theirs in pairs)


def measured(
    contenders: Mapping[str, Callable[[Q], Any]],
    queries: Sequence[Q],
    rounds: int,
    *,
    seed: int = 0,
    note: Callable[[str, int, Any], None] | None = None,
) -> dict[str, Timing]:
    """Every round asks each contender the same query once, in a new order.

    `note` is told what each answered in which round.
    """
    orders = random.Random(seed)
    names = list(contenders)
    seconds: dict[str, list[float]] = {name: [] for name in names}
    gc.collect()
    gc.disable()  # as timeit does: what one contender leaves behind is not another's cost
    try:
        for number in range(-WARM_UP_ROUNDS, rounds):
            orders.shuffle(names)
            for name in names:
                query = queries[number % len(queries)]
                start = time.perf_counter()
                answer = contenders[name](query)
                taken = time.perf_counter() - start
                if number >= 0:
                    seconds[name].append(taken)
                    if note is not None:
                        note(name, number, answer)
    finally:
        gc.enable()
    return {name: Timing(tuple(taken)) for name, taken in seconds.items()}


def print_table(heading: str, rows: Iterable[Sequence[object]]) -> None:
    """A Markdown table; `heading` has its columns, with | between them. Each row appears as it is
    known."""
    columns = heading.split("|")
    print(f"\n| {' | '.join(columns)} |\n{len(columns) * '|---'}|", flush=True)
    for row in rows:
        print(f"| {' | '.join(map(shown, row))} |", flush=True)


def shown(cell: object) -> str:
    """A number with as many digits as matter."""
    if not isinstance(cell, float):
        return f"{cell:,}" if isinstance(cell, int) else str(cell)
    return (
        f"{cell:,.0f}" if abs(cell) >= 100 else f"{cell:.1f}" if abs(cell) >= 10 else f"{cell:.2f}"
    )


def say(text: str) -> None:
    """What is being done, beside the tables."""
    print(f"{text} …", file=sys.stderr, flush=True)


def print_machine() -> None:
    """Processor, cores, memory, system and Python, as far as they are told."""
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30
    print(
        f"{os.cpu_count()} cores ({_processor()}), {memory:.0f} GiB, "
        f"{platform.system()} {platform.release()}, Python {platform.python_version()}"
    )


def _processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        lines = []
    names = (line.partition(":")[2].strip() for line in lines if line.startswith("model name"))
    return next(names, platform.machine())
