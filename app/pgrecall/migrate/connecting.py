"""Engines for URLs, and the connections of migrations."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import psycopg
from psycopg.conninfo import make_conninfo
from sqlalchemy import URL, Connection, Engine, NullPool, Pool, create_engine, make_url, text
from sqlalchemy.dialects.postgresql.psycopg import PGDialect_psycopg
from sqlalchemy.exc import ArgumentError

from pgrecall.core.quoting import shortened
from pgrecall.errors import InputError, MigrationFailed, PgvectorUnusable
from pgrecall.execution.inspection import require_pgvector, require_psycopg

LOCK_TIMEOUT = "5s"
CONNECT_TIMEOUT = "10"
"""Seconds; without it, a server that hangs is waited for for minutes."""
_DIALECT: Any = PGDialect_psycopg()  # type: ignore[no-untyped-call]
_ENCODED = "in a password, percent-encode the characters : / ? # @ and %, for example @ as %40"


def engine_of(target: str | URL | Engine, *, poolclass: type[Pool] = NullPool) -> Engine:
    """An engine for a URL in any of PostgreSQL's spellings, or the engine itself.

    An engine made here prepares no statements, so it works behind PgBouncer. Raises InputError.
    """
    if isinstance(target, Engine):
        require_psycopg(target)
        return target
    return create_engine(
        database_url(target),
        poolclass=poolclass,
        connect_args={
            "client_encoding": "utf8",
            "fallback_application_name": "pgrecall",
            "prepare_threshold": None,
        },
    )


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
def own_connection(engine: Engine) -> Iterator[Connection]:
    """A connection outside of the pool, so that its session settings end with it."""
    with engine.connect() as connection:
        try:
            yield connection.execution_options(isolation_level="READ COMMITTED")
        finally:
            connection.invalidate()


def require_usable(connection: Connection) -> None:
    """Raises PgvectorUnusable or MigrationFailed for a database that cannot hold the schema."""
    encoding = connection.scalar(text("SHOW server_encoding"))
    if encoding != "UTF8":
        raise MigrationFailed(
            f"the database's encoding is {encoding}; pgrecall needs UTF8 "
            "(CREATE DATABASE … ENCODING 'UTF8')"
        )
    available, installed = connection.execute(
        text(
            "SELECT (SELECT default_version FROM pg_available_extensions WHERE name = 'vector'), "
            "(SELECT extversion FROM pg_extension WHERE extname = 'vector')"
        )
    ).one()
    if installed is None and available is None:
        raise PgvectorUnusable(
            "pgvector is not installed on the database server: install its package "
            "(github.com/pgvector/pgvector, 0.8 or newer), then migrate again"
        )
    require_pgvector(installed or available)
