"""Timing contenders against each other, so that a disturbance meets them all."""

from __future__ import annotations

import gc
import random
import statistics
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from rich.progress import Progress

from benchmarks.contenders import Contender
from benchmarks.data import Floats

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

    @property
    def slow(self) -> float:
        """The 90th percentile."""
        return statistics.quantiles(self.seconds, n=10)[-1]


def measured(
    contenders: Mapping[str, Contender],
    queries: Sequence[Floats],
    rounds: int,
    progress: Progress,
    *,
    seed: int = 0,
) -> dict[str, Timing]:
    """Every round asks each contender the same query once, in a new order."""
    orders = random.Random(seed)
    names = list(contenders)
    seconds: dict[str, list[float]] = {name: [] for name in names}
    task = progress.add_task("measuring", total=WARM_UP_ROUNDS + rounds)
    gc.collect()
    gc.disable()  # as timeit does: what one contender leaves behind is not another's cost
    try:
        for number in range(-WARM_UP_ROUNDS, rounds):
            orders.shuffle(names)
            for name in names:
                taken = _timed(contenders[name], queries[number % len(queries)])
                if number >= 0:
                    seconds[name].append(taken)
            progress.advance(task)
    finally:
        gc.enable()
    progress.remove_task(task)
    return {name: Timing(tuple(taken)) for name, taken in seconds.items()}


def _timed(contender: Contender, query: Floats) -> float:
    start = time.perf_counter()
    contender(query)
    return time.perf_counter() - start
