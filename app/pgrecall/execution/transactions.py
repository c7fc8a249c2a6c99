"""Autocommit for statements that need no transaction, and transactions that see one moment."""

from __future__ import annotations

from typing import Any

from psycopg import IsolationLevel
from psycopg.pq import TransactionStatus
from sqlalchemy import Connection

Mode = dict[str, Any]
"""How psycopg's connection begins transactions: values of its attributes, by their names."""


def mode_of(connection: Connection, /) -> Mode:
    """The mode of a connection; empty with another driver, which is refused later."""
    if connection.dialect.driver != "psycopg":
        return {}
    driver: Any = connection.connection.driver_connection
    return {"autocommit": driver.autocommit, "isolation_level": driver.isolation_level}


def mode_for(mode: Mode, *, alone: bool, snapshot: bool) -> Mode:
    """The mode for statements that run alone, or for a transaction, which may see one moment.

    SQLAlchemy's own AUTOCOMMIT would change the isolation level too, and its isolation levels leave
    that of the server in the pool. A snapshot is not read-only: the next transactions would begin
    with READ WRITE, which a replica refuses.
    """
    if not mode:
        return {}
    level = IsolationLevel.REPEATABLE_READ if snapshot else mode["isolation_level"]
    return {"autocommit": alone, "isolation_level": level}


def differences(connection: Connection, mode: Mode, /) -> Mode:
    """What has to be changed for the connection to have this mode; nothing once it is lost."""
    if connection.invalidated or connection.closed:
        return {}
    driver: Any = connection.connection.driver_connection
    if not mode or driver.closed:
        return {}
    return {name: value for name, value in mode.items() if getattr(driver, name) != value}


def is_spoiled(connection: Connection, mode: Mode, /) -> bool:
    """Whether a connection that had this mode must not return to its pool."""
    if not mode or connection.invalidated or connection.closed:
        return False
    driver: Any = connection.connection.driver_connection
    is_idle = driver.info.transaction_status is TransactionStatus.IDLE
    return not is_idle or bool(differences(connection, mode))


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
