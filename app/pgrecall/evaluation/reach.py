"""The statement that finds what one search returns, depending on the floor of relevance."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

from sqlalchemy import (
    Double,
    Integer,
    Select,
    and_,
    bindparam,
    func,
    literal_column,
    or_,
    select,
    true,
)

from pgrecall.ranking.conditions import uuids
from pgrecall.ranking.search_parameters import Search, Shape
from pgrecall.ranking.statement import passing, rows_to_rank, words_of
from pgrecall.schema import Tables
from pgrecall.scoring import compiler


def reach_statement(tables: Tables, wanted: Search) -> Select[Any]:
    """One row for each ranked memory among `ids`; if there is none, one row with a NULL id.

    Columns: best (the highest relevance of all memories), id, relevance, and above: the lowest
    relevance among the k most relevant memories that are ranked before it, NULL if there are fewer
    than k. Parameters: those of the search, and ids.
    """
    if wanted.filters.where:
        return _reach(tables, wanted.shape, wanted.filters.where)
    return _known_reach(tables, wanted.shape)


@lru_cache(maxsize=64)
def _known_reach(tables: Tables, shape: Shape) -> Select[Any]:
    return _reach(tables, shape, ())


def _reach(tables: Tables, shape: Shape, where: Any) -> Select[Any]:
    memories = tables.memories
    words, within, _ = words_of(tables, shape.owners, shape)
    conditions = passing(within, shape, where)
    rows, condition = rows_to_rank(tables, shape.owners, shape, conditions, words)
    found = (
        select(
            memories.c.id,
            compiler.score(shape.signals, within).label("score"),
            compiler.relevance(within).label("relevance"),
        )
        .select_from(rows)
        .where(condition)
        .subquery("found")
    )
    statement = select(found)
    if shape.has_min_score:
        least: Any = bindparam("min_score", type_=Double())
        statement = statement.where(found.c.score >= least)
    every = statement.cte("every").prefix_with("MATERIALIZED")
    its = select(every).where(every.c.id == func.any(uuids())).subquery("its")
    before = or_(
        every.c.score > its.c.score, and_(every.c.score == its.c.score, every.c.id < its.c.id)
    )
    crowd = (
        select(every.c.relevance.label("above"))
        .where(before)
        .order_by(every.c.relevance.desc())
        .offset(bindparam("k", type_=Integer()) - literal_column("1"))
        .limit(literal_column("1"))
        .lateral("crowd")
    )
    best = select(func.max(every.c.relevance, type_=Double()).label("best")).subquery("highest")
    return select(best.c.best, its.c.id, its.c.relevance, crowd.c.above).select_from(
        best.outerjoin(its, true()).outerjoin(crowd, true())
    )
