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
from functools import lru_cache
from typing import Any, Final
from weakref import WeakSet

import psycopg
from psycopg.adapt import Dumper
from psycopg.pq import Format
from sqlalchemy import Connection

from pgrecall.core.statement import PackedVector

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
