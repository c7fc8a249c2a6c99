"""Sets and reads the profile of calls that name none."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from sqlalchemy import Connection, Text, bindparam, text

from pgrecall.core.validation import require_schema_name, require_text
from pgrecall.execution.error_mapping import map_errors
from pgrecall.execution.inspection import schema_missing
from pgrecall.migrate.connecting import Target, own_connection
from pgrecall.migrate.state import pin_transaction, read_status
from pgrecall.schema import DEFAULT_SCHEMA


def set_default_profile(target: Target, name: str | None, *, schema: str = DEFAULT_SCHEMA) -> None:
    """Makes a profile, built in or installed, that of each call that names none.

    None goes back to hybrid. psql obeys at once, running programs some seconds later. Call this as
    the schema's owner. Raises UnknownName for another name, and SchemaMissing.
    """
    if name is not None:
        require_text("name", name)
    with _connected(target, schema) as connection:
        change = text(f'SELECT "{schema}".set_default_profile(:name)')
        connection.execute(change.bindparams(bindparam("name", name, Text())))
        connection.commit()


def default_profile(target: Target, *, schema: str = DEFAULT_SCHEMA) -> str | None:
    """The profile set by `set_default_profile`, or None: calls that name none then use hybrid."""
    with _connected(target, schema) as connection:
        return chosen_profile(connection, schema)


def chosen_profile(connection: Connection, schema: str) -> str | None:
    """The profile set for the whole schema."""
    profile: str | None = connection.scalar(text(f'SELECT "{schema}".default_profile(NULL)'))
    return profile


@contextmanager
def _connected(target: Target, schema: str) -> Iterator[Connection]:
    require_schema_name(schema)
    with map_errors(), own_connection(target) as connection:
        pin_transaction(connection)
        if read_status(connection, schema).revision is None:
            raise schema_missing(schema)
        yield connection
