"""Looking after many memories: consolidation, stale tasks, pruning."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

from sqlalchemy import (
    ColumnElement,
    DateTime,
    Double,
    Select,
    Text,
    Uuid,
    any_,
    bindparam,
    func,
    literal_column,
    or_,
    select,
)

from pgrecall.schema import Tables
from pgrecall.statements.assessing import HOUR
from pgrecall.statements.changing import Change, changed, named
from pgrecall.statements.conditions import (
    active,
    owned,
    rows_of_arrays,
    scope,
    uuids,
    valid,
)
from pgrecall.statements.ranking import Search, scored
from pgrecall.statements.reading import memory_columns, with_usage

CONSOLIDATES = "consolidates"
"""The kind of the links from a consolidated memory to its sources."""


@lru_cache
def get_many(tables: Tables) -> Select[Any]:
    """The memories of `ids`."""
    memories, usage = tables.memories, tables.memory_usage
    return (
        select(*memory_columns(memories, usage))
        .select_from(with_usage(memories, usage))
        .where(owned(memories), memories.c.id == any_(uuids()))
        .order_by(memories.c.id)
    )


@lru_cache
def lock_sources(tables: Tables) -> Select[Any]:
    """Those of `ids` that are still active, valid and as they were `seen`, locked.

    Columns: id, importance. Parameters: owner_id, ids, seen (the updated_at of each).
    """
    memories = tables.memories
    known = rows_of_arrays(
        "known", id=("ids", Uuid()), updated_at=("seen", DateTime(timezone=True))
    )
    return (
        select(memories.c.id, memories.c.importance)
        .select_from(memories.join(known, memories.c.id == known.c.id))
        .where(
            owned(memories),
            active(memories),
            memories.c.updated_at == known.c.updated_at,
            valid(scope(tables, memories, as_of=False)),
        )
        .order_by(memories.c.id)
        .with_for_update(key_share=True, of=memories)
    )


@lru_cache
def consolidate(tables: Tables) -> Select[Any]:
    """Puts the sources `ids` away as consolidated."""
    change = Change(
        event_type=named("consolidated"),
        reads=("status",),
        assign=lambda *_: {"status": literal_column("'consolidated'", Text())},
    )
    return changed(tables, change, tables.memories.c.id == any_(uuids()))


@lru_cache
def complete_stale_tasks(tables: Tables) -> Select[Any]:
    """Completes active memories of type task created and last accessed before `stale_before`."""
    memories, usage = tables.memories, tables.memory_usage
    cutoff: Any = func.now() - bindparam("stale_hours", type_=Double()) * HOUR
    used_since = (
        select(literal_column("1"))
        .where(
            usage.c.agent_id == memories.c.agent_id,
            usage.c.memory_id == memories.c.id,
            usage.c.last_accessed_at >= cutoff,
        )
        .exists()
    )
    change = Change(
        event_type=named("completed"),
        reads=("status",),
        assign=lambda *_: {"status": literal_column("'completed'", Text())},
    )
    task = literal_column("'task'", Text())
    return changed(
        tables,
        change,
        active(memories),
        or_(memories.c.memory_type == task, task == any_(memories.c.additional_types)),
        memories.c.created_at < cutoff,
        ~used_since,
    )


def prune(tables: Tables, wanted: Search, *, by_age: bool, by_score: bool) -> Select[Any]:
    """Archives active memories that are older than `max_age_hours` and score below `below_score`.

    The score is that of the profile without a query. Parameters: those of the search and of
    `changed`, and the two limits where asked for.
    """
    memories = tables.memories
    which: list[ColumnElement[bool]] = [active(memories)]
    if by_age:
        hours: Any = bindparam("max_age_hours", type_=Double())
        which.append(memories.c.created_at < func.now() - hours * HOUR)
    if by_score:
        ranked = scored(tables, wanted.shape, ()).subquery("ranked")
        below: Any = bindparam("below_score", type_=Double())
        which.append(memories.c.id.in_(select(ranked.c.id).where(ranked.c.score < below)))
    change = Change(
        event_type=named("archived"),
        reads=("status",),
        assign=lambda *_: {"status": literal_column("'archived'", Text())},
    )
    return changed(tables, change, *which)
