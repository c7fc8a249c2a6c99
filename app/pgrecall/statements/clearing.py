"""Deleting everything of an owner."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

from sqlalchemy import delete as delete_
from sqlalchemy import func, select

from pgrecall.schema import Tables
from pgrecall.statements.conditions import owned
from pgrecall.statements.sweeping import gone_of


@lru_cache
def clear(tables: Tables) -> tuple[Any, ...]:
    """Deletes all of an owner: memories first, then every trace of them; the first counts."""
    memories = tables.memories
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
    traces = [
        # What belongs to a memory that was added while those before were deleted stays.
        delete_(table).where(owned(table), gone_of(tables, table, memory_id))
        for table, memory_id in (
            (tables.memory_usage, tables.memory_usage.c.memory_id),
            (tables.memory_labels, tables.memory_labels.c.memory_id),
            (tables.memory_links, tables.memory_links.c.source_id),
            (tables.memory_events, tables.memory_events.c.memory_id),
        )
    ]
    traces.append(delete_(tables.gc_runs).where(owned(tables.gc_runs)))
    return (select(func.count().label("cleared")).select_from(gone), *traces)
