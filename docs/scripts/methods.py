"""Griffe extension: methods of the repositories as their callers see them.

They are made from operations (`present_as`), so the class holds only assignments. Which operation
stands behind a method is asked of the class itself; signature and docstring are the operation's,
less its tables; it returns what the operation ends with. `**arguments: Unpack[…]` is written out.
"""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from importlib import import_module
from typing import Any

import griffe

MODULES = ("execution.synchronous", "execution.asynchronous")


class Methods(griffe.Extension):
    """Replaces the assignments in the classes of MODULES by functions."""

    def on_package(self, *, pkg: griffe.Module, **_: Any) -> None:
        if pkg.name != "pgrecall":
            return
        for name in MODULES:
            for there in _classes(f"pgrecall.{name}"):
                self._show(pkg, pkg[f"{name}.{there.__name__}"], there)

    def _show(self, pkg: griffe.Module, shown: Any, there: type) -> None:
        for method, function in vars(there).items():
            operation = getattr(function, "__wrapped__", None)
            if operation is not None:
                source = pkg[_path(operation)]
                takes_tables = "tables" in inspect.signature(operation).parameters
                is_async = inspect.iscoroutinefunction(function)
                made = _method(source, method, shown, takes_tables, is_async)
                made.parameters = griffe.Parameters(*_written_out(made.parameters, pkg))
                shown.set_member(method, made)


def _classes(name: str) -> Iterator[type]:
    """Those that are defined in a module."""
    for value in vars(import_module(name)).values():
        if inspect.isclass(value) and value.__module__ == name:
            yield value


def _path(operation: Any) -> str:
    return f"{operation.__module__}.{operation.__qualname__}".removeprefix("pgrecall.")


def _method(
    source: griffe.Function, name: str, parent: Any, takes_tables: bool, is_async: bool
) -> griffe.Function:
    parameters = list(source.parameters)[1:] if takes_tables else list(source.parameters)
    itself = griffe.Parameter("self", kind=griffe.ParameterKind.positional_only)
    made = griffe.Function(
        name,
        lineno=parent.members[name].lineno,
        endlineno=parent.members[name].endlineno,
        parameters=griffe.Parameters(itself, *parameters),
        returns=_result(source.returns),
        docstring=source.docstring,
        parent=parent,
    )
    made.labels |= {"async"} if is_async else set()
    return made


def _written_out(parameters: griffe.Parameters, pkg: griffe.Module) -> Iterator[griffe.Parameter]:
    """The parameters, with the keys of a TypedDict in the place of `**arguments`."""
    for parameter in parameters:
        annotation = parameter.annotation
        if not str(annotation).startswith("Unpack["):
            yield parameter
            continue
        assert isinstance(annotation, griffe.ExprSubscript)
        unpacked: Any = annotation.slice
        keys: Any = pkg[unpacked.canonical_path.removeprefix("pgrecall.")]
        for name, key in keys.all_members.items():
            yield griffe.Parameter(
                name,
                annotation=key.annotation,
                kind=griffe.ParameterKind.keyword_only,
                default="...",
            )


def _result(returns: Any) -> Any:
    """T of Operation[T] or Job[T]."""
    return returns.slice if isinstance(returns, griffe.ExprSubscript) else returns
