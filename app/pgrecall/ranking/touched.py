"""Touches count retrievals of memories after a search."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from functools import lru_cache
from typing import Any
from uuid import UUID

from sqlalchemy import (
    BigInteger,
    ColumnElement,
    FromClause,
    Select,
    Text,
    Uuid,
    bindparam,
    func,
    literal_column,
    select,
)
from sqlalchemy.dialects.postgresql import ARRAY

from pgrecall.core.steps import Operation, Run, Uncounted
from pgrecall.ranking.conditions import rows_of_arrays
from pgrecall.ranking.search_parameters import Search
from pgrecall.schema import Tables
from pgrecall.schema.verbs import TOUCH, touch_statement
from pgrecall.scoring import compiler
from pgrecall.scoring.profile import Profile
from pgrecall.scoring.scored_memory import ScoredMemory


def touched(tables: Tables, hits: Sequence[ScoredMemory], wanted: Search) -> Operation[bool]:
    """Counts a retrieval of each hit, in one statement; in one for each owner where these may be on
    different nodes. Returns whether they were counted."""
    owners: dict[str, list[UUID]] = defaultdict(list)
    for found in hits:
        owners[found.memory.owner_id].append(found.memory.id)
    how = touch_parameters(wanted.profile)
    if len(owners) == 1 or wanted.distributed:
        for owner_id, ids in sorted(owners.items()):
            parameters = {"agent": owner_id, "memory_ids": ids, **how}
            if (yield Run(touch_statement(tables), parameters, counts=True)) is Uncounted:
                return False
    elif owners:
        memories = [found.memory for found in hits]
        arrays = {
            "hit_owners": [memory.owner_id for memory in memories],
            "hit_ids": [memory.id for memory in memories],
        }
        if (yield Run(_touch_each(tables), arrays | how, counts=True)) is Uncounted:
            return False
    return True


def touch_parameters(profile: Profile) -> dict[str, bool]:
    """The parameters of a touch: whether it sets last_accessed_at, and whether the commit waits for
    the disk, which the repository may override."""
    return {"accessed": profile.accessed_by == "retrieval", "durable": True}


@lru_cache
def _touch_each(tables: Tables) -> Select[Any]:
    hits = rows_of_arrays("hits", owner_id=("hit_owners", Text()), id=("hit_ids", Uuid()))
    return _counted(tables, hits, hits.c.owner_id, hits.c.id)


def _counted(
    tables: Tables, rows: FromClause, owner_id: ColumnElement[Any], id_: ColumnElement[Any]
) -> Select[Any]:
    """One row, `counted`: how many of these memories exist. They are touched in key order, so that
    concurrent touches cannot deadlock."""
    ids = func.array_agg(id_, type_=ARRAY(Uuid))
    each = (
        select(owner_id.label("owner_id"), ids.label("ids"))
        .select_from(rows)
        .group_by(owner_id)
        .order_by(owner_id)
        .offset(literal_column("0"))  # prevents the planner from dropping the order
        .subquery("each_owner")
    )
    how = [bindparam(name, type_=type_) for name, type_ in TOUCH.items()]
    touch = compiler.schema_function(
        tables.schema, "touch", each.c.owner_id, each.c.ids, *how, type_=BigInteger()
    )
    return select(func.sum(touch).label("counted")).select_from(each)
