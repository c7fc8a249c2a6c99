"""What people write by hand: the nearest by psycopg, prepared, then ranked again in Python.

https://github.com/pgvector/pgvector-python: register_vector. https://github.com/pgvector/pgvector:
hnsw.ef_search of at least the limit, and an index on the column that is filtered.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import ExitStack
from typing import Any

import psycopg
from pgvector.psycopg import register_vector

from benchmarks.data import DIMENSIONS, Row
from benchmarks.peers.given import Asked, Candidate
from benchmarks.peers.store import LIMITS, Reranking
from pgrecall.core.vectors import Vector

_TABLE = f"""
CREATE TABLE IF NOT EXISTS by_hand (
    id uuid PRIMARY KEY, agent_id text NOT NULL, content text NOT NULL,
    embedding vector({DIMENSIONS}) NOT NULL, created_at timestamptz NOT NULL,
    usefulness float8 NOT NULL, confidence float8 NOT NULL, retrieval_count int NOT NULL)
"""
_SEARCH = """
SELECT id, content, 1 - (embedding <=> %(query)s), created_at, usefulness, confidence,
       retrieval_count
  FROM by_hand WHERE agent_id = %(agent_id)s ORDER BY embedding <=> %(query)s LIMIT %(limit)s
"""


class ByHand(Reranking):
    name = "by hand"
    relations = "relname = 'by_hand'"

    def __init__(self, url: str, stack: ExitStack) -> None:
        self._connection = stack.enter_context(psycopg.connect(url, autocommit=True))
        register_vector(self._connection)
        self._connection.execute(f"SET hnsw.ef_search = {max(LIMITS)}")
        self._connection.execute(_TABLE)
        self._connection.execute("CREATE INDEX IF NOT EXISTS by_hand_agent ON by_hand (agent_id)")

    def write(self, agent_id: str, rows: Sequence[Row]) -> Any:
        with self._connection.transaction(), self._connection.cursor() as cursor:
            cursor.executemany(
                "INSERT INTO by_hand VALUES (%s, %s, %s, %s, %s, %s, %s, %s)",
                [
                    (
                        row.id,
                        agent_id,
                        row.content,
                        row.embedding,
                        row.created_at,
                        row.usefulness,
                        row.confidence,
                        row.retrieval_count or 0,
                    )
                    for row in rows
                ],
            )

    def fetch(self, asked: Asked, limit: int) -> list[Candidate]:
        given = {"query": Vector(asked.vector), "agent_id": asked.agent_id, "limit": limit}
        rows = self._connection.execute(_SEARCH, given, prepare=True)
        return [Candidate(str(id_), *rest) for id_, _, *rest in rows]

    def index(self) -> Any:
        self._connection.execute("CREATE INDEX ON by_hand USING hnsw (embedding vector_cosine_ops)")
