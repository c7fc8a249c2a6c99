"""How far a database has been migrated."""

from __future__ import annotations

from dataclasses import dataclass

from alembic.runtime.migration import MigrationContext
from alembic.script import ScriptDirectory
from sqlalchemy import URL, Connection, Engine, text

from pgrecall.embedding import EmbeddingType
from pgrecall.errors import InputError, SchemaError
from pgrecall.migrate.connecting import engine_of
from pgrecall.quoting import shortened
from pgrecall.repository.translation import translated
from pgrecall.resources import migrations_folder
from pgrecall.schema import DEFAULT_SCHEMA
from pgrecall.validation import require_schema_name


@dataclass(frozen=True, slots=True)
class Status:
    """What a database holds of the schema; the fields after `pending` are None where it is not."""

    schema: str
    revision: str | None
    head: str
    pending: list[str]
    """Revisions to come, as `number: first line of what it does`."""
    postgres: str
    pgvector: str | None
    dimensions: int | None
    embedding_type: EmbeddingType | None
    language: str | None
    """By which words are compared."""
    invalid_indexes: list[str]
    """Left by a concurrent build that was cut off."""


def status(target: str | URL | Engine, *, schema: str = DEFAULT_SCHEMA) -> Status:
    """Reads how far the database is; changes nothing.

    Raises DatabaseUnavailable when it cannot be reached.
    """
    require_schema_name(schema)
    with translated(), engine_of(target).connect() as connection:
        return read_status(connection, schema)


def read_status(connection: Connection, schema: str) -> Status:
    versions = MigrationContext.configure(connection, opts={"version_table_schema": schema})
    revision = versions.get_current_revision()
    scripts = ScriptDirectory(str(migrations_folder()))
    head = scripts.get_current_head()
    assert head is not None
    known = {script.revision for script in scripts.walk_revisions()}
    pending = (
        [f"{s.revision}: {s.doc}" for s in scripts.iterate_revisions(head, revision or "base")]
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
        head=head,
        pending=pending[::-1],
        postgres=postgres.split()[0],
        pgvector=pgvector,
        dimensions=column.atttypmod if column is not None and is_ours else None,
        embedding_type=EmbeddingType(column.typname) if column is not None and is_ours else None,
        language=_language(connection, schema),
        invalid_indexes=list(invalid),
    )


def require_known_language(connection: Connection, language: str) -> None:
    """Raises InputError for what is no text search configuration to be named without a schema."""
    names = text("SELECT cfgname FROM pg_ts_config WHERE pg_ts_config_is_visible(oid) ORDER BY 1")
    known = connection.scalars(names).all()
    if language not in known:
        raise InputError(
            f"unknown text language {shortened(language)}; this server has {', '.join(known)}"
        )


def require_same_language(before: Status, wanted: str) -> None:
    """Raises SchemaError where words are compared by another language already."""
    if before.language not in (None, wanted):
        raise SchemaError(
            f"schema {before.schema!r} compares words by {before.language}, not {wanted}; "
            f"`pgrecall migrate language {wanted}` changes it and takes all texts apart again"
        )


def _language(connection: Connection, schema: str) -> str | None:
    name = f'"{schema}".text_language'
    there = text("SELECT to_regprocedure(:name) IS NOT NULL")
    if not connection.scalar(there, {"name": f"{name}()"}):
        return None
    language: str = connection.scalar(text(f"SELECT {name}()::text"))
    return language
