"""Names, docstrings and signatures of methods that are made from operations."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import update_wrapper
from inspect import Parameter, signature
from typing import Any, TypeVar

from pgrecall.core.memory import UNSET
from pgrecall.memories.changing import MemoryChanges
from pgrecall.ranking.arguments import DEFAULTS
from pgrecall.ranking.filters import FilterArguments

T = TypeVar("T")


def takes_tables(operation: Callable[..., Any]) -> bool:
    """Whether this is an operation, which takes tables, and not a job."""
    return "tables" in signature(operation).parameters


def present_as(
    method: Callable[..., T], operation: Callable[..., Any], owner: type, name: str
) -> Callable[..., T]:
    """Gives a method the docstring and signature of an operation or a job, and its name.

    Tracebacks and profilers show that name too. In the signature, the keys of the TypedDict replace
    `**arguments: Unpack[…]`.
    """
    update_wrapper(method, operation)
    method.__module__, method.__name__ = owner.__module__, name
    method.__qualname__ = f"{owner.__qualname__}.{name}"
    made: Any = method
    made.__code__ = made.__code__.replace(co_name=name, co_qualname=method.__qualname__)
    written = signature(operation)
    parameters = list(written.parameters.values())[takes_tables(operation) :]
    self = Parameter("self", Parameter.POSITIONAL_OR_KEYWORD)
    shown = [self, *_written_out(parameters, operation)]
    returned = written.return_annotation.partition("[")[2].removesuffix("]")  # T of Operation[T]
    made.__signature__ = written.replace(parameters=shown, return_annotation=returned)
    return method


def _written_out(parameters: list[Parameter], operation: Callable[..., Any]) -> Iterator[Parameter]:
    for parameter in parameters:
        if parameter.kind is not Parameter.VAR_KEYWORD:
            yield parameter
            continue
        name = parameter.annotation.removeprefix("Unpack[").removesuffix("]")
        taken = operation.__globals__[name]
        hints: dict[str, Any] = taken.__annotations__
        if taken is MemoryChanges:
            defaults: dict[str, Any] = dict.fromkeys(hints, UNSET)
        else:
            own_first = sorted(hints, key=FilterArguments.__annotations__.__contains__)
            defaults = {key: DEFAULTS.get(key) for key in own_first}
        for key, default in defaults.items():
            hint = hints[key].__forward_arg__
            yield Parameter(key, Parameter.KEYWORD_ONLY, default=default, annotation=hint)
