"""The statement that reads clusters with their memories."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

from sqlalchemy import Double, Integer, Select, Text, bindparam, select

from pgrecall.ranking.conditions import owned
from pgrecall.ranking.memory_columns import memory_columns, with_usage
from pgrecall.schema import Tables
from pgrecall.scoring import compiler


@lru_cache
def clusters_statement(tables: Tables) -> Select[Any]:
    """The memories of the verb `clusters`, the central one of each cluster first.

    Columns: cluster, to_centre and those of a memory. Parameters: owner_id, min_similarity,
    min_size, more_than, newest.
    """
    memories, usage = tables.memories, tables.memory_usage
    counts = ("min_size", "more_than", "newest")
    found = (
        compiler.schema_function(
            tables.schema,
            "clusters",
            bindparam("owner_id", type_=Text()),
            bindparam("min_similarity", type_=Double()),
            *(bindparam(name, type_=Integer()) for name in counts),
            type_=Integer(),
        )
        .table_valued("cluster", "place", "memory_id", "similarity", name="found")
        .render_derived()
    )
    return (
        select(
            *memory_columns(memories, usage),
            found.c.cluster,
            found.c.similarity.label("to_centre"),
        )
        .select_from(with_usage(memories, usage).join(found, found.c.memory_id == memories.c.id))
        .where(owned(memories))
        .order_by(found.c.cluster, found.c.place)
    )
