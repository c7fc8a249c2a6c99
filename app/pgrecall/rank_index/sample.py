"""A sample of an owner's memories."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

from sqlalchemy import Integer, Select, bindparam, func, literal_column, select

from pgrecall.ranking.conditions import active, owned
from pgrecall.schema import Tables


@lru_cache
def sample(tables: Tables) -> Select[Any]:
    """Embeddings of a random sample of `number` active memories, the same each time."""
    memories = tables.memories
    return (
        select(memories.c.embedding)
        .where(owned(memories), active(memories), memories.c.embedding.is_not(None))
        .order_by(func.uuid_hash_extended(memories.c.id, literal_column("43::bigint")))
        .limit(bindparam("number", type_=Integer()))
    )
