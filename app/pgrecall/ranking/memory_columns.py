"""The columns that make up a memory wherever one is read, and the memory that a row makes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields
from typing import Any

from sqlalchemy import ColumnElement, FromClause, Integer, Row, and_, func, null
from sqlalchemy.sql.selectable import Join

from pgrecall.core.memory import Memory
from pgrecall.ranking.conditions import OWNER, of_one, of_owners
from pgrecall.schema import TEAM
from pgrecall.schema.tables import COUNTERS, INTERNAL

_FIELDS = tuple(f.name for f in fields(Memory) if f.name not in ("agent_id", "team_id"))


def memory_columns(
    memories: FromClause, usage: FromClause, *, embedding: bool = False
) -> list[ColumnElement[Any]]:
    """The fields of `Memory`, under its names; the vector only when it is asked for."""
    columns = {column.name: column for column in memories.c if column.name not in INTERNAL}
    if not embedding:
        columns["embedding"] = null().label("embedding")
    return [
        *columns.values(),
        usage.c.last_accessed_at,
        *(func.coalesce(usage.c[name], 0, type_=Integer()).label(name) for name in COUNTERS),
    ]


def with_usage(
    memories: FromClause,
    usage: FromClause,
    rows: FromClause | None = None,
    owners: str = OWNER,
) -> Join:
    """Every memory beside its counters; those never retrieved have none.

    `rows` are the memories joined to something else already, `owners` the parameter that tells
    whose they are.
    """
    same = and_(usage.c.agent_id == memories.c.agent_id, usage.c.memory_id == memories.c.id)
    if not of_one(owners):  # of one, the planner knows
        same = and_(same, of_owners(usage, owners))
    return (memories if rows is None else rows).outerjoin(usage, same)


def memory(row: Mapping[Any, Any]) -> Memory:
    """A row of `memory_columns` as a record."""
    owner_id: str = row["agent_id"]
    team_id = owner_id.removeprefix(TEAM) if owner_id.startswith(TEAM) else None
    agent_id = owner_id if team_id is None else None
    fields = {name: row[name] for name in _FIELDS}
    return Memory(agent_id=agent_id, team_id=team_id, **fields)


def changed_memory(row: Row[Any]) -> Memory:
    """What a verb returned that changed one memory; its embedding is left out, as in `get`."""
    return memory({**row._mapping, "embedding": None})
