"""Converts database errors to PgRecallError, with the original as `__cause__`."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import psycopg
from psycopg.pq import TransactionStatus
from sqlalchemy import Connection
from sqlalchemy.exc import DBAPIError, PendingRollbackError, StatementError
from sqlalchemy.exc import TimeoutError as PoolTimeout

from pgrecall.core.quoting import cut
from pgrecall.errors import (
    DatabaseConflict,
    DatabaseError,
    DatabaseReadOnly,
    DatabaseTimeout,
    DatabaseUnavailable,
    DuplicateMemory,
    InputError,
    InvalidMemory,
    InvalidVector,
    MemoryNotFound,
    NotCompliant,
    PgRecallError,
    PgvectorUnusable,
    SupersessionConflict,
    UnknownName,
)

DATABASE_ERRORS = (PoolTimeout, PendingRollbackError, DBAPIError, psycopg.Error, StatementError)
"""The errors that psycopg and SQLAlchemy raise."""
_CONFLICTS = ("40001", "40P01")
_INTERNAL = "XX000"
"""The SQLSTATE that some errors of a worker of Citus get."""
_READ_ONLY = "25006"
_TIME_LIMITS = {
    "57014": "statement_timeout ended the statement, or somebody cancelled it: raise "
    "statement_timeout for this role, or do less at a time (fewer memories for add_many, a smaller "
    "batch_size)",
    "55P03": "lock_timeout ended the wait for a lock that another session holds: try again later, "
    "or raise lock_timeout",
    "25P03": "idle_in_transaction_session_timeout ended the session: raise it, or do less between "
    "the statements of a transaction",
    "25P04": "transaction_timeout ended the transaction: raise it for this role, or do less at a "
    "time",
}
"""The reason for which a statement ended, and advice, by SQLSTATE."""
_CHECK_VIOLATION = "23514"
_LIMIT_EXCEEDED = "53400"
_NOT_IN_STATE = "55000"
_UNIQUE_VIOLATION = "23505"
_REFERENCED = ("23503", "23001")
_UNAVAILABLE = (
    *("08000", "08001", "08003", "08004", "08006"),
    *("28", "3D", "53", "57P"),
)
"""SQLSTATEs of lost connections, failed authentication, unknown databases, missing resources and
shutdowns."""
_REFUSED: dict[str | None, type[PgRecallError]] = {
    "22023": InputError,
    "PM001": InvalidMemory,
    "PM002": NotCompliant,
    "PM003": MemoryNotFound,
    "PM004": DuplicateMemory,
    "PM005": SupersessionConflict,
    "PM006": InvalidVector,
    "PM007": UnknownName,
    "PM008": PgvectorUnusable,
}
"""The SQLSTATEs that our functions raise. From other functions, 22023 is a bad parameter too."""
_FORBIDDEN = "42501"
_PERMITTED_BY = {
    "create extension": "let a superuser, or the console of a managed server, run "
    "`CREATE EXTENSION vector` in this database",
    "for database": "a role may create the schema after `GRANT CREATE ON DATABASE`, or let whose "
    "the database is run `CREATE SCHEMA … AUTHORIZATION …`",
    "for schema": "a role is let in by `pgrecall migrate grant`, and into the schema of pgvector "
    "by `GRANT USAGE ON SCHEMA`",
    "": "a role is let in by `pgrecall migrate grant`, and one that may only read searches with "
    "touch=False",
}
"""Advice by a part of the message."""
_NO_SUCH_FUNCTION = "42883"
_PREPARED = ("26000", "42P05")


@contextmanager
def map_errors() -> Iterator[None]:
    """Converts errors of psycopg and SQLAlchemy to PgRecallError."""
    try:
        yield
    except DATABASE_ERRORS as error:
        raise mapped_error(error) from cause_of(error)


def is_lost(error: BaseException | None) -> bool:
    """True if the connection was lost, so that the server's answer is not known."""
    original = psycopg_error(error)
    if not isinstance(original, psycopg.OperationalError):
        return False
    state = original.sqlstate
    return state is None or state.startswith(("08", "57P"))


def cannot_count(error: Exception) -> bool:
    """True if the disk is full, or a lock was not free in time: neither prevents reading."""
    original = psycopg_error(error)
    return original is not None and original.sqlstate in ("53100", "55P03")


def interruption(error: BaseException, outer: BaseException | None) -> BaseException | None:
    """The cancellation, or another end of the program, while which the error happened.

    `outer` is the exception that the caller was handling when the call began.
    """
    context = error.__context__
    while context is not None and context is not outer:
        if not isinstance(context, Exception):
            return context
        context = context.__context__
    return None


def cause_of(error: Exception) -> Exception | None:
    """The cause to name: none for an exception of a signal's handler, which passes as it is."""
    return None if _is_foreign(error) else error


def _is_foreign(error: Exception) -> bool:
    return isinstance(error, StatementError) and not isinstance(error, DBAPIError)


def mapped_error(error: Exception, *, in_doubt: bool = False) -> BaseException:
    """The PgRecallError for one of DATABASE_ERRORS.

    in_doubt: whether a change was sent that the server has not answered.
    """
    if isinstance(error, PoolTimeout):
        return DatabaseUnavailable(
            f"no connection became free in the engine's pool: {_first_line(error)}"
        )
    if isinstance(error, PendingRollbackError):
        # Raised while cleaning up after the connection was lost; report that error instead.
        lost = error.__context__
        error = lost if isinstance(lost, DBAPIError) else error
    elif _is_foreign(error):
        assert isinstance(error, StatementError)
        return error.orig or error
    original = error.orig if isinstance(error, DBAPIError) else error
    message = _first_line(original or error)
    if not isinstance(original, psycopg.Error):
        return DatabaseError(message)
    state = original.sqlstate
    constraint = original.diag.constraint_name  # none from a worker of Citus
    if state in _REFUSED:
        return _REFUSED[state](cut(original.diag.message_primary or message))
    if state == _NO_SUCH_FUNCTION:
        return DatabaseError(f"{message}; if it is one of pgrecall's, run `pgrecall migrate up`")
    if state == _FORBIDDEN:
        advice = (advice_of for part, advice_of in _PERMITTED_BY.items() if part in message)
        return DatabaseError(f"{message}: {next(advice)}")
    if is_stale(original):
        return DatabaseConflict(
            "a migration has just replaced what this statement had prepared; nothing was changed, "
            f"run the transaction again ({message})"
        )
    if state in _CONFLICTS or (state == _INTERNAL and "could not serialize access" in message):
        return DatabaseConflict(f"{DatabaseConflict.__doc__} ({message})")
    if state == _READ_ONLY:
        return DatabaseReadOnly(f"{DatabaseReadOnly.__doc__} ({message})")
    if state in _TIME_LIMITS:
        return DatabaseTimeout(f"{_TIME_LIMITS[state]}; nothing was changed ({message})")
    if state == _CHECK_VIOLATION:
        where = f"constraint {constraint} of table {original.diag.table_name}"
        return InvalidMemory(f"the database refused a value: {where if constraint else message}")
    if state in _REFERENCED and "update or delete" in message:
        return DatabaseError(
            f"the database refused the statement: {message}; delete the rows there first, or give "
            "the constraint ON DELETE CASCADE or SET NULL"
        )
    if state == _UNIQUE_VIOLATION and "content_hash" in (constraint or message):
        return DatabaseConflict(f"{DatabaseConflict.__doc__} ({message})")  # a rival was first
    if in_doubt and is_lost(original):
        lost = DatabaseUnavailable(
            f"the connection was lost before the server answered: the change may have been made. "
            f"Look before you repeat it ({message})"
        )
        lost.may_have_changed = True
        return lost
    if state is None and isinstance(original, psycopg.OperationalError):
        return DatabaseUnavailable(
            f"no connection to the database: {message}. Is the server running, and is "
            "PGRECALL_DATABASE_URL (or the engine's URL) right?"
        )
    if state == _LIMIT_EXCEEDED:
        return DatabaseError(f"a setting of the server ended the statement: {message}; raise it")
    if state == _NOT_IN_STATE and "is restricted" in message:
        return DatabaseError(
            f"{message}: take 'view' out of restrict_nonsystem_relation_kind for this role"
        )
    if state is not None and state.startswith(_UNAVAILABLE):
        return DatabaseUnavailable(f"the database cannot be used: {message}")
    if state in _PREPARED:
        return DatabaseError(
            "a prepared statement was used in another session: behind a pooler such as PgBouncer, "
            f"create the engine with connect_args={{'prepare_threshold': None}} ({message})"
        )
    return DatabaseError(f"the database refused the statement: {message}")


def _first_line(error: BaseException) -> str:
    lines = str(error).strip().splitlines()
    return cut(lines[0]) if lines else type(error).__name__


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
