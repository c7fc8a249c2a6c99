"""Profiles of one's own in the database: each a row, from which its functions are written."""

from __future__ import annotations

from sqlalchemy import Connection, text

from pgrecall.core.quoting import shortened
from pgrecall.errors import InvalidProfile, UnknownName
from pgrecall.migrate.repeatable import PROFILES, File, hash_of
from pgrecall.migrate.score_function import require_function_name, score_functions
from pgrecall.migrate.settings import Settings
from pgrecall.schema import tables
from pgrecall.scoring.profile import Profile
from pgrecall.scoring.profile_file import as_values, from_values
from pgrecall.scoring.profiles import BUILT_IN


def install_profile(connection: Connection, settings: Settings, profile: Profile) -> None:
    """Notes the profile, and creates its functions or replaces those it had.

    For a search_path that starts with our schema. Raises InvalidProfile for a name that is taken by
    a built-in profile or cannot be a part of a function's.
    """
    name = require_function_name(profile)
    if name in BUILT_IN:
        raise InvalidProfile(
            f"{name} is a built-in profile, which a migration installs; give yours another name"
        )
    noted = tables(settings.schema).profiles
    connection.execute(noted.delete().where(noted.c.name == name))
    connection.execute(noted.insert().values(name=name, definition=as_values(profile)))
    _write(connection, profile)


def install_profiles(connection: Connection, settings: Settings) -> None:
    """Writes the functions of every profile that was installed anew, where they have changed."""
    noted = tables(settings.schema).profiles
    for row in connection.execute(noted.select().order_by(noted.c.name)):
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
