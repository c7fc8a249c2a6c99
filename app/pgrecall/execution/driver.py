"""How psycopg executes our statements on a connection of SQLAlchemy's.

psycopg executes them itself: SQLAlchemy's execution and results would take longer than a small
search. Results are binary, since text depends on settings of the session: times on DateStyle, of
which psycopg reads only ISO, and numbers on extra_float_digits.
"""

from __future__ import annotations

import logging
from collections import namedtuple
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import datetime
from functools import lru_cache
from struct import pack
from typing import Any, Final, NamedTuple
from weakref import WeakSet

import psycopg
from psycopg import IsolationLevel, sql
from psycopg.abc import Buffer
from psycopg.adapt import Dumper
from psycopg.pq import Format, TransactionStatus
from psycopg.types.datetime import DatetimeBinaryDumper
from psycopg.types.json import JsonbBinaryDumper
from sqlalchemy import Connection

from pgrecall.core.statement import PackedVector
from pgrecall.core.steps import Copy
from pgrecall.core.vectors import HalfVector, Vector
from pgrecall.schema.kinds import EMBEDDING

_PLAIN: Final = (psycopg.Cursor, psycopg.AsyncCursor)
SENDING_VECTORS: WeakSet[Any] = WeakSet()
"""Connections that know how vectors are sent."""


def send_vectors(driver: Any) -> None:
    """Registers on a connection how vectors are sent."""
    driver.adapters.register_dumper(PackedVector, _VectorDumper)
    SENDING_VECTORS.add(driver)


class _VectorDumper(Dumper):
    """Sends it without a type, so that PostgreSQL takes the type of the parameter."""

    format = Format.BINARY

    def dump(self, obj: PackedVector) -> bytes:
        return obj.data


def is_observed(connection: Connection, driver: Any) -> bool:
    """True if SQLAlchemy has to execute statements: for listeners, echo, or the cursor class of the
    caller. Also True if SQLAlchemy lacks the attributes.
    """
    engine = connection.engine
    return (
        driver.cursor_factory not in _PLAIN
        or getattr(connection, "_has_events", True)
        or getattr(engine, "_has_events", True)
        or getattr(engine.dialect, "_has_events", True)
        or engine.logger.isEnabledFor(logging.INFO)
    )


@contextmanager
def binary_results(driver: Any) -> Iterator[None]:
    """Makes new cursors of a connection fetch results in binary.

    The connection is restored afterwards, since it may be the caller's.
    """
    factory = driver.cursor_factory

    def binary(*arguments: Any, **options: Any) -> Any:
        cursor = factory(*arguments, **options)
        if not isinstance(cursor, psycopg.ClientCursor | psycopg.AsyncClientCursor):  # text only
            cursor.format = Format.BINARY
        return cursor

    driver.cursor_factory = binary
    try:
        yield
    finally:
        driver.cursor_factory = factory


@lru_cache
def row_maker(*names: str) -> Callable[[Any], Any]:
    """Makes rows with these names, as psycopg's namedtuple_row does, of SQLAlchemy's."""
    row: Any = namedtuple("Row", names, rename=True)  # type: ignore[misc]
    make: Callable[[Any], Any] = row._make
    return make


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


def copy_rows(driver: psycopg.Connection[Any], step: Copy, oid: int) -> None:
    with driver.cursor() as cursor:
        know_types(cursor, oid)
        with cursor.copy(copy_statement(step)) as stream:
            stream.set_types(copy_types(step, oid))
            for row in step.rows:
                stream.write_row(row)


async def acopy_rows(driver: psycopg.AsyncConnection[Any], step: Copy, oid: int) -> None:
    async with driver.cursor() as cursor:
        know_types(cursor, oid)
        async with cursor.copy(copy_statement(step)) as stream:
            stream.set_types(copy_types(step, oid))
            for row in step.rows:
                await stream.write_row(row)


def copy_statement(step: Copy) -> sql.Composed:
    columns = sql.SQL(", ").join(map(sql.Identifier, step.columns))
    return sql.SQL("COPY {} ({}) FROM STDIN (FORMAT BINARY)").format(
        sql.Identifier("pg_temp", step.table), columns
    )


def copy_types(step: Copy, oid: int) -> list[int | str]:
    """The types of the columns, for psycopg's `set_types`."""
    return [oid if type_ == EMBEDDING.type else type_ for type_ in step.columns.values()]


def know_types(cursor: psycopg.Cursor[Any] | psycopg.AsyncCursor[Any], oid: int) -> None:
    """Registers binary vectors, dicts as jsonb, and moments that may be infinite, on this cursor.

    Not on the connection, which may be the caller's.
    """
    dumper = type("EmbeddingDumper", (_EmbeddingDumper,), {"oid": oid})
    cursor.adapters.register_dumper(Vector, dumper)
    cursor.adapters.register_dumper(HalfVector, dumper)
    cursor.adapters.register_dumper(dict, JsonbBinaryDumper)
    cursor.adapters.register_dumper(datetime, _MomentDumper)


class _EmbeddingDumper(Dumper):
    format = Format.BINARY

    def dump(self, obj: Vector | HalfVector) -> bytes:
        return obj.to_binary()


class _MomentDumper(DatetimeBinaryDumper):
    """Of datetimes, and of the texts infinity and -infinity."""

    _INFINITE: Final = {"infinity": pack(">q", 2**63 - 1), "-infinity": pack(">q", -(2**63))}

    def dump(self, obj: datetime | str) -> Buffer | None:
        return self._INFINITE[obj] if isinstance(obj, str) else super().dump(obj)
