"""Long computations in a thread, which end once nobody waits for them.

A thread cannot be cancelled, so what computes asks now and then whether to go on.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from contextvars import ContextVar
from typing import TypeVar

T = TypeVar("T")

_abandoned: ContextVar[threading.Event | None] = ContextVar("abandoned", default=None)


class Abandoned(Exception):
    """Nobody waits for the result any more."""


async def computed(compute: Callable[[], T]) -> T:
    """The result of a function that runs in a thread. When this is cancelled, `go_on` ends it."""
    abandoned = threading.Event()

    def run() -> T:
        _abandoned.set(abandoned)  # in the thread's own copy of the context
        return compute()

    try:
        return await asyncio.to_thread(run)
    finally:
        abandoned.set()


def go_on() -> None:
    """Raises Abandoned if this thread computes what nobody waits for any more."""
    abandoned = _abandoned.get()
    if abandoned is not None and abandoned.is_set():
        raise Abandoned
