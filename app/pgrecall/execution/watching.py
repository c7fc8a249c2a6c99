"""Reports calls: by the logger `pgrecall`, and as spans if OpenTelemetry is in use."""

from __future__ import annotations

import logging
import sys
from collections.abc import Generator, Iterator
from contextlib import contextmanager, nullcontext
from functools import partial
from time import perf_counter
from typing import Any, Generic, TypeVar
from uuid import UUID

from sqlalchemy import Engine

from pgrecall.context.assembled import Context
from pgrecall.core.entity_finding import Found
from pgrecall.core.quoting import shortened
from pgrecall.core.steps import Embed, Embedded, FindEntities
from pgrecall.schema import Tables

T = TypeVar("T")

_log = logging.getLogger("pgrecall")
_LONGEST_OWNER = 40
_NOT_TRACED: Any = nullcontext()


class Invocation(Generic[T]):
    """One call of an operation, with all its attempts, or of a job, which has no engine."""

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
    ) -> None:
        self.start, self.tables = start, tables
        self.schema: str = tables.memories.schema or ""
        self.engine = engine
        """That of the replica once the operation reads there."""
        self.replica, self.of_job = replica, job is not None
        self.name = f"{job}.{start.func.__name__}" if job else start.func.__name__
        self.durable = durable or not ours
        """Whether the commit of a touch waits for the disk."""
        self.ours = ours
        """Whether the transaction is its own, and not the caller's, who may roll it back."""
        self.embeddings: dict[Embed, Embedded] = {}
        self.entities: dict[FindEntities, Found | None] = {}
        """Results of former attempts, so that a retry does not compute them again."""
        self.attempts = 0
        self.only_reads = False
        """Whether it only reads, apart from counting retrievals."""
        self.counts = False
        """Whether it has counted retrievals."""
        self.is_connected = False
        self.is_alone = False
        """Whether each of its statements is a transaction of its own."""
        self.in_doubt = False
        """Whether a change was sent, and not answered yet."""
        self.may_retry = True
        """Whether no function of the caller has been called yet."""
        self.embedding_seconds = 0.0
        self.began, self.seconds = perf_counter(), 0.0
        self.result: T | None = None
        self.error: str | None = None
        self.sqlstate: str | None = None

    @property
    def owner(self) -> str | None:
        """The owner's id, shortened to 40 characters."""
        given = self.start.args if self.engine is None else self.start.args[1:]  # without tables
        named = self.start.keywords
        owner = given[0] if given else named.get("agent_id", named.get("owner_id"))
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
                "rows": self.rows,
                "strategy": self.strategy,
                "retries": self.retries,
                "error": self.error,
                "sqlstate": self.sqlstate,
            }
        )

    def failed(self, error: BaseException) -> None:
        """Notes the error that ends the call."""
        cause = error.__cause__
        self.error = type(error).__name__
        self.sqlstate = getattr(getattr(cause, "orig", cause), "sqlstate", None)

    def ended(self, slow_after: float | None = None) -> None:
        """Logs the call: at WARNING if it took more than `slow_after` s, else at DEBUG."""
        self.seconds = perf_counter() - self.began
        is_slow = slow_after is not None and self.seconds > slow_after
        level = logging.WARNING if is_slow else logging.DEBUG
        if _log.isEnabledFor(level):
            facts = self.facts()
            line = " ".join(f"{name}={value}" for name, value in facts.items())
            _log.log(level, "%s", line, extra={"pgrecall": facts})


@contextmanager
def watched(call: Invocation[T], slow_after: float | None = None) -> Iterator[Invocation[T]]:
    """Runs the call and logs it, within its span."""
    with traced(call):
        try:
            yield call
        except BaseException as error:
            call.failed(error)
            raise
        finally:
            call.ended(slow_after)


def known(values: dict[str, Any]) -> dict[str, Any]:
    """The values that are not None."""
    return {name: value for name, value in values.items() if value is not None}


def traced(call: Invocation[Any]) -> Any:
    """A span if OpenTelemetry has been imported. Without that there is no provider to report to."""
    if "opentelemetry.trace" not in sys.modules:
        return _NOT_TRACED
    from pgrecall.execution import telemetry

    return telemetry.traced(call)
