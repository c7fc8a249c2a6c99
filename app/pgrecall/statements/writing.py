"""Changing and deleting memories by id."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from typing import Any
from uuid import UUID

from sqlalchemy import (
    Delete,
    Select,
    Table,
    Text,
    any_,
    bindparam,
    func,
    literal_column,
    null,
    or_,
    select,
)
from sqlalchemy import delete as delete_
from sqlalchemy.dialects.postgresql import JSONB

from pgrecall.schema import Tables
from pgrecall.statements.changing import Change, changed, named, noted_as
from pgrecall.statements.conditions import owned, uuids


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
    gone = deleted(tables, locked)
    return select(gone.c.id).add_cte(noted_as(tables, gone))


def deleted(tables: Tables, locked: Any) -> Any:
    """Deletes the locked rows, as a CTE that can be noted."""
    memories = tables.memories
    return (
        delete_(memories)
        .where(owned(memories), memories.c.id.in_(select(locked.c.id)))
        .returning(
            memories.c.id,
            named("deleted").label("event_type"),
            told(memories).label("old_values"),
            null().cast(JSONB(none_as_null=True)).label("new_values"),
        )
        .cte("deleted")
    )


def told(memories: Table) -> Any:
    """What the last event says: whose it was, and not the text, which is to be gone."""
    table_name = literal_column(f"'{memories.name}'", Text())
    pairs: list[Any] = [literal_column("'table_name'", Text()), table_name]
    for name in ("status", "trust", "importance", "usefulness", "created_at"):
        pairs += [literal_column(f"'{name}'", Text()), memories.c[name]]
    return func.jsonb_build_object(*pairs, type_=JSONB())


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
