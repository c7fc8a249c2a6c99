"""Reading one memory, and the columns that make up a memory wherever one is read."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import Any
from uuid import UUID

from sqlalchemy import (
    ColumnElement,
    FromClause,
    Integer,
    Select,
    Uuid,
    and_,
    any_,
    bindparam,
    func,
    literal_column,
    null,
    select,
)
from sqlalchemy.sql.selectable import Join

from pgrecall.schema import Tables
from pgrecall.schema.tables import COUNTERS
from pgrecall.statements.conditions import OWNER, active, of_owners, owned, rows_of_arrays, uuids

INTERNAL = ("content_hash", "inserted_at", "terms", "edition")
"""Columns that are the database's own affair."""


def memory_columns(
    memories: FromClause, usage: FromClause, *, embedding: bool = False
) -> list[ColumnElement[Any]]:
    """The fields of `Memory`, under its names; the vector only when it is asked for."""
    columns = {column.name: column for column in memories.c if column.name not in INTERNAL}
    if not embedding:
        columns["embedding"] = null().label("embedding")
    return [
        *columns.values(),
        usage.c.last_accessed_at,
        *(func.coalesce(usage.c[name], 0, type_=Integer()).label(name) for name in COUNTERS),
    ]


def with_usage(
    memories: FromClause,
    usage: FromClause,
    rows: FromClause | None = None,
    owners: str = OWNER,
) -> Join:
    """Every memory beside its counters; those never retrieved have none.

    `rows` are the memories joined to something else already, `owners` the parameter that tells
    whose they are.
    """
    same = and_(usage.c.agent_id == memories.c.agent_id, usage.c.memory_id == memories.c.id)
    if owners != OWNER:  # of one, the planner knows
        same = and_(same, of_owners(usage, owners))
    return (memories if rows is None else rows).outerjoin(usage, same)


def get(
    tables: Tables, agent_id: str, memory_id: UUID, *, embedding: bool = False
) -> Select[tuple[object, ...]]:
    memories, usage = tables.memories, tables.memory_usage
    return (
        select(*memory_columns(memories, usage, embedding=embedding))
        .select_from(with_usage(memories, usage))
        .where(owned(memories, agent_id), memories.c.id == memory_id)
    )


def existing(tables: Tables, agent_id: str, memory_ids: Sequence[UUID]) -> Select[UUID]:
    """Those of the ids that are there."""
    memories = tables.memories
    return select(memories.c.id).where(
        owned(memories, agent_id), memories.c.id == any_(uuids(memory_ids))
    )


@lru_cache
def ids_within(tables: Tables) -> Select[Any]:
    """The owner's ids from `first` to `last`, in order, at most `limit`."""
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
    """Beside each of `ids`, the owner's next one `before` and `after` it; two looks at the key."""
    given, this = rows_of_arrays("given", id=("ids", Uuid())), tables.memories.c.id
    of_owner = select(this).where(owned(tables.memories)).limit(1)
    before = of_owner.where(this < given.c.id).order_by(this.desc())
    after = of_owner.where(this > given.c.id).order_by(this)
    return select(
        given.c.id,
        before.scalar_subquery().label("before"),
        after.scalar_subquery().label("after"),
    )


@lru_cache
def sample(tables: Tables) -> Select[Any]:
    """The embeddings of `number` active memories, the same each time and else at random."""
    memories = tables.memories
    return (
        select(memories.c.embedding)
        .where(owned(memories), active(memories), memories.c.embedding.is_not(None))
        .order_by(func.uuid_hash_extended(memories.c.id, literal_column("43::bigint")))
        .limit(bindparam("number", type_=Integer()))
    )
