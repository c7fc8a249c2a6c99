"""Looking after many memories: near duplicates, clusters, stale tasks, pruning."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

from sqlalchemy import (
    CTE,
    ColumnElement,
    DateTime,
    Delete,
    Double,
    FromClause,
    Integer,
    Select,
    Table,
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
    or_,
    select,
    union_all,
)
from sqlalchemy import delete as delete_
from sqlalchemy.dialects.postgresql import ARRAY, aggregate_order_by

from pgrecall import compiler
from pgrecall.schema import Tables, owner
from pgrecall.statements.assessing import HOUR
from pgrecall.statements.changing import Change, changed, named
from pgrecall.statements.conditions import owned, rows_of_arrays, scope, uuids, valid
from pgrecall.statements.ranking import Search, scored
from pgrecall.statements.reading import memory_columns, with_usage

_ACTIVE = literal_column("'active'", Text())
CONSOLIDATES = "consolidates"
"""The kind of the links from a consolidated memory to its sources."""


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


@lru_cache
def get_many(tables: Tables) -> Select[Any]:
    """The memories of `ids`."""
    memories, usage = tables.memories, tables.memory_usage
    return (
        select(*memory_columns(memories, usage))
        .select_from(with_usage(memories, usage))
        .where(owned(memories), memories.c.id == any_(uuids()))
        .order_by(memories.c.id)
    )


@lru_cache
def lock_sources(tables: Tables) -> Select[Any]:
    """Those of `ids` that are still active, valid and as they were `seen`, locked.

    Columns: id, importance. Parameters: owner_id, ids, seen (the updated_at of each).
    """
    memories = tables.memories
    known = rows_of_arrays(
        "known", id=("ids", Uuid()), updated_at=("seen", DateTime(timezone=True))
    )
    return (
        select(memories.c.id, memories.c.importance)
        .select_from(memories.join(known, memories.c.id == known.c.id))
        .where(
            owned(memories),
            memories.c.status == _ACTIVE,
            memories.c.updated_at == known.c.updated_at,
            valid(scope(tables, memories, as_of=False)),
        )
        .order_by(memories.c.id)
        .with_for_update(key_share=True, of=memories)
    )


@lru_cache
def consolidate(tables: Tables) -> Select[Any]:
    """Puts the sources `ids` away as consolidated."""
    change = Change(
        event_type=named("consolidated"),
        reads=("status",),
        assign=lambda *_: {"status": literal_column("'consolidated'", Text())},
    )
    return changed(tables, change, tables.memories.c.id == any_(uuids()))


@lru_cache
def complete_stale_tasks(tables: Tables) -> Select[Any]:
    """Completes active memories of type task created and last accessed before `stale_before`."""
    memories, usage = tables.memories, tables.memory_usage
    cutoff: Any = func.now() - bindparam("stale_hours", type_=Double()) * HOUR
    used_since = (
        select(literal_column("1"))
        .where(
            usage.c.agent_id == owner(memories),
            usage.c.memory_id == memories.c.id,
            usage.c.last_accessed_at >= cutoff,
        )
        .exists()
    )
    change = Change(
        event_type=named("completed"),
        reads=("status",),
        assign=lambda *_: {"status": literal_column("'completed'", Text())},
    )
    task = literal_column("'task'", Text())
    return changed(
        tables,
        change,
        memories.c.status == _ACTIVE,
        or_(memories.c.memory_type == task, task == any_(memories.c.additional_types)),
        memories.c.created_at < cutoff,
        ~used_since,
    )


def prune(tables: Tables, wanted: Search, *, by_age: bool, by_score: bool) -> Select[Any]:
    """Archives active memories that are older than `max_age_hours` and score below `below_score`.

    The score is that of the profile without a query. Parameters: those of the search and of
    `changed`, and the two limits where asked for.
    """
    memories = tables.memories
    which: list[ColumnElement[bool]] = [memories.c.status == _ACTIVE]
    if by_age:
        hours: Any = bindparam("max_age_hours", type_=Double())
        which.append(memories.c.created_at < func.now() - hours * HOUR)
    if by_score:
        ranked = scored(tables, memories, owned(memories), wanted.shape, ()).subquery("ranked")
        below: Any = bindparam("below_score", type_=Double())
        which.append(memories.c.id.in_(select(ranked.c.id).where(ranked.c.score < below)))
    change = Change(
        event_type=named("archived"),
        reads=("status",),
        assign=lambda *_: {"status": literal_column("'archived'", Text())},
    )
    return changed(tables, change, *which)


@lru_cache
def clear(tables: Tables) -> tuple[Any, ...]:
    """Deletes all of an owner: memories first, then every trace of them; the first counts."""
    memories = tables.memories
    others = tables.team_memories if memories is tables.agent_memories else tables.agent_memories
    gone = delete_(memories).where(owned(memories)).returning(memories.c.id).cte("gone")
    traces: list[Delete] = []
    for table, memory_id in (
        (tables.memory_usage, tables.memory_usage.c.memory_id),
        (tables.memory_labels, tables.memory_labels.c.memory_id),
        (tables.memory_links, tables.memory_links.c.source_id),
        (tables.memory_events, tables.memory_events.c.memory_id),
    ):
        # A team may bear the name of an agent: what belongs to its memories stays, and so does what
        # belongs to a memory that was added while those before were deleted.
        statement = delete_(table).where(
            owned(table), ~_exists(others, memory_id), ~_exists(memories, memory_id)
        )
        if table is tables.memory_events:
            statement = statement.where(~_was_deleted(tables, others))
        traces.append(statement)
    runs = tables.gc_runs
    of_table = literal_column(f"'{memories.name}'", Text())
    traces.append(delete_(runs).where(owned(runs), runs.c.table_name == of_table))
    return (select(func.count().label("cleared")).select_from(gone), *traces)


def _exists(memories: FromClause, memory_id: ColumnElement[Any]) -> ColumnElement[bool]:
    return select(literal_column("1")).where(owned(memories), memories.c.id == memory_id).exists()


def _was_deleted(tables: Tables, memories: Table) -> ColumnElement[bool]:
    """Whether an event is of a memory that was deleted from this table."""
    events, last = tables.memory_events, tables.memory_events.alias("last")
    noted: Any = last.c.old_values[literal_column("'table_name'", Text())].astext
    return (
        select(literal_column("1"))
        .where(
            owned(last),
            last.c.memory_id == events.c.memory_id,
            last.c.event_type == named("deleted"),
            noted == literal_column(f"'{memories.name}'", Text()),
        )
        .exists()
    )
