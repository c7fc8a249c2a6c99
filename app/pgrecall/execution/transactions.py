"""Transactions, and doing without."""

from __future__ import annotations

from typing import Any

from sqlalchemy import Connection


def set_autocommit(connection: Connection, value: bool, /) -> bool:
    """Whether each statement is a transaction of its own, from now on; returns what it was.

    Of the driver alone: SQLAlchemy would set the isolation level too, and leave it set in the pool.
    """
    if connection.invalidated or connection.dialect.driver != "psycopg":  # soon to be refused
        return value
    driver: Any = connection.connection.dbapi_connection
    before = bool(driver.autocommit)
    if before != value and not driver.closed:
        driver.autocommit = value
    return before


def needs_none(connection: Connection, /) -> bool:
    """Whether a statement that is atomic by itself may run without a transaction.

    psycopg applies what was asked of transactions (isolation, read only) where it begins one. The
    server's own isolation is asked for by SQLAlchemy, where a connection was in AUTOCOMMIT; if the
    engine was made with an isolation of its own, SQLAlchemy takes that for the server's.
    """
    driver = connection.connection.driver_connection
    isolation = getattr(driver, "isolation_level", None)
    of_engine = getattr(connection.dialect, "_on_connect_isolation_level", None)
    own = connection.default_isolation_level if of_engine is None else None
    if isolation is not None and isolation.name.replace("_", " ") != own:
        return has_none(connection)
    if connection.dispatch.begin:  # sets something for each transaction: the owner, say
        return has_none(connection)
    asked = ("read_only", "deferrable")
    return has_none(connection) or all(getattr(driver, name, None) is None for name in asked)


def has_none(connection: Connection, /) -> bool:
    """Whether each statement is a transaction of its own."""
    return bool(getattr(connection.connection.driver_connection, "autocommit", False))
