"""The five-factor ranking outside the database: fetch all the agent's rows, rank in NumPy.

Vectors travel in binary and all arithmetic is done on whole arrays, in two ways: with every
column of every row, as a backend does that loads memories and ranks them; and with no more than
the ranking needs, the hits being fetched afterwards.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any

import numpy as np
import psycopg
from pgvector import Vector
from pgvector.psycopg import register_vector

from benchmarks.data import Floats

Row = tuple[Any, ...]

_RANKED_BY = (
    "m.id, m.embedding, m.created_at, m.usefulness, m.confidence, coalesce(u.retrieval_count, 0)"
)
_FROM = """
  FROM pgrecall.agent_memories m
  LEFT JOIN pgrecall.memory_usage u ON u.agent_id = m.agent_id AND u.memory_id = m.id
 WHERE m.agent_id = %s
"""
_WHOLE = f"SELECT {_RANKED_BY}, m.*, u.* {_FROM}"
_NARROW = f"SELECT {_RANKED_BY} {_FROM}"
_HITS = f"SELECT m.*, u.* {_FROM} AND m.id = ANY(%s)"


class Fetching:
    """Fetches the agent's rows, whole or narrow, in one transaction."""

    def __init__(
        self, connection: psycopg.Connection, agent_id: str, k: int, *, whole: bool
    ) -> None:
        register_vector(connection)
        self._connection = connection
        self._agent_id = agent_id
        self._k = k
        self._whole = whole

    def __call__(self, query: Floats) -> Sequence[Row]:
        with self._connection.transaction(), self._connection.cursor(binary=True) as cursor:
            text = _WHOLE if self._whole else _NARROW
            rows = cursor.execute(text, (self._agent_id,), prepare=True).fetchall()
            scores = _scores(rows, query)
            best = [rows[i] for i in np.argsort(-scores)[: self._k]]
            if self._whole:
                return best
            ids = [row[0] for row in best]
            return cursor.execute(_HITS, (self._agent_id, ids), prepare=True).fetchall()


def _scores(rows: Sequence[Row], query: Floats) -> Floats:
    now = datetime.now(UTC)
    embeddings: list[Vector] = [row[1] for row in rows]
    matrix = np.stack([vector.to_numpy() for vector in embeddings])
    cosine = matrix @ query / (np.linalg.norm(matrix, axis=1) * np.linalg.norm(query))
    days = np.array([(now - row[2]).total_seconds() for row in rows]) / 86_400
    usefulness, confidence, retrievals = np.array([row[3:6] for row in rows]).T
    scores: Floats = (
        0.40 * np.clip(cosine, 0, 1)
        + 0.25 * np.exp(-0.05 * np.maximum(days, 0))
        + 0.20 * usefulness
        + 0.10 * confidence
        + 0.05 * np.minimum(retrievals / 50, 1)
    )
    return scores
