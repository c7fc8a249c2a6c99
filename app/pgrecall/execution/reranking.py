"""Calls rerankers within their budget of time.

A function cannot be interrupted, so it runs in a thread that nobody waits for at the end: neither
the call, nor the program, nor the pool of threads in which embedders run.
"""

from __future__ import annotations

import asyncio
import logging
from concurrent.futures import Future, wait
from contextvars import copy_context
from inspect import iscoroutine
from threading import BoundedSemaphore, Thread
from typing import Any

from pgrecall.core.rerankers import Rerank, Reranker, Verdict, failed, late, stands, verdict
from pgrecall.execution.asking import is_coroutine_function

MOST = 64
"""Calls of functions at a time: those that never end must not fill the process with threads."""
_free = BoundedSemaphore(MOST)
_log = logging.getLogger("pgrecall")


def reranked(rerank: Rerank, query: str, texts: tuple[str, ...]) -> Verdict:
    """The verdict on the texts, within the budget."""
    call = _started(rerank.reranker, query, texts)
    wait([call], rerank.within)
    return _told(call.result() if call.done() else late(rerank.within))


async def areranked(rerank: Rerank, query: str, texts: tuple[str, ...]) -> Verdict:
    """The same, by a coroutine function, too, which is cancelled at the end of the budget."""
    budget = asyncio.timeout(rerank.within)
    try:
        async with budget:
            if is_coroutine_function(rerank.reranker):
                reply: Any = rerank.reranker(query, [*texts])
                return _told(verdict(await reply, len(texts)))
            return _told(await asyncio.wrap_future(_started(rerank.reranker, query, texts)))
    except Exception as error:
        return _told(late(rerank.within) if budget.expired() else failed(error))


def _started(reranker: Reranker, query: str, texts: tuple[str, ...]) -> Future[Verdict]:
    """A call in a thread of its own; its result is a Verdict, whatever happens."""
    call: Future[Verdict] = Future()
    call.set_running_or_notify_cancel()  # so that a caller who is cancelled does not end it
    free = _free
    if not free.acquire(blocking=False):
        call.set_result(stands(f"{MOST} calls of rerankers have not ended"))
        return call

    def work() -> None:
        try:
            reply: Any = reranker(query, [*texts])
            if iscoroutine(reply):
                reply.close()
                raise TypeError("it returned a coroutine, but is no coroutine function")
            done = verdict(reply, len(texts))
        except BaseException as error:
            done = failed(error)
        free.release()
        call.set_result(done)

    try:
        Thread(target=copy_context().run, args=[work], name="pgrecall-rerank", daemon=True).start()
    except RuntimeError as error:  # no more threads
        free.release()
        call.set_result(failed(error))
    return call


def _told(done: Verdict) -> Verdict:
    """The verdict, after a warning if there is none."""
    if done.values is None:
        _log.warning("the order by score stands: %s", done.reason)
    return done
