"""Rows of memories and of their usage, each looked up by its key whatever statistics say."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from sqlalchemy import FromClause, literal_column, select
from sqlalchemy.sql.selectable import LateralFromClause
from sqlalchemy.sql.util import ClauseAdapter

from pgrecall.ranking.conditions import OWNER, of_one, of_owners
from pgrecall.ranking.custom_condition import Expression
from pgrecall.schema import Tables


def by_key(tables: Tables, best: FromClause, owners: str) -> LateralFromClause:
    """The memories of these rows (owner_id, id), each looked up by its key.

    OFFSET 0 forces this plan. A cached plan from a time when the owner had few memories could
    otherwise scan all its memories for each row.
    """
    memories = tables.memories
    same = memories.c.agent_id == best.c.owner_id, memories.c.id == best.c.id
    owners = OWNER if of_one(owners) else owners
    found = select(memories).where(of_owners(memories, owners), *same)
    return found.correlate(best).offset(literal_column("0")).lateral(memories.name)


def looked_up(
    tables: Tables, rows: FromClause, owners: str, where: Sequence[Expression]
) -> tuple[Tables, list[Expression]]:
    """Tables that are only the memories of these rows and their usage, each looked up by its key,
    and the caller's expressions on them."""
    memories: Any = by_key(tables, rows, owners)
    usage: Any = usage_by_key(tables, rows, owners)
    adapter: Any = ClauseAdapter(memories)
    adapted = [adapter.traverse(condition) for condition in where]
    return replace(tables, memories=memories, memory_usage=usage), adapted


def usage_by_key(tables: Tables, best: FromClause, owners: str) -> LateralFromClause:
    """The usage of these rows, looked up in the same way."""
    usage = tables.memory_usage
    same = usage.c.agent_id == best.c.owner_id, usage.c.memory_id == best.c.id
    owners = OWNER if of_one(owners) else owners
    found = select(usage).where(of_owners(usage, owners), *same).correlate(best)
    return found.offset(literal_column("0")).lateral(usage.name)
