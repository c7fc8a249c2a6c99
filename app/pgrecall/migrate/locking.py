"""One migration of a schema at a time, on sessions that are its own.

A second connection, the guard, holds a lock in one transaction for as long as the run takes. What
ends with a transaction is left to nobody: not by a killed run, nor behind a connection pooler.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import psycopg
from psycopg import sql
from sqlalchemy import Connection, event

from pgrecall.errors import MigrationFailed
from pgrecall.execution.inspection import VERSION_TABLE

LOCK_WAIT_SECONDS = 600.0
"""Another run may be building an index over millions of rows."""
_POLL_SECONDS = 0.2
_TIMES_ASKED = 5

_logger = logging.getLogger(__name__)

Guard = psycopg.Connection[Any]


@contextmanager
def guarding(connection: Connection) -> Iterator[Guard]:
    """Another connection to the same database, outside of the engine's pool, which may be of one.

    Raises MigrationFailed where sessions last for a transaction only; nothing has happened then.
    """
    pool = connection.engine.pool.recreate()
    borrowed = pool.connect()
    try:
        guard: Any = borrowed.driver_connection
        guard.rollback()
        guard.autocommit = False
        guard.isolation_level = psycopg.IsolationLevel.READ_COMMITTED
        guard.prepare_threshold = None  # what is prepared holds its snapshot until the next query
        _require_sessions(connection, guard)
        guard.execute("SET search_path = pg_catalog, pg_temp")  # it is this run's alone
        guard.commit()
        yield guard
    finally:
        borrowed.invalidate()
        pool.dispose()


@contextmanager
def exclusive(guard: Guard, schema: str) -> Iterator[None]:
    """One migration run at a time per schema.

    Polls rather than waits: a session waiting for a lock holds a snapshot, which CREATE INDEX
    CONCURRENTLY would in turn wait for. A transaction that has got its lock holds none.
    """
    deadline = time.monotonic() + LOCK_WAIT_SECONDS
    told = ""
    while not _locked(guard, schema):
        holders = _holders(guard, schema) or "nobody that this role can see"
        if time.monotonic() > deadline:
            raise MigrationFailed(
                f"another migration of schema {schema!r} has been running for "
                f"{LOCK_WAIT_SECONDS:g} s, its lock is held by {holders}; wait for it and try "
                "again, or end it with pg_terminate_backend"
            )
        if holders != told:
            _logger.warning(
                "waiting for another migration of schema %r, its lock is held by %s",
                schema,
                holders,
            )
            told = holders
        time.sleep(_POLL_SECONDS)
    try:
        yield
    finally:
        if not guard.closed:
            guard.rollback()


@contextmanager
def each_transaction(
    connection: Connection, guard: Guard, settings: Sequence[str]
) -> Iterator[None]:
    """Runs SET LOCAL statements at the beginning of each transaction of the run.

    Raises MigrationFailed when the session has become another one.
    """
    driver: Any = connection.connection.driver_connection
    backend = _backend(driver)

    def at_begin(_: Connection) -> None:
        guard.execute("SELECT")  # raises when the lock was lost with its connection
        if (now := _backend(driver)) != backend:
            raise _pooled(backend, now)
        if not driver.autocommit:
            for setting in settings:
                driver.execute(setting)

    event.listen(connection, "begin", at_begin)
    try:
        yield
    finally:
        event.remove(connection, "begin", at_begin)


def _require_sessions(connection: Connection, guard: Guard) -> None:
    """A pooler hands the session that a transaction leaves either to the next client, which is the
    guard, or on in turn. (That a client was told of a backend by another number proves nothing:
    so do poolers of whole sessions, and proxies without a pool.)"""
    driver: Any = connection.connection.driver_connection
    own = _backend(driver)
    driver.rollback()
    for asked in (driver,) * _TIMES_ASKED + (guard,) + (driver,) * _TIMES_ASKED:
        met = _backend(asked)
        if (met == own) == (asked is guard):
            raise _pooled(own, met)
        if asked is driver:  # while the guard's transaction stays open
            driver.rollback()
    guard.rollback()


def _backend(driver: Guard) -> int:
    [backend] = driver.execute("SELECT pg_backend_pid()", prepare=False).fetchone() or (0,)
    return int(backend)


def _pooled(backend: int, other: int) -> MigrationFailed:
    met = f"backend {backend} and backend {other}" if other != backend else f"backend {backend}"
    return MigrationFailed(
        "the connection passes a pooler that gives each transaction another session, as PgBouncer "
        f"does with pool_mode = transaction (two connections met {met}); migrate by the address "
        "of PostgreSQL itself"
    )


_LOCK = "LOCK TABLE ONLY {} IN SHARE UPDATE EXCLUSIVE MODE NOWAIT"
"""Conflicts with itself, and with what changes or vacuums the table; not with reading or writing
it. Needs a right to change the table, and takes no transaction id, which would hold VACUUM back."""

_UNLIMITED = """
    SELECT set_config(name, '0', true) FROM pg_settings
     WHERE name IN ('idle_in_transaction_session_timeout', 'transaction_timeout')
"""

_HOLDERS = """
    SELECT l.pid, a.usename, a.application_name, a.backend_type
      FROM pg_locks l
      LEFT JOIN pg_stat_activity a ON a.pid = l.pid
     WHERE l.locktype = 'relation' AND l.relation = to_regclass(%s) AND l.granted
       AND l.database = (SELECT oid FROM pg_database WHERE datname = current_database())
       AND l.mode IN ('ShareUpdateExclusiveLock', 'ShareLock', 'ShareRowExclusiveLock',
                      'ExclusiveLock', 'AccessExclusiveLock')
     ORDER BY l.pid
"""


def _locked(guard: Guard, schema: str) -> bool:
    if _holders(guard, schema):  # trying all the same would leave an error in the server's log
        return False
    try:
        guard.execute(sql.SQL(_LOCK).format(sql.Identifier(schema, VERSION_TABLE)))
        guard.execute(_UNLIMITED)
    except psycopg.errors.LockNotAvailable:
        guard.rollback()
        return False
    return True


def _holders(guard: Guard, schema: str) -> str:
    """Who holds a lock that ours conflicts with, as far as this role may see it."""
    found = guard.execute(_HOLDERS, [f'"{schema}".{VERSION_TABLE}'], prepare=False).fetchall()
    guard.rollback()
    return ", ".join(
        f"backend {pid} ({role or kind}, application {application or 'unnamed'})"
        if pid is not None
        else "a prepared transaction"
        for pid, role, application, kind in found
    )
