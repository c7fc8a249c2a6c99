"""Ends at its limit what waits for a database, though its connection cannot."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from typing import Any, TypeVar

T = TypeVar("T")

CLOSING_SECONDS = 1.0
"""A server has so long to cancel a statement, until its connection is closed."""
_abandoned: set[asyncio.Task[Any]] = set()
"""Tasks that nobody waits for, since the loop itself would forget them."""


class TookTooLong(Exception):
    """The work did not end in time."""


async def within(seconds: float | None, work: Coroutine[Any, Any, T]) -> T:
    """The result of the work; raises TookTooLong at the limit, and lets the work end by itself.

    psycopg asks the server to cancel the statement, which takes it up to ten seconds if the server
    hangs. When it is cancelled again, it closes the connection at once, and the server may go on.
    So the work is cancelled once, however often its caller is (AnyIO cancels until all has ended),
    and again after CLOSING_SECONDS.
    """
    task = asyncio.create_task(work)
    try:
        done, _ = await asyncio.wait((task,), timeout=seconds)
    finally:
        if not task.done():
            _abandon(task)
    if not done:
        raise TookTooLong
    return task.result()


def _abandon(task: asyncio.Task[Any]) -> None:
    task.cancel()
    again = asyncio.get_running_loop().call_later(CLOSING_SECONDS, task.cancel)

    def ended(_: asyncio.Task[Any]) -> None:
        again.cancel()
        _abandoned.discard(task)
        if not task.cancelled():
            task.exception()  # or asyncio would log that nobody has asked for it

    _abandoned.add(task)
    task.add_done_callback(ended)
