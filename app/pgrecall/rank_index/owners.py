"""Statements about owners of many memories."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

from sqlalchemy import (
    Boolean,
    ColumnElement,
    Integer,
    Select,
    Text,
    bindparam,
    func,
    literal,
    literal_column,
    select,
)

from pgrecall.ranking.conditions import active, owned
from pgrecall.schema import TEAM, Tables
from pgrecall.scoring import compiler


@lru_cache
def large_owners(tables: Tables) -> Select[Any]:
    """Owners of at least `at_least` active memories, by id. Counts no more than that of each."""
    memories = tables.memories
    found = (
        compiler.schema_function(tables.schema, "owners_of_memories", type_=Text())
        .table_valued("agent_id", "has_memories", name="found")
        .render_derived()
    )
    at_least: Any = bindparam("at_least", type_=Integer())
    some = (
        select(literal_column("1"))
        .where(memories.c.agent_id == found.c.agent_id, active(memories))
        .limit(at_least)
        .correlate(found)
        .subquery("some")
    )
    many = select(func.count()).select_from(some).scalar_subquery()
    return (
        select(found.c.agent_id.label("owner_id"))
        .where(many >= at_least, asked(tables, found.c.agent_id))
        .order_by(found.c.agent_id)
    )


def asked(tables: Tables, owner_id: ColumnElement[Any]) -> ColumnElement[bool]:
    """Whether the owner is of the kind that `tables` is for: an agent or a team."""
    of_team = func.starts_with(owner_id, literal(TEAM, Text()), type_=Boolean())
    return of_team if tables.prefix else ~of_team


@lru_cache
def sample(tables: Tables) -> Select[Any]:
    """Embeddings of a random sample of `number` active memories, the same each time."""
    memories = tables.memories
    return (
        select(memories.c.embedding)
        .where(owned(memories), active(memories), memories.c.embedding.is_not(None))
        .order_by(func.uuid_hash_extended(memories.c.id, literal_column("43::bigint")))
        .limit(bindparam("number", type_=Integer()))
    )
