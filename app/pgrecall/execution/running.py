"""Runs operations: what the synchronous and the asynchronous repository have in common."""

from __future__ import annotations

from collections.abc import Generator
from dataclasses import dataclass, replace
from functools import partial
from inspect import signature
from time import perf_counter
from typing import Any, TypeVar

from sqlalchemy import Engine

from pgrecall.core.quoting import did_you_mean
from pgrecall.core.steps import (
    Autocommit,
    Call,
    Copy,
    CountTokens,
    Embed,
    Execute,
    FindEntities,
    Inspect,
    Lookup,
    Reads,
    Unlimited,
    Verb,
    Write,
)
from pgrecall.execution.embedding_model import record_model, unrecorded_model
from pgrecall.execution.inspection import inspect, known_layout, remember_layout
from pgrecall.execution.lookups import cache, cached
from pgrecall.execution.watching import Invocation
from pgrecall.schema import Layout, tables
from pgrecall.schema.verbs import lift_limits

T = TypeVar("T")

NO_REPLICA = (
    "reads_from takes an engine, for a repository on an engine: what a transaction has written is "
    "not on a replica yet. On a Connection or Session, leave it out"
)


@dataclass(frozen=True, slots=True)
class Connect:
    """Connects, for all further steps, and returns a former connection to its pool. Result: the
    engine of the connection.

    Requested a second time if a verb follows after only the layout was read in a caller's
    transaction, or to write on the primary after reading on a replica.
    """

    autocommit: bool
    """Whether each statement may be a transaction of its own."""
    refuses: bool = False
    """Whether a statement may fail and leave the caller's transaction usable."""
    snapshot: bool = False
    """Whether all statements must see the database at one moment."""
    replica: bool = False
    """Whether to connect to the repository's replica."""
    compiles: bool = False
    """Whether the server would compile statements (JIT), which takes longer than they do."""


Request = Connect | Embed | CountTokens | FindEntities | Execute | Copy | Call


def running(call: Invocation[T]) -> Generator[Request, Any, T]:
    """One attempt: yields the operation's steps, as requests to a repository.

    The connection is requested at the first step that needs one, and the schema is checked before
    that step. A cached layout needs no connection.
    """
    engine = call.engine
    assert engine is not None
    call.attempts += 1
    call.in_doubt = False
    try:
        steps = call.start()
    except TypeError as error:
        raise _with_advice(error, call.start) from None
    reply: Any = None
    connected: tuple[Engine, Layout] | None = None
    needs, inspected_only = Connect(autocommit=False), False
    unlimited = call.ours and call.of_job
    new_model: str | None = None
    recorded: Layout | None = None
    while True:
        try:
            step = steps.send(reply)
        except StopIteration as done:
            result: T = done.value
            if recorded is not None:
                remember_layout(engine, call.schema, recorded)
            call.result = result
            return result
        if isinstance(step, Autocommit):
            needs, reply = Connect(autocommit=True), None
            continue
        if isinstance(step, Unlimited):
            reply, unlimited = None, call.ours
            continue
        if isinstance(step, Reads):
            call.only_reads = True
            unlimited |= call.ours and step.shared == "snapshot"
            reply = call.replica is not None
            if connected is None:
                engine, needs = _to_read(call, step, engine)
            continue
        if isinstance(step, Call):
            call.may_retry = False  # the caller would be called twice
            reply = yield step
            continue
        if isinstance(step, Embed):
            if step not in call.embeddings:
                began = perf_counter()
                call.embeddings[step] = yield step
                call.embedding_seconds += perf_counter() - began
            reply = call.embeddings[step]
            continue
        if isinstance(step, CountTokens):
            reply = yield step
            continue
        if isinstance(step, FindEntities):
            if step not in call.entities:
                call.entities[step] = yield step
            reply = call.entities[step]
            continue
        if connected is None and isinstance(step, Inspect):
            reply = known_layout(engine, call.schema)
            if reply is not None:
                continue
        if connected is None:
            if isinstance(step, Verb) and not unlimited:
                needs = replace(needs, autocommit=True, refuses=step.refuses)
            layout = known_layout(engine, call.schema)
            if layout is not None and layout.compiles:
                needs = replace(needs, compiles=True)
            engine = yield needs
            if layout is None:
                layout = yield from inspect(call.schema)
                remember_layout(engine, call.schema, layout)
            connected = engine, layout
            if unlimited:
                yield Execute(lift_limits(tables(call.schema)))
            inspected_only = isinstance(step, Inspect)
            new_model = unrecorded_model(call, layout) if call.embeddings else None
        elif inspected_only and isinstance(step, Verb) and not call.ours:
            yield replace(needs, autocommit=True, refuses=step.refuses)
            inspected_only = False
        elif needs.replica and isinstance(step, Write):
            needs = Connect(autocommit=True)
            yield needs
        _, layout = connected
        if new_model is not None and not isinstance(step, Inspect):
            recorded = yield from record_model(call, layout, new_model)
            new_model = None
        match step:
            case Inspect():
                reply = layout
            case Lookup(rows=None):
                reply = cached(engine, step)
                if reply is None:
                    reply = yield Execute(step.statement, step.parameters)
                    cache(engine, step, reply)
            case Lookup():
                reply = step.rows
                cache(engine, step, reply)
            case Verb() | Execute() | Write():
                parameters = step.parameters
                if "durable" in parameters:
                    parameters = {**parameters, "durable": call.durable}
                may_prepare = not isinstance(step, Execute) or step.may_prepare
                counts = isinstance(step, Write) or (isinstance(step, Execute) and step.counts)
                call.counts |= counts
                reply = yield Execute(step.statement, parameters, may_prepare, counts and call.ours)
            case _:
                reply = yield step


def _with_advice(error: TypeError, start: partial[Any]) -> TypeError:
    """The error of Python about the arguments of a call, with the argument that may be meant."""
    taken = [name for name in signature(start.func).parameters if name != "tables"]
    unknown = [name for name in start.keywords if name not in taken]
    return TypeError(f"{error}{did_you_mean(unknown, taken)}" if unknown else str(error))


def _to_read(call: Invocation[Any], step: Reads, primary: Engine) -> tuple[Engine, Connect]:
    """Where a reading operation reads, and how. Jobs read on the primary, to which they write."""
    needs = Connect(step.shared == "nothing", snapshot=step.shared == "snapshot")
    if call.replica is None or call.of_job:
        return primary, needs
    call.engine = call.replica
    return call.replica, replace(needs, replica=True)
