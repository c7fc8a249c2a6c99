"""The connection that a migration run has to itself."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager

from sqlalchemy import URL, Connection, Engine, NullPool, create_engine, make_url, text
from sqlalchemy.exc import ArgumentError

from pgrecall.errors import InputError, MigrationFailed, PgvectorUnusable
from pgrecall.repository.inspection import require_pgvector, require_psycopg

LOCK_TIMEOUT = "5s"
LOCK_WAIT_SECONDS = 600.0
"""Another run may be building an index over millions of rows."""
_POLL_SECONDS = 0.2


def engine_of(target: str | URL | Engine) -> Engine:
    """An engine for a URL in any of PostgreSQL's spellings, or the engine itself."""
    if isinstance(target, Engine):
        require_psycopg(target)
        return target
    return create_engine(
        database_url(target), poolclass=NullPool, connect_args={"client_encoding": "utf8"}
    )


def database_url(target: str | URL) -> URL:
    """The URL with psycopg 3 as its driver; raises InputError when it is no PostgreSQL URL."""
    try:
        url = make_url(target)
        backend = url.get_backend_name()
    except (ArgumentError, AttributeError):  # SQLAlchemy 2.0.0 returns whatever else it is given
        raise InputError(
            "the database URL cannot be read; it looks like postgresql://user:password@host/name"
        ) from None
    if backend not in ("postgresql", "postgres"):
        raise InputError(f"pgrecall needs a postgresql:// URL, got one for {backend}")
    return url.set(drivername="postgresql+psycopg")


@contextmanager
def own_connection(engine: Engine) -> Iterator[Connection]:
    """A connection whose session settings die with it: no pool hands it out again."""
    with engine.connect() as connection:
        try:
            yield connection.execution_options(isolation_level="READ COMMITTED")
        finally:
            connection.invalidate()


@contextmanager
def exclusive(connection: Connection, schema: str) -> Iterator[None]:
    """One migration run at a time per schema.

    Polls rather than waits: a session waiting for an advisory lock holds a snapshot, which
    CREATE INDEX CONCURRENTLY would in turn wait for.
    """
    names = {"name": f"pgrecall.migrate.{schema}"}
    deadline = time.monotonic() + LOCK_WAIT_SECONDS
    while True:
        got = connection.scalar(
            text("SELECT pg_try_advisory_lock(hashtextextended(:name, 0))"), names
        )
        connection.commit()
        if got:
            break
        if time.monotonic() > deadline:
            raise MigrationFailed(
                f"another migration of schema {schema!r} has been running for "
                f"{LOCK_WAIT_SECONDS:g} s; wait for it and try again"
            )
        time.sleep(_POLL_SECONDS)
    try:
        yield
    finally:
        if not connection.invalidated and not connection.closed:
            connection.rollback()
            connection.scalar(text("SELECT pg_advisory_unlock(hashtextextended(:name, 0))"), names)
            connection.commit()


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
