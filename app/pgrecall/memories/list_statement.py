"""The statement of a list: the keys of a page are sorted alone, and then described."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import Any

from sqlalchemy import (
    ColumnElement,
    Integer,
    Select,
    and_,
    bindparam,
    false,
    or_,
    select,
    true,
)

from pgrecall.memories.ordering import Ordering
from pgrecall.ranking.by_key import by_key, usage_by_key
from pgrecall.ranking.conditions import OWNER, Condition
from pgrecall.ranking.custom_condition import Expression
from pgrecall.ranking.filters import Filters, FilterShape
from pgrecall.ranking.memory_columns import counted, memory_columns
from pgrecall.ranking.statement import of_memories, passing_filters
from pgrecall.schema import Tables

ID = ("id", "-id")
LAST = "last_"
"""Prefix of the parameters with the values of the last memory of the page before."""


def list_statement(
    tables: Tables,
    filters: Filters,
    ordering: Ordering,
    *,
    after: tuple[bool, ...] | None,
    as_of: bool,
    embedding: bool,
) -> Select[Any]:
    """At most `limit` memories of `owner_id` in this order, in full.

    `after` says which of the values of the page before are not NULL; None: this is the first page.
    The values are the parameters last_0, last_1 and so on.
    """
    if filters.where:
        return _list(tables, filters.shape, ordering, after, as_of, embedding, filters.where)
    return _known_list(tables, filters.shape, ordering, after, as_of, embedding)


@lru_cache(maxsize=256)
def _known_list(
    tables: Tables,
    filters: FilterShape,
    ordering: Ordering,
    after: tuple[bool, ...] | None,
    as_of: bool,
    embedding: bool,
) -> Select[Any]:
    return _list(tables, filters, ordering, after, as_of, embedding, ())


def _list(
    tables: Tables,
    filters: FilterShape,
    ordering: Ordering,
    after: tuple[bool, ...] | None,
    as_of: bool,
    embedding: bool,
    where: Sequence[Expression],
) -> Select[Any]:
    sorted_by = [counted(name, tables.memories, tables.memory_usage) for name in ordering.columns]
    reads_usage = any(name in tables.memory_usage.c for name in ordering.columns)
    found = passing_filters(tables, filters, where, as_of=as_of, usage=reads_usage)
    if after is not None:
        found = found.where(of_memories(tables, _following(sorted_by, ordering, after)))
    page = (
        found.with_only_columns(
            tables.memories.c.agent_id.label("owner_id"),
            *(column.label(name) for name, column in zip(ordering.columns, sorted_by, strict=True)),
        )
        .order_by(*_in_order(sorted_by, ordering))
        .limit(bindparam("limit", type_=Integer()))
        .subquery("page")
    )
    memories, usage = by_key(tables, page, OWNER), usage_by_key(tables, page, OWNER)
    return (
        select(*memory_columns(memories, usage, embedding=embedding))
        .select_from(page.join(memories, true()).outerjoin(usage, true()))
        .order_by(*_in_order([page.c[name] for name in ordering.columns], ordering))
    )


def _in_order(columns: list[Any], ordering: Ordering) -> list[ColumnElement[Any]]:
    """The id is never NULL: where it comes first, the key has the memories in this order."""
    found = []
    for name, column in zip(ordering.names, columns, strict=True):
        sorted_by = column.desc() if name.startswith("-") else column.asc()
        found.append(sorted_by if name in ID else sorted_by.nulls_last())
    return found


def _following(columns: list[Any], ordering: Ordering, given: tuple[bool, ...]) -> Condition:
    """Condition: a memory comes after the last one of the page before."""
    condition: Condition = false()
    for number in reversed(range(len(columns))):
        column, value = columns[number], bindparam(f"{LAST}{number}", type_=columns[number].type)
        if not given[number]:  # only memories without a value are left
            condition = and_(column.is_(None), condition)
            continue
        name = ordering.names[number]
        later = column < value if name.startswith("-") else column > value
        missing = false() if name in ID else column.is_(None)
        condition = or_(later, missing, and_(column == value, condition))
    return condition
