"""Changing and deleting memories by id."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from typing import Any
from uuid import UUID

from sqlalchemy import (
    CTE,
    Delete,
    Select,
    Table,
    any_,
    bindparam,
    or_,
    select,
)
from sqlalchemy import delete as delete_

from pgrecall.schema import Tables
from pgrecall.statements.changing import NOTHING, Change, changed, named, noted_as
from pgrecall.statements.conditions import owned, uuids
from pgrecall.statements.json_objects import json_object


def update(tables: Tables, memory_id: UUID, changes: Mapping[str, Any]) -> Select[Any]:
    """Changes one memory; parameters as of `changed`."""
    columns = tables.memories.c
    values = {
        name: bindparam(f"new_{name}", value, type_=columns[name].type)
        for name, value in changes.items()
    }
    change = Change(event_type=named("updated"), reads=tuple(values), assign=lambda *_: values)
    return changed(tables, change, columns.id == memory_id)


@lru_cache
def delete(tables: Tables) -> Select[Any]:
    """Deletes memories by `ids`, leaves their last events and returns their ids.

    Rows are locked in key order. Parameters: owner_id, ids, note_reason, note_actor, note_metadata.
    """
    memories = tables.memories
    locked = (
        select(memories.c.id)
        .where(owned(memories), memories.c.id == any_(uuids()))
        .order_by(memories.c.id)
        .with_for_update()
        .cte("locked")
    )
    gone = deleted(tables, select(locked.c.id))
    return select(gone.c.id).add_cte(noted_as(tables, gone))


def deleted(tables: Tables, ids: Select[Any]) -> CTE:
    """Deletes the rows of these ids, which are locked, as a CTE that can be noted."""
    memories = tables.memories
    return (
        delete_(memories)
        .where(owned(memories), memories.c.id.in_(ids))
        .returning(
            memories.c.id,
            named("deleted").label("event_type"),
            _told(memories).label("old_values"),
            NOTHING.label("new_values"),
        )
        .cte("deleted")
    )


def _told(memories: Table) -> Any:
    """What the last event says: not the text, which is to be gone."""
    names = ("status", "trust", "importance", "usefulness", "created_at")
    return json_object({name: memories.c[name] for name in names})


@lru_cache
def delete_traces(tables: Tables) -> tuple[Delete, ...]:
    """Deletes the counters, labels and links of memories that are gone, by `ids`."""
    usage, labels, links = tables.memory_usage, tables.memory_labels, tables.memory_links
    locked = (
        select(usage.c.memory_id)
        .where(owned(usage), usage.c.memory_id == any_(uuids()))
        .order_by(usage.c.memory_id)
        .with_for_update()
        .cte("locked")
    )
    return (
        delete_(usage).where(owned(usage), usage.c.memory_id.in_(select(locked.c.memory_id))),
        delete_(labels).where(owned(labels), labels.c.memory_id == any_(uuids())),
        delete_(links).where(
            owned(links),
            or_(links.c.source_id == any_(uuids()), links.c.target_id == any_(uuids())),
        ),
    )
