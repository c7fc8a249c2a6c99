"""Methods that are made from their operations when they are first looked up.

Importing all operations takes longer than a search, and most programs call few of them.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from types import ModuleType
from typing import Any

from pgrecall.execution.presenting import present_as, takes_tables

Operation = Callable[[], Callable[..., Any]]
"""Imports an operation or a job, and returns it."""


class Operations:
    """A module of operations and jobs, of which an attribute is an Operation."""

    def __init__(self, module: str) -> None:
        self._module = f"pgrecall.{module}"

    def __getattr__(self, name: str) -> Operation:
        return lambda: getattr(import_module(self._module), name)


class LateMethod:
    """Replaces itself in its class by the method."""

    def __init__(self, owner: type, name: str, operation: Operation, running: ModuleType) -> None:
        self._owner, self._name = owner, name
        self._operation, self._running = operation, running

    def __get__(self, instance: Any, owner: type | None = None) -> Any:
        operation = self._operation()
        is_job = not takes_tables(operation)
        make = self._running.method_of_job if is_job else self._running.method_of
        method: Any = present_as(make(operation), operation, self._owner, self._name)
        setattr(self._owner, self._name, method)
        return method.__get__(instance, owner)
