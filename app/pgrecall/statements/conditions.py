"""Conditions: which rows of an agent a statement looks at."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Any
from uuid import UUID

from sqlalchemy import (
    Boolean,
    ColumnElement,
    DateTime,
    FromClause,
    Text,
    Uuid,
    any_,
    bindparam,
    cast,
    func,
    or_,
)
from sqlalchemy.dialects.postgresql import ARRAY, JSONB

from pgrecall.filters import Filters

Condition = ColumnElement[bool]


def moment(as_of: datetime | None) -> ColumnElement[Any]:
    """The moment asked about: the one given, else the transaction's now()."""
    if as_of is None:
        return func.now()
    return bindparam("as_of", as_of, type_=DateTime(timezone=True))


def owned(memories: FromClause, agent_id: str) -> Condition:
    """Every statement carries this: rows of one agent."""
    condition: Condition = memories.c.agent_id == bindparam("agent_id", agent_id, type_=Text())
    return condition


def uuids(values: Sequence[UUID]) -> ColumnElement[Any]:
    """Ids as one bound array."""
    return cast(bindparam("ids", list(values), type_=ARRAY(Uuid)), ARRAY(Uuid))


def conditions(
    memories: FromClause, schema: str, filters: Filters, as_of: datetime | None
) -> list[Condition]:
    """What the filters ask of a memory, and that it is valid at as_of.

    An explicit as_of also hides what was created later; without one, a row dated ahead by a
    skewed clock is seen. A memory of unknown age is seen at every as_of.
    """
    found = [_any_of(memories.c.status, "statuses", filters.statuses)]
    if not filters.include_invalid:
        found.append(_valid(memories, schema, moment(as_of)))
    if as_of is not None:
        found.append(func.coalesce(memories.c.created_at <= moment(as_of), True, type_=Boolean()))
    if filters.memory_types is not None:
        found.append(
            or_(
                _any_of(memories.c.memory_type, "memory_types", filters.memory_types),
                _overlap(memories.c.additional_types, "memory_types", filters.memory_types),
            )
        )
    if filters.tiers is not None:
        found.append(_any_of(memories.c.tier, "tiers", filters.tiers))
    if filters.tags is not None:
        found.append(_overlap(memories.c.tags, "tags", filters.tags))
    if filters.all_tags is not None:
        found.append(memories.c.tags.contains(_texts("all_tags", filters.all_tags)))
    if filters.entities is not None:
        found.append(_overlap(memories.c.entities, "entities", filters.entities))
    if filters.all_entities is not None:
        found.append(memories.c.entities.contains(_texts("all_entities", filters.all_entities)))
    if filters.metadata is not None:
        wanted = bindparam("metadata", dict(filters.metadata), type_=JSONB())
        found.append(memories.c.metadata.contains(wanted))
    if filters.created_after is not None:
        found.append(memories.c.created_at >= filters.created_after)
    if filters.created_before is not None:
        found.append(memories.c.created_at < filters.created_before)
    return [*found, *filters.where]


def _valid(memories: FromClause, schema: str, as_of: ColumnElement[Any]) -> Condition:
    columns = memories.c
    valid: Condition = getattr(func, schema).is_valid(
        columns.valid_from,
        columns.valid_until,
        columns.invalidated_at,
        columns.expires_at,
        as_of,
        type_=Boolean(),
    )
    return valid


def _texts(name: str, values: object) -> ColumnElement[Any]:
    return cast(bindparam(name, list(values), type_=ARRAY(Text)), ARRAY(Text))  # type: ignore[call-overload]


def _any_of(column: ColumnElement[Any], name: str, values: object) -> Condition:
    condition: Condition = column == any_(_texts(name, values))
    return condition


def _overlap(column: ColumnElement[Any], name: str, values: object) -> Condition:
    condition: Condition = column.op("&&", is_comparison=True, return_type=Boolean())(
        _texts(name, values)
    )
    return condition
