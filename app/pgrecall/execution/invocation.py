"""Calls: the attempts of an operation, and its facts for the log and OpenTelemetry."""

from __future__ import annotations

import logging
import random
import sys
import time
from collections.abc import Callable, Generator
from dataclasses import dataclass, replace
from enum import Enum
from functools import partial
from inspect import signature
from time import perf_counter
from typing import Any, Generic, Self, TypeVar
from uuid import UUID
from weakref import WeakKeyDictionary

from sqlalchemy import Engine

from pgrecall.context.assembled import Context
from pgrecall.core.quoting import did_you_mean, shortened
from pgrecall.core.steps import ALONE, EMBEDS, TRANSACTION, Afterwards, Ask, Copy, Keep, Mode, Run
from pgrecall.errors import DatabaseConflict, DatabaseUnavailable
from pgrecall.execution.inspection import LAYOUTS, inspect, record_model, unrecorded_model
from pgrecall.schema import Layout, Tables, tables
from pgrecall.schema.verbs import lift_limits

T = TypeVar("T")

_log = logging.getLogger("pgrecall")
_LONGEST_OWNER = 40
MAX_ATTEMPTS = 6
TTL_SECONDS = 5.0
MAX_ENTRIES = 10_000
"""Maximum number of cached statements of one engine. Beyond it, the cache is cleared."""
_caches: WeakKeyDictionary[Engine, dict[Any, tuple[float, Any]]] = WeakKeyDictionary()
NO_REPLICA = (
    "reads_from takes an engine, for a repository on an engine: what a transaction has written is "
    "not on a replica yet. On a Connection or Session, leave it out"
)


@dataclass(frozen=True, slots=True)
class ConnectionRequest:
    """Connects, for all further steps, and returns a former connection to its pool. Result: the
    engine of the connection.

    Requested a second time to count on the primary after reading on a replica.
    """

    mode: Mode
    replica: bool = False
    """True: connect to the repository's replica."""
    compiles: bool = False
    """True if the server would compile statements (JIT), which takes longer than they do."""


class Release(Enum):
    """Returns the connection to its pool; the next step that needs one requests it anew."""

    RELEASE = 1


RELEASE = Release.RELEASE
Request = ConnectionRequest | Release | Ask | Run | Copy


class Invocation(Generic[T]):
    """One call of an operation, with all its attempts, or of a job, which has no engine.

    As a context, it is logged at its end, and a span if OpenTelemetry is in use.
    """

    def __init__(
        self,
        start: partial[Generator[Any, Any, T]],
        tables: Tables,
        engine: Engine | None = None,
        *,
        replica: Engine | None = None,
        job: str | None = None,
        durable: bool = True,
        ours: bool = True,
        slow_after: float | None = None,
    ) -> None:
        self.start, self.tables = start, tables
        self.schema: str = tables.memories.schema or ""
        self.engine = engine
        """That of the replica once the operation reads there."""
        self.replica, self.of_job = replica, job is not None
        self.name = f"{job}.{start.func.__name__}" if job else start.func.__name__
        self.durable = durable or not ours
        """True if the commit of a touch waits for the disk."""
        self.ours = ours
        """True if the transaction is its own, and not the caller's, who may roll it back."""
        self.answers: dict[Ask, Any] = {}
        """The repository's answers, so that a retry does not ask again."""
        self.slow_after = slow_after
        """Seconds from which on the call is logged as slow."""
        self._span: Any = None
        self.attempts = 0
        self.layout: Layout | None = None
        """That of the database it is connected to."""
        self.only_reads = False
        """True if it only reads, apart from counting retrievals."""
        self.counts = False
        """True if it has counted retrievals."""
        self.is_connected = False
        self.is_alone = False
        """True if each of its statements is a transaction of its own."""
        self.in_doubt = False
        """True if a change was sent, and not answered yet."""
        self.afterwards: Afterwards | None = None
        """What to do once it is committed."""
        self.may_retry = True
        """True if no function of the caller has been called yet."""
        self.embedding_seconds, self.reranking_seconds = 0.0, 0.0
        self.began, self.seconds = perf_counter(), 0.0
        self.result: T | None = None
        self.error: str | None = None
        self.sqlstate: str | None = None

    @property
    def owner(self) -> str | None:
        """The owner's id, shortened to 40 characters."""
        arguments = self.start.args[self.engine is not None :]  # without tables
        named = self.start.keywords
        owner = arguments[0] if arguments else named.get("agent_id", named.get("owner_id"))
        if isinstance(owner, UUID):
            owner = str(owner)
        if not isinstance(owner, str):
            return None
        prefix = self.tables.prefix
        return shortened(prefix + owner.removeprefix(prefix), _LONGEST_OWNER)

    @property
    def rows(self) -> int | None:
        """The number of results, or the result itself if it is a number."""
        result = self.result
        if isinstance(result, Context):
            return len(result.packed)
        if isinstance(result, list | set | dict):
            return len(result)
        return result if type(result) is int else None

    @property
    def strategy(self) -> str | None:
        """The strategy that a search used."""
        return getattr(self.result, "strategy", None)

    @property
    def retries(self) -> int | None:
        """Number of retries after deadlocks and serialization failures; None if there were none."""
        return self.attempts - 1 if self.attempts > 1 else None

    def facts(self) -> dict[str, Any]:
        """The fields to log. No texts, vectors or messages of errors, which may quote these."""
        return known(
            {
                "operation": self.name,
                "owner": self.owner,
                "duration_ms": round(1e3 * self.seconds, 2),
                "embedding_ms": round(1e3 * self.embedding_seconds, 2) or None,
                "reranking_ms": round(1e3 * self.reranking_seconds, 2) or None,
                "rows": self.rows,
                "strategy": self.strategy,
                "retries": self.retries,
                "error": self.error,
                "sqlstate": self.sqlstate,
            }
        )

    def __enter__(self) -> Self:
        if "opentelemetry.trace" in sys.modules:  # without it there is no provider to report to
            from pgrecall.execution import telemetry

            self._span = telemetry.traced(self)
            self._span.__enter__()
        return self

    def __exit__(self, kind: Any, error: BaseException | None, traceback: Any) -> None:
        self.seconds = perf_counter() - self.began
        if error is not None:
            cause = error.__cause__
            self.error = type(error).__name__
            self.sqlstate = getattr(getattr(cause, "orig", cause), "sqlstate", None)
        is_slow = self.slow_after is not None and self.seconds > self.slow_after
        level = logging.WARNING if is_slow else logging.DEBUG
        if _log.isEnabledFor(level):
            facts = self.facts()
            line = " ".join(f"{name}={value}" for name, value in facts.items())
            _log.log(level, "%s", line, extra={"pgrecall": facts})
        if self._span is not None:
            self._span.__exit__(kind, error, traceback)

    def attempt(self) -> Generator[Request, Any, T]:
        """One attempt: yields the operation's steps, as requests to a repository.

        The connection is requested at the first step that needs one, and the schema is checked
        before that step. A layout that is known needs no connection.
        """
        assert self.engine is not None
        self.attempts += 1
        self.in_doubt, self.layout = False, None
        try:
            steps = self.start()
        except TypeError as error:
            raise _with_advice(error, self.start) from None
        new_model: str | None = None
        recorded: Layout | None = None
        connect: ConnectionRequest | None = None
        reply: Any = None
        while True:
            try:
                step = steps.send(reply)
            except StopIteration as done:
                result: T = done.value
                if recorded is not None:
                    LAYOUTS.setdefault(self.engine, {})[self.schema] = recorded
                self.result = result
                return result
            if isinstance(step, Afterwards):
                self.afterwards, reply = step if self.ours else None, None
                continue
            if connect is None:  # the arguments are checked by now
                connect = self._needs()
            if isinstance(step, Ask) and step.function != "layout":
                if step.function == "replica":
                    reply = connect.replica
                elif callable(step.function):
                    self.may_retry = False  # the caller would be called twice
                    reply = yield step
                else:
                    if step not in self.answers:
                        if step.function == "rerank" and connect.mode.alone and self.ours:
                            yield RELEASE
                            self.layout = None
                        began = perf_counter()
                        self.answers[step] = yield step
                        if step.function in EMBEDS:
                            self.embedding_seconds += perf_counter() - began
                        elif step.function == "rerank":
                            self.reranking_seconds += perf_counter() - began
                    reply = self.answers[step]
                continue
            known = self.layout or LAYOUTS.get(self.engine, {}).get(self.schema)
            if isinstance(step, Ask) and known is not None:
                reply = known
                continue
            if self.layout is None:
                if known is not None and known.compiles:
                    connect = replace(connect, compiles=True)
                engine = yield connect
                if known is None:
                    known = yield from inspect(self.schema)
                    LAYOUTS.setdefault(engine, {})[self.schema] = known
                self.layout = known
                if connect.mode.unlimited:
                    yield lift_limits(tables(self.schema))
                if self.answers:
                    new_model = unrecorded_model(self.schema, self.answers, known)
            if isinstance(step, Ask):
                reply = known
                continue
            if new_model is not None:
                assert known is not None
                recorded = yield from record_model(self.schema, known, new_model, ours=self.ours)
                new_model = None
            if isinstance(step, Copy):
                reply = yield step
                continue
            if step.counts and connect.replica:
                connect = ConnectionRequest(ALONE)
                yield connect
            self.counts |= step.counts
            if step.keep is not None:
                reply = yield from kept(self.engine, step, step.keep)
                continue
            if not self.durable and "durable" in step.parameters:
                step = step._replace(parameters={**step.parameters, "durable": False})
            reply = yield step

    def _needs(self) -> ConnectionRequest:
        """The connection that the operation needs, with these arguments."""
        mode: Mode | Callable[..., Mode] = getattr(self.start.func, "mode", TRANSACTION)
        if not isinstance(mode, Mode):
            mode = mode(*self.start.args, **self.start.keywords)
        if mode.unlimited or self.of_job:
            # Limits are lifted for a transaction, but not for the caller's.
            mode = replace(mode, alone=mode.alone and not self.ours, unlimited=self.ours)
        self.only_reads |= mode.reads
        if not mode.reads or self.replica is None or self.of_job:
            return ConnectionRequest(mode)
        self.engine = self.replica
        return ConnectionRequest(mode, replica=True)


def known(values: dict[str, Any]) -> dict[str, Any]:
    """The values that are not None."""
    return {name: value for name, value in values.items() if value is not None}


def _with_advice(error: TypeError, start: partial[Any]) -> TypeError:
    """The error of Python about the arguments of a call, with the argument that may be meant."""
    taken = [name for name in signature(start.func).parameters if name != "tables"]
    unknown = [name for name in start.keywords if name not in taken]
    return TypeError(f"{error}{did_you_mean(unknown, taken)}" if unknown else str(error))


def pause(call: Invocation[Any], error: DatabaseConflict | DatabaseUnavailable) -> float | None:
    """Seconds until the call is attempted again; None if it is not."""
    if isinstance(error, DatabaseUnavailable):
        reads = call.only_reads and call.may_retry and not call.counts
        return 0.0 if call.ours and reads and call.is_connected and call.attempts == 1 else None
    if not call.may_retry or call.attempts >= (MAX_ATTEMPTS if call.ours else 2):
        return None
    # Random, so that rivals do not meet again.
    return random.uniform(0, 0.01 * 2 ** (call.attempts + 1))


def kept(engine: Engine, step: Run, keep: Keep) -> Generator[Run, Any, Any]:
    """The rows if they are known and less than TTL_SECONDS old, or else those of the statement."""
    entries = _caches.setdefault(engine, {})
    if keep.anew:
        entries.clear()
    key = step.statement, repr(step.parameters)
    at, rows = entries.get(key, (0.0, None))
    if keep.outdated is not None:
        if rows is not None and keep.outdated(rows):
            del entries[key]
        return rows
    if keep.rows is not None:
        rows = keep.rows
    elif rows is not None and time.monotonic() - at < TTL_SECONDS:
        return rows
    else:
        rows = yield step
    if len(entries) >= MAX_ENTRIES:
        entries.clear()
    entries[key] = time.monotonic(), rows
    return rows
