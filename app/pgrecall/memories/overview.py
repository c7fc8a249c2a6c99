"""Counts what a database contains, cheaply."""

from __future__ import annotations

from dataclasses import dataclass

from sqlalchemy import Connection, func, select, text

from pgrecall.schema import tables

EXACT_BELOW = 200_000
"""Schemas with more rows show the planner's estimates, since counting would read too much."""


@dataclass(frozen=True, slots=True)
class Overview:
    """Numbers for `pgrecall status`; estimates if `estimated`."""

    memories: int
    """Memories of agents and teams."""
    owners: int
    """Agents and teams that have memories."""
    used: int
    """Memories retrieved at least once."""
    estimated: bool
    bytes: int
    """Size of agent_memories and memory_usage, with indexes and TOAST."""
    index_bytes: int


def overview(connection: Connection, schema: str) -> Overview:
    """Counts the rows of a small schema and estimates those of a large one."""
    found = tables(schema)
    sizes = connection.execute(
        text(
            "SELECT sum(pg_total_relation_size(c.oid))::bigint AS bytes, "
            "sum(pg_indexes_size(c.oid))::bigint AS index_bytes, "
            "max(c.reltuples) FILTER (WHERE c.relname = 'agent_memories') AS memories, "
            "max(c.reltuples) FILTER (WHERE c.relname = 'memory_usage') AS used "
            "FROM pg_class c WHERE c.relnamespace = to_regnamespace(:schema) "
            "AND c.relname IN ('agent_memories', 'memory_usage')"
        ),
        {"schema": schema},
    ).one()
    estimated = sizes.memories >= EXACT_BELOW
    columns = found.memories.c
    if estimated:
        first = select(func.min(columns.agent_id).label("id")).cte("owners", recursive=True)
        after = select(func.min(columns.agent_id)).where(columns.agent_id > first.c.id)
        each = first.union_all(select(after.scalar_subquery()).where(first.c.id.is_not(None)))
        owners = connection.scalar(select(func.count(each.c.id))) or 0  # one index lookup each
        memories, used = int(sizes.memories), int(sizes.used)
    else:
        memories, owners = connection.execute(
            select(func.count(), func.count(columns.agent_id.distinct()))
        ).one()
        used = connection.scalar(select(func.count()).select_from(found.memory_usage)) or 0
    return Overview(memories, owners, max(used, 0), estimated, sizes.bytes, sizes.index_bytes)
