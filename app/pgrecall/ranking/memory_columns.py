"""The columns of a memory in every statement that reads one, and conversion of rows to Memory."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import fields
from typing import Any

from sqlalchemy import ColumnElement, FromClause, Integer, Row, and_, func, literal_column, null
from sqlalchemy.sql.selectable import Join

from pgrecall.core.memory import Memory, loaded_memory
from pgrecall.ranking.conditions import OWNER, of_one, of_owners
from pgrecall.schema import TEAM
from pgrecall.schema.tables import COUNTERS, INTERNAL

_FIELDS = tuple(f.name for f in fields(Memory) if f.name not in ("agent_id", "team_id"))


def memory_columns(
    memories: FromClause, usage: FromClause, *, embedding: bool = False
) -> list[ColumnElement[Any]]:
    """The fields of `Memory` by name; the embedding is NULL unless `embedding` is true."""
    columns = {column.name: column for column in memories.c if column.name not in INTERNAL}
    if not embedding:
        columns["embedding"] = null().label("embedding")
    columns["last_accessed_at"] = usage.c.last_accessed_at
    for name in COUNTERS:
        count = func.coalesce(usage.c[name], literal_column("0"), type_=Integer())
        columns[name] = count.label(name)
    return [columns["agent_id"], *(columns[name] for name in _FIELDS)]


def with_usage(
    memories: FromClause,
    usage: FromClause,
    rows: FromClause | None = None,
    owners: str = OWNER,
) -> Join:
    """Left join of memories to their counters.

    `rows` is a join that contains `memories` already, if any; `owners` is the parameter with the
    owners.
    """
    same = and_(usage.c.agent_id == memories.c.agent_id, usage.c.memory_id == memories.c.id)
    if not of_one(owners):  # for one owner the planner infers this
        same = and_(same, of_owners(usage, owners))
    return (memories if rows is None else rows).outerjoin(usage, same)


MEMORY_COLUMNS = 1 + len(_FIELDS)
"""The number of `memory_columns`."""


def leading_memory(row: Sequence[Any]) -> Memory:
    """The memory of a row that begins with `memory_columns`."""
    return _of_owner(row[0], row[1:MEMORY_COLUMNS])


def memory(row: Mapping[Any, Any]) -> Memory:
    """The memory of a row with the names of `memory_columns`."""
    return _of_owner(row["agent_id"], (row[name] for name in _FIELDS))


def _of_owner(owner_id: str, values: Iterable[Any]) -> Memory:
    team_id = owner_id.removeprefix(TEAM) if owner_id.startswith(TEAM) else None
    return loaded_memory((owner_id if team_id is None else None, team_id, *values))


def changed_memory(row: Row[Any]) -> Memory:
    """Converts the row that a verb returned; without the embedding, as in `get`."""
    return memory({**row._asdict(), "embedding": None})
