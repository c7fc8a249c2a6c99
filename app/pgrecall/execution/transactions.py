"""Autocommit for statements that need no transaction, and transactions that see one moment."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from sqlalchemy import Connection

_HAD_SNAPSHOT = "pgrecall_had_snapshot"


def snapshot_options(connection: Connection, /) -> Mapping[str, Any]:
    """Execution options for a transaction that only reads, and sees the database at one moment.

    SQLAlchemy resets them when the connection returns to the pool, but read_only to False, not to
    None. So `needs_none` has to know.
    """
    connection.info[_HAD_SNAPSHOT] = True
    return {"isolation_level": "REPEATABLE READ", "postgresql_readonly": True}


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
    if _HAD_SNAPSHOT in connection.info:
        asked[0] = asked[0] or None
    return has_none(connection) or asked == [None, None]


def has_none(connection: Connection, /) -> bool:
    """Whether each statement is a transaction of its own."""
    return bool(getattr(connection.connection.driver_connection, "autocommit", False))
