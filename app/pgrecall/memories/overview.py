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
    memories_retrieved: int
    """Memories retrieved at least once."""
    estimated: bool
    bytes: int
    """Size of all tables, with indexes and TOAST; on Citus without positions of rank indexes."""
    index_bytes: int
    rank_indexes: int


_HERE = (
    *("pg_total_relation_size(c.oid)", "pg_indexes_size(c.oid)", "c.reltuples"),
    "c.relkind = 'r'",
)
_ON_SEVERAL_NODES = (
    "citus_total_relation_size(c.oid)",
    "citus_total_relation_size(c.oid) - citus_table_size(c.oid)",
    "(SELECT sum(CAST(s.result AS float8)) FROM run_command_on_shards(CAST(c.oid AS regclass), "
    "'SELECT reltuples FROM pg_class WHERE oid = to_regclass(''%s'')') s)",
    "c.oid IN (SELECT logicalrelid FROM pg_dist_partition)",
)
"""Bytes of a table with its indexes, of its indexes, the estimate of its rows, and which tables."""
_OWNERS_OF_SHARDS = """
    SELECT CAST(sum(CAST(s.result AS bigint)) AS bigint)
      FROM run_command_on_shards(CAST(:memories AS regclass), '
        WITH RECURSIVE owners(id) AS (
            SELECT min(agent_id) FROM %1$s
             UNION ALL
            SELECT (SELECT min(m.agent_id) FROM %1$s m WHERE m.agent_id > o.id)
              FROM owners o WHERE o.id IS NOT NULL)
        SELECT count(id) FROM owners') s
"""


def overview(connection: Connection, schema: str, *, distributed: bool = False) -> Overview:
    """Counts the rows of a small schema and estimates those of a large one."""
    known_tables = tables(schema)
    size, of_indexes, rows, counted = _ON_SEVERAL_NODES if distributed else _HERE
    sizes = connection.execute(
        text(
            f"SELECT CAST(sum({size}) AS bigint) AS bytes, "  # noqa: S608  written above
            f"CAST(sum({of_indexes}) AS bigint) AS index_bytes, "
            f"max({rows}) FILTER (WHERE c.relname = 'agent_memories') AS memories, "
            f"max({rows}) FILTER (WHERE c.relname = 'memory_usage') AS used "
            "FROM pg_class c WHERE c.relnamespace = to_regnamespace(:schema) "
            f"AND {counted}"
        ),
        {"schema": schema},
    ).one()
    estimated = sizes.memories >= EXACT_BELOW
    columns = known_tables.memories.c
    if estimated and distributed:
        named = {"memories": f'"{schema}".agent_memories'}
        owners = connection.scalar(text(_OWNERS_OF_SHARDS), named) or 0
        memories, used = int(sizes.memories), int(sizes.used)
    elif estimated:
        first = select(func.min(columns.agent_id).label("id")).cte("owners", recursive=True)
        after = select(func.min(columns.agent_id)).where(columns.agent_id > first.c.id)
        each = first.union_all(select(after.scalar_subquery()).where(first.c.id.is_not(None)))
        owners = connection.scalar(select(func.count(each.c.id))) or 0  # one index lookup each
        memories, used = int(sizes.memories), int(sizes.used)
    else:
        memories, owners = connection.execute(
            select(func.count(), func.count(columns.agent_id.distinct()))
        ).one()
        used = connection.scalar(select(func.count()).select_from(known_tables.memory_usage)) or 0
    built = connection.scalar(select(func.count()).select_from(known_tables.rank_indexes)) or 0
    return Overview(
        memories, owners, max(used, 0), estimated, sizes.bytes, sizes.index_bytes, built
    )
