"""Counting retrievals."""

from __future__ import annotations

from functools import lru_cache
from typing import Any
from uuid import UUID

from sqlalchemy import (
    Integer,
    Select,
    Table,
    Text,
    Uuid,
    any_,
    bindparam,
    func,
    literal_column,
    select,
)
from sqlalchemy.dialects.postgresql import insert
from sqlalchemy.sql.dml import ReturningInsert

from pgrecall.schema import Tables
from pgrecall.statements.conditions import owned, rows_of_arrays, uuids


@lru_cache
def touch(tables: Tables) -> ReturningInsert[UUID]:
    """Counts one retrieval, now, of those `ids` that `owner_id` has; returns them.

    Rows are locked in key order, so that overlapping touches wait for each other and never form
    a circle. The memories are only read: no lock is taken there.
    """
    memories, usage = tables.memories, tables.memory_usage
    found = (
        select(memories.c.agent_id, memories.c.id, literal_column("1"), func.now())
        .where(owned(memories), memories.c.id == any_(uuids()))
        .order_by(memories.c.id)
    )
    return _counting(usage, found)


@lru_cache
def count_retrievals(tables: Tables) -> ReturningInsert[UUID]:
    """Counts `counts` retrievals, now, of the memories of `ids`, which exist."""
    given = rows_of_arrays("given", id=("ids", Uuid()), number=("counts", Integer()))
    found = select(
        bindparam("owner_id", type_=Text()), given.c.id, given.c.number, func.now()
    ).order_by(given.c.id)
    return _counting(tables.memory_usage, found)


def _counting(usage: Table, found: Select[Any]) -> ReturningInsert[UUID]:
    statement = insert(usage).from_select(
        ["agent_id", "memory_id", "retrieval_count", "last_accessed_at"], found
    )
    return statement.on_conflict_do_update(
        index_elements=[usage.c.agent_id, usage.c.memory_id],
        set_={
            "retrieval_count": usage.c.retrieval_count + statement.excluded.retrieval_count,
            "last_accessed_at": func.greatest(
                usage.c.last_accessed_at, statement.excluded.last_accessed_at
            ),
        },
    ).returning(usage.c.memory_id)
