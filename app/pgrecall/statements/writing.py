"""Adding, changing and deleting memories."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any
from uuid import UUID

from sqlalchemy import Delete, Insert, Select, Text, Update, any_, bindparam, func, select
from sqlalchemy import delete as delete_
from sqlalchemy import update as update_
from sqlalchemy.dialects.postgresql import insert
from sqlalchemy.sql.dml import ReturningDelete

from pgrecall.schema import Tables, owner
from pgrecall.statements.conditions import owned, uuids


def add(tables: Tables, agent_id: str, values: Mapping[str, Any]) -> Insert:
    """One row; a row that is already there under this id stays as it is."""
    memories = tables.memories
    return (
        insert(memories)
        .values({owner(memories).name: bindparam("owner_id", agent_id, type_=Text()), **values})
        .on_conflict_do_nothing(index_elements=[owner(memories), memories.c.id])
    )


def update(tables: Tables, agent_id: str, memory_id: UUID, changes: Mapping[str, Any]) -> Update:
    """Changes one row and returns its id, or no row when there is none."""
    memories = tables.memories
    return (
        update_(memories)
        .where(owned(memories, agent_id), memories.c.id == memory_id)
        .values(**changes, updated_at=func.now())
        .returning(memories.c.id)
    )


def delete(tables: Tables, agent_id: str, memory_ids: Sequence[UUID]) -> ReturningDelete[Any]:
    """Deletes memories and returns their ids; rows are locked in key order."""
    memories = tables.memories
    locked = (
        select(memories.c.id)
        .where(owned(memories, agent_id), memories.c.id == any_(uuids(memory_ids)))
        .order_by(memories.c.id)
        .with_for_update()
        .cte("locked")
    )
    return (
        delete_(memories)
        .where(owned(memories, agent_id), memories.c.id.in_(select(locked.c.id)))
        .returning(memories.c.id)
    )


def delete_usage(tables: Tables, agent_id: str, memory_ids: Sequence[UUID]) -> Delete:
    """Deletes the counters of memories; rows are locked in key order."""
    usage = tables.memory_usage
    locked: Select[tuple[UUID]] = (
        select(usage.c.memory_id)
        .where(owned(usage, agent_id), usage.c.memory_id == any_(uuids(memory_ids)))
        .order_by(usage.c.memory_id)
        .with_for_update()
    )
    return delete_(usage).where(
        owned(usage, agent_id), usage.c.memory_id.in_(select(locked.cte("locked").c.memory_id))
    )
