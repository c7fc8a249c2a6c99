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
    tuple_,
    union,
    union_all,
)

from pgrecall.ranking.conditions import of_owners, rows_of_arrays
from pgrecall.ranking.custom_condition import Expression
from pgrecall.ranking.memory_columns import memory_columns, with_usage
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
    memories = tables.memories
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
    rows, within = with_words(
        tables,
        shape.owners,
        shape,
        with_usage(memories, tables.memory_usage, owners=shape.owners),
    )
    score = compiler.score(shape.signals, within)
    scored = (
        select(
            *memory_columns(memories, tables.memory_usage),
            score.label("score"),
            *signal_columns(shape, within),
            near.c.steps,
        )
        .select_from(
            rows.join(
                near, and_(near.c.owner_id == memories.c.agent_id, near.c.id == memories.c.id)
            )
        )
        .where(of_owners(memories, shape.owners), *passing(within, shape, where).values())
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
        return (
            select(start.c.owner_id, far.label("id"))
            .select_from(start.join(links, same))
            .where(of_owners(links, shape.owners))
        )

    return union(
        along(links.c.source_id, links.c.target_id), along(links.c.target_id, links.c.source_id)
    ).cte(name)
