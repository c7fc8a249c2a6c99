"""Search by one distance alone, written as well as the composite one."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from pgvector import Vector
from sqlalchemy import Engine, Table, text

from benchmarks.data import Floats

_SEARCH = """
SELECT {columns}, u.retrieval_count, u.last_accessed_at, u.success_count, u.failure_count,
       ranked.distance
  FROM (SELECT agent_id, id, embedding {operator} :query AS distance
          FROM pgrecall.agent_memories
         WHERE {condition}
         ORDER BY distance LIMIT :k) AS ranked
  JOIN pgrecall.agent_memories m ON m.agent_id = ranked.agent_id AND m.id = ranked.id
  LEFT JOIN pgrecall.memory_usage u ON u.agent_id = ranked.agent_id AND u.memory_id = ranked.id
 ORDER BY ranked.distance
"""
_OWNED = "agent_id = :agent_id"
_FILTERED = f"""{_OWNED} AND status = ANY (ARRAY['active'])
           AND pgrecall.is_valid(valid_from, valid_until, invalidated_at, expires_at, now())"""
_NOT_RETURNED = ("embedding", "content_hash", "inserted_at")
COSINE, INNER_PRODUCT = "<=>", "<#>"


class Distance:
    """Returns the columns of a memory, in two phases as well; only what it orders by differs."""

    def __init__(
        self,
        engine: Engine,
        memories: Table,
        agent_id: str,
        k: int,
        *,
        filtered: bool = False,
        operator: str = COSINE,
    ) -> None:
        columns = (f"m.{column.name}" for column in memories.c if column.name not in _NOT_RETURNED)
        self._engine = engine
        self._agent_id = agent_id
        self._statement = text(
            _SEARCH.format(
                columns=", ".join(columns),
                condition=_FILTERED if filtered else _OWNED,
                operator=operator,
            )
        )
        self._parameters = {"agent_id": agent_id, "k": k}

    def __call__(self, query: Floats) -> Sequence[Any]:
        parameters = self._parameters | {"query": Vector(query).to_text()}
        with self._engine.begin() as connection:
            return connection.execute(self._statement, parameters).all()
