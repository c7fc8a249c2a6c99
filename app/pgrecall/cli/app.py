"""Typer's application: commands declared by their functions, loaded when they are called.

Nothing here imports what only commands need, so that completion, --help and --version are quick.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, TypeVar

import typer
from typer.core import TyperCommand, TyperGroup

if TYPE_CHECKING:
    from pgrecall.cli.call import Method
    from pgrecall.cli.output import Output

_MEANT: Mapping[str, str] = {
    **dict.fromkeys(("--limit", "--top", "--top-k", "-n"), "-k"),
    **dict.fromkeys(("--cursor", "--next"), "--after"),
    "--format": "--json",
}
"""An option by its name elsewhere → its name here, in commands that have it."""
Declared = TypeVar("Declared", bound="Callable[..., Output | None]")


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

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        try:
            return super().parse_args(ctx, args)
        except Exception as problem:
            if hasattr(problem, "possibilities"):  # NoSuchOption of Typer, or before it of Click
                meant = _MEANT.get(getattr(problem, "option_name", ""))
                if any(meant in one.opts for one in self.params):
                    problem.possibilities = [meant]
            raise

    def make_context(self, *arguments: Any, **more: Any) -> Any:
        from pgrecall.cli.configuration import settings, user_file
        from pgrecall.cli.named_objects import look_for_module

        shared = {one.name for one in self.params if getattr(one, "envvar", None)}
        filed = {name: value for name, value in settings().items() if name in shared}
        context: Any = super().make_context(*arguments, default_map=filed, **more)
        folders = {"COMMANDLINE": Path.cwd(), "DEFAULT_MAP": user_file().parent}
        for name in shared & {"embedder", "rerank"}:
            folder = folders.get(context.get_parameter_source(name).name)
            if folder and not context.resilient_parsing:  # which only completes what is typed
                look_for_module(context.params[name], folder)
        return context


class Group(_Flags, TyperGroup):
    """Commands with a name in common."""


class LazyGroup(Group):
    """A group that imports a command's module when the command is called. Importing all modules
    takes longer than most commands."""

    panels: ClassVar[Mapping[str, Mapping[str, str]]]
    """Panel of the help → module in pgrecall.cli → its commands, in the order of the help."""

    _completes_names = False

    def _places(self) -> dict[str, tuple[str, str]]:
        """The panel and the module of each command."""
        return {
            name: (panel, module)
            for panel, modules in self.panels.items()
            for module, names in modules.items()
            for name in names.split()
        }

    def list_commands(self, context: Any) -> list[str]:
        return list(self._places())

    def shell_complete(self, ctx: Any, incomplete: str) -> list[Any]:
        """Names are completed without loading the commands; the panel stands for the help."""
        self._completes_names = True
        try:
            return super().shell_complete(ctx, incomplete)
        finally:
            self._completes_names = False

    def get_command(self, context: Any, name: str) -> Any:
        places = self._places()
        if self._completes_names:
            return TyperCommand(name, short_help=places[name][0])
        if name not in places:  # Typer suggests what is alike among those that are loaded
            for known in places:
                self.get_command(context, known)
        elif name not in self.commands:
            app: App = import_module(f"pgrecall.cli.{places[name][1]}").app
            group: Any = typer.main.get_group(app)
            self.commands.update({name: group} if group.name == name else group.commands)
            for one in self.commands.keys() & places.keys():
                loaded: Any = self.commands[one]
                loaded.rich_help_panel = places[one][0]
        return self.commands.get(name)


class App(typer.Typer):
    """A group of commands."""

    def __init__(self, *, cls: type[Group] = Group, **options: Any) -> None:
        super().__init__(cls=cls, rich_markup_mode="rich", **options)

    def function(
        self, *examples: str, command: str | None = None, **method: Any
    ) -> Callable[[Declared], Declared]:
        """Makes a command of a function, see `as_command`; the help ends with the examples.

        The function names it, unless `command` does.
        """

        from rich.markup import escape

        from pgrecall.cli.command import as_command

        def declare(function: Declared) -> Declared:
            self.command(
                command or function.__name__.rstrip("_").replace("_", "-"),
                cls=_Command,
                epilog="\n".join(["[bold]Examples:[/]", *map(escape, examples)]),
            )(as_command(function, **method))
            return function

        return declare

    def method(
        self,
        method: Method,
        *examples: str,
        without: Sequence[str] = (),
        command: str | None = None,
        **options: Any,
    ) -> Callable[[Declared], Declared]:
        """Makes a command of a method of the repository, or of a function on a database."""
        source = {"method": method, "without": without, "options": options}
        return self.function(*examples, command=command, **source)
