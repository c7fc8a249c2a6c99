"""The Alembic environment, for `pgrecall migrate` and for plain `alembic`."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from typing import Any, Literal

from alembic.operations import Operations
from alembic.runtime.environment import EnvironmentContext
from psycopg.errors import DuplicateObject, DuplicateSchema, DuplicateTable, UniqueViolation
from sqlalchemy import Column, Connection, text
from sqlalchemy.exc import IntegrityError, ProgrammingError

from pgrecall.core.embedding_type import Embedding
from pgrecall.core.quoting import listed, shortened
from pgrecall.core.resources import with_extension
from pgrecall.core.vectors import EmbeddingType
from pgrecall.errors import InputError, SchemaError
from pgrecall.execution.inspection import VERSION_TABLE
from pgrecall.migrate import repeatable
from pgrecall.migrate.connecting import LOCK_TIMEOUT, own_connection, require_usable
from pgrecall.migrate.locking import each_transaction, exclusive, guarding
from pgrecall.migrate.settings import (
    DEFAULT_DIMENSIONS,
    DEFAULT_EXTENSION_SCHEMA,
    DEFAULT_LANGUAGE,
    SETTINGS,
    TARGET,
    Settings,
    embedding_type,
)
from pgrecall.migrate.state import (
    EMBEDDING_INDEX,
    extension_schema,
    pin_transaction,
    read_status,
    require_same_language,
)
from pgrecall.schema import DEFAULT_SCHEMA, REVISION, tables
from pgrecall.scoring.profile import Profile

INDEXING = "0002"
"""The revision that builds the index on embeddings, or drops it."""
_POSITIONS = re.compile("ranks_[0-9a-f]{32}")
"""Partitions of rank_positions, which functions of the schema create and drop."""
DATABASE_URL = "PGRECALL_DATABASE_URL"
Scope = Literal["LOCAL", "SESSION"]


def run(context: EnvironmentContext) -> None:
    """Runs the migrations of the command, online or offline."""
    configured = context.config.attributes.get(SETTINGS)
    settings = configured or _settings_from_arguments(context)
    context.config.attributes[SETTINGS] = settings
    if context.is_offline_mode():
        context.configure(
            dialect_name="postgresql",
            dialect_opts={"paramstyle": "named"},
            literal_binds=True,
            **_options(settings),
        )
        for statement in (
            *_preamble(settings),
            _search_path(settings),
            _require_extension(settings),
        ):
            context.execute(statement)
        _run(context)
        for comment in _comments(settings):
            context.execute(comment)
        if _is_upgrade(context):
            if context.get_starting_revision_argument():  # or its revision has just written it
                _settle_embedding_index(context)
            _apply_repeatable(context, settings)
        return
    target = context.config.attributes.get(TARGET) or _url(context)
    if configured and isinstance(target, Connection):  # a function of ours has prepared it
        _run_on(target, context, settings)
    else:
        with own_connection(target) as connection:
            _run_on(connection, context, settings)


def _run_on(connection: Connection, context: EnvironmentContext, settings: Settings) -> None:
    for_extension = connection.scalar(_CURRENT)
    if for_extension == "pg_catalog":  # a pinned engine's: what it would be otherwise
        connection.execute(text("SET LOCAL search_path TO DEFAULT"))
        for_extension = connection.scalar(_CURRENT)
    pin_transaction(connection)
    require_usable(connection, settings.schema)
    connection.rollback()
    with guarding(connection) as guard:
        chosen = "public" if for_extension in (None, "pg_catalog") else str(for_extension)
        settings = replace(settings, extension_schema=chosen)
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
            settings = replace(settings, extension_schema=str(extension_schema(connection)))
            connection.rollback()
            context.config.attributes[SETTINGS] = settings
            with _reflecting(connection.dialect, settings.extension_schema):
                context.configure(connection=connection, **_options(settings))
                _run(context)
            connection.rollback()
            at = context.get_context().get_current_revision()
            connection.rollback()
            if _is_upgrade(context) and at == REVISION:
                _settle_embedding_index(context)
                connection.rollback()
                with connection.begin():
                    profiles = repeatable.installed_profiles(connection, settings.schema)
                    _apply_repeatable(context, settings, profiles)


_CURRENT = text("SELECT pg_catalog.current_schema()")


@contextmanager
def _reflecting(dialect: Any, extension_schema: str) -> Iterator[None]:
    """Lets a comparison see our types, and our schema even where it is the first on the path."""
    before = dialect.ischema_names, dialect.default_schema_name
    types = {f"{extension_schema}.{name}": lambda *_: Embedding() for name in EmbeddingType}
    dialect.ischema_names = {**dialect.ischema_names, **types}
    dialect.default_schema_name = "pg_catalog"
    try:
        yield
    finally:
        dialect.ischema_names, dialect.default_schema_name = before


def _is_upgrade(context: EnvironmentContext) -> bool:
    return bool(context.get_context().opts["fn"].__name__ == "upgrade")


def _settle_embedding_index(context: EnvironmentContext) -> None:
    """Lets the index on embeddings be as the settings say, in a schema at the newest revision."""
    revision: Any = context.script.get_revision(INDEXING)
    with Operations.context(context.get_context()):
        revision.module.upgrade()


def _apply_repeatable(
    context: EnvironmentContext, settings: Settings, profiles: Iterable[Profile] = ()
) -> None:
    """Applies functions and views, to a schema at the newest revision."""
    for statement in repeatable.statements(settings, profiles):
        context.execute(text(statement.replace(":", r"\:")))


_CREATED_BY_ANOTHER = (UniqueViolation, DuplicateSchema, DuplicateObject, DuplicateTable)
"""Errors if another run creates the same object at the same time."""


def _run(context: EnvironmentContext) -> None:
    with context.begin_transaction():
        context.run_migrations()


def _settled(connection: Connection, context: EnvironmentContext, settings: Settings) -> Settings:
    """The settings of the existing schema, if any; raises SchemaError if the given ones differ."""
    options = context.get_x_argument(as_dictionary=True)
    before = read_status(connection, settings.schema)
    connection.rollback()
    if before.dimensions is None or before.embedding_type is None:
        return settings
    has = Settings(
        settings.schema,
        before.dimensions,
        before.embedding_type,
        settings.language,
        embedding_index=settings.embedding_index,
    )
    if "language" in options:
        require_same_language(before, settings.language)
    if ("dimensions" in options and settings.dimensions != has.dimensions) or (
        "embedding_type" in options and settings.embedding_type != has.embedding_type
    ):
        raise SchemaError(
            f"schema {has.schema!r} stores {has.column_type}, which cannot be changed to "
            f"{settings.column_type}; create another schema"
        )
    context.config.attributes[SETTINGS] = has
    return has


def _require_extension(settings: Settings) -> str:
    """SQL that checks, in an offline run, that pgvector is in the schema assumed."""
    schema = settings.extension_schema.replace("'", "''")
    return (
        "DO $$BEGIN IF NOT EXISTS (SELECT FROM pg_extension e JOIN pg_namespace n "
        f"ON n.oid = e.extnamespace WHERE e.extname = 'vector' AND n.nspname = '{schema}') "
        f"THEN RAISE EXCEPTION 'pgvector is not in the schema %', '{schema}' "
        "USING HINT = 'generate this SQL again with --extension-schema'; END IF; END$$"
    )


def _prepare(connection: Connection, settings: Settings) -> None:
    """Creates the schema, the extension and Alembic's table, which the lock needs, if missing."""
    pin_transaction(connection)
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
    # Raises where the role may not use the schema of the extension.
    load = with_extension(
        "SELECT '[1]'::@extschema:vector@.vector", str(extension_schema(connection))
    )
    connection.execute(text(load.replace(":", r"\:")))
    connection.commit()


def _preamble(settings: Settings, scope: Scope = "SESSION") -> list[str]:
    """Statements before the first migration. The extension may be in any schema."""
    return [
        _lock_timeout(scope),
        # CREATE SCHEMA IF NOT EXISTS needs the right to create even if the schema exists.
        f"DO $$BEGIN IF to_regnamespace('{settings.schema}') IS NULL "
        f'THEN CREATE SCHEMA "{settings.schema}"; END IF; END$$',
        "CREATE EXTENSION IF NOT EXISTS vector "
        + with_extension("SCHEMA @extschema:vector@", settings.extension_schema),
    ]


def _comments(settings: Settings) -> list[str]:
    """Comments on Alembic's table. A revision cannot write them, since the run has locked it."""
    versions = f'"{settings.schema}".{VERSION_TABLE}'
    return [
        f"COMMENT ON TABLE {versions} IS 'The migrations this schema is at.'",
        f"COMMENT ON COLUMN {versions}.version_num IS 'A revision.'",
    ]


def _lock_timeout(scope: Scope) -> str:
    return f"SET {scope} lock_timeout = '{LOCK_TIMEOUT}'"


def _search_path(settings: Settings, scope: Scope = "SESSION") -> str:
    """Only schemas that other roles cannot create objects in."""
    return f'SET {scope} search_path = "{settings.schema}", pg_temp'


def include_name(
    name: str | None,
    type_: str,
    parent_names: Mapping[Any, str | None],
    *,
    schema: str = DEFAULT_SCHEMA,
) -> bool:
    """Excludes pgrecall's schema; for `include_name=` of your own Alembic environment.

    Otherwise autogenerate with `include_schemas=True` would drop its tables, since your metadata
    does not have them. For a schema of another name, pass `partial(include_name, schema="…")`.
    Combine it with your own filter by `lambda *names: mine(*names) and include_name(*names)`.
    """
    return type_ != "schema" or name != schema


def _options(settings: Settings) -> dict[str, Any]:
    return {
        "target_metadata": tables(settings.schema).metadata,
        "version_table_schema": settings.schema,
        "include_schemas": True,
        "include_name": lambda name, kind, _: (
            (kind != "schema" or name == settings.schema)
            and (kind != "index" or name != EMBEDDING_INDEX)
            and not (kind == "table" and name is not None and _POSITIONS.fullmatch(name))
        ),
        "transaction_per_migration": True,
        "compare_type": _compare_type,
        "compare_server_default": False,
    }


def _compare_type(
    context: Any, inspected: Column[Any], declared: Column[Any], *types: Any
) -> bool | None:
    # Dimensions differ between schemas, so the metadata does not have them.
    return False if isinstance(declared.type, Embedding) else None


def _settings_from_arguments(context: EnvironmentContext) -> Settings:
    arguments = context.get_x_argument(as_dictionary=True)
    known = {
        *("dimensions", "embedding_index", "embedding_type", "extension_schema", "language"),
        *("schema", "url"),
    }
    unknown = sorted(arguments.keys() - known)
    if unknown:
        raise InputError(
            f"unknown -x argument {listed(unknown)}; known are {', '.join(sorted(known))}"
        )
    dimensions = arguments.get("dimensions", str(DEFAULT_DIMENSIONS))
    if not re.fullmatch("[0-9]{1,9}", dimensions):
        raise InputError(f"-x dimensions must be a whole number, got {shortened(dimensions)}")
    index = arguments.get("embedding_index")
    if index not in (None, "on", "off"):
        raise InputError(f"-x embedding_index must be on or off, got {shortened(index)}")
    return Settings(
        schema=arguments.get("schema", DEFAULT_SCHEMA),
        dimensions=int(dimensions),
        embedding_type=embedding_type(arguments.get("embedding_type", "vector")),
        language=arguments.get("language", DEFAULT_LANGUAGE),
        extension_schema=arguments.get("extension_schema", DEFAULT_EXTENSION_SCHEMA),
        embedding_index=None if index is None else index == "on",
    )


def _url(context: EnvironmentContext) -> str:
    option = context.get_x_argument(as_dictionary=True).get("url")
    url = option or os.environ.get(DATABASE_URL) or context.config.get_main_option("sqlalchemy.url")
    if not url:
        raise InputError(f"no database: set {DATABASE_URL} or pass -x url=postgresql://…")
    return url
