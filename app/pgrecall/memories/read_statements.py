"""Statements that read memories without ranking them."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import Any
from uuid import UUID

from sqlalchemy import (
    Integer,
    Select,
    Uuid,
    any_,
    bindparam,
    select,
)

from pgrecall.ranking.conditions import owned, rows_of_arrays, uuids
from pgrecall.ranking.memory_columns import memory_columns, with_usage
from pgrecall.schema import Tables


def get_statement(
    tables: Tables, agent_id: str, memory_id: UUID, *, embedding: bool = False
) -> Select[tuple[object, ...]]:
    memories, usage = tables.memories, tables.memory_usage
    return (
        select(*memory_columns(memories, usage, embedding=embedding))
        .select_from(with_usage(memories, usage))
        .where(owned(memories, agent_id), memories.c.id == memory_id)
    )


def existing_statement(tables: Tables, agent_id: str, memory_ids: Sequence[UUID]) -> Select[UUID]:
    """The ids that exist."""
    memories = tables.memories
    return select(memories.c.id).where(
        owned(memories, agent_id), memories.c.id == any_(uuids(memory_ids))
    )


@lru_cache
def ids_within(tables: Tables) -> Select[Any]:
    """The owner's ids from `first` to `last`, in order; at most `limit`."""
    this = tables.memories.c.id
    return (
        select(this)
        .where(
            owned(tables.memories),
            this >= bindparam("first", type_=Uuid()),
            this <= bindparam("last", type_=Uuid()),
        )
        .order_by(this)
        .limit(bindparam("limit", type_=Integer()))
    )


@lru_cache
def ids_beside(tables: Tables) -> Select[Any]:
    """For each of `ids`, the owner's ids just `before` and `after` it; two index lookups each."""
    given, this = rows_of_arrays("given", id=("ids", Uuid())), tables.memories.c.id
    of_owner = select(this).where(owned(tables.memories)).limit(1)
    before = of_owner.where(this < given.c.id).order_by(this.desc())
    after = of_owner.where(this > given.c.id).order_by(this)
    return select(
        given.c.id,
        before.scalar_subquery().label("before"),
        after.scalar_subquery().label("after"),
    )
