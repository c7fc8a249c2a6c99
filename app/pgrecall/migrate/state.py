"""The status of a schema: how far it has been migrated."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass

from alembic.runtime.migration import MigrationContext
from alembic.script import ScriptDirectory
from sqlalchemy import Connection, select, text

from pgrecall.core.quoting import shortened
from pgrecall.core.resources import migrations_folder
from pgrecall.core.validation import require_schema_name
from pgrecall.core.vectors import EmbeddingType
from pgrecall.errors import InputError, SchemaError
from pgrecall.execution.error_mapping import map_errors
from pgrecall.execution.inspection import UNRELEASED_TABLE, schema_missing, unreleased
from pgrecall.migrate import repeatable
from pgrecall.migrate.connecting import Target, connected, own_connection
from pgrecall.schema import DEFAULT_SCHEMA, REVISION, tables

EMBEDDING_INDEX = "ix_agent_memories_embedding"
"""The optional index on embeddings, as revision 0002 names it."""


@dataclass(frozen=True, slots=True)
class Status:
    """The status of a schema. If it does not exist, the fields after `pending` are None."""

    schema: str
    revision: str | None
    head: str
    pending: list[str]
    """Pending revisions, as `number: description`, followed by pending files of functions."""
    postgres: str
    pgvector: str | None
    dimensions: int | None
    embedding_type: EmbeddingType | None
    language: str | None
    """The text search configuration for words."""
    invalid_indexes: list[str]
    """Indexes left by interrupted concurrent builds."""
    embedding_model: str | None
    """The model that makes the embeddings, as its embedder calls it."""
    embedding_index: bool
    """True if the optional index on embeddings has been built."""
    hnsw: str | None
    """Permission to build rank indexes and the index on embeddings: "allowed", or "refused" where
    pgvector is older than 0.8.3."""
    nodes: Mapping[str, int]
    """Node, as host:port, → number of its shards with memories; empty unless Citus distributes the
    schema."""


def status(target: Target, *, schema: str = DEFAULT_SCHEMA) -> Status:
    """Reads the status of a schema; raises DatabaseUnavailable if there is no connection."""
    require_schema_name(schema)
    with map_errors(), connected(target) as connection:
        pin_transaction(connection)
        return read_status(connection, schema)


def read_status(connection: Connection, schema: str) -> Status:
    postgres, pgvector, is_unreleased = connection.execute(
        text(
            "SELECT current_setting('server_version'), "
            "(SELECT extversion FROM pg_extension WHERE extname = 'vector'), "
            "EXISTS (SELECT FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace "
            "WHERE n.nspname = :schema AND c.relname = :unreleased)"
        ),
        {"schema": schema, "unreleased": UNRELEASED_TABLE},
    ).one()
    if is_unreleased:
        raise unreleased(schema)
    versions = MigrationContext.configure(connection, opts={"version_table_schema": schema})
    revision = max(versions.get_current_heads(), default=None)
    scripts = ScriptDirectory(str(migrations_folder()))
    known = {script.revision for script in scripts.walk_revisions()}
    pending = (
        [f"{s.revision}: {s.doc}" for s in scripts.iterate_revisions(REVISION, revision or "base")]
        if revision is None or revision in known
        else []
    )
    column = connection.execute(
        text(
            "SELECT t.typname, a.atttypmod FROM pg_attribute a "
            "JOIN pg_type t ON t.oid = a.atttypid JOIN pg_class c ON c.oid = a.attrelid "
            "JOIN pg_namespace n ON n.oid = c.relnamespace WHERE n.nspname = :schema "
            "AND c.relname = 'agent_memories' AND a.attname = 'embedding'"
        ),
        {"schema": schema},
    ).one_or_none()
    indexes = connection.execute(
        text(
            "SELECT c.relname, i.indisvalid "
            "FROM pg_index i JOIN pg_class c ON c.oid = i.indexrelid "
            "JOIN pg_namespace n ON n.oid = c.relnamespace "
            "WHERE n.nspname = :schema AND (NOT i.indisvalid OR c.relname = :index) ORDER BY 1"
        ),
        {"schema": schema, "index": EMBEDDING_INDEX},
    ).all()
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
        invalid_indexes=[name for name, valid in indexes if not valid],
        embedding_model=_embedding_model(connection, schema),
        embedding_index=(EMBEDDING_INDEX, True) in {(name, valid) for name, valid in indexes},
        hnsw=_called(connection, schema, "hnsw_state"),
        nodes=read_nodes(connection, schema),
    )


def read_nodes(connection: Connection, schema: str) -> dict[str, int]:
    """The nodes of the table of memories, and the number of its shards on each; empty unless Citus
    distributes it."""
    if not connection.scalar(
        text("SELECT to_regclass('pg_catalog.pg_dist_placement') IS NOT NULL")
    ):
        return {}
    rows = connection.execute(
        text(
            "SELECT n.nodename || ':' || n.nodeport, count(*) FROM pg_dist_shard s "
            "JOIN pg_dist_placement p ON p.shardid = s.shardid "
            "JOIN pg_dist_node n ON n.groupid = p.groupid AND n.noderole = 'primary' "
            "WHERE s.logicalrelid = to_regclass(:name) GROUP BY 1 ORDER BY 1"
        ),
        {"name": f'"{schema}".agent_memories'},
    )
    return {node: shards for node, shards in rows}  # noqa: C416  Row is no tuple to mypy


def pin_transaction(connection: Connection) -> None:
    """Sets a safe search_path for this transaction, since other roles may be able to create objects
    in the schemas on the present one."""
    connection.execute(text("SET LOCAL search_path = pg_catalog, pg_temp"))


@contextmanager
def connected_to(target: Target, schema: str) -> Iterator[Connection]:
    """A connection of its own to a schema that is there; raises SchemaMissing."""
    require_schema_name(schema)
    with map_errors(), own_connection(target) as connection:
        pin_transaction(connection)
        if read_status(connection, schema).revision is None:
            raise schema_missing(schema)
        yield connection


def extension_schema(connection: Connection) -> str | None:
    """The schema where pgvector is installed, if it is."""
    schema_name: str | None = connection.scalar(
        text(
            "SELECT n.nspname FROM pg_extension e JOIN pg_namespace n ON n.oid = e.extnamespace "
            "WHERE e.extname = 'vector'"
        )
    )
    return schema_name


def qualified_language(connection: Connection, language: str) -> str:
    """The qualified name of a text search configuration; one in pg_catalog takes precedence.

    Raises InputError if there is none of this name.
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


def require_same_language(before: Status, language: str) -> None:
    """Raises SchemaError if the schema has another language already."""
    if before.language not in (None, language):
        raise SchemaError(
            f"schema {before.schema!r} compares words by {before.language}, not {language}; "
            f"`pgrecall migrate language {language}` changes it and parses all texts again"
        )


def _unapplied(connection: Connection, schema: str, revision: str | None) -> list[str]:
    """Files of functions that differ from those in the schema, if it is at the newest revision."""
    if revision != REVISION:
        return []
    schemas = (schema, extension_schema(connection) or "public")
    return [f"sql/{path}" for path in repeatable.pending(connection, *schemas)]


def _embedding_model(connection: Connection, schema: str) -> str | None:
    table = tables(schema).embedding_model
    there = text("SELECT to_regclass(:name) IS NOT NULL")
    if not connection.scalar(there, {"name": f'"{schema}".{table.name}'}):
        return None
    model: str | None = connection.scalar(select(table.c.model))
    return model


def _language(connection: Connection, schema: str) -> str | None:
    oid = _called(connection, schema, "text_language", "::oid::text")
    # Without its schema, as in the argument `language`.
    query = text("SELECT cfgname FROM pg_ts_config WHERE oid = CAST(:oid AS oid)")
    language: str | None = connection.scalar(query, {"oid": oid})
    return language


def _called(connection: Connection, schema: str, function: str, cast: str = "") -> str | None:
    """The result of a function of the schema; None if no function has this name."""
    name = f'"{schema}".{function}()'
    if not connection.scalar(text("SELECT to_regprocedure(:name) IS NOT NULL"), {"name": name}):
        return None
    result: str | None = connection.scalar(text(f"SELECT {name}{cast}"))
    return result
