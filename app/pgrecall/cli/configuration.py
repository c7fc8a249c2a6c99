"""Settings of the command line: options that environment variables and the user's file may give.

An option precedes its environment variable, and that precedes the file.
"""

from __future__ import annotations

import os
from pathlib import Path

from pgrecall.core.quoting import did_you_mean, listed, shortened
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


def user_file() -> Path:
    """The user's file of settings. Files in working folders are never read: they may come from a
    stranger."""
    import platformdirs

    return Path(platformdirs.user_config_path("pgrecall")) / "config.toml"


def settings() -> dict[str, str]:
    """The settings in the user's file. Raises InputError for a file that can't be used."""
    path = user_file()
    if not path.is_file():
        return {}
    import tomllib

    try:
        values = tomllib.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as problem:
        raise InputError(f"{path} cannot be read: {problem}") from None
    for name, value in values.items():
        if name not in VARIABLES:
            raise InputError(
                f"{path}: unknown setting {shortened(name)}{did_you_mean([name], VARIABLES)}; "
                f"known are {listed(VARIABLES)}"
            )
        if not isinstance(value, str):
            raise InputError(f"{path}: {name} must be a text, got {shortened(value)}")
    if values.get("profile", "").endswith((".toml", ".json")):
        values["profile"] = str(path.parent / values["profile"])
    return values


def current() -> dict[str, tuple[str, str]]:
    """The value of each setting that has one, and its variable or file."""
    values = {name: (value, str(user_file())) for name, value in settings().items()}
    for name, variable in VARIABLES.items():
        if value := os.environ.get(variable):
            values[name] = value, variable
    return values
