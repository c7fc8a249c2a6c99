"""Typer's application: commands declared by their functions, loaded when they are called."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from importlib import import_module
from pathlib import Path
from typing import Any, ClassVar

import typer
from rich.markup import escape
from typer.core import TyperCommand, TyperGroup

from pgrecall.cli.configuration import PERSONAL, settings, undecided
from pgrecall.cli.declaring import Function, as_command
from pgrecall.cli.embedding import look_for_module
from pgrecall.errors import InputError


class _Flags:
    """Typer writes <bool> beside each flag, though none takes a value."""

    def get_params(self, context: Any) -> list[Any]:
        params: list[Any] = super().get_params(context)  # type: ignore[misc]
        for param in params:
            if getattr(param, "is_flag", False):
                param.metavar = ""
        return params


class _Command(_Flags, TyperCommand):
    """A command whose options may be given by a file if they may be given by the environment."""

    def make_context(self, *arguments: Any, **more: Any) -> Any:
        found = settings()
        shared = {one.name for one in self.params if getattr(one, "envvar", None)}
        defaults = {name: one.value for name, one in found.used.items() if name in shared}
        context: Any = super().make_context(*arguments, default_map=defaults, **more)
        if context.resilient_parsing:  # only to complete what is typed
            return context
        given_by = {name: context.get_parameter_source(name).name for name in shared}
        if context.params.get("vector") is not None:  # then nothing is embedded
            given_by.pop("embedder", None)
        by_no_user = ("DEFAULT", "DEFAULT_MAP")
        needed = [name for name in PERSONAL if given_by.get(name) in by_no_user]
        if question := undecided(found, needed):
            raise InputError(question)
        if given_by.get("embedder") == "COMMANDLINE":
            look_for_module(context.params["embedder"], Path.cwd())
        elif given_by.get("embedder") == "DEFAULT_MAP":
            setting = found.used["embedder"]
            look_for_module(setting.value, setting.file.parent)
        return context


class Group(_Flags, TyperGroup):
    """Commands with a name in common."""


class LateGroup(Group):
    """A group that imports a command's module when the command is called: all together take
    longer than most commands."""

    modules: ClassVar[Mapping[str, str]]
    """Command → its module in pgrecall.cli, in the order of the help."""

    def list_commands(self, context: Any) -> list[str]:
        return list(self.modules)

    def get_command(self, context: Any, name: str) -> Any:
        if name not in self.modules:  # Typer suggests what is alike among those that are loaded
            for known in self.modules:
                self.get_command(context, known)
        elif name not in self.commands:
            app: App = import_module(f"pgrecall.cli.{self.modules[name]}").app
            group: Any = typer.main.get_group(app)
            if group.name == name:
                group.rich_help_panel = app.panel
            self.commands.update({name: group} if group.name == name else group.commands)
        return self.commands.get(name)


class App(typer.Typer):
    """A group of commands; `panel` is where the help lists them."""

    def __init__(self, *, panel: str, cls: type[Group] = Group, **options: Any) -> None:
        super().__init__(cls=cls, rich_markup_mode="rich", **options)
        self.panel = panel

    def declare(
        self, *examples: str, name: str | None = None, panel: str | None = None
    ) -> Callable[[Function], Function]:
        """Makes a command of a function, see `as_command`; the help ends with the examples."""

        def declared(function: Function) -> Function:
            self.command(
                name,
                cls=_Command,
                rich_help_panel=panel or (None if self.info.name else self.panel),
                epilog="\n".join(["[bold]Examples:[/]", *map(escape, examples)]),
            )(as_command(function))
            return function

        return declared
