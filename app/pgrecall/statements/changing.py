"""Changing memories and noting it: one statement locks, changes and leaves the events."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from sqlalchemy import (
    CTE,
    ColumnElement,
    DateTime,
    FromClause,
    Select,
    Text,
    Uuid,
    bindparam,
    func,
    insert,
    literal_column,
    select,
    true,
)
from sqlalchemy import update as update_
from sqlalchemy.dialects.postgresql import JSONB

from pgrecall import compiler
from pgrecall.schema import Tables
from pgrecall.statements.conditions import Condition, owned
from pgrecall.statements.json_objects import json_object

Values = Mapping[str, ColumnElement[Any]]
NOTHING: ColumnElement[Any] = literal_column("NULL::jsonb", JSONB())
"""The old values of what was not there, the new ones of what is gone."""


@dataclass(frozen=True, slots=True)
class Change:
    """What is to become of memories.

    `assign` gets the locked rows (and those of `beside`) and returns the new value of each column
    that changes. Old and new values go into the event, vectors and the text of `unnoted` do not.
    """

    event_type: ColumnElement[str]
    reads: Sequence[str]
    """The columns that are assigned or computed from."""
    assign: Callable[[Any, Any], Values]
    beside: Callable[[CTE], CTE] | None = None
    """A further CTE, with a column memory_id, that is carried out for the locked rows."""
    note: Callable[[Any, Any], Values] = field(default=lambda locked, beside: {})
    """Further new values for the event."""
    told: Sequence[str] = ()
    """Further columns for the event, changed or not; they are among `reads`."""
    unnoted: frozenset[str] = frozenset({"embedding"})


def changed(
    tables: Tables,
    change: Change,
    *which: Condition,
    source: FromClause | None = None,
    carried: Sequence[ColumnElement[Any]] = (),
) -> Select[Any]:
    """The ids of the memories that were changed, with their old and new values.

    Rows are locked in key order, so that rivals wait and never form a circle; what is assigned is
    computed from the locked, newest version of the row. `which` chooses among the owner's rows,
    joined to `source`, whose columns `carried` are at hand as those of the locked row.
    Parameters: owner_id, note_reason, note_actor, note_metadata, and what `which` and `assign`
    bind, under names that no column has: SQLAlchemy would take them for values of that column.
    """
    memories = tables.memories
    from_ = memories if source is None else memories.join(source, true())
    locked = (
        select(memories.c.id, *(memories.c[name] for name in change.reads), *carried)
        .select_from(from_)
        .where(owned(memories), *which)
        .order_by(memories.c.id)
        .with_for_update(key_share=True, of=memories)
    )
    rows = locked.cte("locked")
    beside = change.beside(rows) if change.beside else None
    besides = None if beside is None else beside.c
    values = change.assign(rows.c, besides)
    noted = [n for n in dict.fromkeys((*change.told, *values)) if n not in change.unnoted]
    old_values = {name: rows.c[name] for name in noted}
    new_values = {name: memories.c[name] for name in noted} | dict(change.note(rows.c, besides))
    done = (
        update_(memories)
        .where(owned(memories), memories.c.id == rows.c.id)
        .values(**values, updated_at=func.now())
        .returning(
            memories.c.id,
            json_object(old_values).label("old_values"),
            json_object(new_values).label("new_values"),
            change.event_type.label("event_type"),
        )
    )
    if beside is not None:
        done = done.where(beside.c.memory_id == rows.c.id)
    result = done.cte("changed")
    return select(result.c.id, result.c.old_values, result.c.new_values).add_cte(
        noted_as(tables, result)
    )


def noted_as(tables: Tables, happened: FromClause) -> CTE:
    """Events for rows with id, event_type, old_values and new_values."""
    events = tables.memory_events
    return (
        insert(events)
        .from_select(
            [
                *("agent_id", "memory_id", "id", "event_type", "reason", "actor"),
                *("old_values", "new_values", "metadata", "occurred_at"),
            ],
            select(
                bindparam("owner_id", type_=Text()),
                happened.c.id,
                compiler.schema_function(tables.schema, "event_id", type_=Uuid()),
                happened.c.event_type,
                bindparam("note_reason", type_=Text()),
                bindparam("note_actor", type_=Text()),
                happened.c.old_values,
                happened.c.new_values,
                bindparam("note_metadata", type_=JSONB()),
                # Not now(): of rivals, the one whose transaction began first may come second.
                func.clock_timestamp(type_=DateTime(timezone=True)),
            ),
        )
        .cte("noted")
    )


def named(event_type: str) -> ColumnElement[str]:
    """An event type of ours as a literal."""
    assert event_type.replace("_", "").isalpha()
    return literal_column(f"'{event_type}'", Text())
