"""Searches per second of several processes, each with a small pool of its own.

Without prepared statements, they search as they have to behind a transaction pooler.
"""

from __future__ import annotations

import multiprocessing
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from threading import Barrier

from rich.progress import Progress

from benchmarks.everyday.agents import agents_of, queries
from benchmarks.everyday.throughput import Asked, alone, repository
from benchmarks.measurement import Measurement

PROCESSES, THREADS = (1, 2, 4), 2
_started: Barrier
"""Of a process: lets all begin together."""


def measurements(url: str, scale: float, seed: int, progress: Progress) -> list[Measurement]:
    """Of agents of 1,000 memories, without touch; each pair measured one after the other, twice."""
    asked = [(agents_of(1_000, scale)[0], query) for query in queries(40, seed)]
    task = progress.add_task("processes", total=2 * 4 * len(PROCESSES))
    found = []
    for prepares in (True, False):
        for number in PROCESSES:
            ours, bare = 0.0, 0.0
            for _ in range(2):
                ours = max(ours, _together(repository, number, url, asked, prepares))
                bare = max(bare, _together(alone, number, url, asked, prepares))
                progress.advance(task, 2)
            what = f"{number} process{'es' if number > 1 else ''}"
            if not prepares:
                what += ", not prepared"
            found += [
                Measurement(f"{what}, searches a second", ours, "1/s"),
                Measurement(f"{what} / psycopg alone", ours / bare, "×"),
            ]
    progress.remove_task(task)
    return found


def _together(
    rate: Callable[..., float], processes: int, url: str, asked: Asked, prepares: bool
) -> float:
    context = multiprocessing.get_context("spawn")
    barrier = context.Barrier(processes)
    with ProcessPoolExecutor(processes, context, _share, (barrier,)) as executor:
        running = [executor.submit(_run, rate, url, asked, prepares) for _ in range(processes)]
        return sum(one.result() for one in running)


def _share(barrier: Barrier) -> None:
    global _started
    _started = barrier


def _run(rate: Callable[..., float], url: str, asked: Asked, prepares: bool) -> float:
    return rate(url, asked, THREADS, prepares, _started.wait)
