"""Who has memories, or only what memories left behind."""

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
    union,
)

from pgrecall.schema import TEAM, Tables
from pgrecall.statements.conditions import active


@lru_cache
def owners(tables: Tables) -> Select[Any]:
    """Who has memories, in order; one look into the key for each.

    The one statement that does not ask for an owner, since it asks who there is.
    """
    found = _names(tables.memories.c.agent_id, "found").subquery("every")
    owner_id = found.c.owner_id
    return select(owner_id).where(asked(tables, owner_id)).order_by(owner_id)


@lru_cache
def large_owners(tables: Tables) -> Select[Any]:
    """Who has at least `at_least` active memories, in order; so many of each are counted."""
    memories = tables.memories
    found = owners(tables).subquery("owners")
    at_least: Any = bindparam("at_least", type_=Integer())
    some = (
        select(literal_column("1"))
        .where(memories.c.agent_id == found.c.owner_id, active(memories))
        .limit(at_least)
        .correlate(found)
        .subquery("some")
    )
    many = select(func.count()).select_from(some).scalar_subquery()
    return select(found.c.owner_id).where(many >= at_least).order_by(found.c.owner_id)


def asked(tables: Tables, owner_id: ColumnElement[Any]) -> ColumnElement[bool]:
    """Whether it is an owner of the kind that `tables` works on: an agent, or a team."""
    of_team = func.starts_with(owner_id, literal(TEAM, Text()), type_=Boolean())
    return of_team if tables.prefix else ~of_team


def _names(column: ColumnElement[Any], name: str) -> Select[Any]:
    """The distinct values of a key's first column, one look into the key for each."""
    first: Any = (
        select(column.label("owner_id"))
        .order_by(column)
        .limit(literal_column("1"))
        .subquery("first")
    )
    found = select(first.c.owner_id).cte(name, recursive=True)
    after = (
        select(column)
        .where(column > found.c.owner_id)
        .order_by(column)
        .limit(literal_column("1"))
        .scalar_subquery()
    )
    found = found.union_all(select(after).where(found.c.owner_id.is_not(None)))
    owner_id = found.c.owner_id
    return select(owner_id).where(owner_id.is_not(None)).order_by(owner_id)


@lru_cache
def owners_of_orphans(tables: Tables) -> Select[Any]:
    """Who has counters, labels or links but no memory at all."""
    names = union(
        *(
            _names(table.c.agent_id, f"names_of_{table.name}")
            for table in (tables.memory_usage, tables.memory_labels, tables.memory_links)
        )
    ).subquery("names")
    memory: Any = select(literal_column("1")).where(tables.memories.c.agent_id == names.c.owner_id)
    return (
        select(names.c.owner_id)
        .where(~memory.exists(), asked(tables, names.c.owner_id))
        .order_by(names.c.owner_id)
    )
