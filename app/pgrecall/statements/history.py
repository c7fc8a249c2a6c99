"""Reading what happened to a memory."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

from sqlalchemy import Select, Table, Text, Uuid, bindparam, func, literal_column, select
from sqlalchemy.dialects.postgresql import JSONB

from pgrecall.schema import Tables
from pgrecall.statements.changing import named
from pgrecall.statements.conditions import Condition, owned, stored_in, there

_EMPTY = literal_column("'{}'::jsonb", JSONB())


@lru_cache
def history(tables: Tables) -> Select[Any]:
    """The events of the memory `this_id` of `owner_id`, oldest first; the memory may be gone.

    None of a memory in the other table, whose owner may bear the same name.
    """
    events = tables.memory_events
    others = tables.others
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
        .where(
            owned(events),
            events.c.memory_id == bindparam("this_id", type_=Uuid()),
            ~there(others, events.c.memory_id),
            ~was_deleted(tables, others),
        )
        .order_by(events.c.occurred_at, events.c.id)
    )


def was_deleted(tables: Tables, memories: Table) -> Condition:
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
