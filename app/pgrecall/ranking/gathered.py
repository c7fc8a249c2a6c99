"""Reads the rows of several owners to one place, for statements that Citus cannot divide."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import lru_cache
from typing import Any

from sqlalchemy import Table, select
from sqlalchemy.sql.util import ClauseAdapter

from pgrecall.core.steps import Inspect, Operation
from pgrecall.ranking.conditions import OWNERS, of_owners
from pgrecall.ranking.custom_condition import Expression
from pgrecall.ranking.search_parameters import Search
from pgrecall.schema import Layout, Tables


def gathered(
    tables: Tables, where: Sequence[Expression], *, several: bool
) -> Operation[tuple[Tables, tuple[Expression, ...]]]:
    """The tables and conditions for a statement about the parameter `owners`.

    Where these are `several` and may be on different nodes, each table is a query of their rows,
    which Citus runs first.
    """
    layout: Layout = yield Inspect()
    if not (several and layout.distributed):
        return tables, tuple(where)
    found = _gathered(tables)
    adapter: Any = ClauseAdapter(found.memories)
    return found, tuple(adapter.traverse(condition) for condition in where)


def gathered_search(tables: Tables, wanted: Search) -> Operation[tuple[Tables, Search]]:
    """The same for a search."""
    where = wanted.filters.where
    tables, where = yield from gathered(tables, where, several=wanted.is_divided)
    return tables, replace(wanted, filters=replace(wanted.filters, where=where))


@lru_cache
def _gathered(tables: Tables) -> Tables:
    def rows(table: Table) -> Any:
        its = select(table).where(of_owners(table, OWNERS))
        return its.cte(table.name).prefix_with("MATERIALIZED")

    return replace(
        tables,
        memories=rows(tables.memories),
        memory_usage=rows(tables.memory_usage),
        memory_events=rows(tables.memory_events),
        memory_labels=rows(tables.memory_labels),
    )
