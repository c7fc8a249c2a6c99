"""Removing what is left of memories that are gone."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

from sqlalchemy import (
    ColumnElement,
    FromClause,
    Integer,
    Table,
    and_,
    bindparam,
    func,
    literal_column,
    or_,
    select,
)
from sqlalchemy import delete as delete_
from sqlalchemy.sql.dml import ReturningDelete

from pgrecall.schema import Tables
from pgrecall.statements.conditions import owned


@lru_cache
def sweep(tables: Tables) -> tuple[ReturningDelete[Any], ...]:
    """Removes counters, labels and links whose memory is gone, `batch_size` of each at most."""
    statements: list[ReturningDelete[Any]] = []
    for table, lost in _orphans(tables):
        key = table.primary_key.columns
        orphans = (
            select(*key)
            .where(owned(table), lost)
            .order_by(*key)
            .limit(bindparam("batch_size", type_=Integer()))
            .with_for_update(skip_locked=True)
            .cte("orphans")
        )
        same = and_(*(table.c[column.name] == orphans.c[column.name] for column in key))
        statements.append(delete_(table).where(owned(table), same).returning(literal_column("1")))
    return tuple(statements)


def count_orphans(tables: Tables) -> ColumnElement[Any]:
    counts = [
        select(func.count()).select_from(table).where(owned(table), lost).scalar_subquery()
        for table, lost in _orphans(tables)
    ]
    return counts[0] + counts[1] + counts[2]


def _orphans(tables: Tables) -> list[tuple[Table, ColumnElement[bool]]]:
    """What tells of memories, and whether a row of it tells of one that is gone."""
    usage, labels, links = tables.memory_usage, tables.memory_labels, tables.memory_links
    return [
        (usage, gone_of(tables, usage, usage.c.memory_id)),
        (labels, gone_of(tables, labels, labels.c.memory_id)),
        (
            links,
            or_(
                gone_of(tables, links, links.c.source_id), gone_of(tables, links, links.c.target_id)
            ),
        ),
    ]


def gone_of(tables: Tables, table: FromClause, memory_id: Any) -> Any:
    """Whether the memory that a row of this table tells of is gone."""
    memories = tables.memories
    there: Any = select(literal_column("1")).where(
        memories.c.agent_id == table.c.agent_id, memories.c.id == memory_id
    )
    return ~there.exists()
