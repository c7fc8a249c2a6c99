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
    Double,
    FromClause,
    Text,
    Uuid,
    and_,
    any_,
    bindparam,
    cast,
    func,
    or_,
)
from sqlalchemy.dialects.postgresql import ARRAY, JSONB
from sqlalchemy.sql.elements import Grouping

from pgrecall import compiler
from pgrecall.compiler import Scope
from pgrecall.filters import Filters
from pgrecall.schema import owner
from pgrecall.signals import Trust

Condition = ColumnElement[bool]


def moment(as_of: datetime | None) -> ColumnElement[Any]:
    """The moment asked about: the one given, else the transaction's now()."""
    if as_of is None:
        return func.now()
    return bindparam("as_of", as_of, type_=DateTime(timezone=True))


def owned(memories: FromClause, owner_id: str) -> Condition:
    """Every statement carries this: rows of one agent, or of one team."""
    condition: Condition = owner(memories) == bindparam("owner_id", owner_id, type_=Text())
    return condition


def owned_by_any(memories: FromClause, owner_ids: Sequence[str]) -> Condition:
    """Rows of any of these."""
    return _any_of(owner(memories), "owner_ids", owner_ids)


def uuids(values: Sequence[UUID]) -> ColumnElement[Any]:
    """Ids as one bound array."""
    return cast(bindparam("ids", list(values), type_=ARRAY(Uuid)), ARRAY(Uuid))


def conditions(scope: Scope, filters: Filters, as_of: datetime | None) -> list[Condition]:
    """What the filters ask of a memory, and that it is valid at as_of."""
    columns = scope.memories.c
    found: list[Condition] = []
    if not filters.include_invalid:
        found.append(valid(scope))
    if as_of is not None:
        found.append(created_by(scope))
    found.append(_any_of(columns.status, "statuses", filters.statuses))
    for name, column in (
        ("tiers", columns.tier),
        ("components", columns.component),
        ("output_types", columns.output_type),
        ("domains", columns.domain),
        ("categories", columns.category),
        ("loops", columns.loop),
    ):
        values = getattr(filters, name)
        if values is not None:
            found.append(_any_of(column, name, values))
    if filters.memory_types is not None:
        found.append(
            or_(
                _any_of(columns.memory_type, "memory_types", filters.memory_types),
                _overlap(columns.additional_types, "memory_types", filters.memory_types),
            )
        )
    for name, column in (("tags", columns.tags), ("entities", columns.entities)):
        some, all_ = getattr(filters, name), getattr(filters, f"all_{name}")
        if some is not None:
            found.append(_overlap(column, name, some))
        if all_ is not None:
            found.append(column.contains(_texts(f"all_{name}", all_)))
    if filters.metadata is not None:
        wanted = bindparam("metadata", dict(filters.metadata), type_=JSONB())
        found.append(columns.metadata.contains(wanted))
    if filters.created_after is not None:
        found.append(columns.created_at >= filters.created_after)
    if filters.created_before is not None:
        found.append(columns.created_at < filters.created_before)
    if filters.compliant is not None:
        found.append(columns.compliant.is_(filters.compliant))
    if filters.min_trust is not None:
        found.append(trusted(scope, filters.min_trust, decay=filters.apply_decay))
    # In brackets, so that an OR in raw SQL cannot reach around the other conditions.
    return [*found, *(Grouping(condition) for condition in filters.where)]


def valid(scope: Scope) -> Condition:
    """Whether the memory holds at as_of."""
    columns = scope.memories.c
    return compiler.schema_function(
        scope.schema,
        "is_valid",
        columns.valid_from,
        columns.valid_until,
        columns.invalidated_at,
        columns.expires_at,
        scope.as_of,
        type_=Boolean(),
    )


def created_by(scope: Scope) -> Condition:
    """Whether the memory was there at an explicit as_of; one of unknown age always was.

    Without an explicit as_of, a row dated ahead by a skewed clock is seen.
    """
    created_at = scope.memories.c.created_at
    return or_(created_at.is_(None), created_at <= scope.as_of)


def trusted(scope: Scope, min_trust: float, *, decay: bool) -> Condition:
    """Whether trust, decayed as in ranking, reaches a minimum; trust never assessed does not."""
    assessed = scope.memories.c.trust.is_not(None)
    return and_(
        assessed,
        compiler.value(Trust(decay=decay), scope)
        >= bindparam("min_trust", min_trust, type_=Double()),
    )


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
