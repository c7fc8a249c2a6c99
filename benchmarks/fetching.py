"""The five-factor ranking outside the database: fetch all the agent's rows, rank in NumPy."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import numpy as np
import psycopg
from pgvector import Vector
from pgvector.psycopg import register_vector

from benchmarks.data import Floats

_ALL_ROWS = """
SELECT m.id, m.content, m.embedding, m.created_at, m.usefulness, m.confidence,
       coalesce(u.retrieval_count, 0)
  FROM pgrecall.agent_memories m
  LEFT JOIN pgrecall.memory_usage u ON u.agent_id = m.agent_id AND u.memory_id = m.id
 WHERE m.agent_id = %s
"""


class Fetching:
    """Vectors travel in binary and all arithmetic is done on whole arrays."""

    def __init__(self, connection: psycopg.Connection, agent_id: str, k: int) -> None:
        register_vector(connection)
        self._connection = connection
        self._agent_id = agent_id
        self._k = k

    def __call__(self, query: Floats) -> list[tuple[float, Any]]:
        with self._connection.transaction(), self._connection.cursor(binary=True) as cursor:
            rows = cursor.execute(_ALL_ROWS, (self._agent_id,), prepare=True).fetchall()
        now = datetime.now(UTC)
        embeddings: list[Vector] = [row[2] for row in rows]
        matrix = np.stack([vector.to_numpy() for vector in embeddings])
        cosine = matrix @ query / (np.linalg.norm(matrix, axis=1) * np.linalg.norm(query))
        days = np.array([(now - row[3]).total_seconds() for row in rows]) / 86_400
        usefulness, confidence, retrievals = np.array([row[4:7] for row in rows]).T
        score = (
            0.40 * np.clip(cosine, 0, 1)
            + 0.25 * np.exp(-0.05 * np.maximum(days, 0))
            + 0.20 * usefulness
            + 0.10 * confidence
            + 0.05 * np.minimum(retrievals / 50, 1)
        )
        best = np.argsort(-score)[: self._k]
        return [(float(score[i]), rows[i]) for i in best]
