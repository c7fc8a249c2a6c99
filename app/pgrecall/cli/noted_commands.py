"""Options of commands as an earlier Tab has noted them.

To know the options of a command, the signatures of the repository's methods are read, and for
these SQLAlchemy and the driver are imported: half a second at each Tab. So the first Tab notes them
in the user's cache folder, and later ones read the note. What is in it is only ever completed.
"""

from __future__ import annotations

import json
import os
from contextlib import suppress
from importlib import import_module
from pathlib import Path
from typing import Any

from typer.core import TyperCommand, TyperGroup

from pgrecall.core.resources import PACKAGE, state_of

COMPLETING = "_PGRECALL_COMPLETE"
"""The variable by which a shell asks to complete."""
_OF_OWNERS = ("--agent", "-a")
"""Their values are looked up each time."""
Note = dict[str, Any]
"""Of a group its `commands`, of a command its `options` and their known values: None for a flag."""


def typed() -> list[str]:
    """The words of the line that a shell completes. The last is incomplete, and may be empty."""
    line = os.environ.get("COMP_WORDS") or os.environ.get("_TYPER_COMPLETE_ARGS", "")
    return line.split(" ") if COMPLETING in os.environ else []


def noted(name: str) -> TyperCommand | TyperGroup | None:
    """The command, as far as completion needs it. None: nothing is noted by this code."""
    if typed()[-2:-1] in [[one] for one in _OF_OWNERS]:
        return None
    note = _read().get(name)
    return None if note is None else _command(name, note)


def note_down(name: str, command: Any) -> None:
    """Notes a command that was loaded; where that fails, the next Tab loads it again."""
    with suppress(OSError):
        file = _file()
        file.parent.mkdir(parents=True, exist_ok=True)
        written = {"code": state_of(PACKAGE), "commands": {**_read(), name: _note(command)}}
        new = file.with_suffix(f".{os.getpid()}")
        new.write_text(json.dumps(written), encoding="utf-8")
        new.replace(file)


class _Noted(TyperCommand):
    """A command that takes everything, and completes what is noted."""

    def __init__(self, name: str, options: Note) -> None:
        takes_all = {"ignore_unknown_options": True, "allow_extra_args": True}
        super().__init__(name, add_help_option=False, context_settings=takes_all)
        self._options = options

    def shell_complete(self, ctx: Any, incomplete: str) -> list[Any]:
        known = self._options.get(ctx.args[-1]) if ctx.args else None
        if incomplete.startswith("-"):
            known = [*self._options]
        return [_item(one) for one in known or () if one.startswith(incomplete)]


def _command(name: str, note: Note) -> TyperCommand | TyperGroup:
    if "commands" not in note:
        return _Noted(name, note["options"])
    commands: Any = {one: _command(one, parts) for one, parts in note["commands"].items()}
    return TyperGroup(name=name, commands=commands, add_help_option=False)


def _item(value: str) -> Any:
    try:
        module = import_module("typer._click.shell_completion")
    except ImportError:  # an older Typer, on Click
        module = import_module("click.shell_completion")
    return module.CompletionItem(value)


def _note(command: Any) -> Note:
    if hasattr(command, "commands"):
        return {"commands": {name: _note(one) for name, one in command.commands.items()}}
    context = command.context_class(command)
    options = {
        name: None if getattr(one, "is_flag", False) else _values(one, context)
        for one in command.get_params(context)
        for name in (*one.opts, *one.secondary_opts)
        if name.startswith("-")
    }
    return {"options": options}


def _values(param: Any, context: Any) -> list[str]:
    if any(name in _OF_OWNERS for name in param.opts):
        return []
    return [item.value for item in param.shell_complete(context, "") if item.type == "plain"]


def _read() -> dict[str, Note]:
    try:
        written = json.loads(_file().read_text(encoding="utf-8"))
        commands: dict[str, Note] = written["commands"]
        return commands if written["code"] == state_of(PACKAGE) else {}
    except (OSError, ValueError, LookupError, TypeError):
        return {}


def _file() -> Path:
    import platformdirs

    return Path(platformdirs.user_cache_path("pgrecall")) / "commands.json"
