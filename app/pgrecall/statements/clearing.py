"""Deleting everything of an owner."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

from sqlalchemy import Delete, func, select
from sqlalchemy import delete as delete_

from pgrecall.schema import Tables
from pgrecall.statements.conditions import owned, stored_in, there
from pgrecall.statements.history import was_deleted


@lru_cache
def clear(tables: Tables) -> tuple[Any, ...]:
    """Deletes all of an owner: memories first, then every trace of them; the first counts."""
    memories = tables.memories
    others = tables.others
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
            owned(table), ~there(others, memory_id), ~there(memories, memory_id)
        )
        if table is tables.memory_events:
            statement = statement.where(~was_deleted(tables, others))
        traces.append(statement)
    runs = tables.gc_runs
    traces.append(delete_(runs).where(owned(runs), runs.c.table_name == stored_in(memories)))
    return (select(func.count().label("cleared")).select_from(gone), *traces)
