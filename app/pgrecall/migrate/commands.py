"""Upgrades and downgrades a schema, or writes the SQL for it."""

from __future__ import annotations

import io
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace

from alembic import command
from alembic.config import Config
from alembic.util import CommandError
from sqlalchemy import Connection

from pgrecall.core.quoting import cut
from pgrecall.core.resources import migrations_folder
from pgrecall.core.validation import require_name, require_schema_name
from pgrecall.errors import (
    DatabaseConflict,
    DatabaseError,
    DatabaseReadOnly,
    DatabaseTimeout,
    DatabaseUnavailable,
    InputError,
    MigrationFailed,
    SchemaError,
)
from pgrecall.execution.error_mapping import map_errors
from pgrecall.execution.inspection import too_new
from pgrecall.migrate.connecting import Target, own_connection, require_usable
from pgrecall.migrate.settings import (
    DEFAULT_DIMENSIONS,
    DEFAULT_EXTENSION_SCHEMA,
    DEFAULT_LANGUAGE,
    SETTINGS,
    TARGET,
    Settings,
    embedding_type,
)
from pgrecall.migrate.state import Status, pin_transaction, read_status, require_same_language
from pgrecall.schema import DEFAULT_SCHEMA


def upgrade(
    target: Target,
    *,
    dimensions: int | None = None,
    embedding_type: str | None = None,
    language: str | None = None,
    embedding_index: bool | None = None,
    schema: str = DEFAULT_SCHEMA,
    revision: str = "head",
) -> Status:
    """Upgrades the schema to `revision`, and creates it if it does not exist. Returns the status.

    `dimensions` and `embedding_type` ("vector" or "halfvec") cannot be changed later. Their default
    is what the schema has, or 256 and vector for a new one. `language` is the text search
    configuration for words, by default english. `embedding_index` builds or drops an HNSW index on
    embeddings by cosine distance, concurrently, for statements of your own: no search of pgrecall
    uses it. By default it stays as it is. Opens a connection of its own. Concurrent runs on one
    schema wait for each other.

    Raises InputError, PgvectorUnusable, MigrationFailed, or SchemaError if the schema exists with
    other embeddings or another language.
    """
    require_name("revision", revision)
    with _migrating(target, schema) as (connection, before):
        settings = _settings(before, dimensions, embedding_type, language)
        settings = replace(settings, embedding_index=embedding_index)
        _require_known(before)
        with _failing_as_ours():
            command.upgrade(_config(settings, connection), revision)
        return _status(connection, schema)


def downgrade(target: Target, *, schema: str = DEFAULT_SCHEMA, revision: str = "base") -> Status:
    """Downgrades the schema to `revision`. To "base" deletes all memories.

    The extension and the empty schema with Alembic's table remain. Raises MigrationFailed, also for
    a schema that Citus distributes.
    """
    require_name("revision", revision)
    with _migrating(target, schema) as (connection, before):
        _require_known(before)
        if before.nodes:
            raise MigrationFailed(
                f"schema {schema!r} is distributed over several nodes, where Citus cannot undo "
                "every revision; to delete it with all memories, run DROP SCHEMA … CASCADE"
            )
        settings = _settings(before, None, None, None)
        with _failing_as_ours():
            command.downgrade(_config(settings, connection), revision)
        return _status(connection, schema)


def sql(
    *,
    dimensions: int = DEFAULT_DIMENSIONS,
    embedding_type: str = "vector",
    language: str = DEFAULT_LANGUAGE,
    schema: str = DEFAULT_SCHEMA,
    extension_schema: str = DEFAULT_EXTENSION_SCHEMA,
    embedding_index: bool | None = None,
    start: str | None = None,
) -> str:
    """The upgrade as SQL to run by hand; needs no database.

    `extension_schema` is the schema where pgvector is or will be installed; the SQL refuses to run
    if it is elsewhere. `embedding_index` is that of `upgrade`; `start` is the present revision of
    the database, if any.
    """
    settings = Settings(
        schema,
        dimensions,
        _embedding_type(embedding_type),
        language,
        extension_schema,
        embedding_index,
    )
    if start is not None:
        require_name("start", start)
    output = io.StringIO()
    config = _config(settings, None, output)
    with _failing_as_ours():
        command.upgrade(config, f"{start}:head" if start else "head", sql=True)
    return output.getvalue()


_alembic = threading.Lock()
"""Alembic stores its state in module globals, so only one run at a time per process."""

_embedding_type = embedding_type  # the functions above take an argument of this name


@contextmanager
def _migrating(target: Target, schema: str) -> Iterator[tuple[Connection, Status]]:
    """A connection that may migrate the schema, and the status of this."""
    require_schema_name(schema)
    with map_errors(), own_connection(target) as connection:
        pin_transaction(connection)
        require_usable(connection, schema)
        yield connection, _status(connection, schema)


def _status(connection: Connection, schema: str) -> Status:
    pin_transaction(connection)
    status_now = read_status(connection, schema)
    connection.rollback()
    return status_now


def _require_known(before: Status) -> None:
    if before.revision is not None and before.revision > before.head:
        raise too_new(before.schema, before.revision)


def _settings(
    before: Status, dimensions: int | None, type_name: str | None, language: str | None
) -> Settings:
    if language is not None:
        require_same_language(before, language)
    language = DEFAULT_LANGUAGE if language is None else language
    requested_type = None if type_name is None else _embedding_type(type_name)
    if before.dimensions is None or before.embedding_type is None:
        return Settings(
            before.schema,
            DEFAULT_DIMENSIONS if dimensions is None else dimensions,
            requested_type or _embedding_type("vector"),
            language,
        )
    requested = (
        requested_type or before.embedding_type,
        before.dimensions if dimensions is None else dimensions,
    )
    has = (before.embedding_type, before.dimensions)
    if requested != has:
        raise SchemaError(
            f"schema {before.schema!r} stores {has[0]}({has[1]}), which cannot be changed to "
            f"{requested[0]}({requested[1]}); create another schema with --schema"
        )
    return Settings(before.schema, before.dimensions, before.embedding_type, language)


def _config(
    settings: Settings, connection: Connection | None, output: io.StringIO | None = None
) -> Config:
    config = Config(output_buffer=output) if output else Config()
    config.set_main_option("script_location", str(migrations_folder()).replace("%", "%%"))
    config.attributes[SETTINGS] = settings
    config.attributes[TARGET] = connection
    return config


@contextmanager
def _failing_as_ours() -> Iterator[None]:
    try:
        with _alembic, map_errors():
            yield
    except CommandError as error:
        raise InputError(f"alembic: {cut(str(error))}") from error
    except (DatabaseUnavailable, DatabaseConflict, MigrationFailed, SchemaError):
        raise
    except DatabaseReadOnly as error:
        raise MigrationFailed("the database is read-only") from error.__cause__
    except DatabaseError as error:
        if type(error) not in (DatabaseError, DatabaseTimeout):
            raise
        raise MigrationFailed(f"the migration could not run: {error}") from error.__cause__
