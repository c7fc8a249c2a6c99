"""Reads the rows of another system as lines of JSON: in one snapshot, a few at a time."""

from __future__ import annotations

import struct
import sys
from array import array
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import psycopg
from psycopg import sql
from sqlalchemy import Connection

from pgrecall.core.quoting import LONGEST, cut, did_you_mean, listed, shortened
from pgrecall.errors import InputError, UnknownName
from pgrecall.execution.error_mapping import DATABASE_ERRORS, mapped_error, psycopg_error
from pgrecall.memories.lines import Read
from pgrecall.migrate.source_systems import Beside, System

_AT_A_TIME = 100
"""Rows that are fetched at a time: some have texts of megabytes."""
_SESSION = """
SELECT pg_catalog.set_config(name, value, true)
  FROM (VALUES ('search_path', 'pg_catalog, pg_temp'), ('TimeZone', 'UTC'), ('DateStyle', 'ISO'),
               ('IntervalStyle', 'postgres'), ('extra_float_digits', '1'),
               ('statement_timeout', '0'), ('idle_in_transaction_session_timeout', '0'),
               ('transaction_timeout', '0'), ('cursor_tuple_fraction', '1')) given (name, value)
  JOIN pg_catalog.pg_settings s USING (name)
"""
"""So that a row always reads the same, since ids may be made from it, and no limit ends a long
import."""
_TABLES = """
SELECT c.oid, n.nspname, c.relname
  FROM pg_catalog.pg_class c JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
 WHERE c.relname = %(name)s AND (%(schema)s::text IS NULL OR n.nspname = %(schema)s)
   AND c.relkind IN ('r', 'p', 'v', 'm', 'f')
   AND n.nspname <> 'information_schema' AND n.nspname !~ '^pg_'
 ORDER BY n.nspname
"""
_COLUMNS = """
SELECT a.attname, t.typname, a.atttypmod
  FROM pg_catalog.pg_attribute a JOIN pg_catalog.pg_type t ON t.oid = a.atttypid
 WHERE a.attrelid = %s AND a.attnum > 0 AND NOT a.attisdropped
 ORDER BY a.attnum
"""
_PRIMARY_KEY = """
SELECT a.attname
  FROM pg_catalog.pg_index i, pg_catalog.unnest(i.indkey::pg_catalog.int2[])
           WITH ORDINALITY k (attnum, place)
  JOIN pg_catalog.pg_attribute a USING (attnum)
 WHERE i.indrelid = %(oid)s AND i.indisprimary AND a.attrelid = %(oid)s
 ORDER BY k.place
"""
_PACKED = {"vector": "f", "halfvec": "e"}
"""pgvector's types, and the form of a number in them."""
_HEADER = 4
"""Bytes before the numbers: how many there are."""
_FORBIDDEN = "42501"
_VECTORS = (*_PACKED, "_float4", "_float8")


@dataclass(frozen=True)
class Table:
    """A table of the source."""

    schema: str
    name: str
    columns: dict[str, tuple[str, int]]
    """Column → its type, and the modifier of the type."""
    key: tuple[str, ...]

    @property
    def shown(self) -> str:
        return shortened(f"{self.schema}.{self.name}", 120).strip("'")

    @property
    def quoted(self) -> sql.Identifier:
        return sql.Identifier(self.schema, self.name)

    @property
    def vectors(self) -> list[str]:
        """The columns whose values are vectors."""
        return [name for name, (kind, _) in self.columns.items() if kind in _VECTORS]


@dataclass(frozen=True)
class Vectors:
    """How many rows have vectors of one model and length; no length: rows without a vector."""

    model: str | None
    dimensions: int | None
    rows: int


@contextmanager
def naming_source() -> Iterator[None]:
    """Converts an error of the source's database, which it tells from those of pgrecall's."""
    try:
        yield
    except DATABASE_ERRORS as error:
        mapped, original = mapped_error(error), psycopg_error(error)
        reason = str(mapped)
        if original is not None and original.sqlstate == _FORBIDDEN:  # advice is about our schema
            reason = original.diag.message_primary or reason
        mapped.args = (f"the source cannot be read: {reason}",)
        raise mapped from error


@dataclass(frozen=True)
class Rows:
    """The rows of a system, in a transaction that only reads and shows one moment."""

    driver: psycopg.Connection[Any]
    system: System
    table: Table
    beside: Table | None
    vector: str | None
    """The column of the vector."""
    collection: str | None
    owner: str | None
    """The column, or the path into it, that the caller makes the owner."""

    @classmethod
    def of(
        cls,
        connection: Connection,
        system: System,
        named: str | None,
        collection: str | None,
        renaming: Mapping[str, str],
    ) -> Rows:
        """Finds the tables. Raises InputError if they are not those of the system."""
        by_new = {new: old for old, new in renaming.items()}
        driver: Any = connection.connection.driver_connection
        with naming_source():
            driver.execute(_SESSION)
            table = _found(driver, named or system.table or "")
            missing = [one for one in system.needs if one not in table.columns]
            if missing:
                raise InputError(
                    f"{table.shown} is not {system.title}: it has no column {listed(missing)}"
                )
            beside = _beside(driver, system.beside, table)
        _require_columns(system, table, beside, renaming)
        vector = system.vector or by_new.get("embedding")
        if vector is None and len(table.vectors) == 1:
            [vector] = table.vectors
        has_it = vector in table.vectors or (beside is not None and vector in beside.vectors)
        owner = by_new.get("agent_id") or by_new.get("team_id")
        return cls(driver, system, table, beside, vector if has_it else None, collection, owner)

    def vectors(self) -> list[Vectors]:
        """The models and dimensions of the rows, the most frequent first."""
        if self.vector is None:
            found: list[Vectors] = [Vectors(None, None, self._count())]
            return found
        value, system = self._value, self.system
        statement = sql.SQL(
            "SELECT CASE WHEN {value} IS NOT NULL THEN {model} END, "
            "CASE WHEN {value} IS NOT NULL THEN {dimensions} END, pg_catalog.count(*) "
            "FROM {source} GROUP BY 1, 2 ORDER BY 3 DESC"
        ).format(
            value=value,
            model=sql.SQL(system.model or "NULL::text"),
            dimensions=self._dimensions,
            source=self._source(ordered=False),
        )
        with naming_source():
            return [Vectors(*row) for row in self.driver.execute(statement, self._given)]

    def read(self, taken: Vectors | None) -> Iterator[Read]:
        """The rows, as JSON objects of their columns, and beside each the vector if it is taken."""
        statement = sql.SQL(
            "SELECT (SELECT pg_catalog.row_to_json(x) FROM (SELECT {columns}) x)::text, {vector} "
            "FROM {source}"
        ).format(
            columns=sql.SQL(", ").join(self._columns()),
            vector=sql.SQL("NULL") if taken is None else self._vector(),
            source=self._source(ordered=True),
        )
        given = self._given
        if taken is not None:
            given |= {"model": taken.model, "dimensions": taken.dimensions}
        number = 0
        padded_to = None if taken is None or self.system.dimensions is None else taken.dimensions
        with self.driver.cursor(name="pgrecall_import") as cursor:
            with naming_source():
                cursor.execute(statement, given, binary=True)
            while True:
                with naming_source():
                    rows = cursor.fetchmany(_AT_A_TIME)
                if not rows:
                    return
                for line, vector in rows:
                    number += 1
                    numbers = None if vector is None else self._components(vector, padded_to)
                    yield Read(number, line.encode(), number, numbers)

    def _count(self) -> int:
        statement = sql.SQL("SELECT pg_catalog.count(*) FROM {}")
        with naming_source():
            counted = self.driver.execute(
                statement.format(self._source(ordered=False)), self._given
            )
            return int(counted.fetchall()[0][0])

    @property
    def _given(self) -> dict[str, Any]:
        return {"collection": self.collection}

    @property
    def _value(self) -> sql.Composable:
        """The vector of a row."""
        assert self.vector is not None
        return sql.Identifier("t", self.vector)

    @property
    def _kind(self) -> tuple[str, int]:
        assert self.vector is not None
        place = self.table if self.vector in self.table.columns else self.beside
        assert place is not None
        return place.columns[self.vector]

    @property
    def _dimensions(self) -> sql.Composable:
        kind, modifier = self._kind
        if self.system.dimensions is not None:
            return sql.SQL(self.system.dimensions)
        if kind in _PACKED and modifier > 0:
            return sql.Literal(modifier)
        return sql.SQL("pg_catalog.cardinality({}::pg_catalog.float4[])").format(self._value)

    def _vector(self) -> sql.Composable:
        """The vector of a row, if its model and dimensions are those that are wanted."""
        if self.system.dimensions is None:
            return self._value
        return sql.SQL(
            "CASE WHEN {model} = %(model)s AND {dimensions} = %(dimensions)s THEN {value} END"
        ).format(
            model=sql.SQL(self.system.model or "NULL::text"),
            dimensions=sql.SQL(self.system.dimensions),
            value=self._value,
        )

    def _components(self, sent: Any, dimensions: int | None) -> Sequence[float]:
        """The numbers of a vector as the server sends it: packed, but for a list of numbers."""
        kind, _ = self._kind
        if kind not in _PACKED:
            return list(sent)
        size = struct.calcsize(_PACKED[kind])
        padded = (len(sent) - _HEADER) // size
        count = padded if dimensions is None else min(padded, dimensions)
        packed = sent[_HEADER : _HEADER + count * size]
        if kind == "halfvec":
            return struct.unpack(f">{count}e", packed)
        numbers = array("f", packed)
        if sys.byteorder == "little":
            numbers.byteswap()
        return numbers

    def _columns(self) -> Iterator[sql.Composable]:
        for name in (*self.table.columns, *self._joined):
            if name != self.vector:
                yield sql.Identifier("t", name)

    @property
    def _joined(self) -> Mapping[str, str]:
        """The columns of the table beside."""
        beside = self.system.beside
        return {} if beside is None or self.beside is None else beside.columns

    def _order(self) -> Iterator[sql.Composable]:
        """The owner that the caller has chosen, then the order of the system, then the key."""
        column, *path = (self.owner or "").split(".")
        if column in self.table.columns:
            value = sql.Identifier("s", column)
            within = sql.SQL("pg_catalog.to_jsonb({}) #>> {}").format(value, sql.Literal(path))
            yield within if path else value
        if self.system.order is not None:
            yield sql.SQL(self.system.order)
        for name in self.table.key:
            yield sql.Identifier("s", name)

    def _source(self, *, ordered: bool) -> sql.Composable:
        """The text behind FROM: `t`, with the columns of the table and of the one beside it.

        Sorted before anything is computed of a row, so that no long text or vector is sorted.
        """
        joined = (
            sql.SQL(", {} AS {}").format(sql.SQL(column), sql.Identifier(name))
            for name, column in self._joined.items()
        )
        parts: list[sql.Composable] = [sql.SQL("(SELECT s.*"), *joined]
        parts.append(sql.SQL("FROM {} s").format(self.table.quoted))
        if self.beside is not None and self.system.beside is not None:
            join = sql.SQL(self.system.beside.join)
            parts.append(join.format(beside=self.beside.quoted))
        if self.collection is not None:
            parts.append(sql.SQL("WHERE b.name = %(collection)s"))
        if self.system.without in self.table.columns:
            hidden = sql.Identifier("s", str(self.system.without))
            parts.append(sql.SQL("WHERE {} IS NOT TRUE").format(hidden))
        if ordered and (order := [*self._order()]):
            parts.append(sql.SQL("ORDER BY {}").format(sql.SQL(", ").join(order)))
        parts.append(sql.SQL("OFFSET 0) t"))
        return sql.SQL(" ").join(parts)


def _found(driver: psycopg.Connection[Any], named: str) -> Table:
    """The table of this name, with or without its schema before it."""
    found: Sequence[Any] = []
    schema, dot, name = named.partition(".")
    for in_schema, table in ((None, named), (schema, name)) if dot else ((None, named),):
        found = found or driver.execute(_TABLES, {"schema": in_schema, "name": table}).fetchall()
    if not found:
        raise InputError(
            f"the source has no table {shortened(named)}: name the one to read with --table"
        )
    if len(found) > 1:
        several = listed(f"{one[1]}.{one[2]}" for one in found)
        raise InputError(f"{shortened(named)} is the name of {several}: give it with its schema")
    [(oid, schema, name)] = found
    columns = {row[0]: (row[1], row[2]) for row in driver.execute(_COLUMNS, [oid])}
    key = tuple(row[0] for row in driver.execute(_PRIMARY_KEY, {"oid": oid}))
    return Table(schema, name, columns, key)


def _require_columns(
    system: System, table: Table, beside: Table | None, renaming: Mapping[str, str]
) -> None:
    """Raises UnknownName for a name to be replaced that no row has."""
    known = [*(table.columns if system.names is None else system.names)]
    if beside is not None and system.beside is not None:
        known += system.beside.columns
    unknown = [old for old in renaming if not {old, old.partition(".")[0]} & {*known}]
    if unknown:
        raise UnknownName(
            f"{table.shown} has no column {listed(unknown)}{did_you_mean(unknown, known)}; there "
            f"are {cut(', '.join(known), LONGEST)}"
        )


def _beside(driver: psycopg.Connection[Any], beside: Beside | None, table: Table) -> Table | None:
    """The table beside another one, in the same schema, if there is one."""
    if beside is None:
        return None
    name = beside.table.replace("{table}", table.name)
    rows = driver.execute(_TABLES, {"schema": table.schema, "name": name}).fetchall()
    if rows:
        [(oid, schema, name)] = rows
        columns = {row[0]: (row[1], row[2]) for row in driver.execute(_COLUMNS, [oid])}
        return Table(schema, name, columns, ())
    if beside.is_needed:
        raise InputError(f"{table.shown} stands alone: there is no table {name} beside it")
    return None
