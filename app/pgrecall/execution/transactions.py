"""Autocommit for statements that need no transaction, and transactions that see one moment."""

from __future__ import annotations

from typing import Any, Final

from sqlalchemy import Connection

SNAPSHOT: Final = {"isolation_level": "REPEATABLE READ"}
"""Execution options for a transaction that sees the database at one moment. It is not read-only:
SQLAlchemy would have the next transactions of the connection begin with READ WRITE, which a replica
refuses."""


def driver_to_switch(connection: Connection, autocommit: bool, /) -> Any | None:
    """psycopg's connection if its autocommit has to be changed to this; None if not, if it is lost,
    or with another driver, which is refused later.

    SQLAlchemy's own AUTOCOMMIT would change the isolation level too, and leave it so in the pool.
    """
    if connection.invalidated or connection.dialect.driver != "psycopg":
        return None
    driver: Any = connection.connection.driver_connection
    return None if driver.closed or driver.autocommit == autocommit else driver


def needs_none(connection: Connection, /) -> bool:
    """Whether a statement that is atomic by itself may run without a transaction.

    It may not if the connection has settings of transactions (isolation level, read only), because
    psycopg only applies them at BEGIN. The server's default isolation level does not count: it is
    what SQLAlchemy sets after AUTOCOMMIT. If the engine was created with an isolation level,
    SQLAlchemy takes that for the default.
    """
    if connection.dialect.driver != "psycopg":  # soon to be refused
        return False
    driver = connection.connection.driver_connection
    isolation = getattr(driver, "isolation_level", None)
    of_engine = getattr(connection.dialect, "_on_connect_isolation_level", None)
    own = connection.default_isolation_level if of_engine is None else None
    if isolation is not None and isolation.name.replace("_", " ") != own:
        return has_none(connection)
    if connection.dispatch.begin:  # a listener may set something, such as the owner
        return has_none(connection)
    asked = [getattr(driver, name, None) for name in ("read_only", "deferrable")]
    return has_none(connection) or asked == [None, None]


def has_none(connection: Connection, /) -> bool:
    """Whether each statement is a transaction of its own."""
    return bool(getattr(connection.connection.driver_connection, "autocommit", False))
