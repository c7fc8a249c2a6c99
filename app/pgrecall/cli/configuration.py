"""Settings of the command line: options that environment variables and files may give too.

An option on the command line precedes its environment variable, and that precedes the files. The
file of a project may come from a stranger, so some of its settings need the user's consent.
"""

from __future__ import annotations

import os
import shlex
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from pgrecall.cli import consent
from pgrecall.cli.output import warnings
from pgrecall.core.quoting import listed, shortened
from pgrecall.errors import InputError

VARIABLES = {
    "database_url": "PGRECALL_DATABASE_URL",
    "schema": "PGRECALL_SCHEMA",
    "agent": "PGRECALL_AGENT",
    "embedder": "PGRECALL_EMBEDDER",
    "rerank": "PGRECALL_RERANK",
    "profile": "PGRECALL_PROFILE",
    "timezone": "PGRECALL_TIMEZONE",
}
"""Setting → its environment variable."""
CODE = ("embedder", "rerank")
"""Settings that name code as MODULE:OBJECT."""
PERSONAL = ("database_url", *CODE)
"""Settings that decide where memories go and which code runs: a project's file needs consent."""
OWN, PROJECT = "pgrecall.toml", "pyproject.toml"


@dataclass(frozen=True)
class Setting:
    """A value, and the file it stands in."""

    value: str
    file: Path


@dataclass(frozen=True)
class File:
    """A file with settings."""

    path: Path
    values: Mapping[str, str]

    def sensitive(self) -> dict[str, str]:
        """The values that need consent in a project's file."""
        return {name: value for name, value in self.values.items() if name in PERSONAL}


@dataclass
class Settings:
    """The settings of the files."""

    used: dict[str, Setting] = field(default_factory=dict)
    withheld: dict[str, Setting] = field(default_factory=dict)
    """Settings of the project's file that lack the user's consent."""
    consent: bool | None = None
    """The user's answer; None: no answer yet."""


def user_file() -> Path:
    """The file for all folders."""
    import platformdirs

    return Path(platformdirs.user_config_path("pgrecall")) / OWN


def settings() -> Settings:
    """The settings of the user's file and of the nearest file of a project, which precedes it.

    Raises InputError for a file that cannot be read, or has anything else in it.
    """
    configured = Settings()
    if (own := file_at(user_file())) is not None:
        configured.used = {name: Setting(value, own.path) for name, value in own.values.items()}
    if (project := project_file()) is not None:
        sensitive = project.sensitive()
        configured.consent = consent.stored_answer(project.path, sensitive) if sensitive else None
        for name, value in project.values.items():
            is_allowed = name not in sensitive or configured.consent is True
            (configured.used if is_allowed else configured.withheld)[name] = Setting(
                value, project.path
            )
    return configured


def undecided(configured: Settings, needed: Iterable[str]) -> str | None:
    """The question to the user before use of settings that a project's file may not set by itself.

    To go on without them would store memories elsewhere than the file says, or compare them by
    another model. None: the user has answered, or none of them is needed.
    """
    names = [name for name in needed if name in configured.withheld]
    if not names or configured.consent is not None:
        return None
    file = configured.withheld[names[0]].file
    shown = shlex.quote(str(file))
    options = " and ".join(f"--{name.replace('_', '-')}" for name in names)
    return (
        f"{' and '.join(names)} of {file} {'needs' if len(names) == 1 else 'need'} your consent: "
        f"`pgrecall config trust {shown}` gives it, `pgrecall config distrust {shown}` goes on "
        f"without, and {options} would precede it"
    )


def current() -> dict[str, tuple[str, str]]:
    """The value of each setting that has one, and its variable or file."""
    values = {name: (one.value, str(one.file)) for name, one in settings().used.items()}
    for name, variable in VARIABLES.items():
        if value := os.environ.get(variable):
            values[name] = value, variable
    return values


def project_file() -> File | None:
    """The nearest file with settings, in the working folder or above it."""
    here, own = Path.cwd(), user_file()
    for folder in (here, *here.parents):
        for name in (OWN, PROJECT):
            if (file := file_at(folder / name)) is not None:
                return None if own.is_file() and own.samefile(file.path) else file
    return None


def file_at(path: Path) -> File | None:
    """The file and its settings, if it has any.

    A file of another user, who may write in a folder above this one, is ignored.
    """
    if not path.is_file():
        return None
    if os.name == "posix" and path.stat().st_uid not in (0, os.geteuid()):
        warnings.print(f"Ignoring {path}, which belongs to another user.", markup=False)
        return None
    import tomllib

    try:
        text = path.read_text(encoding="utf-8")
        if path.name == PROJECT and "pgrecall" not in text:
            return None
        values: Any = tomllib.loads(text)
    except (OSError, ValueError) as problem:
        raise InputError(f"{path} cannot be read: {problem}") from None
    for table in ("tool", "pgrecall") if path.name == PROJECT else ():
        values = values.get(table) if isinstance(values, dict) else None
    return None if values is None else File(path, _checked(path, values))


def _checked(path: Path, values: object) -> dict[str, str]:
    if not isinstance(values, dict):
        raise InputError(f"{path}: pgrecall must be a table of settings, got {shortened(values)}")
    checked: dict[str, str] = {}
    for name, value in values.items():
        if name not in VARIABLES:
            raise InputError(
                f"{path}: unknown setting {shortened(name)}; known are {listed(VARIABLES)}"
            )
        if not isinstance(value, str):
            raise InputError(f"{path}: {name} must be a text, got {shortened(value)}")
        is_file = name == "profile" and value.endswith((".toml", ".json"))
        checked[name] = str(path.parent / value) if is_file else value
    return checked
