"""Transactions for engines that were created to do without."""

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
