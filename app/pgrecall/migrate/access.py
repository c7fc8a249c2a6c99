"""Grants and revokes access of roles."""

from __future__ import annotations

from typing import Literal

from sqlalchemy import URL, Engine, text

from pgrecall.core.validation import require_name, require_one_of, require_schema_name
from pgrecall.execution.inspection import schema_missing
from pgrecall.execution.translation import translated
from pgrecall.migrate.connecting import engine_of, own_connection
from pgrecall.migrate.state import pin_search_path, read_status
from pgrecall.schema import DEFAULT_SCHEMA

Level = Literal["reader", "writer", "maintainer"]
LEVELS = ("reader", "writer", "maintainer")


def grant(
    target: str | URL | Engine, role: str, level: Level, *, schema: str = DEFAULT_SCHEMA
) -> None:
    """Grants a role exactly one level of access.

    A reader may search, explain and read. A writer may also change memories. A maintainer may also
    build rank indexes, collect garbage and erase. Later upgrades grant new functions to the role
    too. Call this as the schema's owner. Raises InputError for an unknown role and for the owner,
    and SchemaMissing.
    """
    require_one_of("level", level, LEVELS)
    _call(target, schema, "grant_access(:level, :role)", {"level": level, "role": role})


def revoke(target: str | URL | Engine, role: str, *, schema: str = DEFAULT_SCHEMA) -> None:
    """Revokes all access of a role. If the role was dropped, removes its entry in granted_roles.

    Raises InputError for an unknown role without an entry and for the owner, and SchemaMissing.
    """
    _call(target, schema, "revoke_access(:role)", {"role": role})


def _call(target: str | URL | Engine, schema: str, call: str, parameters: dict[str, str]) -> None:
    require_schema_name(schema)
    require_name("role", parameters["role"])
    with translated(), own_connection(engine_of(target)) as connection:
        pin_search_path(connection)
        if read_status(connection, schema).revision is None:
            raise schema_missing(schema)
        connection.execute(text(f'SELECT "{schema}".{call}'), parameters)
        connection.commit()
