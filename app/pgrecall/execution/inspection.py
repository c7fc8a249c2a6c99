"""Checks a database and reads its layout, once per engine."""

from __future__ import annotations

from collections.abc import Generator, Mapping
from dataclasses import replace
from typing import Any, Final
from weakref import WeakKeyDictionary

from sqlalchemy import Engine

from pgrecall.core.embedders import Embedded
from pgrecall.core.quoting import shortened
from pgrecall.core.statement import Statement
from pgrecall.core.steps import Ask, Run
from pgrecall.core.vectors import EmbeddingType, components_of
from pgrecall.errors import (
    DatabaseError,
    EmbedderMismatch,
    InputError,
    PgvectorUnusable,
    SchemaMissing,
    SchemaOutdated,
    SchemaTooNew,
)
from pgrecall.schema import REVISION, Layout, migrate_up, tables
from pgrecall.schema.verbs import call

VERSION_TABLE: Final = "alembic_version"
UNRELEASED_TABLE: Final = "memory_labels"
"""A table that schemas had before the first release, whose revisions had the same numbers."""
OLDEST_POSTGRES: Final = 160000
OLDEST_PGVECTOR: Final = (0, 8)

_CATALOGUE = Statement(
    """
    SELECT t.typname, a.atttypid::bigint, a.atttypmod,
           (SELECT extversion FROM pg_extension WHERE extname = 'vector'),
           EXISTS (SELECT FROM pg_class v
                    WHERE v.relnamespace = n.oid AND v.relname = CAST(:versions AS name))
               AS has_versions,
           (SELECT e.nspname FROM pg_namespace e WHERE e.oid = t.typnamespace),
           EXISTS (SELECT FROM pg_extension WHERE extname = 'citus') AS has_citus,
           EXISTS (SELECT FROM pg_class o
                    WHERE o.relnamespace = n.oid AND o.relname = CAST(:unreleased AS name))
               AS is_unreleased,
           pg_jit_available()
               AND current_setting('jit_above_cost')::float8 BETWEEN float8 '0' AND '99999'
               AS compiles,
           convert_to(current_setting('client_encoding'), 'UTF8') AS encoding,
           convert_to(current_setting('gin_fuzzy_search_limit'), 'UTF8') AS fuzzy
      FROM pg_namespace n
      JOIN pg_class c ON c.relnamespace = n.oid AND c.relname = 'agent_memories'
      JOIN pg_attribute a ON a.attrelid = c.oid AND a.attname = 'embedding'
      JOIN pg_type t ON t.oid = a.atttypid
     WHERE n.nspname = CAST(:schema AS name)
    """
)

_DISTRIBUTED = Statement(
    "SELECT EXISTS (SELECT FROM pg_dist_partition p JOIN pg_class c ON c.oid = p.logicalrelid "
    "JOIN pg_namespace n ON n.oid = c.relnamespace "
    "WHERE n.nspname = CAST(:schema AS name) AND c.relname = 'agent_memories')"
)
_SERVER = Statement(
    "SELECT current_setting('server_version_num')::integer AS number, "
    "current_setting('server_version') AS version"
)
_IS_THERE = Statement("SELECT to_regprocedure(:name) IS NOT NULL")

LAYOUTS: WeakKeyDictionary[Engine, dict[str, Layout]] = WeakKeyDictionary()
"""The layouts that are known, by the schema."""


def inspect(schema: str) -> Generator[Run, Any, Layout]:
    """Reads the layout from the catalogue, with statements that cannot fail the transaction.

    Raises SchemaMissing, SchemaOutdated, SchemaTooNew or PgvectorUnusable.
    """
    names = {"schema": schema, "versions": VERSION_TABLE, "unreleased": UNRELEASED_TABLE}
    rows = yield Run(_CATALOGUE, names)
    if not rows or not rows[0][4]:
        [server] = yield Run(_SERVER)
        raise schema_missing(schema, too_old(*server))
    type_name, oid, dimensions, pgvector, _, extension_schema, has_citus, *others = rows[0]
    is_unreleased, compiles, *settings = others
    if is_unreleased:
        raise unreleased(schema)
    require_settings(*(setting.decode() for setting in settings))
    require_pgvector(pgvector)
    versions = yield Run(Statement(f'SELECT version_num FROM "{schema}".{VERSION_TABLE}'))  # noqa: S608  checked
    revision = max((name for (name,) in versions), default="")
    if revision < REVISION:
        raise SchemaOutdated(
            f"schema {schema!r} is at revision {revision or 'none'}, this pgrecall needs "
            f"{REVISION}: {migrate_up(schema)}"
        )
    if revision > REVISION and (yield from _oldest_client(schema)) > REVISION:
        raise too_new(schema, revision)
    models = yield Run(Statement(f'SELECT model FROM "{schema}".embedding_model'))  # noqa: S608  checked
    model = models[0][0] if models else None
    type_, distributed = EmbeddingType(type_name), False
    if has_citus:
        [(distributed,)] = yield Run(_DISTRIBUTED, {"schema": schema})
    return Layout(revision, type_, oid, dimensions, extension_schema, model, distributed, compiles)


def _oldest_client(schema: str) -> Generator[Run, Any, str]:
    """The oldest revision whose clients work with the schema."""
    [(has_it,)] = yield Run(_IS_THERE, {"name": f'"{schema}".oldest_client()'})
    if not has_it:
        return "9999"
    [(oldest,)] = yield call(tables(schema), "oldest_client")
    return str(oldest)


def require_settings(client_encoding: str, gin_fuzzy_search_limit: str) -> None:
    """Raises DatabaseError for settings of the session that lose characters or memories."""
    if client_encoding != "UTF8":
        raise DatabaseError(
            f"client_encoding is {client_encoding}, which does not have all characters: add "
            "client_encoding=utf8 to the database's URL or to the engine's connect_args"
        )
    if gin_fuzzy_search_limit != "0":
        raise DatabaseError(
            f"gin_fuzzy_search_limit is {gin_fuzzy_search_limit}, with which searches miss "
            "memories at random: set it to 0 for this role and database"
        )


def schema_missing(schema: str, old: str | None = None) -> SchemaMissing:
    """The error for a schema without our tables, on a server that may be too old for them."""
    return SchemaMissing(
        f"the database has no pgrecall tables in schema {schema!r}: {old or migrate_up(schema)}"
    )


def too_new(schema: str, revision: str) -> SchemaTooNew:
    """The error for a revision that this version of pgrecall cannot work with."""
    return SchemaTooNew(
        f"schema {schema!r} is at revision {revision}, this pgrecall knows {REVISION}: run "
        "`pip install --upgrade pgrecall`"
    )


def unreleased(schema: str) -> SchemaOutdated:
    """The error for a schema that no revision leads on from."""
    return SchemaOutdated(
        f"schema {schema!r} is older than the first release of pgrecall: export its memories with "
        "the version that made it, and import them with this one into a new schema"
    )


def too_old(number: int, version: str) -> str | None:
    """The message for a server of this version, if it is too old."""
    if number >= OLDEST_POSTGRES:
        return None
    return (
        f"the server is PostgreSQL {version.split()[0]}, but 16 or newer is needed: upgrade it, or "
        "use another server"
    )


def require_pgvector(version: str | None) -> None:
    """Raises PgvectorUnusable unless this version of the extension is new enough."""
    if version is None:
        raise PgvectorUnusable(
            "the database has no pgvector extension: run `CREATE EXTENSION vector` as a role that "
            "may create it; if that fails, install pgvector 0.8 or newer on the server first"
        )
    if tuple(int(part) for part in version.split(".")[:2]) < OLDEST_PGVECTOR:
        raise PgvectorUnusable(
            f"pgvector {version} is installed, but 0.8 or newer is needed: update pgvector on the "
            "server, then run `ALTER EXTENSION vector UPDATE`"
        )


def require_psycopg(engine: Engine) -> None:
    """Raises InputError for an engine on another driver."""
    name = f"{engine.dialect.name}+{engine.dialect.driver}"
    if name != "postgresql+psycopg":
        raise InputError(
            f"pgrecall needs an engine for PostgreSQL and psycopg 3, this one is for {name}: "
            "create it from a postgresql+psycopg:// URL"
        )


def unrecorded_model(schema: str, answers: Mapping[Ask, Any], layout: Layout) -> str | None:
    """The model to record for the schema: of the first call that embeds texts of memories.

    Raises EmbedderMismatch if another model is recorded. An embedder without a name is not checked.
    """
    for step, embedded in answers.items():
        if not isinstance(embedded, Embedded):
            continue
        model = embedded.model
        if model is None or model == layout.model:
            continue
        if layout.model is not None:
            raise mismatch(schema, layout.model, model)
        fits = all(len(components_of(one)) == layout.dimensions for one in embedded.vectors)
        if fits and step.function == "embed":  # other vectors are refused later
            return model
    return None


def record_model(
    schema: str, layout: Layout, model: str, *, ours: bool
) -> Generator[Run, Any, Layout | None]:
    """Records the model, unless another call was faster, whose model may be another.

    Returns the layout to cache when the call has succeeded. In a caller's transaction that is none,
    since it may be rolled back: each call that embeds records it, until a new process finds it.
    """
    [(recorded,)] = yield call(tables(schema), "claim_embedding_model", model=model)
    if recorded not in (None, model):
        raise mismatch(schema, recorded, model)
    return replace(layout, model=recorded) if recorded is not None and ours else None


def mismatch(schema: str, recorded: str, model: str) -> EmbedderMismatch:
    return EmbedderMismatch(
        f"schema {schema!r} holds embeddings of {shortened(recorded)}, and this embedder is "
        f"{shortened(model)}: their vectors cannot be compared. Use an embedder of the first, or "
        "another schema. To change the model, run `pgrecall migrate embedding-model NAME` and "
        "embed the memories again"
    )
