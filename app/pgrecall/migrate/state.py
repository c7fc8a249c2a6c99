"""How far a database has been migrated."""

from __future__ import annotations

from dataclasses import dataclass

from alembic.runtime.migration import MigrationContext
from alembic.script import ScriptDirectory
from sqlalchemy import URL, Connection, Engine, text

from pgrecall.core.quoting import shortened
from pgrecall.core.resources import migrations_folder
from pgrecall.core.validation import require_schema_name
from pgrecall.core.vectors import EmbeddingType
from pgrecall.errors import InputError, SchemaError
from pgrecall.execution.translation import translated
from pgrecall.migrate import repeatable
from pgrecall.migrate.connecting import engine_of
from pgrecall.schema import DEFAULT_SCHEMA, EMBEDDING_INDEX, REVISION, revision_of


@dataclass(frozen=True, slots=True)
class Status:
    """What a database holds of the schema; the fields after `pending` are None where it is not."""

    schema: str
    revision: str | None
    head: str
    pending: list[str]
    """Revisions to come, as `number: first line of what it does`, and then files of functions."""
    postgres: str
    pgvector: str | None
    dimensions: int | None
    embedding_type: EmbeddingType | None
    language: str | None
    """By which words are compared."""
    invalid_indexes: list[str]
    """Left by a concurrent build that was cut off."""
    embedding_index: bool
    """Whether the optional index over embeddings has been built."""


def status(target: str | URL | Engine, *, schema: str = DEFAULT_SCHEMA) -> Status:
    """Reads how far the database is; changes nothing.

    Raises DatabaseUnavailable when it cannot be reached.
    """
    require_schema_name(schema)
    with translated(), engine_of(target).connect() as connection:
        pin_search_path(connection)
        return read_status(connection, schema)


def read_status(connection: Connection, schema: str) -> Status:
    versions = MigrationContext.configure(connection, opts={"version_table_schema": schema})
    applied = versions.get_current_heads()
    revision = revision_of(applied)
    scripts = ScriptDirectory(str(migrations_folder()))
    known = {script.revision for script in scripts.walk_revisions()}
    pending = (
        [f"{s.revision}: {s.doc}" for s in scripts.iterate_revisions(REVISION, revision or "base")]
        if revision is None or revision in known
        else []
    )
    postgres, pgvector = connection.execute(
        text(
            "SELECT current_setting('server_version'), "
            "(SELECT extversion FROM pg_extension WHERE extname = 'vector')"
        )
    ).one()
    column = connection.execute(
        text(
            "SELECT t.typname, a.atttypmod FROM pg_attribute a "
            "JOIN pg_type t ON t.oid = a.atttypid JOIN pg_class c ON c.oid = a.attrelid "
            "JOIN pg_namespace n ON n.oid = c.relnamespace WHERE n.nspname = :schema "
            "AND c.relname = 'agent_memories' AND a.attname = 'embedding'"
        ),
        {"schema": schema},
    ).one_or_none()
    invalid = connection.scalars(
        text(
            "SELECT c.relname FROM pg_index i JOIN pg_class c ON c.oid = i.indexrelid "
            "JOIN pg_namespace n ON n.oid = c.relnamespace "
            "WHERE n.nspname = :schema AND NOT i.indisvalid ORDER BY 1"
        ),
        {"schema": schema},
    )
    types = {str(type_) for type_ in EmbeddingType}
    is_ours = column is not None and column.typname in types
    return Status(
        schema=schema,
        revision=revision,
        head=REVISION,
        pending=[*pending[::-1], *_unapplied(connection, schema, revision)],
        postgres=postgres.split()[0],
        pgvector=pgvector,
        dimensions=column.atttypmod if column is not None and is_ours else None,
        embedding_type=EmbeddingType(column.typname) if column is not None and is_ours else None,
        language=_language(connection, schema),
        invalid_indexes=list(invalid),
        embedding_index=EMBEDDING_INDEX in applied,
    )


def pin_search_path(connection: Connection) -> None:
    """For the rest of the transaction: others may write to the schemas on a role's own path."""
    connection.execute(text("SET LOCAL search_path = pg_catalog, pg_temp"))


def extension_schema(connection: Connection) -> str | None:
    """Where pgvector is installed."""
    found: str | None = connection.scalar(
        text(
            "SELECT n.nspname FROM pg_extension e JOIN pg_namespace n ON n.oid = e.extnamespace "
            "WHERE e.extname = 'vector'"
        )
    )
    return found


def qualified_language(connection: Connection, language: str) -> str:
    """A text search configuration with its schema: one of PostgreSQL's, or else of the database's.

    Raises InputError for one that there is not, with the list of those there are.
    """
    configurations = connection.execute(
        text(
            "SELECT c.cfgname, pg_catalog.format('%I.%I', n.nspname, c.cfgname) "
            "FROM pg_ts_config c JOIN pg_namespace n ON n.oid = c.cfgnamespace "
            "ORDER BY n.nspname <> 'pg_catalog', n.nspname, c.cfgname"
        )
    ).all()
    for name, qualified in configurations:
        if name == language:
            return str(qualified)
    known = ", ".join(sorted({name for name, _ in configurations}))
    raise InputError(f"unknown text language {shortened(language)}; this server has {known}")


def require_same_language(before: Status, wanted: str) -> None:
    """Raises SchemaError where words are compared by another language already."""
    if before.language not in (None, wanted):
        raise SchemaError(
            f"schema {before.schema!r} compares words by {before.language}, not {wanted}; "
            f"`pgrecall migrate language {wanted}` changes it and takes all texts apart again"
        )


def _unapplied(connection: Connection, schema: str, revision: str | None) -> list[str]:
    """Files of functions that are not in the schema as they are here, where it could have them."""
    if revision != REVISION:
        return []
    schemas = (schema, extension_schema(connection) or "public")
    return [f"sql/{path}" for path in repeatable.pending(connection, *schemas)]


def _language(connection: Connection, schema: str) -> str | None:
    name = f'"{schema}".text_language'
    there = text("SELECT to_regprocedure(:name) IS NOT NULL")
    if not connection.scalar(there, {"name": f"{name}()"}):
        return None
    # Without its schema, as a language is named when it is given.
    query = f"SELECT cfgname FROM pg_ts_config WHERE oid = {name}()"
    language: str = connection.scalar(text(query))
    return language
