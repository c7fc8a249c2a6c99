"""The turns of a session next to the best memories, which are added to them or ranked with them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, NamedTuple

from sqlalchemy import (
    CTE,
    ColumnElement,
    Double,
    FromClause,
    Integer,
    Select,
    Text,
    Uuid,
    and_,
    bindparam,
    column,
    func,
    literal_column,
    null,
    select,
    true,
    union_all,
)
from sqlalchemy.dialects.postgresql import ARRAY, aggregate_order_by

from pgrecall.ranking.by_key import looked_up
from pgrecall.ranking.custom_condition import Expression
from pgrecall.ranking.gathered import gathered_among
from pgrecall.ranking.ranked_rows import COVERAGE, KEYWORD
from pgrecall.ranking.search_parameters import Shape
from pgrecall.ranking.statement import BESIDE, HIT_SCORE, LENDER, LENT, scored
from pgrecall.ranking.words import owners_array, shares_of_each, weighed
from pgrecall.schema import Tables
from pgrecall.scoring import compiler


class Turns(NamedTuple):
    """The ranked rows with turns, and which turns are next to which hit."""

    tables: Tables
    """Where their memories are read."""
    found: CTE
    """The columns of the ranked rows. With turns also beside, lent, lender and hit_score."""
    beside: CTE | None = None
    """Pairs of a turn (owner_id, id) and a hit next to it (hit, hit_score), with their distance."""


def with_turns(
    tables: Tables, shape: Shape, best: Select[Any], where: Sequence[Expression], *, exact: bool
) -> Turns:
    """The best rows and the turns next to them that pass, if the shape expands; with `lend`, the k
    best of all.

    A turn next to several hits belongs to the best of them. `exact` is that of the SQL function
    term_weights.
    """
    if not shape.expands:
        alone = best.cte("ranked")
        if shape.is_divided:
            tables, where = gathered_among(tables, where, alone)
        return Turns(tables, alone)
    if shape.brings_along and shape.has_min_score:
        # Applied before turns are added: min_score is for hits, and any turn can be added.
        every_best = best.subquery("best")
        floor: Any = bindparam("min_score", type_=Double())
        best = select(every_best).where(every_best.c.score >= floor)
    ranked = best.cte("ranked").prefix_with("MATERIALIZED")
    beside = turns_beside(tables, ranked).cte("beside").prefix_with("MATERIALIZED")
    if shape.is_divided:
        tables, where = gathered_among(tables, where, ranked, beside)
    nearest = nearest_hits(beside)
    among = (
        select(nearest)
        .where(~_same(ranked, nearest).correlate(nearest).exists())
        .cte("among_turns")
    )
    theirs_alone, where = looked_up(tables, among, shape.owners, where)
    words = None
    if shape.has_text:
        words = shares_of_each(theirs_alone.memories, _terms(tables, shape, exact=exact))
    # Neither min_relevance nor min_score applies to turns that are added.
    needs = replace(shape, has_min_relevance=False) if shape.brings_along else shape
    others = scored(theirs_alone, needs, where, among=among, words=words).subquery("others")
    of_words = [name for name in (KEYWORD, COVERAGE) if name in ranked.c]
    names = ["owner_id", "id", "score", *of_words]
    counts = [name for name in ranked.c.keys() if name not in names]  # noqa: SIM118
    own = [ranked.c[name] for name in names]
    theirs = [others.c[name] for name in names]
    if shape.lends:
        every = union_all(select(*own), select(*theirs)).subquery("every_turn")
        found = lent(every, nearest)
        found = found.order_by(found.selected_columns.score.desc(), every.c.id)
        found = found.limit(bindparam("k", type_=Integer()))
    else:
        along = [others.c.hit, others.c.hit_score]
        itself = [null().cast(Uuid).label(BESIDE), ranked.c.score.label(HIT_SCORE)]
        every = union_all(select(*own, *itself), select(*theirs, *along)).subquery("every_turn")
        found = select(every)
    found = found.add_columns(
        *(select(ranked.c[name]).limit(1).scalar_subquery().label(name) for name in counts)
    )
    return Turns(tables, found.cte("found"), beside)


def turns_beside(tables: Tables, hits: FromClause) -> Select[Any]:
    """The turns next to each of these rows (owner_id, id, score)."""
    near: Any = compiler.schema_function(
        tables.schema,
        "turns_beside",
        hits.c.owner_id,
        hits.c.id,
        bindparam("expand_session", type_=Integer()),
        type_=Uuid(),
    )
    near = near.table_valued(column("id", Uuid()), column("distance", Integer()), name="near")
    return select(
        hits.c.owner_id,
        near.c.id,
        hits.c.id.label("hit"),
        hits.c.score.label(HIT_SCORE),
        near.c.distance,
    ).select_from(hits.join(near, true()))


def nearest_hits(beside: FromClause) -> CTE:
    """Each turn once, with the best hit next to it: owner_id, id, hit, hit_score."""
    one = (beside.c.owner_id, beside.c.id)
    best_first = aggregate_order_by(beside.c.hit, beside.c[HIT_SCORE].desc(), beside.c.hit)
    hits: Any = func.array_agg(best_first, type_=ARRAY(Uuid))
    score = func.max(beside.c[HIT_SCORE], type_=Double())
    found = select(*one, hits[literal_column("1")].label("hit"), score.label(HIT_SCORE))
    return found.group_by(*one).cte("nearest")


def raised(score: ColumnElement[float], hit_score: ColumnElement[float]) -> ColumnElement[float]:
    """The raised score of a turn, given the score of its hit; NULL if there is no hit."""
    share: Any = bindparam("lend", type_=Double())
    nothing: Any = literal_column("0::float8", Double())
    more = score + share * func.coalesce(hit_score, nothing, type_=Double())
    most: Any = func.least(more, literal_column("1::float8", Double()), type_=Double())
    return func.greatest(score, most, type_=Double())


def lent(every: FromClause, nearest: FromClause) -> Select[Any]:
    """Every row with its raised score, lent and lender."""
    score = raised(every.c.score, nearest.c[HIT_SCORE])
    same = and_(nearest.c.owner_id == every.c.owner_id, nearest.c.id == every.c.id)
    return select(
        *(score.label(c.name) if c.name == "score" else c for c in every.c),
        (score - every.c.score).label(LENT),
        nearest.c.hit.label(LENDER),
    ).select_from(every.outerjoin(nearest, same))


def _same(rows: FromClause, one: FromClause) -> Select[Any]:
    return select(literal_column("1")).where(
        rows.c.owner_id == one.c.owner_id, rows.c.id == one.c.id
    )


def _terms(tables: Tables, shape: Shape, *, exact: bool) -> CTE:
    """The query's terms for each owner: owner_id, term, weight, idf."""
    owners: Any = func.unnest(owners_array(shape.owners), type_=Text())
    owners = owners.table_valued(column("owner_id", Text()), name="owner").render_derived()
    terms = weighed(
        tables, owners.c.owner_id, exact=exact, others=shape.worded_owners, as_of=shape.has_as_of
    )
    return (
        select(owners.c.owner_id, terms.c.term, terms.c.weight, terms.c.idf)
        .select_from(owners.join(terms, true()))
        .cte("terms_of_turns")
        .prefix_with("MATERIALIZED")
    )
