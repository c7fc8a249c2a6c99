"""The owners whose memories a connection sees: row-level security for each request."""

from __future__ import annotations

from contextvars import ContextVar
from typing import Any

import psycopg
from sqlalchemy import Connection, event, text
from sqlalchemy.exc import DisconnectionError
from sqlalchemy.ext.asyncio import AsyncEngine
from sqlalchemy.util import await_only

OWNERS: ContextVar[tuple[str, ...]] = ContextVar("pgrecall_owners", default=())
"""The owners of the request's key, as stored. A request that names none sees nothing."""

_FIELDS = "set_config('role', {}, {}), set_config('pgrecall.owners', {}::text[]::text, {})"
_SESSION = f"SELECT {_FIELDS.format('%s', 'false', '%s', 'false')}"
_TRANSACTION = text(
    "SELECT set_config('role', :role, true), "
    "set_config('pgrecall.owners', CAST(CAST(:owners AS text[]) AS text), true)"
)


def confine(engine: AsyncEngine, role: str | None, *, pooled: bool) -> None:
    """Lets connections of the engine see the memories of OWNERS only.

    The owners are a setting of the session, made when a connection is borrowed and the last
    request on it had others. Behind a pooler, which may give each transaction another session,
    they are a setting of each transaction.
    """
    assumed = role or "none"
    if pooled:

        def begin(connection: Connection) -> None:
            owners = list(OWNERS.get())
            connection.execute(_TRANSACTION, {"role": assumed, "owners": owners})

        event.listen(engine.sync_engine, "begin", begin)
        return

    def checkout(adapted: Any, record: Any, _: Any) -> None:
        owners = OWNERS.get()
        if record.info.get("owners") == owners:
            return
        record.info["owners"] = None
        driver: psycopg.AsyncConnection[Any] = adapted.driver_connection
        try:
            await_only(driver.set_autocommit(True))
            await_only(driver.execute(_SESSION, (assumed, list(owners)), prepare=False))
            await_only(driver.set_autocommit(False))
        except psycopg.OperationalError as error:
            if driver.closed:  # while it was in the pool
                raise DisconnectionError from error
            raise
        record.info["owners"] = owners

    event.listen(engine.sync_engine, "checkout", checkout)
