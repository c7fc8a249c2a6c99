"""Statements that a migration made stale on connections that were open before it."""

from __future__ import annotations

from typing import Any

import psycopg
from psycopg.pq import TransactionStatus
from sqlalchemy import Connection
from sqlalchemy.exc import DBAPIError


def psycopg_error(error: BaseException | None) -> psycopg.Error | None:
    """The error of psycopg, which SQLAlchemy may have wrapped; None for any other."""
    original = error.orig if isinstance(error, DBAPIError) else error
    return original if isinstance(original, psycopg.Error) else None


def is_stale(error: BaseException | None) -> bool:
    """True if the statement's prepared plan, or a function that it calls, has been replaced."""
    cause = psycopg_error(error)
    if cause is None:
        return False
    if cause.sqlstate == "0A000":  # messages may be translated
        return cause.diag.source_function == "RevalidateCachedQuery"
    if cause.sqlstate == "42804":  # the rows of a function that has another type by now
        return cause.diag.source_file == "attmap.c"
    return cause.sqlstate == "XX000" and "cache lookup failed for function" in str(cause)


def may_execute_again(connection: Connection, driver: Any, error: BaseException) -> bool:
    """True if the failed statement is stale and was a transaction of its own.

    psycopg then discards all prepared statements of the connection, after the next statement,
    which must not be prepared. It would do so itself at a rollback, but autocommit has none.
    """
    if not is_stale(error) or connection.invalidated:
        return False
    driver._prepared.clear()
    return bool(driver.info.transaction_status == TransactionStatus.IDLE)


def may_repeat(connection: Connection) -> bool:
    """True if a savepoint has restored the caller's transaction after a failed call."""
    driver: Any = connection.connection.driver_connection
    return bool(driver.info.transaction_status == TransactionStatus.INTRANS)
