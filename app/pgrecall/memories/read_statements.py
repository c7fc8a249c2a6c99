"""Statements that read memories without ranking them."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

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


@lru_cache
def get_statement(tables: Tables, *, embedding: bool = False, one: bool = False) -> Select[Any]:
    """The owner's memories with these `ids`, in full; with `one`, the one with this `id`.

    PostgreSQL caches no plan for an array that turns out to have one element.
    """
    memories, usage = tables.memories, tables.memory_usage
    return (
        select(*memory_columns(memories, usage, embedding=embedding))
        .select_from(with_usage(memories, usage))
        .where(
            owned(memories),
            memories.c.id == (bindparam("id", type_=Uuid()) if one else any_(uuids())),
        )
    )


@lru_cache
def existing_statement(tables: Tables) -> Select[Any]:
    """The `ids` that are memories of the owner."""
    memories = tables.memories
    return select(memories.c.id).where(owned(memories), memories.c.id == any_(uuids()))


@lru_cache
def trusts_statement(tables: Tables) -> Select[Any]:
    """The stored trust of each of `ids`."""
    return existing_statement(tables).add_columns(tables.memories.c.trust)


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
