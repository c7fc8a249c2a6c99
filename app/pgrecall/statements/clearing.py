"""Deleting everything of an owner."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

from sqlalchemy import (
    ColumnElement,
    Delete,
    FromClause,
    Table,
    Text,
    func,
    literal_column,
    select,
)
from sqlalchemy import delete as delete_

from pgrecall.schema import Tables
from pgrecall.statements.changing import named
from pgrecall.statements.conditions import owned, stored_in


@lru_cache
def clear(tables: Tables) -> tuple[Any, ...]:
    """Deletes all of an owner: memories first, then every trace of them; the first counts."""
    memories = tables.memories
    others = tables.team_memories if memories is tables.agent_memories else tables.agent_memories
    locked = (
        select(memories.c.id)
        .where(owned(memories))
        .order_by(memories.c.id)
        .with_for_update()
        .cte("locked")
    )
    gone = (
        delete_(memories)
        .where(owned(memories), memories.c.id.in_(select(locked.c.id)))
        .returning(memories.c.id)
        .cte("gone")
    )
    traces: list[Delete] = []
    for table, memory_id in (
        (tables.memory_usage, tables.memory_usage.c.memory_id),
        (tables.memory_labels, tables.memory_labels.c.memory_id),
        (tables.memory_links, tables.memory_links.c.source_id),
        (tables.memory_events, tables.memory_events.c.memory_id),
    ):
        # A team may bear the name of an agent: what belongs to its memories stays, and so does what
        # belongs to a memory that was added while those before were deleted.
        statement = delete_(table).where(
            owned(table), ~_exists(others, memory_id), ~_exists(memories, memory_id)
        )
        if table is tables.memory_events:
            statement = statement.where(~_was_deleted(tables, others))
        traces.append(statement)
    runs = tables.gc_runs
    traces.append(delete_(runs).where(owned(runs), runs.c.table_name == stored_in(memories)))
    return (select(func.count().label("cleared")).select_from(gone), *traces)


def _exists(memories: FromClause, memory_id: ColumnElement[Any]) -> ColumnElement[bool]:
    return select(literal_column("1")).where(owned(memories), memories.c.id == memory_id).exists()


def _was_deleted(tables: Tables, memories: Table) -> ColumnElement[bool]:
    """Whether an event is of a memory that was deleted from this table."""
    events, last = tables.memory_events, tables.memory_events.alias("last")
    noted: Any = last.c.old_values[literal_column("'table_name'", Text())].astext
    return (
        select(literal_column("1"))
        .where(
            owned(last),
            last.c.memory_id == events.c.memory_id,
            last.c.event_type == named("deleted"),
            noted == stored_in(memories),
        )
        .exists()
    )
