"""Timing contenders against each other, so that a disturbance meets them all."""

from __future__ import annotations

import gc
import random
import statistics
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

from rich.progress import Progress

Q = TypeVar("Q")

WARM_UP_ROUNDS = 12
"""psycopg prepares a statement at its sixth use, PostgreSQL then plans it five times more before
it thinks of keeping a plan."""


@dataclass(frozen=True)
class Timing:
    """Seconds, one per round."""

    seconds: tuple[float, ...]

    @property
    def median(self) -> float:
        return statistics.median(self.seconds)

    @property
    def fastest(self) -> float:
        return min(self.seconds)

    def over(self, other: Timing) -> float:
        """Median of the ratios within a round."""
        return statistics.median(
            mine / theirs for mine, theirs in zip(self.seconds, other.seconds, strict=True)
        )

    @property
    def slow(self) -> float:
        """The 90th percentile."""
        return statistics.quantiles(self.seconds, n=10)[-1]

    @property
    def p95(self) -> float:
        return statistics.quantiles(self.seconds, n=20)[-1]

    @property
    def p99(self) -> float:
        return statistics.quantiles(self.seconds, n=100, method="inclusive")[-1]


def measured(
    contenders: Mapping[str, Callable[[Q], Any]],
    queries: Sequence[Q],
    rounds: int,
    progress: Progress,
    *,
    seed: int = 0,
    note: Callable[[str, int, Any], None] | None = None,
    what: str = "measuring",
) -> dict[str, Timing]:
    """Every round asks each contender the same query once, in a new order.

    `note` is told what each answered in which round.
    """
    orders = random.Random(seed)
    names = list(contenders)
    seconds: dict[str, list[float]] = {name: [] for name in names}
    task = progress.add_task(what, total=WARM_UP_ROUNDS + rounds)
    gc.collect()
    gc.disable()  # as timeit does: what one contender leaves behind is not another's cost
    try:
        for number in range(-WARM_UP_ROUNDS, rounds):
            orders.shuffle(names)
            for name in names:
                taken, answer = _timed(contenders[name], queries[number % len(queries)])
                if number >= 0:
                    seconds[name].append(taken)
                    if note is not None:
                        note(name, number, answer)
            progress.advance(task)
    finally:
        gc.enable()
    progress.remove_task(task)
    return {name: Timing(tuple(taken)) for name, taken in seconds.items()}


def _timed(contender: Callable[[Q], Any], query: Q) -> tuple[float, Any]:
    start = time.perf_counter()
    answer = contender(query)
    return time.perf_counter() - start, answer
