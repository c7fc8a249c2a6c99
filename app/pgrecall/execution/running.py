"""Running an operation: all that does not depend on whether waits are awaited."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator
from dataclasses import dataclass
from functools import partial
from inspect import signature
from time import perf_counter
from typing import Any, TypeVar

from sqlalchemy import Engine

from pgrecall.core.steps import (
    Autocommit,
    Copy,
    CountTokens,
    Embed,
    Execute,
    Inspect,
    Lookup,
    Operation,
    Step,
    Verb,
)
from pgrecall.execution.inspection import inspect, known_layout, remember_layout, require_psycopg
from pgrecall.execution.lookups import keep, kept
from pgrecall.execution.watching import Invocation
from pgrecall.schema import Layout, Tables

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Connect:
    """Answered with the engine behind the connection that further steps run on.

    A second time where a verb follows that comes after nothing but a look at the layout.
    """

    autocommit: bool
    """Whether each statement may be a transaction of its own."""
    refuses: bool = False
    """Whether a statement may fail in a way that leaves a caller's transaction usable."""


Request = Connect | Embed | CountTokens | Execute | Copy


def repeatable(
    operation: Callable[..., Operation[T]], tables: Tables, *args: Any, **kwargs: Any
) -> partial[Operation[T]]:
    """Starts the operation, each time with all that was passed: where it takes an Iterable, a first
    attempt would leave nothing of an iterator to the second."""
    if not any(isinstance(value, Iterator) for value in (*args, *kwargs.values())):
        return partial(operation, tables, *args, **kwargs)
    takes = signature(operation)
    passed = takes.bind(tables, *args, **kwargs)
    for name, value in passed.arguments.items():
        if isinstance(value, Iterator) and "Iterable" in str(takes.parameters[name].annotation):
            passed.arguments[name] = list(value)
    return partial(operation, *passed.args, **passed.kwargs)


def running(call: Invocation[T]) -> Generator[Request, Any, T]:
    """One attempt: the operation's steps as requests that a repository carries out one by one.

    A connection is asked for at the first step that needs one, and the schema is looked at before
    that step runs. What is known of the engine's database takes none.
    """
    engine = call.engine
    assert engine is not None
    call.attempts += 1
    steps = call.start()
    reply: Any = None
    connected: tuple[Engine, Layout] | None = None
    looked_only = autocommit = False
    while True:
        try:
            step = steps.send(reply)
        except StopIteration as done:
            result: T = done.value
            call.result = result
            return result
        if isinstance(step, Autocommit):
            autocommit, reply = True, None
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
        if connected is None and isinstance(step, Inspect):
            reply = known_layout(engine, call.schema)
            if reply is not None:
                continue
        if connected is None:
            connected = yield from _connected(call, _needs(step, autocommit))
            looked_only = isinstance(step, Inspect)
        elif looked_only and isinstance(step, Verb):
            yield _needs(step, autocommit)
            looked_only = False
        _, layout = connected
        match step:
            case Inspect():
                reply = layout
            case Lookup():
                reply = kept(engine, step)
                if reply is None:
                    reply = yield Execute(step.statement, step.parameters)
                    keep(engine, step, reply)
            case Verb() | Execute():
                parameters = step.parameters
                if "durable" in parameters:
                    parameters = {**parameters, "durable": call.durable}
                may_prepare = isinstance(step, Verb) or step.may_prepare
                reply = yield Execute(step.statement, parameters, may_prepare)
            case _:
                reply = yield step


def _needs(step: Step, autocommit: bool) -> Connect:
    if isinstance(step, Verb):
        return Connect(autocommit=True, refuses=step.refuses)
    return Connect(autocommit)


def _connected(
    call: Invocation[Any], needs: Connect
) -> Generator[Request, Any, tuple[Engine, Layout]]:
    engine: Engine = yield needs
    require_psycopg(engine)
    layout = known_layout(engine, call.schema)
    if layout is None:
        layout = yield from inspect(call.schema)
        remember_layout(engine, call.schema, layout)
    return engine, layout
