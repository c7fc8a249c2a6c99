"""Transactions, and doing without."""

from __future__ import annotations

from sqlalchemy import Connection


def in_transactions(connection: Connection) -> Connection:
    """The connection, taken out of AUTOCOMMIT until it is given back to its pool.

    An operation of several statements is all or nothing on every engine.
    """
    driver = connection.connection.driver_connection
    if getattr(driver, "autocommit", False):
        return connection.execution_options(isolation_level="READ COMMITTED")
    return connection


def needs_none(connection: Connection, /) -> bool:
    """Whether a statement that is atomic by itself may run without a transaction.

    psycopg applies what was asked of transactions (isolation, read only) where it begins one. The
    server's own isolation is asked for by SQLAlchemy, wherever a connection was in AUTOCOMMIT.
    """
    driver = connection.connection.driver_connection
    isolation = getattr(driver, "isolation_level", None)
    if (
        isolation is not None
        and isolation.name.replace("_", " ") != connection.default_isolation_level
    ):
        return has_none(connection)
    asked = ("read_only", "deferrable")
    return has_none(connection) or all(getattr(driver, name, None) is None for name in asked)


def has_none(connection: Connection, /) -> bool:
    """Whether each statement is a transaction of its own."""
    return bool(getattr(connection.connection.driver_connection, "autocommit", False))
