"""Makes migrations of one schema run one at a time.

A second connection, the guard, holds a lock in one transaction during the whole run. A lock that
ends with its transaction cannot be left behind by a killed run or by a connection pooler.
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
from pgrecall.execution.search_path import OWN_PATH

LOCK_WAIT_SECONDS = 600.0
"""Long, since another run may be building an index over millions of rows."""
_POLL_SECONDS = 0.2
_TIMES_ASKED = 5

_logger = logging.getLogger(__name__)

Guard = psycopg.Connection[Any]


@contextmanager
def guarding(connection: Connection) -> Iterator[Guard]:
    """A second connection to the same database, not from the pool, whose size may be one.

    Raises MigrationFailed, before anything is changed, if a pooler changes sessions between
    transactions.
    """
    pool = connection.engine.pool.recreate()
    borrowed = pool.connect()
    try:
        guard: Any = borrowed.driver_connection
        guard.rollback()
        guard.autocommit = False
        guard.isolation_level = psycopg.IsolationLevel.READ_COMMITTED
        guard.prepare_threshold = None  # a prepared statement keeps its snapshot
        _require_sessions(connection, guard)
        guard.execute("SET search_path = pg_catalog, pg_temp")
        guard.commit()
        yield guard
    finally:
        borrowed.invalidate()
        pool.dispose()


@contextmanager
def exclusive(guard: Guard, schema: str) -> Iterator[None]:
    """Holds the lock of a schema's migrations.

    Polls instead of waiting, because a session that waits for a lock holds a snapshot, for which
    CREATE INDEX CONCURRENTLY in the other run would wait. After LOCK TABLE it holds none.
    """
    deadline = time.monotonic() + LOCK_WAIT_SECONDS
    reported = ""
    while not _locked(guard, schema):
        holders = _holders(guard, schema) or "nobody that this role can see"
        if time.monotonic() > deadline:
            raise MigrationFailed(
                f"another migration of schema {schema!r} has been running for "
                f"{LOCK_WAIT_SECONDS:g} s, its lock is held by {holders}; wait for it and try "
                "again, or end it with pg_terminate_backend"
            )
        if holders != reported:
            _logger.warning(
                "waiting for another migration of schema %r, its lock is held by %s",
                schema,
                holders,
            )
            reported = holders
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

    Raises MigrationFailed if the session has changed.
    """
    driver: Any = connection.connection.driver_connection
    backend = _backend(driver)

    def at_begin(_: Connection) -> None:
        guard.execute("SELECT")  # raises if the connection with the lock was lost
        if (now := _backend(driver)) != backend:
            raise _pooled(backend, now)
        if not driver.autocommit:
            for setting in settings:
                driver.execute(setting)

    event.listen(connection, "begin", at_begin)
    connection.execution_options(**{OWN_PATH: True})
    try:
        yield
    finally:
        connection.execution_options(**{OWN_PATH: False})
        event.remove(connection, "begin", at_begin)


def _require_sessions(connection: Connection, guard: Guard) -> None:
    """Raises MigrationFailed if a pooler changes sessions between transactions.

    Such a pooler gives a free session to the next client, which is the guard, or uses its sessions
    in turn. Therefore each client must always meet the same backend, and both different ones. (The
    number of a backend that is reported on connecting proves nothing: poolers of whole sessions and
    proxies without a pool may report another one.)
    """
    driver: Any = connection.connection.driver_connection
    own = _backend(driver)
    driver.rollback()
    for session in (driver,) * _TIMES_ASKED + (guard,) + (driver,) * _TIMES_ASKED:
        met = _backend(session)
        if (met == own) == (session is guard):
            raise _pooled(own, met)
        if session is driver:  # the guard's transaction stays open
            driver.rollback()
    guard.rollback()


def _backend(driver: Guard) -> int:
    cursor = driver.execute("SELECT pg_catalog.pg_backend_pid()", prepare=False)
    [backend] = cursor.fetchone() or (0,)
    return int(backend)


def _pooled(backend: int, other: int) -> MigrationFailed:
    met = f"backend {backend} and backend {other}" if other != backend else f"backend {backend}"
    return MigrationFailed(
        "the connection goes through a pooler that gives each transaction another session, like "
        f"PgBouncer with pool_mode = transaction (two connections met {met}); connect to "
        "PostgreSQL directly to migrate"
    )


_LOCK = "LOCK TABLE ONLY {} IN SHARE UPDATE EXCLUSIVE MODE NOWAIT"
"""Conflicts with itself, with changes of the table and with VACUUM, but not with reads and writes.
Needs the right to change the table. Takes no transaction id, which would hold back VACUUM."""

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
    if _holders(guard, schema):  # trying would only leave an error in the server's log
        return False
    try:
        guard.execute(sql.SQL(_LOCK).format(sql.Identifier(schema, VERSION_TABLE)))
        guard.execute(_UNLIMITED)
    except psycopg.errors.LockNotAvailable:
        guard.rollback()
        return False
    return True


def _holders(guard: Guard, schema: str) -> str:
    """The sessions that hold a conflicting lock, as far as this role may see them."""
    rows = guard.execute(_HOLDERS, [f'"{schema}".{VERSION_TABLE}'], prepare=False).fetchall()
    guard.rollback()
    return ", ".join(
        f"backend {pid} ({role or kind}, application {application or 'unnamed'})"
        if pid is not None
        else "a prepared transaction"
        for pid, role, application, kind in rows
    )
