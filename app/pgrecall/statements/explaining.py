"""Explaining one memory: what it scores, which conditions it meets, and how many score higher."""

from __future__ import annotations

from typing import Any

from sqlalchemy import (
    Double,
    Integer,
    Select,
    Uuid,
    and_,
    bindparam,
    func,
    literal_column,
    or_,
    select,
)

from pgrecall import compiler
from pgrecall.schema import Tables
from pgrecall.statements.conditions import of_owners
from pgrecall.statements.ranking import Search, passing, scored, signal_columns, with_words
from pgrecall.statements.reading import memory_columns, with_usage

CONDITION_PREFIX = "meets_"


def described(tables: Tables, wanted: Search) -> Select[Any]:
    """The memory `id` of any of the owners.

    Columns: as of a search, and one `meets_<condition>` for each condition, whether it passes.
    """
    shape, memories = wanted.shape, tables.memories
    rows, within, _ = with_words(
        tables,
        shape.owners,
        shape,
        with_usage(memories, tables.memory_usage, owners=shape.owners),
    )
    return (
        select(
            *memory_columns(memories, tables.memory_usage),
            compiler.score(shape.signals, within).label("score"),
            *signal_columns(shape, within),
            *(
                func.coalesce(condition, False).label(CONDITION_PREFIX + name)
                for name, condition in passing(within, shape, wanted.filters.where).items()
            ),
        )
        .select_from(rows)
        .where(of_owners(memories, shape.owners), memories.c.id == bindparam("id", type_=Uuid()))
        .order_by(memories.c.agent_id)
    )


def standing(tables: Tables, wanted: Search) -> Select[Any]:
    """How many memories pass, how many of them come before `id` with `score`, and the k-th.

    Columns: ranked, before, last_owner, last_id, last_score; the last three NULL where fewer than k
    pass.
    """
    every = scored(tables, wanted.shape, wanted.filters.where).cte("every")
    score: Any = bindparam("score", type_=Double())
    id_: Any = bindparam("id", type_=Uuid())
    before = or_(every.c.score > score, and_(every.c.score == score, every.c.id < id_))
    last = (
        select(every.c.owner_id, every.c.id, every.c.score)
        .order_by(every.c.score.desc(), every.c.id)
        .offset(bindparam("k", type_=Integer()) - literal_column("1"))
        .limit(literal_column("1"))
        .cte("last")
    )
    numbers = (
        select(func.count().label("ranked"), func.count().filter(before).label("before"))
        .select_from(every)
        .subquery("numbers")
    )
    return select(
        numbers.c.ranked,
        numbers.c.before,
        last.c.owner_id.label("last_owner"),
        last.c.id.label("last_id"),
        last.c.score.label("last_score"),
    ).select_from(numbers.outerjoin(last, literal_column("true")))
