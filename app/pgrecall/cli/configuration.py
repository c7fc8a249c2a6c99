"""Settings of the command line: options that environment variables and files may give too.

An option on the command line precedes its environment variable, and that precedes the files.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pgrecall.cli.output import complaints
from pgrecall.core.quoting import listed, shortened
from pgrecall.errors import InputError

VARIABLES = {
    "database_url": "PGRECALL_DATABASE_URL",
    "schema": "PGRECALL_SCHEMA",
    "agent": "PGRECALL_AGENT",
    "embedder": "PGRECALL_EMBEDDER",
    "profile": "PGRECALL_PROFILE",
}
"""Setting → its environment variable."""
OWN, PROJECT = "pgrecall.toml", "pyproject.toml"


@dataclass(frozen=True)
class Setting:
    """A value, and the file it stands in."""

    value: str
    file: Path


def user_file() -> Path:
    """The file for all folders."""
    import platformdirs

    return Path(platformdirs.user_config_path("pgrecall")) / OWN


def settings() -> dict[str, Setting]:
    """The settings of the user's file and of the nearest file of a project, which precedes it.

    Raises InputError for a file that cannot be read, or has anything else in it.
    """
    found: dict[str, Setting] = {}
    for file, values in (*_of(user_file()), *_of_project()):
        for name, value in values.items():
            if name not in VARIABLES:
                raise InputError(
                    f"{file}: unknown setting {shortened(name)}; known are {listed(VARIABLES)}"
                )
            if not isinstance(value, str):
                raise InputError(f"{file}: {name} must be a text, got {shortened(value)}")
            if name == "profile" and value.endswith((".toml", ".json")):
                value = str(file.parent / value)
            found[name] = Setting(value, file)
    return found


def current() -> dict[str, tuple[str, str]]:
    """The value of each setting that has one, and its variable or file."""
    found = {name: (one.value, str(one.file)) for name, one in settings().items()}
    for name, variable in VARIABLES.items():
        if value := os.environ.get(variable):
            found[name] = value, variable
    return found


def _of_project() -> Iterator[tuple[Path, dict[str, Any]]]:
    here = Path.cwd()
    for folder in (here, *here.parents):
        for name in (OWN, PROJECT):
            for one in _of(folder / name):
                yield one
                return


def _of(file: Path) -> Iterator[tuple[Path, dict[str, Any]]]:
    """The file and its settings, if it has any.

    A setting can name code to run. So a file of another user, who may write in a folder above this
    one, is ignored.
    """
    if not file.is_file():
        return
    if os.name == "posix" and file.stat().st_uid not in (0, os.geteuid()):
        complaints.print(f"Ignoring {file}, which belongs to another user.", markup=False)
        return
    import tomllib

    try:
        text = file.read_text(encoding="utf-8")
        is_project = file.name == PROJECT
        if is_project and "pgrecall" not in text:
            return
        values: Any = tomllib.loads(text)
        if is_project:
            values = values.get("tool", {}).get("pgrecall")
    except (OSError, ValueError) as problem:
        raise InputError(f"{file} cannot be read: {problem}") from None
    if values is None:
        return
    if not isinstance(values, dict):
        raise InputError(f"{file}: pgrecall must be a table of settings, got {shortened(values)}")
    yield file, values
