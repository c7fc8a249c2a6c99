"""The repository's own SQL, sent through psycopg alone."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import psycopg
from pgvector import Vector
from sqlalchemy import Engine, event

from benchmarks.data import DIMENSIONS, Floats

Sent = tuple[str, dict[str, Any]]


def sent_by(engine: Engine, call: Callable[[Floats], object]) -> list[Sent]:
    """The statements, with their parameters, that a call sends once the engine is warm."""
    seen: list[Sent] = []

    def see(_: Any, __: Any, text: str, parameters: dict[str, Any], *___: Any) -> None:
        seen.append((text, parameters))

    query = np.ones(DIMENSIONS, dtype=np.float32)
    call(query)
    event.listen(engine, "before_cursor_execute", see)
    try:
        call(query)
    finally:
        event.remove(engine, "before_cursor_execute", see)
    return seen


class Bare:
    """A transaction of one prepared search, and of a touch of its hits if there is one."""

    def __init__(
        self, connection: psycopg.Connection, search: Sent, touch: Sent | None = None
    ) -> None:
        self._connection = connection
        self._search = search
        self._touch = touch

    def __call__(self, query: Floats) -> object:
        text, parameters = self._search
        parameters = parameters | {"query": Vector(query).to_text()}
        with self._connection.transaction():
            cursor = self._connection.execute(text, parameters, prepare=True)
            rows = cursor.fetchall()
            if self._touch is not None:
                id_ = [column.name for column in cursor.description or ()].index("id")
                text, parameters = self._touch
                parameters = parameters | {"ids": sorted(row[id_] for row in rows)}
                self._connection.execute(text, parameters, prepare=True).fetchall()
        return rows


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
