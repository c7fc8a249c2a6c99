"""Letting roles in."""

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
    """Lets a role search, explain and read (reader), change memories too (writer), or also build
    rank indexes, collect garbage and clear (maintainer); and takes from it what is beyond.

    What later versions bring is granted to it by `upgrade`. To be called as the schema's owner.
    Raises InputError for a role that there is not and for the owner, SchemaMissing.
    """
    require_one_of("level", level, LEVELS)
    _call(target, schema, "grant_access(:level, :role)", {"level": level, "role": role})


def revoke(target: str | URL | Engine, role: str, *, schema: str = DEFAULT_SCHEMA) -> None:
    """Takes from a role all that it was granted in the schema; of one that is gone, the note.

    Raises InputError for a role that there is not and that was not let in, and for the owner.
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
