"""The memories that hits are linked to, which a search can add."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import Any

from sqlalchemy import (
    CTE,
    Double,
    Integer,
    Select,
    Text,
    Uuid,
    and_,
    bindparam,
    func,
    literal_column,
    select,
    true,
    tuple_,
    union,
    union_all,
)

from pgrecall.ranking.by_key import looked_up
from pgrecall.ranking.conditions import of_owners, rows_of_arrays
from pgrecall.ranking.custom_condition import Expression
from pgrecall.ranking.memory_columns import memory_columns
from pgrecall.ranking.search_parameters import Search, Shape
from pgrecall.ranking.statement import passing, signal_columns, with_words
from pgrecall.schema import Tables
from pgrecall.scoring import compiler

STEPS = "steps"


def neighbours(tables: Tables, wanted: Search, *, steps: int) -> Select[Any]:
    """The memories within `steps` links of the hits that are not hits, with the search's score.

    Columns: those of a search, and `steps`. Parameters: those of the search, hit_owners, hit_ids.
    """
    if wanted.filters.where:
        return _neighbours(tables, wanted.shape, steps, wanted.filters.where)
    return _known_neighbours(tables, wanted.shape, steps)


@lru_cache(maxsize=256)
def _known_neighbours(tables: Tables, shape: Shape, steps: int) -> Select[Any]:
    return _neighbours(tables, shape, steps, ())


def _neighbours(
    tables: Tables, shape: Shape, steps: int, where: Sequence[Expression]
) -> Select[Any]:
    hits = rows_of_arrays("hits", owner_id=("hit_owners", Text()), id=("hit_ids", Uuid()))
    reached: list[CTE] = []
    start: Any = select(hits.c.owner_id, hits.c.id).cte("hit")
    for step in range(1, steps + 1):
        before = reached[-1] if reached else start
        reached.append(_one_step(tables, shape, before, f"step_{step}"))
    every = union_all(
        *(
            select(found.c.owner_id, found.c.id, literal_column(str(step)).label(STEPS))
            for step, found in enumerate(reached, start=1)
        )
    ).subquery("every")
    near = (
        select(every.c.owner_id, every.c.id, func.min(every.c.steps, type_=Integer()).label(STEPS))
        .where(tuple_(every.c.owner_id, every.c.id).not_in(select(start.c.owner_id, start.c.id)))
        .group_by(every.c.owner_id, every.c.id)
        .cte("near")
    )
    tables, where = looked_up(tables, near, shape.owners, where)
    memories, usage = tables.memories, tables.memory_usage
    found = near.join(memories, true()).outerjoin(usage, true())
    rows, within = with_words(tables, shape.owners, shape, found)
    score = compiler.score(shape.signals, within)
    scored = (
        select(
            *memory_columns(memories, usage),
            score.label("score"),
            *signal_columns(shape, within),
            near.c.steps,
        )
        .select_from(rows)
        .where(*passing(within, shape, where).values())
        .subquery("scored")
    )
    statement = select(scored)
    if shape.has_min_score:
        floor: Any = bindparam("min_score", type_=Double())
        statement = statement.where(scored.c.score >= floor)
    return statement.order_by(scored.c.score.desc(), scored.c.id).limit(
        bindparam("k", type_=Integer())
    )


def _one_step(tables: Tables, shape: Shape, start: CTE, name: str) -> CTE:
    links = tables.memory_links

    def along(near: Any, far: Any) -> Select[Any]:
        same = and_(links.c.agent_id == start.c.owner_id, near == start.c.id)
        ends = select(far.label("id")).where(of_owners(links, shape.owners), same)
        # OFFSET 0: looked up in the index of this end. A join might read all links of the owner.
        each = ends.correlate(start).offset(literal_column("0")).lateral("ends")
        return select(start.c.owner_id, each.c.id).select_from(start.join(each, true()))

    return union(
        along(links.c.source_id, links.c.target_id), along(links.c.target_id, links.c.source_id)
    ).cte(name)
