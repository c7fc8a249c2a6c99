"""The progress bar of a measurement."""

from __future__ import annotations

import threading
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import TypeVar

import psycopg
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

T = TypeVar("T")

POLL = 0.5
"""Seconds between two looks at how far the server is."""
STRIDE = 500
"""Rows between two moves of a bar."""

_BUILDING = """
SELECT sum(blocks_done)::float8, sum(blocks_total)::float8
  FROM pg_stat_progress_create_index WHERE datname = current_database()
"""


def progress_bar() -> Progress:
    """On stderr, gone when it is done."""
    return Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        console=Console(stderr=True),
        transient=True,
    )


def tracked(
    progress: Progress, rows: Iterable[T], total: int, what: str, *, stride: int = STRIDE
) -> Iterator[T]:
    """The rows themselves, with a bar for as long as they come."""
    task = progress.add_task(what, total=total)
    for number, row in enumerate(rows):
        if number % stride == 0:
            progress.update(task, completed=number)
        yield row
    progress.remove_task(task)


@contextmanager
def index_builds(url: str, progress: Progress, what: str) -> Iterator[None]:
    """Shows how many blocks the server has read for the indexes that it builds meanwhile."""
    task = progress.add_task(what, total=None)
    over = threading.Event()

    def look() -> None:
        with psycopg.connect(url, autocommit=True) as connection:
            while not over.wait(POLL):
                [(done, total)] = connection.execute(_BUILDING).fetchall()
                progress.update(task, completed=done or 0, total=total or None)

    looking = threading.Thread(target=look, daemon=True)
    looking.start()
    try:
        yield
    finally:
        over.set()
        looking.join()
        progress.remove_task(task)
