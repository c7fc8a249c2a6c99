"""Statements as psycopg executes them: a text with numbered parameters, and their values.

psycopg executes our statements itself: SQLAlchemy's execution and results would take longer than a
small search.
"""

from __future__ import annotations

import json
import logging
from collections import namedtuple
from collections.abc import Callable, Mapping, Sequence
from copy import copy
from functools import lru_cache
from typing import Any, Final
from weakref import WeakKeyDictionary, WeakSet

import psycopg
from psycopg.adapt import Dumper
from psycopg.pq import Format
from sqlalchemy import Connection, Executable
from sqlalchemy.dialects.postgresql.psycopg import dialect
from sqlalchemy.sql.compiler import SQLCompiler

from pgrecall.core.embedding_type import Embedding
from pgrecall.core.statement import Statement
from pgrecall.core.vectors import StoredVector, as_text

MOST_STRUCTURES = 500
_PLAIN: Final = (psycopg.Cursor, psycopg.AsyncCursor)
_NUMBERED: Final = dialect(paramstyle="numeric_dollar")  # type: ignore[no-untyped-call]
STATEMENTS: WeakKeyDictionary[Executable | Statement, PreparedStatement] = WeakKeyDictionary()
SENDING_VECTORS: WeakSet[Any] = WeakSet()
"""Connections that know how vectors are sent."""
_structures: dict[Any, PreparedStatement] = {}
"""Statements by their structure: calls of verbs are built anew each time, and compiling one takes
longer than executing it."""


class PreparedStatement:
    """The text of a statement, and its parameters."""

    def __init__(self, statement: Any, binds: Sequence[Any] = ()) -> None:
        self.prepare: bool | None = None
        """psycopg's argument `prepare`; None at first, since one execution is not worth it."""
        if isinstance(statement, Statement):
            self.text = statement.numbered.encode()
            self._parameters = [
                (name, False, None, _of_type(type_)) for name, type_ in statement.types.items()
            ]
            self._names = []
            return
        compiled = statement.compile(dialect=_NUMBERED)
        self.text = compiled.string.encode()
        has_binds = isinstance(compiled, SQLCompiler)  # not a CREATE TABLE
        self._parameters = [
            (name, bind.required, bind.effective_value, _to_send(bind.type))
            for name in (compiled.positiontup or () if has_binds else ())
            for bind in [compiled.binds[name]]
        ]
        self._names = [compiled.bind_names.get(bind) for bind in binds] if has_binds else []

    def values(self, given: Mapping[str, Any]) -> list[Any]:
        """The value of each parameter, in the order of their numbers."""
        values = []
        for name, is_required, default, convert in self._parameters:
            value = given[name] if is_required else given.get(name, default)
            values.append(value if convert is None else convert(value))
        return values

    def named(self, given: Mapping[str, Any]) -> dict[str, Any]:
        """The value of each parameter by its name, for a cursor that does not know our vectors."""
        names = (name for name, *_ in self._parameters)
        values = dict(zip(names, self.values(given), strict=True))
        return values | {
            name: as_text(given[name].to_list())
            for name, value in values.items()
            if isinstance(value, PackedVector)
        }

    def with_values(self, binds: Sequence[Any]) -> PreparedStatement:
        """The same statement with the values that another of the same structure contains."""
        own = {name: bind.effective_value for name, bind in zip(self._names, binds, strict=True)}
        twin = copy(self)
        twin._parameters = [
            (name, is_required, own.get(name, default), convert)
            for name, is_required, default, convert in self._parameters
        ]
        return twin


def compiled(statement: Any) -> PreparedStatement:
    """The statement as psycopg executes it."""
    found = STATEMENTS.get(statement)
    if found is None and isinstance(statement, Statement):
        found = STATEMENTS[statement] = PreparedStatement(statement)
    elif found is None:
        key = getattr(statement, "_generate_cache_key", lambda: None)()
        structure, binds = (None, ()) if key is None else (key.key, key.bindparams)
        same = _structures.get(structure)
        found = PreparedStatement(statement, binds) if same is None else same.with_values(binds)
        if structure is not None and same is None:
            if len(_structures) >= MOST_STRUCTURES:
                _structures.clear()
            _structures[structure] = found
        STATEMENTS[statement] = found
    return found


def send_vectors(driver: Any) -> None:
    """Registers on a connection how vectors are sent."""
    driver.adapters.register_dumper(PackedVector, PackedVectorDumper)
    SENDING_VECTORS.add(driver)


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


@lru_cache
def row_maker(*names: str) -> Callable[[Any], Any]:
    """Makes rows with these names, as psycopg's namedtuple_row does, of SQLAlchemy's."""
    row: Any = namedtuple("Row", names, rename=True)  # type: ignore[misc]
    make: Callable[[Any], Any] = row._make
    return make


class PackedVector:
    """A vector in pgvector's binary form. It has a class of its own so that the caller's connection
    sends Vector as before."""

    __slots__ = ("data",)

    def __init__(self, vector: StoredVector) -> None:
        self.data = vector.to_binary()


class PackedVectorDumper(Dumper):
    """Sends it without a type, so that PostgreSQL takes the type of the parameter."""

    format = Format.BINARY

    def dump(self, obj: PackedVector) -> bytes:
        return obj.data


def _of_type(type_: str | None) -> Callable[[Any], Any] | None:
    """How a value of this type in the text of a Statement is sent."""
    match type_:
        case None:
            return lambda vector: (
                PackedVector(vector) if isinstance(vector, StoredVector) else vector
            )
        case "jsonb":
            return json.dumps
        case "jsonb[]":
            return lambda values: None if values is None else [*map(json.dumps, values)]
    return None


def _to_send(type_: Any) -> Callable[[Any], Any] | None:
    if isinstance(type_, Embedding):
        return lambda vector: None if vector is None else PackedVector(vector)
    found: Callable[[Any], Any] | None = type_.dialect_impl(_NUMBERED).bind_processor(_NUMBERED)
    return found
