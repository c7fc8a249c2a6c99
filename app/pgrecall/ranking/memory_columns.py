"""The columns of a memory in every statement that reads one."""

from __future__ import annotations

from typing import Any

from sqlalchemy import ColumnElement, FromClause, Integer, and_, func, literal_column, null
from sqlalchemy.sql.selectable import Join

from pgrecall.ranking.conditions import OWNER, of_one, of_owners
from pgrecall.schema.fields import COUNTERS, ROW
from pgrecall.schema.verbs import column_of


def memory_columns(
    memories: FromClause, usage: FromClause, *, embedding: bool = False
) -> list[ColumnElement[Any]]:
    """The fields of `Memory` by name; the embedding is NULL unless `embedding` is true."""
    columns = {name: counted(name, memories, usage) for name in ROW}
    columns |= {name: columns[name].label(name) for name in COUNTERS}
    if not embedding:
        columns["embedding"] = null().label("embedding")
    return [*columns.values()]


def counted(name: str, memories: FromClause, usage: FromClause) -> ColumnElement[Any]:
    """The column of a field; 0 where a memory was never used."""
    found = column_of(name, memories, usage)
    if name not in COUNTERS:
        return found
    return func.coalesce(found, literal_column("0"), type_=Integer())


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
