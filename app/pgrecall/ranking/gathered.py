"""Reads the rows of several owners to one place, for statements that Citus cannot divide."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from sqlalchemy import Table, select
from sqlalchemy.sql.util import ClauseAdapter

from pgrecall.core.steps import Ask, Operation
from pgrecall.ranking.conditions import OWNERS, of_owners
from pgrecall.ranking.custom_condition import Expression
from pgrecall.ranking.search_parameters import Search
from pgrecall.schema import Layout, Tables

Gathered = tuple[Tables, tuple[Expression, ...]]
"""Tables that are queries of their rows, which Citus runs first, and conditions on them."""


def gathered(tables: Tables, where: Sequence[Expression], *, several: bool) -> Operation[Gathered]:
    """All rows of the parameter `owners`, if these are `several` and may be on different nodes."""
    layout: Layout = yield Ask("layout")
    if not (several and layout.distributed):
        return tables, tuple(where)
    return _gathered(tables, where)


def gathered_search(tables: Tables, wanted: Search) -> Operation[tuple[Tables, Search]]:
    """The same for a search."""
    where = wanted.filters.where
    tables, where = yield from gathered(tables, where, several=wanted.is_divided)
    return tables, replace(wanted, filters=replace(wanted.filters, where=where))


def _gathered(tables: Tables, where: Sequence[Expression]) -> Gathered:
    def rows(table: Table) -> Any:
        its = select(table).where(of_owners(table, OWNERS))
        return its.cte(table.name).prefix_with("MATERIALIZED")

    found = replace(
        tables,
        memories=rows(tables.memories),
        memory_usage=rows(tables.memory_usage),
        memory_events=rows(tables.memory_events),
        memory_labels=rows(tables.memory_labels),
    )
    adapter: Any = ClauseAdapter(found.memories)
    return found, tuple(adapter.traverse(condition) for condition in where)
