"""Installs custom profiles in the database: a row each, from which functions are generated."""

from __future__ import annotations

from typing import Any

from sqlalchemy import Connection, select, text

from pgrecall.core.quoting import shortened
from pgrecall.errors import InvalidProfile, UnknownName
from pgrecall.migrate.repeatable import PROFILES, File, hash_of
from pgrecall.migrate.score_function import require_function_name, score_functions
from pgrecall.migrate.settings import Settings
from pgrecall.schema import tables
from pgrecall.scoring.profile import Profile
from pgrecall.scoring.profile_file import as_values, from_values
from pgrecall.scoring.profiles import BUILT_IN


def install(connection: Connection, schema: str, profile: Profile) -> None:
    """Stores the profile and creates or replaces its functions, as `install_profile` does, in the
    caller's transaction."""
    extension_schema = connection.scalar(
        text(
            "SELECT n.nspname, set_config('search_path', quote_ident(:schema) || ', pg_temp', "
            "true) FROM pg_extension e JOIN pg_namespace n ON n.oid = e.extnamespace "
            "WHERE e.extname = 'vector'"
        ),
        {"schema": schema},
    )
    settings = Settings(schema, extension_schema=str(extension_schema))
    install_profile(connection, settings, profile)


def installed(connection: Connection, schema: str) -> list[dict[str, Any]]:
    """The definitions of installed profiles, by name."""
    profiles = tables(schema).profiles
    return list(connection.scalars(select(profiles.c.definition).order_by(profiles.c.name)))


def install_profile(connection: Connection, settings: Settings, profile: Profile) -> None:
    """Stores the profile and creates or replaces its functions.

    The search_path must begin with our schema. Raises InvalidProfile for the name of a built-in
    profile or one that cannot be part of a function's name.
    """
    name = require_function_name(profile)
    if name in BUILT_IN:
        raise InvalidProfile(
            f"{name} is a built-in profile, which a migration installs; give yours another name"
        )
    profiles = tables(settings.schema).profiles
    connection.execute(profiles.delete().where(profiles.c.name == name))
    connection.execute(profiles.insert().values(name=name, definition=as_values(profile)))
    _write(connection, profile)


def install_profiles(connection: Connection, settings: Settings) -> None:
    """Replaces the functions of installed profiles if they have changed."""
    profiles = tables(settings.schema).profiles
    for row in connection.execute(profiles.select().order_by(profiles.c.name)):
        try:
            profile = from_values(row.definition)
        except (InvalidProfile, UnknownName) as error:
            raise type(error)(f"the installed profile {shortened(row.name)}: {error}") from error
        _write(connection, profile)


def _write(connection: Connection, profile: Profile) -> None:
    file = File(PROFILES + profile.name, score_functions(profile))
    connection.execute(
        text("SELECT replace_objects(:path, :level, :names, :hash, :text)"),
        {
            "path": file.path,
            "level": file.level,
            "names": file.names,
            "hash": hash_of(file.text),
            "text": file.text,
        },
    )
