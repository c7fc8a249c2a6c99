"""The statements of `explain`: one memory's score, the conditions it meets, and its rank."""

from __future__ import annotations

from typing import Any

from sqlalchemy import (
    CTE,
    Double,
    FromClause,
    Integer,
    Select,
    Text,
    Uuid,
    and_,
    bindparam,
    func,
    literal_column,
    null,
    or_,
    select,
    true,
    union_all,
)
from sqlalchemy.sql.elements import BindParameter
from sqlalchemy.sql.visitors import replacement_traverse

from pgrecall.ranking.conditions import OWNER, of_owners, unmet_comparison
from pgrecall.ranking.memory_columns import memory_columns, with_usage
from pgrecall.ranking.search_parameters import Search, Shape
from pgrecall.ranking.statement import (
    HAS_TERMS,
    HIT_SCORE,
    passing,
    ranked_most,
    scored,
    signal_columns,
    with_words,
)
from pgrecall.ranking.turns import lent, nearest_hits, raised, turns_beside
from pgrecall.ranking.words import has_terms
from pgrecall.schema import Tables
from pgrecall.scoring import compiler
from pgrecall.scoring.scored_memory import ScoredMemory
from pgrecall.search.owner_by_owner import each_owner

CONDITION_PREFIX = "meets_"
UNMET_COMPARISON = "unmet_comparison"


def described_statement(tables: Tables, wanted: Search) -> Select[Any]:
    """The memory `id` of any of the owners.

    Columns: those of a search, and a boolean `meets_<condition>` for each condition; with
    comparisons of metadata, `unmet_comparison`.
    """
    shape, memories = wanted.shape, tables.memories
    compares = "compared" in shape.filters.given
    rows, within = with_words(
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
            *([has_terms(tables).label(HAS_TERMS)] if shape.redistributes else []),
            *([unmet_comparison(within).label(UNMET_COMPARISON)] if compares else []),
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
    """The rank of the memory `id` of `whose`, which has the score `score`.

    Execute it with `standing_parameters`.

    Columns: ranked (how many memories pass), before (how many of them come before it); last_owner,
    last_id and last_score of the k-th memory, NULL if fewer than k pass; raised (the score with
    what is lent); beside and hit_score of the best hit next to it, NULL if there is none.
    """
    shape = wanted.shape
    every = _every(tables, wanted)
    score: Any = bindparam("score", type_=Double())
    id_: Any = bindparam("id", type_=Uuid())
    hit: Any = select(null().cast(Uuid).label("hit"), null().cast(Double).label(HIT_SCORE))
    if shape.expands:
        nearest = nearest_hits(turns_beside(tables, _hits(every, shape)).cte("beside"))
        whose = nearest.c.owner_id == bindparam("whose", type_=Text())
        hit = select(nearest.c.hit, nearest.c[HIT_SCORE]).where(whose, nearest.c.id == id_)
    hit = hit.cte("hit")
    if shape.lends:
        score = raised(score, select(hit.c[HIT_SCORE]).scalar_subquery())
        every = lent(every, nearest).cte("every_raised")
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
        score.label("raised"),
        hit.c.hit.label("beside"),
        hit.c[HIT_SCORE],
    ).select_from(numbers.outerjoin(last, true()).outerjoin(hit, true()))


def standing_parameters(wanted: Search, found: ScoredMemory) -> dict[str, Any]:
    """The values to bind for the rank of this memory."""
    owners = {_numbered(n): one.agent_id for n, one in enumerate(each_owner(wanted))}
    memory = found.memory
    of_memory = {"id": memory.id, "score": found.score, "whose": memory.owner_id}
    return wanted.parameters | owners | of_memory


def _every(tables: Tables, wanted: Search) -> FromClause:
    """The scores of all memories that pass. Citus runs the part of each owner on its node."""
    if not wanted.is_divided:
        return scored(tables, wanted.shape, wanted.filters.where).cte("every")
    parts = (_of_owner(tables, one, n) for n, one in enumerate(each_owner(wanted)))
    return union_all(*parts).cte("every")


def _of_owner(tables: Tables, one: Search, number: int) -> Select[Any]:
    """The scores of one owner's memories, with a parameter of its own for the owner."""

    def numbered(element: Any, **_: Any) -> Any:
        is_owner = isinstance(element, BindParameter) and element.key == OWNER
        return bindparam(_numbered(number), type_=Text()) if is_owner else None

    its: Any = replacement_traverse(scored(tables, one.shape, one.filters.where), {}, numbered)
    return select(its.cte(f"every_{number}").prefix_with("MATERIALIZED"))


def _numbered(number: int) -> str:
    return f"{OWNER}_{number}"


def _hits(every: FromClause, shape: Shape) -> CTE:
    """The hits that lend, or that turns are added for."""
    hits = select(every).order_by(every.c.score.desc(), every.c.id)
    hits = hits.limit(ranked_most(shape))
    if shape.brings_along and shape.has_min_score:
        hits = hits.where(every.c.score >= bindparam("min_score", type_=Double()))
    return hits.cte("hits")
