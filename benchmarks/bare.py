"""The repository's own SQL, sent through psycopg alone."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import psycopg
from pgvector import Vector
from sqlalchemy import create_engine, event

from benchmarks.data import DIMENSIONS, Floats
from pgrecall import MemoryRepository

Sent = tuple[str, dict[str, Any]]


def sent_by(url: str, call: Callable[[MemoryRepository, Floats], object]) -> Sent:
    """The last statement, with its parameters, that a call of a repository sends."""
    seen: list[Sent] = []
    engine = create_engine(url)  # of its own: a listener changes how a repository sends

    @event.listens_for(engine, "before_cursor_execute")
    def see(_: Any, __: Any, text: str, parameters: dict[str, Any], *___: Any) -> None:
        seen.append((text, dict(parameters)))

    call(MemoryRepository(engine), np.ones(DIMENSIONS, dtype=np.float32))
    engine.dispose()
    return seen[-1]


class Bare:
    """One prepared statement in autocommit, its rows as psycopg returns them."""

    def __init__(self, connection: psycopg.Connection, search: Sent) -> None:
        self._connection = connection
        self._search = search
        connection.autocommit = True

    def __call__(self, query: Floats) -> object:
        text, parameters = self._search
        parameters = parameters | {"query": Vector(query).to_text()}
        with self._connection.cursor(binary=True) as cursor:
            return cursor.execute(text, parameters, prepare=True).fetchall()


def not_inlined(connection: psycopg.Connection, search: Sent) -> Sent:
    """The search with ages taken from the epoch of each timestamp.

    date_part of a timestamptz is STABLE: marked IMMUTABLE as signals are, the function is called
    for every row instead of being inlined.
    """
    text, parameters = search
    connection.execute(
        """
        CREATE OR REPLACE FUNCTION pgrecall.recency_called(
            clock timestamptz, as_of timestamptz, rate float8, unknown float8) RETURNS float8
            LANGUAGE sql IMMUTABLE PARALLEL SAFE
            RETURN CASE WHEN clock IS NULL THEN unknown WHEN clock >= as_of THEN 1::float8
                ELSE exp(greatest(-rate * ((date_part('epoch', as_of) - date_part('epoch', clock))
                    / 86400::float8), -700::float8)) END
        """
    )
    connection.commit()
    return text.replace("recency_exponential(", "recency_called("), parameters
