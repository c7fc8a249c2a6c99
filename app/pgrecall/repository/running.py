"""Running an operation: all that does not depend on whether waits are awaited."""

from __future__ import annotations

from collections.abc import Callable, Generator
from dataclasses import dataclass
from functools import update_wrapper
from inspect import signature
from typing import Any, TypeVar

from sqlalchemy import Engine

from pgrecall.repository.inspection import (
    inspect,
    known_layout,
    remember_layout,
    require_psycopg,
)
from pgrecall.schema import Layout
from pgrecall.steps import Copy, Embed, Embedded, Execute, Inspect, Operation

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Connect:
    """Answered with the engine behind the connection that further steps run on."""


Request = Connect | Embed | Execute | Copy
Embeddings = dict[Embed, Embedded]
"""What was embedded already, so that a repeated attempt does not pay for it again."""


def running(
    start: Callable[[], Operation[T]], schema: str, embeddings: Embeddings
) -> Generator[Request, Any, T]:
    """The operation's steps as requests that a repository carries out one by one.

    A connection is asked for at the first step that needs one, and the schema is looked at before
    that step runs.
    """
    steps = start()
    reply: Any = None
    layout: Layout | None = None
    while True:
        try:
            step = steps.send(reply)
        except StopIteration as done:
            result: T = done.value
            return result
        if isinstance(step, Embed):
            if step not in embeddings:
                embeddings[step] = yield step
            reply = embeddings[step]
            continue
        if layout is None:
            layout = yield from _connected(schema)
        reply = layout if isinstance(step, Inspect) else (yield step)


def _connected(schema: str) -> Generator[Request, Any, Layout]:
    engine: Engine = yield Connect()
    require_psycopg(engine)
    layout = known_layout(engine, schema)
    if layout is None:
        layout = yield from inspect(schema)
        remember_layout(engine, schema, layout)
    return layout


def present_as(method: Callable[..., Any], operation: Callable[..., Any]) -> None:
    """Gives a repository's method the operation's name, docstring and signature."""
    update_wrapper(method, operation)
    first, *others = signature(operation).parameters.values()
    method.__signature__ = signature(operation).replace(  # type: ignore[attr-defined]
        parameters=[first.replace(name="self"), *others]
    )
