"""The composite search over rows that hold nothing but what it reads."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from pgvector import Vector
from sqlalchemy import Engine, text

from benchmarks.data import Floats

_TABLE = """
CREATE TABLE narrow AS
SELECT agent_id, id, usefulness, confidence, created_at, status,
       valid_from, valid_until, invalidated_at, expires_at, embedding
  FROM pgrecall.agent_memories ORDER BY ctid
"""
_SEARCH = """
SELECT n.id, 0.4::float8 * pgrecall.similarity(n.embedding, :query, 0)
         + 0.25::float8 * pgrecall.recency_exponential(n.created_at, now(), 0.05, 0.5)
         + 0.2::float8 * n.usefulness + 0.1::float8 * n.confidence
         + 0.05::float8 * pgrecall.frequency(u.retrieval_count, 50) AS score
  FROM narrow n
  LEFT JOIN pgrecall.memory_usage u ON u.agent_id = n.agent_id AND u.memory_id = n.id
 WHERE n.agent_id = :agent_id AND n.status = ANY (ARRAY['active'])
   AND pgrecall.is_valid(n.valid_from, n.valid_until, n.invalidated_at, n.expires_at, now())
 ORDER BY score DESC, n.id LIMIT :k
"""


class Narrow:
    """Makes a table of such rows, in the order of the memories, and searches in it."""

    def __init__(self, engine: Engine, agent_id: str, k: int) -> None:
        with engine.connect().execution_options(isolation_level="AUTOCOMMIT") as connection:
            connection.execute(text("DROP TABLE IF EXISTS narrow"))
            connection.execute(text(_TABLE))
            connection.execute(text("CREATE INDEX ON narrow (agent_id, id)"))
            connection.execute(text("VACUUM (ANALYZE, FREEZE) narrow"))
        self._engine = engine
        self._parameters = {"agent_id": agent_id, "k": k}

    def __call__(self, query: Floats) -> Sequence[Any]:
        parameters = self._parameters | {"query": Vector(query).to_text()}
        with self._engine.begin() as connection:
            return connection.execute(text(_SEARCH), parameters).all()
