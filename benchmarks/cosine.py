"""Search by cosine distance alone, written as well as the composite one."""

from __future__ import annotations

from sqlalchemy import ColumnElement, Double, Engine, Select, and_, select

from benchmarks.data import DIMENSIONS, Floats
from pgrecall.compiler import query_parameter
from pgrecall.embedding import EmbeddingType, stored_vector
from pgrecall.filters import Filters
from pgrecall.memory import Memory
from pgrecall.operations.reading import memory
from pgrecall.schema import tables
from pgrecall.statements.conditions import conditions, owned
from pgrecall.statements.reading import memory_columns


class Cosine:
    """Returns the same columns in the same two phases; only what it orders by differs."""

    def __init__(self, engine: Engine, agent_id: str, k: int, *, filtered: bool) -> None:
        self._engine = engine
        self._statement = _statement(agent_id, k, filtered=filtered)

    def __call__(self, query: Floats) -> list[Memory]:
        vector = stored_vector(query, dimensions=DIMENSIONS, embedding_type=EmbeddingType.VECTOR)
        with self._engine.begin() as connection:
            rows = connection.execute(self._statement, {"query": vector}).all()
        return [memory(row._mapping) for row in rows]


def _statement(agent_id: str, k: int, *, filtered: bool) -> Select[tuple[object, ...]]:
    schema = tables()
    memories, usage = schema.agent_memories, schema.memory_usage
    distance: ColumnElement[float] = memories.c.embedding.op("<=>", return_type=Double())(
        query_parameter()
    )
    ranked = (
        select(memories.c.agent_id, memories.c.id, distance.label("distance"))
        .where(owned(memories, agent_id))
        .where(*(conditions(memories, schema.schema, Filters(), None) if filtered else ()))
        .order_by(distance)
        .limit(k)
        .subquery("ranked")
    )
    described = ranked.join(
        memories, and_(memories.c.agent_id == ranked.c.agent_id, memories.c.id == ranked.c.id)
    ).outerjoin(
        usage, and_(usage.c.agent_id == ranked.c.agent_id, usage.c.memory_id == ranked.c.id)
    )
    return (
        select(*memory_columns(memories, usage), ranked.c.distance)
        .select_from(described)
        .order_by(ranked.c.distance)
    )
