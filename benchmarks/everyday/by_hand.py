"""What people write by hand, sent by psycopg alone and prepared."""

from __future__ import annotations

from typing import Any

import psycopg
from pgvector.psycopg import register_vector

from benchmarks.data import Floats

_COSINE = """
SELECT id, content, embedding <=> %s AS distance
  FROM pgrecall.agent_memories WHERE agent_id = %s ORDER BY distance LIMIT 10
"""
_SCORE = """
SELECT id, content,
       0.40::float8 * greatest(0, 1 - (embedding <=> %s))
     + 0.25::float8 * exp(-0.05::float8 * greatest(0,
         (date_part('epoch', now()) - date_part('epoch', created_at)) / 86400::float8))
     + 0.20::float8 * usefulness + 0.10::float8 * confidence AS score
  FROM pgrecall.agent_memories WHERE agent_id = %s ORDER BY score DESC, id LIMIT 10
"""


class Cosine:
    """The ten nearest, in a transaction of its own: BEGIN, SELECT, COMMIT."""

    def __init__(self, connection: psycopg.Connection) -> None:
        register_vector(connection)
        self._connection = connection

    def __call__(self, agent_id: str, query: Floats) -> list[Any]:
        with self._connection.transaction():
            return self._connection.execute(_COSINE, (query, agent_id), prepare=True).fetchall()


class Score:
    """The score of five_factor without its counters, filters and signals, as one statement."""

    def __init__(self, connection: psycopg.Connection) -> None:
        register_vector(connection)
        self._connection = connection
        connection.autocommit = True

    def __call__(self, agent_id: str, query: Floats) -> list[Any]:
        return self._connection.execute(_SCORE, (query, agent_id), prepare=True).fetchall()
