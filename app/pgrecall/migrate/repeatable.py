"""Applies the functions and views of `sql/` whenever their text has changed."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cache
from graphlib import TopologicalSorter
from hashlib import sha256
from typing import Any

from sqlalchemy import Connection, select, text

from pgrecall.core.quoting import shortened
from pgrecall.core.resources import sql_folder, with_schemas
from pgrecall.errors import InvalidProfile, UnknownName
from pgrecall.migrate.field_lists import with_fields
from pgrecall.migrate.inserted import with_inserted
from pgrecall.migrate.ranked_function import PATHS, require_function_name, with_profiles
from pgrecall.migrate.settings import Settings
from pgrecall.schema import tables
from pgrecall.scoring.profile import Profile
from pgrecall.scoring.profile_file import as_values, from_values
from pgrecall.scoring.profiles import BUILT_IN

FOLDERS = ("migrate", "signals", "words", "views", "rank_index", "recall", "verbs")
"""The folders of these files. Revisions install `bound`; `policies` and `adhoc` are run by hand."""
FIRST = "migrate/replace_objects.sql"
"""The function that applies all files, including its own."""
DISTRIBUTED = "SELECT distribute(again => true)"
"""What comes after functions were created: on Citus, they are for each node."""
_LEVELS = {
    "readers": "reader",
    "writers": "writer",
    "maintainers": "maintainer",
    "the owner": "owner",
}
_CREATED = re.compile(r"^CREATE OR REPLACE (FUNCTION|PROCEDURE|VIEW) (\w+)", re.MULTILINE)
_FOR = re.compile(r"-- For ([a-z ]+)\.\n")


@dataclass(frozen=True, slots=True)
class File:
    """A file of functions or views. It needs a search_path that begins with our schema."""

    path: str
    text: str

    @property
    def names(self) -> list[str]:
        return [name for _, name in _CREATED.findall(self.text)]

    @property
    def level(self) -> str:
        """The role that may call its functions: reader, writer, maintainer, or the owner only.

        Readers may call functions that check arguments.
        """
        if match := _FOR.match(self.text):
            return _LEVELS[match[1]]
        return "writer" if re.match("verbs/(?!require_)", self.path) else "reader"

    @property
    def creates(self) -> set[str]:
        """Its functions and views, as others write them: functions with a bracket."""
        created = _CREATED.findall(self.text)
        return {f"{name}(" for _, name in created} | {n for kind, n in created if kind == "VIEW"}

    @property
    def words(self) -> set[str]:
        """All words outside of comments, with a bracket if one follows."""
        return {*re.findall(r"\w+\(?", re.sub(r"--.*", "", self.text))}


@cache
def files(*profiles: Profile) -> tuple[File, ...]:
    """All files, for the built-in profiles and these, each after those it depends on, since some
    bodies are parsed at creation."""
    paths = [
        File(path, _written(path, profiles))
        for folder in FOLDERS
        for path in sorted(
            one.relative_to(sql_folder()).as_posix()
            for one in (sql_folder() / folder).glob("*.sql")
        )
    ]
    created = {file: file.creates for file in paths}
    dependencies = {
        file: [
            other for other in paths if other is not file and not used.isdisjoint(created[other])
        ]
        for file in paths
        for used in (file.words,)
    }
    return tuple(TopologicalSorter(dependencies).static_order())


def _written(path: str, profiles: Iterable[Profile]) -> str:
    """The text of a file, with the lists and limits that it names between two @ written out.

    No function has its statements compiled (JIT): each execution would compile them again, which
    takes tens of milliseconds, and they take less.
    """
    text = (sql_folder() / path).read_text(encoding="utf-8")
    if path in PATHS:
        text = with_profiles(text, profiles)
    return with_inserted(with_fields(text)).replace(
        "SET search_path FROM CURRENT", "SET search_path FROM CURRENT SET jit = off"
    )


def statements(settings: Settings, profiles: Iterable[Profile] = ()) -> Iterator[str]:
    """Statements that apply these files to a schema at the newest revision, which has these
    profiles besides the built-in ones."""
    every = files(*profiles)
    [first] = [file for file in every if file.path == FIRST]
    yield with_schemas(first.text, settings.schema, settings.extension_schema)
    yield from applied(every, settings)
    paths = ", ".join(f"'{file.path}'" for file in every)
    yield f"SELECT drop_other_objects(ARRAY[{paths}])"
    yield DISTRIBUTED


def applied(listed: Iterable[File], settings: Settings) -> Iterator[str]:
    for file in listed:
        definition = with_schemas(file.text, settings.schema, settings.extension_schema)
        yield (
            f"SELECT replace_objects('{file.path}', '{file.level}', "
            f"'{{{','.join(file.names)}}}', '{hash_of(definition)}', $file$\n{definition}$file$)"
        )


def pending(connection: Connection, schema: str, extension_schema: str) -> list[str]:
    """The files that have to be applied to this schema, which is at the newest revision."""
    if not connection.scalar(
        text("SELECT to_regclass(:name) IS NOT NULL"), {"name": f'"{schema}".installed_sql'}
    ):
        return sorted(file.path for file in files())  # the revision was stamped, but did not run
    rows = connection.execute(text(f'SELECT file, hash FROM "{schema}".installed_sql'))
    applied: dict[str, str | None] = {row.file: row.hash for row in rows}
    hashes = {
        file.path: hash_of(with_schemas(file.text, schema, extension_schema))
        for file in files(*installed_profiles(connection, schema))
    }
    return sorted(
        path for path in hashes.keys() | applied.keys() if hashes.get(path) != applied.get(path)
    )


def hash_of(definition: str) -> str:
    return sha256(definition.encode()).hexdigest()


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


def installed_profiles(connection: Connection, schema: str) -> list[Profile]:
    """The installed profiles; raises an error that names one that this release cannot read."""
    profiles = []
    for definition in installed(connection, schema):
        try:
            profiles.append(from_values(definition))
        except (InvalidProfile, UnknownName) as error:
            name = shortened(definition.get("name"))
            raise type(error)(f"the installed profile {name}: {error}") from error
    return profiles


def install_profile(connection: Connection, settings: Settings, profile: Profile) -> None:
    """Stores the profile, and creates the functions that rank by each profile again.

    The search_path must begin with our schema. Raises InvalidProfile for the name of a built-in
    profile or one that SQL would have to quote.
    """
    name = require_function_name(profile)
    if name in BUILT_IN:
        raise InvalidProfile(
            f"{name} is a built-in profile, which a migration installs; give yours another name"
        )
    profiles = tables(settings.schema).profiles
    connection.execute(profiles.delete().where(profiles.c.name == name))
    connection.execute(profiles.insert().values(name=name, definition=as_values(profile)))
    every = files(*installed_profiles(connection, settings.schema))
    for statement in (*applied(every, settings), DISTRIBUTED):
        connection.execute(text(statement.replace(":", r"\:")))
