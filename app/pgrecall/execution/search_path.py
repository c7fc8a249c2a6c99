"""Keeps code that other roles have planted out of the statements of an engine."""

from __future__ import annotations

from contextlib import closing
from typing import TYPE_CHECKING, Any, TypeVar

from sqlalchemy import Connection, Engine, event

if TYPE_CHECKING:
    from sqlalchemy.ext.asyncio import AsyncEngine

AnyEngine = TypeVar("AnyEngine", "Engine", "AsyncEngine")
OWN_PATH = "pgrecall_own_path"
"""An execution option of connections whose transactions set a path of their own: listeners of the
engine come after those of a connection."""
_PATH = "search_path = pg_catalog, pg_temp"


def pin_search_path(engine: AnyEngine) -> AnyEngine:
    """Makes names in statements on this engine mean PostgreSQL's own. Returns the engine.

    Otherwise a role that may create functions in a schema of search_path, often `public`, could run
    code as the role that connects. Call it before the engine is used, on an engine for pgrecall
    alone: your own tables need their schema before their names.

    The path is a setting of each session. Behind a pooler, which may give each transaction another
    session, it is one of each transaction.
    """
    inner: Any = getattr(engine, "sync_engine", engine)

    def connect(connection: Any, record: Any) -> None:
        with closing(connection.cursor()) as cursor:
            cursor.execute("SELECT pg_catalog.pg_backend_pid()")
            if cursor.fetchone()[0] == record.driver_connection.info.backend_pid:
                cursor.execute(f"SET {_PATH}")
            else:
                event.listen(inner, "begin", _begin, insert=True)
        connection.commit()

    event.listen(inner, "connect", connect, insert=True)  # before SQLAlchemy asks the catalogue
    return engine


def _begin(connection: Connection) -> None:
    if not connection.get_execution_options().get(OWN_PATH):
        connection.exec_driver_sql(f"SET LOCAL {_PATH}")
