"""Engines for URLs, and the connections of migrations."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Final

import psycopg
from psycopg.conninfo import make_conninfo
from sqlalchemy import URL, Connection, Engine, NullPool, Pool, create_engine, make_url, text
from sqlalchemy.dialects.postgresql.psycopg import PGDialect_psycopg
from sqlalchemy.exc import ArgumentError

from pgrecall.core.quoting import shortened
from pgrecall.errors import InputError, MigrationFailed, PgvectorUnusable
from pgrecall.execution.inspection import (
    VERSION_TABLE,
    require_pgvector,
    require_psycopg,
    too_old,
)
from pgrecall.execution.search_path import pin_search_path

if TYPE_CHECKING:
    from sqlalchemy.ext.asyncio import AsyncEngine

Target = str | URL | Engine | Connection
"""A database to migrate: its URL, an Engine, or a Connection that is in no transaction."""
LOCK_TIMEOUT = "5s"
_CONNECT: Final = {"client_encoding": "utf8", "fallback_application_name": "pgrecall"}
CONNECT_TIMEOUT = "10"
"""Seconds; without it, a server that hangs is waited for for minutes."""
_DIALECT: Any = PGDialect_psycopg()  # type: ignore[no-untyped-call]
_ENCODED = "in a password, percent-encode the characters : / ? # @ and %, for example @ as %40"


def engine_of(target: str | URL | Engine, *, poolclass: type[Pool] = NullPool) -> Engine:
    """An engine for a URL in any of PostgreSQL's spellings, or the engine itself.

    An engine made here prepares no statements, so it works behind PgBouncer, and its search_path is
    pinned. Raises InputError.
    """
    if isinstance(target, Engine):
        require_psycopg(target)
        return target
    engine = create_engine(
        database_url(target),
        poolclass=poolclass,
        use_native_hstore=False,
        connect_args={**_CONNECT, "prepare_threshold": None},
    )
    return pin_search_path(engine)


def async_engine_of(
    target: str | URL, *, prepares: bool, application: str = "pgrecall", **pool: Any
) -> AsyncEngine:
    """An async engine for a URL, with these options of its pool. Raises InputError.

    `prepares`: whether statements may be prepared; not behind PgBouncer.
    """
    from sqlalchemy.ext.asyncio import create_async_engine  # takes 50 ms

    connect = {**_CONNECT, "fallback_application_name": application}
    engine = create_async_engine(
        database_url(target),
        use_native_hstore=False,
        connect_args=connect if prepares else {**connect, "prepare_threshold": None},
        **pool,
    )
    return pin_search_path(engine)


def database_url(target: str | URL) -> URL:
    """The URL with psycopg 3 as its driver, and a limit for connecting if it names none.

    Raises InputError if it is not a PostgreSQL URL. Errors do not quote it, since it may contain a
    password.
    """
    if not isinstance(target, str | URL):
        raise InputError(
            f"a database URL must be text or a sqlalchemy.URL, got {shortened(target)}"
        )
    try:
        url = make_url(target)
        backend = url.get_backend_name()
    except (ArgumentError, AttributeError):  # SQLAlchemy 2.0.0 returns other types unchanged
        raise InputError(
            "the database URL cannot be parsed; it must look like "
            "postgresql://user:password@host/name"
        ) from None
    except ValueError:  # of int()
        raise InputError(f"the port in the database URL is not a number; {_ENCODED}") from None
    if backend not in ("postgresql", "postgres"):
        raise InputError(f"pgrecall needs a postgresql:// URL, got one for {backend}")
    if url.port is not None and not 1 <= url.port <= 65535:
        raise InputError(f"the port in the database URL must be 1 to 65535, got {url.port}")
    if "@" in (url.host or ""):
        raise InputError(f"the database URL has more than one @; {_ENCODED}")
    _require_connectable(url)
    if "connect_timeout" not in url.query and "PGCONNECT_TIMEOUT" not in os.environ:
        url = url.update_query_dict({"connect_timeout": CONNECT_TIMEOUT})
    return url.set(drivername="postgresql+psycopg")


def shown_url(target: str) -> str:
    """The URL without its secrets; of what cannot be read as one, nothing."""
    try:
        url = make_url(target)
    except (ArgumentError, ValueError):
        return "***"
    hidden = {name: "***" for name in url.query if "pass" in name or "key" in name}
    return url.update_query_dict(hidden).render_as_string(hide_password=True)


def _require_connectable(url: URL) -> None:
    """Raises InputError for what psycopg would refuse or truncate before it calls a server."""
    try:
        _, options = _DIALECT.create_connect_args(url)
        conninfo = make_conninfo(**options)
        conninfo.encode()
        for host in str(options.get("host", "")).split(","):
            if not host.startswith(("/", "@")):  # these are folders of sockets
                host.encode("idna")
    except (ArgumentError, psycopg.ProgrammingError) as error:
        raise InputError(f"the database URL cannot be used: {str(error).strip()}") from None
    except UnicodeError:
        conninfo = "\0"
    if "\0" in conninfo:
        raise InputError("the database URL has a character or a host name that cannot be sent")


@contextmanager
def own_connection(target: Target) -> Iterator[Connection]:
    """A connection outside of the pool, so that its session settings end with it.

    One of the caller's gets its settings back. Raises InputError for one in a transaction.
    """
    with connected(target) as connection:
        try:
            yield connection.execution_options(isolation_level="READ COMMITTED")
        finally:
            if connection is not target:
                connection.invalidate()


@contextmanager
def connected(target: Target) -> Iterator[Connection]:
    """A connection to the database, or the caller's own, whose session may have assumed a role."""
    if isinstance(target, Connection):
        with _lent(target):
            yield target
    else:
        with engine_of(target).connect() as connection:
            yield connection


@contextmanager
def _lent(connection: Connection) -> Iterator[None]:
    require_psycopg(connection.engine)
    if connection.dialect.is_async:
        raise InputError(
            "migrations need psycopg 3 without asyncio: pass the database's URL, or an Engine or "
            "Connection from create_engine"
        )
    if connection.in_transaction():
        raise InputError(
            "the Connection is in a transaction, and migrations commit transactions of their own: "
            "call its commit() or rollback() first, or pass the Engine"
        )
    level = connection.get_execution_options().get("isolation_level")
    before = connection.execute(_SESSION).all()
    connection.rollback()
    try:
        yield
    finally:
        if not connection.invalidated:
            connection.rollback()
            connection.connection.rollback()  # what the driver began without SQLAlchemy
            for name, value in before:
                connection.execute(_SET, {"name": name, "value": value})
            connection.commit()
            level = level or connection.default_isolation_level
            connection.execution_options(isolation_level=level)


_SESSION = text(
    "SELECT name, current_setting(name) FROM pg_settings "
    "WHERE name IN ('search_path', 'lock_timeout')"
)
"""The settings that a concurrent build of an index changes."""
_SET = text("SELECT set_config(:name, :value, false)")


_SERVER = text(
    """
    SELECT current_setting('server_version_num')::integer AS number,
           current_setting('server_version') AS version,
           current_setting('server_encoding') AS encoding,
           pg_is_in_recovery() AS is_standby,
           current_setting('transaction_read_only')::boolean AS is_read_only,
           (SELECT default_version FROM pg_available_extensions WHERE name = 'vector') AS available,
           (SELECT extversion FROM pg_extension WHERE extname = 'vector') AS installed,
           quote_ident(current_user) AS role, pg_get_userbyid(s.nspowner) AS owner,
           has_schema_privilege(s.oid, 'USAGE') AND has_schema_privilege(s.oid, 'CREATE')
               AS may_create,
           pg_get_userbyid(v.relowner) AS migrated_by,
           pg_has_role(v.relowner, 'USAGE') AS may_migrate
      FROM (SELECT) one_row
      LEFT JOIN pg_namespace s ON s.nspname = :schema
      LEFT JOIN pg_class v ON v.relnamespace = s.oid AND v.relname = :versions
    """
)


def require_usable(connection: Connection, schema: str) -> None:
    """Raises PgvectorUnusable or MigrationFailed where the schema cannot be created or changed."""
    server = connection.execute(_SERVER, {"schema": schema, "versions": VERSION_TABLE}).one()
    if old := too_old(server.number, server.version):
        raise MigrationFailed(old)
    if server.is_standby:
        raise MigrationFailed("this server is a read-only standby: migrate on the primary")
    if server.is_read_only:
        raise MigrationFailed(
            "transactions are read-only here: connect with default_transaction_read_only = off, "
            "or reset it by ALTER DATABASE or ALTER ROLE"
        )
    if server.encoding != "UTF8":
        raise MigrationFailed(
            f"the database's encoding is {server.encoding}; pgrecall needs UTF8 "
            "(CREATE DATABASE … ENCODING 'UTF8')"
        )
    if server.may_migrate is False:
        raise MigrationFailed(
            f"permission denied for schema {schema}: it was created by {server.migrated_by}, so "
            f"migrate as that role, or as a member of it (you are {server.role})"
        )
    if server.may_create is False:
        raise MigrationFailed(
            f"permission denied for schema {schema}: let its owner, {server.owner}, run "
            f'`GRANT USAGE, CREATE ON SCHEMA "{schema}" TO {server.role}`'
        )
    if server.installed is None and server.available is None:
        raise PgvectorUnusable(
            "pgvector is not installed on the database server: install its package "
            "(github.com/pgvector/pgvector, 0.8 or newer), then migrate again"
        )
    require_pgvector(server.installed or server.available)
