"""Typer's application, with help that shows no type beside a flag."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import typer
from typer.core import TyperCommand, TyperGroup

Command = TypeVar("Command", bound=Callable[..., Any])


class _Flags:
    """Typer writes <bool> beside each flag, though none takes a value."""

    def get_params(self, context: Any) -> list[Any]:
        params: list[Any] = super().get_params(context)  # type: ignore[misc]
        for param in params:
            if getattr(param, "is_flag", False):
                param.metavar = ""
        return params


class _Command(_Flags, TyperCommand):
    pass


class _Group(_Flags, TyperGroup):
    pass


class App(typer.Typer):
    """A group of commands; `panel` is where the help lists those that name no other."""

    def __init__(self, *, panel: str | None = None, **options: Any) -> None:
        super().__init__(cls=_Group, **options)
        self._panel = panel

    def command(self, name: str | None = None, **options: Any) -> Callable[[Command], Command]:
        return super().command(name, cls=_Command, **{"rich_help_panel": self._panel} | options)
