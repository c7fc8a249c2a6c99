"""Answers steps that need no connection: by the caller's functions, or by the repository's tools.

The asynchronous repository awaits what can be awaited, and runs other tools in a thread.
"""

from __future__ import annotations

import asyncio
import logging
from concurrent.futures import Future, wait
from contextvars import copy_context
from inspect import isawaitable, iscoroutine, iscoroutinefunction
from threading import BoundedSemaphore, Thread
from typing import Any, NamedTuple

from pgrecall.core.computing import computed
from pgrecall.core.embedders import AsyncEmbedder, Embedded, Embedder, model_name
from pgrecall.core.entity_finding import EntityFinder, Found, checked_names, found
from pgrecall.core.rerankers import Rerank, Reranker, Verdict, failed, late, stands, verdict
from pgrecall.core.steps import Ask
from pgrecall.core.tokens import TokenCounter, counted
from pgrecall.errors import EmbedderRequired, InputError


class Tools(NamedTuple):
    """A repository's arguments for embedding texts, counting tokens, finding entities and
    reranking."""

    embedder: Embedder | AsyncEmbedder | None
    token_counter: TokenCounter
    entities: EntityFinder | None
    reranker: Rerank | None


def answer(step: Ask, tools: Tools) -> Any:
    texts = step.arguments
    match step.function:
        case "embed":
            return _embedded(tools, texts, _sync(tools).embed_documents([*texts]))
        case "embed_query":
            return _embedded(tools, texts, [_sync(tools).embed_query(*texts)])
        case "count_tokens":
            return counted(tools.token_counter, texts)
        case "find_entities":
            return found(tools.entities, texts)
        case "compute":
            [compute] = texts
            return compute()
        case "reranker":
            return _reranker(tools, *texts, awaits=False)
        case "rerank":
            return reranked(*texts)
        case function:
            assert callable(function)
            return function(*texts)


async def aanswer(step: Ask, tools: Tools) -> Any:
    texts, embedder, finder = step.arguments, tools.embedder, tools.entities
    if callable(step.function):
        answered = step.function(*step.arguments)
        return await answered if isawaitable(answered) else answered
    if step.function == "compute":
        return await computed(*texts)
    if step.function == "embed" and isinstance(embedder, AsyncEmbedder):
        return _embedded(tools, texts, await embedder.aembed_documents([*texts]))
    if step.function == "embed_query" and isinstance(embedder, AsyncEmbedder):
        return _embedded(tools, texts, [await embedder.aembed_query(*texts)])
    if step.function == "find_entities" and iscoroutinefunction(finder):
        return Found([checked_names(await finder(text)) for text in texts], looks_up=False)
    if step.function == "reranker":
        return _reranker(tools, *texts, awaits=True)
    if step.function == "rerank":
        return await areranked(*texts)
    return await asyncio.to_thread(answer, step, tools)


def _reranker(tools: Tools, wanted: Rerank | bool, *, awaits: bool) -> Rerank:
    """The caller's reranker, or the repository's for True; raises InputError."""
    chosen = wanted if isinstance(wanted, Rerank) else tools.reranker
    if chosen is None:
        raise InputError(
            "rerank=True needs a reranker: pass reranker=… to the repository, or to the service "
            "and the MCP server as --rerank MODULE:OBJECT or PGRECALL_RERANK"
        )
    if is_coroutine_function(chosen.reranker) and not awaits:
        raise InputError(
            "a reranker that is a coroutine function needs AsyncMemoryRepository; pass a plain one"
        )
    return chosen


def is_coroutine_function(function: Any) -> bool:
    """True for a coroutine function, and for an object that is called like one."""
    return iscoroutinefunction(function) or iscoroutinefunction(type(function).__call__)


def _sync(tools: Tools) -> Embedder:
    if tools.embedder is None:
        raise EmbedderRequired()
    assert isinstance(tools.embedder, Embedder)
    return tools.embedder


def _embedded(tools: Tools, texts: tuple[str, ...], made: Any) -> Embedded:
    """Raises InputError unless the embedder returned a vector for each text."""
    vectors = list(made)
    if len(vectors) != len(texts):
        raise InputError(f"the embedder returned {len(vectors)} vectors for {len(texts)} texts")
    return Embedded(vectors, model_name(tools.embedder))


MOST = 64
"""Calls of functions at a time: those that never end must not fill the process with threads."""
_free = BoundedSemaphore(MOST)
_log = logging.getLogger("pgrecall")


def reranked(rerank: Rerank, query: str, texts: tuple[str, ...]) -> Verdict:
    """The verdict on the texts, within the budget."""
    call = _started(rerank.reranker, query, texts)
    wait([call], rerank.timeout)
    return _told(call.result() if call.done() else late(rerank.timeout))


async def areranked(rerank: Rerank, query: str, texts: tuple[str, ...]) -> Verdict:
    """The same, by a coroutine function, too, which is cancelled at the end of the budget."""
    budget = asyncio.timeout(rerank.timeout)
    try:
        async with budget:
            if is_coroutine_function(rerank.reranker):
                reply: Any = rerank.reranker(query, [*texts])
                return _told(verdict(await reply, len(texts)))
            return _told(await asyncio.wrap_future(_started(rerank.reranker, query, texts)))
    except Exception as error:
        return _told(late(rerank.timeout) if budget.expired() else failed(error))


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
