"""Comparing memories with each other: near duplicates and clusters."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

from sqlalchemy import (
    CTE,
    ColumnElement,
    Double,
    Integer,
    Select,
    Text,
    Uuid,
    and_,
    any_,
    bindparam,
    case,
    cast,
    func,
    literal_column,
    not_,
    select,
    union_all,
)
from sqlalchemy.dialects.postgresql import ARRAY, aggregate_order_by

from pgrecall import compiler
from pgrecall.schema import Tables
from pgrecall.statements.conditions import owned, scope, valid

_ACTIVE: ColumnElement[Any] = literal_column("'active'", Text())


def _newest(tables: Tables) -> CTE:
    """The owner's `newest` active, valid memories that have an embedding."""
    memories = tables.memories
    newest_first: Any = (memories.c.created_at.desc().nulls_last(), memories.c.id.desc())
    place = func.row_number().over(order_by=newest_first).label("place")
    return (
        select(memories.c.id, memories.c.embedding, place)
        .where(
            owned(memories),
            memories.c.status == _ACTIVE,
            memories.c.embedding.is_not(None),
            valid(scope(tables, memories, as_of=False)),
        )
        .order_by(*newest_first)
        .limit(bindparam("newest", type_=Integer()))
        .cte("newest")
        .prefix_with("MATERIALIZED")
    )


def _similarity(tables: Tables, one: Any, other: Any) -> ColumnElement[float]:
    missing: ColumnElement[Any] = literal_column("NULL::float8", Double())
    return compiler.schema_function(
        tables.schema, "similarity", one, other, missing, type_=Double()
    )


@lru_cache
def near_duplicates(tables: Tables) -> Select[Any]:
    """Pairs among the newest memories that are more than `threshold` similar, most similar first.

    Exact. Columns: older_id, newer_id, older_content, newer_content, similarity. Parameters:
    owner_id, newest, threshold, limit.
    """
    memories = tables.memories
    newest = _newest(tables)
    one, other = newest.alias("one"), newest.alias("other")
    threshold: Any = bindparam("threshold", type_=Double())
    similarity = _similarity(tables, one.c.embedding, other.c.embedding)
    one_is_older = one.c.place > other.c.place
    pairs = (
        select(
            case((one_is_older, one.c.id), else_=other.c.id).label("older_id"),
            case((one_is_older, other.c.id), else_=one.c.id).label("newer_id"),
            similarity.label("similarity"),
        )
        .select_from(one.join(other, one.c.id < other.c.id))
        .where(similarity > threshold)
        .order_by(literal_column("similarity").desc(), literal_column("older_id"))
        .limit(bindparam("limit", type_=Integer()))
        .subquery("pairs")
    )
    older, newer = memories.alias("older"), memories.alias("newer")
    return (
        select(
            pairs.c.older_id,
            pairs.c.newer_id,
            older.c.content.label("older_content"),
            newer.c.content.label("newer_content"),
            pairs.c.similarity,
        )
        .select_from(
            pairs.join(older, and_(owned(older), older.c.id == pairs.c.older_id)).join(
                newer, and_(owned(newer), newer.c.id == pairs.c.newer_id)
            )
        )
        .order_by(pairs.c.similarity.desc(), pairs.c.older_id, pairs.c.newer_id)
    )


@lru_cache
def clusters(tables: Tables) -> Select[Any]:
    """Groups of at least `min_size` memories that are all `min_similarity` similar to one of them.

    Greedy: centres in the order of how many others are as similar to them, then of how similar
    those are; each memory is in one cluster at most. A member is like the centre, not only like
    another member, so that a chain of small steps does not join what is unlike. Nothing for an
    owner without more than `more_than` active memories. Columns: number, members, similarities
    (arrays, the centre first). Parameters: owner_id, newest, min_similarity, min_size, more_than.
    """
    memories = tables.memories
    newest = _newest(tables)
    one, other = newest.alias("one"), newest.alias("other")
    min_similarity: Any = bindparam("min_similarity", type_=Double())
    min_size: Any = bindparam("min_size", type_=Integer())
    active = (
        select(func.count())
        .where(
            owned(memories),
            memories.c.status == _ACTIVE,
            valid(scope(tables, memories, as_of=False)),
        )
        .scalar_subquery()
    )
    similarity = _similarity(tables, one.c.embedding, other.c.embedding)
    pairs = (
        select(one.c.id.label("a"), other.c.id.label("b"), similarity.label("similarity"))
        .select_from(one.join(other, one.c.id < other.c.id))
        .where(similarity >= min_similarity, active > bindparam("more_than", type_=Integer()))
        .cte("pairs")
    )
    both = union_all(
        select(pairs.c.a.label("id"), pairs.c.b.label("near"), pairs.c.similarity),
        select(pairs.c.b, pairs.c.a, pairs.c.similarity),
    ).subquery("both_ways")
    order: Any = (both.c.similarity.desc(), both.c.near)
    centres = (
        select(
            both.c.id,
            func.array_agg(aggregate_order_by(both.c.near, *order)).label("near"),
            func.array_agg(aggregate_order_by(both.c.similarity, *order)).label("similarities"),
            func.row_number()
            .over(order_by=(func.count().desc(), func.sum(both.c.similarity).desc(), both.c.id))
            .label("place"),
        )
        .group_by(both.c.id)
        .having(func.count() + 1 >= min_size)
        .cte("centres")
    )
    return _greedy(centres, min_size)


def _greedy(centres: CTE, min_size: Any) -> Select[Any]:
    """Goes through the centres in order; a cluster takes what no earlier one has taken."""
    no_ids: Any = cast(literal_column("'{}'"), ARRAY(Uuid))
    no_shares: Any = cast(literal_column("'{}'"), ARRAY(Double))
    start = select(
        literal_column("0::bigint").label("place"),
        no_ids.label("taken"),
        no_ids.label("members"),
        no_shares.label("similarities"),
    ).cte("step", recursive=True)
    near = (
        func.unnest(centres.c.near, centres.c.similarities)
        .table_valued("id", "similarity", with_ordinality="n", name="near")
        .render_derived()
    )
    free = not_(near.c.id == any_(start.c.taken))
    ids: Any = func.array(
        select(near.c.id).where(free).order_by(near.c.n).scalar_subquery(), type_=ARRAY(Uuid)
    )
    shares: Any = func.array(
        select(near.c.similarity).where(free).order_by(near.c.n).scalar_subquery(),
        type_=ARRAY(Double),
    )
    taking = (
        select(
            centres.c.place,
            start.c.taken.label("taken"),
            centres.c.id,
            ids.label("ids"),
            shares.label("shares"),
        )
        .select_from(start.join(centres, centres.c.place == start.c.place + 1))
        .subquery("taking")
    )
    enough = and_(
        not_(taking.c.id == any_(taking.c.taken)), func.cardinality(taking.c.ids) + 1 >= min_size
    )
    members = func.array_prepend(taking.c.id, taking.c.ids, type_=ARRAY(Uuid))
    similarities = func.array_prepend(literal_column("1::float8"), taking.c.shares)
    steps = start.union_all(
        select(
            taking.c.place,
            case(
                (enough, func.array_cat(taking.c.taken, members, type_=ARRAY(Uuid))),
                else_=taking.c.taken,
            ),
            case((enough, members), else_=no_ids),
            case((enough, similarities), else_=no_shares),
        )
    )
    return (
        select(steps.c.members, steps.c.similarities)
        .where(func.cardinality(steps.c.members) > 0)
        .order_by(steps.c.place)
    )
