"""What `migrations/env.py` runs, from `pgrecall migrate` and from plain `alembic` alike."""

from __future__ import annotations

import os
from typing import Any, Literal

from alembic.runtime.environment import EnvironmentContext
from psycopg.errors import DuplicateObject, DuplicateSchema, DuplicateTable, UniqueViolation
from sqlalchemy import Column, Connection, Engine, text
from sqlalchemy.exc import IntegrityError, ProgrammingError

from pgrecall.errors import InputError, SchemaError
from pgrecall.migrate.connecting import (
    LOCK_TIMEOUT,
    engine_of,
    own_connection,
    require_usable,
)
from pgrecall.migrate.locking import each_transaction, exclusive, guarding
from pgrecall.migrate.settings import (
    DEFAULT_DIMENSIONS,
    DEFAULT_LANGUAGE,
    Settings,
    embedding_type,
)
from pgrecall.migrate.status import read_status, require_same_language
from pgrecall.repository.inspection import VERSION_TABLE
from pgrecall.schema import DEFAULT_SCHEMA, tables
from pgrecall.schema.types import Embedding

DATABASE_URL = "PGRECALL_DATABASE_URL"
Scope = Literal["LOCAL", "SESSION"]
SETTINGS, TARGET = "pgrecall_settings", "connection"
"""Keys of `config.attributes`; the second is Alembic's own custom."""


def run(context: EnvironmentContext) -> None:
    """Runs the migrations that the command asked for."""
    settings = context.config.attributes.get(SETTINGS) or _settings_from_arguments(context)
    context.config.attributes[SETTINGS] = settings
    if context.is_offline_mode():
        context.configure(
            dialect_name="postgresql",
            dialect_opts={"paramstyle": "named"},
            literal_binds=True,
            **_options(settings),
        )
        for statement in (*_preamble(settings), _search_path(settings)):
            context.execute(statement)
        with context.begin_transaction():
            context.run_migrations()
        for comment in _comments(settings):
            context.execute(comment)
        return
    target = context.config.attributes.get(TARGET) or _url(context)
    if isinstance(target, Connection):
        _run_on(target, context, settings)
    else:
        with own_connection(target if isinstance(target, Engine) else engine_of(target)) as own:
            _run_on(own, context, settings)


def _run_on(connection: Connection, context: EnvironmentContext, settings: Settings) -> None:
    require_usable(connection)
    connection.rollback()
    dialect: Any = connection.dialect  # for reflection, which knows no extension's types
    dialect.ischema_names = {
        **dialect.ischema_names,
        "vector": lambda *_: Embedding(),
        "halfvec": lambda *_: Embedding(),
    }
    with guarding(connection) as guard:
        try:
            _prepare(connection, settings)
        except (IntegrityError, ProgrammingError) as error:
            if not isinstance(error.orig, _CREATED_BY_ANOTHER):
                raise
            connection.rollback()
            _prepare(connection, settings)
        local = (_lock_timeout("LOCAL"), _search_path(settings, "LOCAL"))
        with exclusive(guard, settings.schema), each_transaction(connection, guard, local):
            settings = _settled(connection, context, settings)
            context.configure(connection=connection, **_options(settings))
            with context.begin_transaction():
                context.run_migrations()


_CREATED_BY_ANOTHER = (UniqueViolation, DuplicateSchema, DuplicateObject, DuplicateTable)
"""At the same moment."""


def _settled(connection: Connection, context: EnvironmentContext, settings: Settings) -> Settings:
    """What the schema was created with, where it exists; raises SchemaError for other wishes."""
    given = context.get_x_argument(as_dictionary=True)
    before = read_status(connection, settings.schema)
    connection.rollback()
    if before.dimensions is None or before.embedding_type is None:
        return settings
    has = Settings(
        settings.schema,
        before.dimensions,
        before.embedding_type,
        settings.language,
    )
    if "language" in given:
        require_same_language(before, settings.language)
    if ("dimensions" in given and settings.dimensions != has.dimensions) or (
        "embedding_type" in given and settings.embedding_type != has.embedding_type
    ):
        raise SchemaError(
            f"schema {has.schema!r} stores {has.column_type}, which cannot be changed to "
            f"{settings.column_type}; create another schema"
        )
    context.config.attributes[SETTINGS] = has
    return has


def _prepare(connection: Connection, settings: Settings) -> None:
    """Creates what the run's lock needs; on a schema that is there, nothing."""
    for statement in _preamble(settings, "LOCAL"):
        connection.execute(text(statement.replace(":", r"\:")))
    versions = f'"{settings.schema}".{VERSION_TABLE}'
    if connection.scalar(text("SELECT to_regclass(:name) IS NULL"), {"name": versions}):
        create = (  # as Alembic would
            f"CREATE TABLE {versions} (version_num varchar(32) NOT NULL, "
            f"CONSTRAINT {VERSION_TABLE}_pkc PRIMARY KEY (version_num))"
        )
        for statement in (create, *_comments(settings)):
            connection.execute(text(statement))
    connection.commit()


def _preamble(settings: Settings, scope: Scope = "SESSION") -> list[str]:
    """Statements before the first migration; the extension may live in any schema."""
    return [
        _lock_timeout(scope),
        # IF NOT EXISTS alone asks for the right to create even where the schema is there.
        f"DO $$BEGIN IF to_regnamespace('{settings.schema}') IS NULL "
        f'THEN CREATE SCHEMA "{settings.schema}"; END IF; END$$',
        "CREATE EXTENSION IF NOT EXISTS vector",
    ]


def _comments(settings: Settings) -> list[str]:
    """Those of Alembic's table. No revision may change that table: the run's lock is on it."""
    versions = f'"{settings.schema}".{VERSION_TABLE}'
    return [
        f"COMMENT ON TABLE {versions} IS 'The migration this schema is at.'",
        f"COMMENT ON COLUMN {versions}.version_num IS 'Its revision.'",
    ]


def _lock_timeout(scope: Scope) -> str:
    return f"SET {scope} lock_timeout = '{LOCK_TIMEOUT}'"


def _search_path(settings: Settings, scope: Scope = "SESSION") -> str:
    return (
        "SELECT set_config('search_path', "
        f"'\"{settings.schema}\", ' || quote_ident(n.nspname), {scope == 'LOCAL'}) "
        "FROM pg_extension e JOIN pg_namespace n ON n.oid = e.extnamespace "
        "WHERE e.extname = 'vector'"
    )


def _options(settings: Settings) -> dict[str, Any]:
    return {
        "target_metadata": tables(settings.schema).metadata,
        "version_table_schema": settings.schema,
        "include_schemas": True,
        "include_name": lambda name, kind, _: kind != "schema" or name == settings.schema,
        "transaction_per_migration": True,
        "compare_type": _compare_type,
        "compare_server_default": False,
    }


def _compare_type(
    context: Any, inspected: Column[Any], declared: Column[Any], *types: Any
) -> bool | None:
    # The dimension is the database's own; runtime reads it from there.
    return False if isinstance(declared.type, Embedding) else None


def _settings_from_arguments(context: EnvironmentContext) -> Settings:
    arguments = context.get_x_argument(as_dictionary=True)
    known = {"dimensions", "embedding_type", "language", "schema", "url"}
    unknown = sorted(arguments.keys() - known)
    if unknown:
        raise InputError(
            f"unknown -x argument {', '.join(unknown)}; known are {', '.join(sorted(known))}"
        )
    dimensions = arguments.get("dimensions", str(DEFAULT_DIMENSIONS))
    if not dimensions.isdigit():
        raise InputError(f"-x dimensions must be a whole number, got {dimensions!r}")
    return Settings(
        schema=arguments.get("schema", DEFAULT_SCHEMA),
        dimensions=int(dimensions),
        embedding_type=embedding_type(arguments.get("embedding_type", "vector")),
        language=arguments.get("language", DEFAULT_LANGUAGE),
    )


def _url(context: EnvironmentContext) -> str:
    given = context.get_x_argument(as_dictionary=True).get("url")
    url = given or os.environ.get(DATABASE_URL) or context.config.get_main_option("sqlalchemy.url")
    if not url:
        raise InputError(f"no database: set {DATABASE_URL} or pass -x url=postgresql://…")
    return url
