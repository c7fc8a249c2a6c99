"""Binary COPY: the statement, its types, and the encoding of vectors and JSON."""

from __future__ import annotations

from datetime import datetime
from struct import pack
from typing import Any, Final

import psycopg
from psycopg import sql
from psycopg.abc import Buffer
from psycopg.adapt import Dumper
from psycopg.pq import Format
from psycopg.types.datetime import DatetimeBinaryDumper
from psycopg.types.json import JsonbBinaryDumper

from pgrecall.core.steps import Copy
from pgrecall.core.vectors import HalfVector, Vector
from pgrecall.schema.kinds import EMBEDDING


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
