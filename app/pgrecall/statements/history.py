"""Reading what happened to a memory."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

from sqlalchemy import Select, Uuid, bindparam, func, literal_column, select
from sqlalchemy.dialects.postgresql import JSONB

from pgrecall.schema import Tables
from pgrecall.statements.conditions import owned

_EMPTY = literal_column("'{}'::jsonb", JSONB())


@lru_cache
def history(tables: Tables) -> Select[Any]:
    """The events of the memory `this_id` of `owner_id`, oldest first; the memory may be gone."""
    events = tables.memory_events
    return (
        select(
            events.c.id,
            events.c.memory_id,
            events.c.event_type,
            events.c.reason,
            events.c.actor,
            func.coalesce(events.c.old_values, _EMPTY, type_=JSONB()).label("old_values"),
            func.coalesce(events.c.new_values, _EMPTY, type_=JSONB()).label("new_values"),
            events.c.metadata,
            events.c.occurred_at,
        )
        .where(owned(events), events.c.memory_id == bindparam("this_id", type_=Uuid()))
        .order_by(events.c.occurred_at, events.c.id)
    )
