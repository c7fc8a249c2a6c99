"""Statements that psycopg executes directly, without SQLAlchemy's execution and results."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import Any, Final
from weakref import WeakKeyDictionary, WeakSet

import psycopg
from psycopg.adapt import Dumper
from psycopg.pq import Format
from sqlalchemy import Connection, Executable, Select, TextClause
from sqlalchemy.dialects.postgresql.psycopg import dialect

from pgrecall.core.embedding_type import Embedding
from pgrecall.core.vectors import StoredVector

_PLAIN: Final = (psycopg.Cursor, psycopg.AsyncCursor)
_NUMBERED: Final = dialect(paramstyle="numeric_dollar")  # type: ignore[no-untyped-call]

_executed: WeakSet[Executable] = WeakSet()
"""Statements that SQLAlchemy has executed once. A statement with an expression of the caller is
built for each search. Compiling it each time would cost more than SQLAlchemy's execution, which
finds the compiled text by the statement's structure."""
_raw: WeakKeyDictionary[Executable, RawStatement | None] = WeakKeyDictionary()
_drivers: WeakSet[Any] = WeakSet()
"""Connections on which the dumper for `_Packed` is registered."""


class Row(tuple[Any, ...]):
    """A row with the attributes of SQLAlchemy's rows that pgrecall uses."""

    __slots__ = ()
    _fields: tuple[str, ...]
    _places: Mapping[str, int]

    def __getattr__(self, name: str) -> Any:
        try:
            return self[self._places[name]]
        except KeyError:
            raise AttributeError(name) from None

    @property
    def _mapping(self) -> dict[str, Any]:
        return dict(zip(self._places, self, strict=True))


class RawStatement:
    """A compiled statement: its text with numbered parameters, and the class of its rows."""

    def __init__(self, statement: Select[Any] | TextClause) -> None:
        compiled = statement.compile(dialect=_NUMBERED)
        self.text = compiled.string.encode()
        self._parameters = [
            (name, bind.required, bind.effective_value, _converter(bind.type))
            for name in compiled.positiontup or ()
            for bind in [compiled.binds[name]]
        ]
        self._row = (
            _row(tuple(column.name for column in statement.selected_columns))
            if isinstance(statement, Select)
            else None
        )

    def values(self, given: Mapping[str, Any]) -> list[Any]:
        """The value of each parameter, in the order of their numbers."""
        values = []
        for name, is_required, default, convert in self._parameters:
            value = given[name] if is_required else given.get(name, default)
            values.append(value if convert is None else convert(value))
        return values

    def row_factory(self, cursor: Any) -> type[Row]:
        """The class that psycopg makes rows with."""
        return self._row or _row(tuple(column.name for column in cursor.description or ()))


def raw_statement(connection: Connection, statement: Executable) -> RawStatement | None:
    """The compiled statement if psycopg may execute it on this connection, else None.

    SQLAlchemy executes statements that are observed (events, echo), those on a connection with the
    caller's cursor class, and the first one of a transaction, so that SQLAlchemy begins it.
    """
    if not isinstance(statement, Select | TextClause):
        return None
    driver: Any = connection.connection.driver_connection
    if driver.cursor_factory not in _PLAIN or _is_observed(connection):
        return None
    if not (driver.autocommit or connection.in_transaction()):
        return None
    if statement not in _executed:
        _executed.add(statement)
        return None
    if statement not in _raw:
        _raw[statement] = RawStatement(statement) if _reads_as_sent(statement) else None
    if driver not in _drivers:
        driver.adapters.register_dumper(_Packed, _PackedDumper)
        _drivers.add(driver)
    return _raw[statement]


def has_rows(cursor: Any) -> bool:
    """Whether the statement has a result set, even an empty one."""
    return bool(cursor.pgresult and cursor.pgresult.nfields)


def _is_observed(connection: Connection) -> bool:
    """Whether events or echo observe statements; True if SQLAlchemy lacks the attribute."""
    engine = connection.engine
    listening = (getattr(one, "_has_events", True) for one in (connection, engine, engine.dialect))
    return any(listening) or engine.logger.isEnabledFor(logging.INFO)


def _reads_as_sent(statement: Select[Any] | TextClause) -> bool:
    """Whether psycopg's values need no further conversion. Only embeddings do."""
    return isinstance(statement, TextClause) or not any(
        isinstance(column.type, Embedding) for column in statement.selected_columns
    )


@lru_cache
def _row(names: tuple[str, ...]) -> type[Row]:
    places = {name: place for place, name in enumerate(names)}
    return type("Row", (Row,), {"__slots__": (), "_fields": names, "_places": places})


class _Packed:
    """A vector in pgvector's binary form. It has a class of its own so that the caller's connection
    sends Vector as before."""

    __slots__ = ("data",)

    def __init__(self, vector: StoredVector) -> None:
        self.data = vector.to_binary()


class _PackedDumper(Dumper):
    """Sends it without a type, so that PostgreSQL takes the type of the parameter."""

    format = Format.BINARY

    def dump(self, obj: _Packed) -> bytes:
        return obj.data


def _converter(type_: Any) -> Callable[[Any], Any] | None:
    if isinstance(type_, Embedding):
        return lambda vector: None if vector is None else _Packed(vector)
    found: Callable[[Any], Any] | None = type_.dialect_impl(_NUMBERED).bind_processor(_NUMBERED)
    return found
