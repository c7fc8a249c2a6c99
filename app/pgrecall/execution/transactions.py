"""Autocommit for statements that need no transaction, and transactions that see one moment."""

from __future__ import annotations

from typing import Any, NamedTuple

from psycopg import IsolationLevel
from psycopg.pq import TransactionStatus
from sqlalchemy import Connection


class Settings(NamedTuple):
    """How psycopg's connection begins transactions.

    SQLAlchemy's own AUTOCOMMIT would change the isolation level too, and its isolation levels leave
    that of the server in the pool. A snapshot is not read-only: the next transactions would begin
    with READ WRITE, which a replica refuses.
    """

    autocommit: bool
    isolation_level: IsolationLevel | None


def is_spoiled(connection: Connection, mode: Settings, /) -> bool:
    """True if a connection that had this mode must not return to its pool."""
    if connection.invalidated or connection.closed:
        return False
    driver: Any = connection.connection.driver_connection
    if driver.closed:
        return False
    is_idle = driver.info.transaction_status is TransactionStatus.IDLE
    return not is_idle or Settings(driver.autocommit, driver.isolation_level) != mode


def needs_none(connection: Connection, driver: Any, /) -> bool:
    """True if a statement that is atomic by itself may run without a transaction.

    It may not if the connection has settings of transactions (isolation level, read only), because
    psycopg only applies them at BEGIN. The server's default isolation level does not count: it is
    what SQLAlchemy sets after AUTOCOMMIT. If the engine was created with an isolation level,
    SQLAlchemy takes that for the default.
    """
    if driver.autocommit:
        return True
    isolation = driver.isolation_level
    of_engine = getattr(connection.dialect, "_on_connect_isolation_level", None)
    own = connection.default_isolation_level if of_engine is None else None
    if isolation is not None and isolation.name.replace("_", " ") != own:
        return False
    if connection.dispatch.begin:  # a listener may set something, such as the owner
        return False
    return driver.read_only is None and driver.deferrable is None
