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
    Uuid,
    and_,
    bindparam,
    case,
    cast,
    func,
    literal_column,
    select,
    union_all,
)
from sqlalchemy.dialects.postgresql import ARRAY, aggregate_order_by

from pgrecall import compiler
from pgrecall.schema import Tables
from pgrecall.statements.conditions import active, owned, scope, valid


def _newest(tables: Tables, *, by_id: bool) -> CTE:
    """The owner's `newest` active, valid memories that have an embedding.

    `number` counts them, by id or from the newest on.
    """
    memories = tables.memories
    chosen = (
        select(memories.c.id, memories.c.embedding, memories.c.created_at)
        .where(
            owned(memories),
            active(memories),
            memories.c.embedding.is_not(None),
            valid(scope(tables, memories, as_of=False)),
        )
        .order_by(*_newest_first(memories))
        .limit(bindparam("newest", type_=Integer()))
        .subquery("chosen")
    )
    order = [chosen.c.id] if by_id else _newest_first(chosen)
    number = func.row_number().over(order_by=order).label("number")
    return select(chosen.c.id, chosen.c.embedding, number).cte("newest").prefix_with("MATERIALIZED")


def _newest_first(memories: Any) -> list[Any]:
    return [memories.c.created_at.desc().nulls_last(), memories.c.id.desc()]


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
    newest = _newest(tables, by_id=False)
    one, other = newest.alias("one"), newest.alias("other")
    threshold: Any = bindparam("threshold", type_=Double())
    similarity = _similarity(tables, one.c.embedding, other.c.embedding)
    one_is_older = one.c.number > other.c.number
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
    those are, then by id; each memory is in one cluster at most. A member is like the centre, not
    only like another member, so that a chain of small steps does not join what is unlike. Nothing
    for an owner without more than `more_than` active memories. Columns: members, similarities
    (arrays, the centre first). Parameters: owner_id, newest, min_similarity, min_size, more_than.
    """
    memories = tables.memories
    newest = _newest(tables, by_id=True)
    one, other = newest.alias("one"), newest.alias("other")
    min_similarity: Any = bindparam("min_similarity", type_=Double())
    min_size: Any = bindparam("min_size", type_=Integer())
    number_active = (
        select(func.count())
        .where(
            owned(memories),
            active(memories),
            valid(scope(tables, memories, as_of=False)),
        )
        .scalar_subquery()
    )
    similarity = _similarity(tables, one.c.embedding, other.c.embedding)
    pairs = (
        select(one.c.number.label("a"), other.c.number.label("b"), similarity.label("similarity"))
        .select_from(one.join(other, one.c.number < other.c.number))
        .where(
            similarity >= min_similarity, number_active > bindparam("more_than", type_=Integer())
        )
        .cte("pairs")
    )
    both = union_all(
        select(pairs.c.a.label("centre"), pairs.c.b.label("near"), pairs.c.similarity),
        select(pairs.c.b, pairs.c.a, pairs.c.similarity),
    ).subquery("both_ways")
    counted = select(
        both,
        func.count().over(partition_by=both.c.centre).label("count"),
        func.sum(both.c.similarity).over(partition_by=both.c.centre).label("closeness"),
    ).cte("counted")
    return _grouped(tables, newest, counted, min_size)


def _grouped(tables: Tables, newest: CTE, counted: CTE, min_size: Any) -> Select[Any]:
    """What the greedy function makes of the pairs; numbers are those of the newest.

    Without a join of the pairs, of which there may be millions: the planner does not know.
    """
    columns = (counted.c.centre, counted.c.count, counted.c.closeness)
    centres = select(*columns).distinct().subquery("centres")

    def together(value: Any, *order: Any) -> Any:
        ordered = aggregate_order_by(cast(value, Integer), *order)
        return func.array_agg(ordered, type_=ARRAY(Integer))

    def best_first(rows: Any) -> tuple[Any, ...]:
        return rows.c.count.desc(), rows.c.closeness.desc(), rows.c.centre

    near = together(
        counted.c.near, *best_first(counted), counted.c.similarity.desc(), counted.c.near
    )
    found = (
        compiler.schema_function(
            tables.schema,
            "greedy_clusters",
            select(together(centres.c.centre, *best_first(centres))).scalar_subquery(),
            select(together(centres.c.count, *best_first(centres))).scalar_subquery(),
            select(near).scalar_subquery(),
            min_size,
            type_=Integer(),
        )
        .table_valued("cluster", "place", "member", name="found")
        .render_derived()
    )
    members = (
        select(found.c.cluster, found.c.place, newest.c.id, newest.c.embedding)
        .select_from(found.join(newest, newest.c.number == found.c.member))
        .cte("members")
    )
    central = members.alias("central")
    similarity = case(
        (members.c.place == central.c.place, literal_column("1::float8")),
        else_=_similarity(tables, members.c.embedding, central.c.embedding),
    )

    def in_order(value: Any, type_: Any) -> Any:
        return func.array_agg(aggregate_order_by(value, members.c.place), type_=ARRAY(type_))

    return (
        select(
            in_order(members.c.id, Uuid()).label("members"),
            in_order(similarity, Double()).label("similarities"),
        )
        .select_from(
            members.join(
                central,
                and_(
                    central.c.cluster == members.c.cluster,
                    central.c.place == literal_column("1"),
                ),
            )
        )
        .group_by(members.c.cluster)
        .order_by(members.c.cluster)
    )
