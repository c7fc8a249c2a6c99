"""Garbage collection: batch by batch, each a short transaction of its own."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

from sqlalchemy import (
    BigInteger,
    Boolean,
    ColumnElement,
    DateTime,
    Double,
    FromClause,
    Insert,
    Integer,
    Select,
    Table,
    Text,
    Update,
    Uuid,
    and_,
    bindparam,
    case,
    cast,
    func,
    insert,
    literal_column,
    or_,
    select,
    union,
    union_all,
)
from sqlalchemy import delete as delete_
from sqlalchemy import update as update_
from sqlalchemy.dialects.postgresql import JSONB
from sqlalchemy.sql.dml import ReturningDelete

from pgrecall.schema import Tables, owner
from pgrecall.statements.assessing import HOUR
from pgrecall.statements.changing import Change, changed, named, noted_as
from pgrecall.statements.conditions import owned
from pgrecall.statements.writing import told

_ARCHIVED = literal_column("'archived'", Text())
_NEUTRAL_TRUST: ColumnElement[Any] = literal_column("0.5::float8", Double())


@lru_cache
def owners(tables: Tables) -> Select[Any]:
    """Who has memories, in order; one look into the key for each.

    The one statement that does not ask for an owner, since it asks who there is.
    """
    return _names(owner(tables.memories), "found")


def _names(column: ColumnElement[Any], name: str) -> Select[Any]:
    """The distinct values of a key's first column, one look into the key for each."""
    first: Any = (
        select(column.label("owner_id"))
        .order_by(column)
        .limit(literal_column("1"))
        .subquery("first")
    )
    found = select(first.c.owner_id).cte(name, recursive=True)
    after = (
        select(column)
        .where(column > found.c.owner_id)
        .order_by(column)
        .limit(literal_column("1"))
        .scalar_subquery()
    )
    found = found.union_all(select(after).where(found.c.owner_id.is_not(None)))
    owner_id = found.c.owner_id
    return select(owner_id).where(owner_id.is_not(None)).order_by(owner_id)


@lru_cache
def collect_batch(tables: Tables, *, first: bool) -> Select[Any]:
    """Archives and deletes among the owner's next `batch_size` live memories after the id `after`.

    The `first` batch begins with the first one.

    What a rule chose is locked in key order and judged again, so that two runs, or a run and a
    writer, do not both act on it. Columns: scanned, last_id (NULL: none were left), archived,
    deleted_ids. Parameters: owner_id, after, batch_size, the policy's, note_….
    """
    memories = tables.memories
    following = () if first else (memories.c.id > bindparam("after", type_=Uuid()),)
    scanned = (
        select(memories.c.id, _verdict(memories).label("verdict"))
        .where(owned(memories), _live(memories), *following)
        .order_by(memories.c.id)
        .limit(bindparam("batch_size", type_=Integer()))
        .cte("scanned")
    )
    locked = (
        select(memories.c.id, memories.c.status, _verdict(memories).label("verdict"))
        .where(
            owned(memories),
            _live(memories),
            memories.c.id.in_(select(scanned.c.id).where(scanned.c.verdict.is_not(None))),
        )
        .order_by(memories.c.id)
        .with_for_update()
        .cte("locked")
    )
    archived = (
        update_(memories)
        .where(
            owned(memories),
            memories.c.id == locked.c.id,
            locked.c.verdict != literal_column("'delete'", Text()),
        )
        .values(status=_ARCHIVED, updated_at=func.now())
        .returning(
            memories.c.id,
            named("archived").label("event_type"),
            _status(locked.c.status).label("old_values"),
            _status(memories.c.status, locked.c.verdict).label("new_values"),
        )
        .cte("archived")
    )
    deleted = (
        delete_(memories)
        .where(
            owned(memories),
            memories.c.id.in_(
                select(locked.c.id).where(locked.c.verdict == literal_column("'delete'", Text()))
            ),
        )
        .returning(
            memories.c.id,
            named("deleted").label("event_type"),
            told(memories).label("old_values"),
            literal_column("NULL::jsonb", JSONB()).label("new_values"),
        )
        .cte("deleted")
    )
    happened = union_all(select(archived), select(deleted)).subquery("happened")
    last = (
        select(scanned.c.id).order_by(scanned.c.id.desc()).limit(literal_column("1"))
    ).scalar_subquery()
    return select(
        select(func.count()).select_from(scanned).scalar_subquery().label("scanned"),
        last.label("last_id"),
        select(func.count()).select_from(archived).scalar_subquery().label("archived"),
        func.array(select(deleted.c.id).scalar_subquery()).label("deleted_ids"),
    ).add_cte(noted_as(tables, happened))


@lru_cache
def archive_excess(tables: Tables) -> Select[Any]:
    """Archives the least trusted of the live memories beyond `max_live`, `batch_size` at most."""
    memories = tables.memories
    rival = memories.alias("rival")
    live = (
        select(func.count()).select_from(rival).where(owned(rival), _live(rival)).scalar_subquery()
    )
    excess = func.least(
        bindparam("batch_size", type_=Integer()),
        func.greatest(live - bindparam("max_live", type_=BigInteger()), 0),
        type_=BigInteger(),
    )
    least = (
        select(rival.c.id)
        .where(owned(rival), _live(rival))
        .order_by(
            func.coalesce(rival.c.trust, _NEUTRAL_TRUST),
            rival.c.created_at.nulls_first(),
            rival.c.id,
        )
        .limit(excess)
        .cte("least")
    )
    change = Change(
        event_type=named("archived"),
        reads=("status",),
        assign=lambda *_: {"status": _ARCHIVED},
        note=lambda *_: {"rule": literal_column("'max_live'", Text())},
    )
    return changed(tables, change, _live(memories), memories.c.id.in_(select(least.c.id)))


@lru_cache
def count_garbage(tables: Tables) -> Select[Any]:
    """What a run would do to the owner's memories; columns: scanned, archived, deleted, swept."""
    memories = tables.memories
    verdicts = (
        select(_verdict(memories).label("verdict"))
        .where(owned(memories), _live(memories))
        .subquery("verdicts")
    )
    deleted = func.count().filter(verdicts.c.verdict == literal_column("'delete'", Text()))
    chosen = func.count().filter(verdicts.c.verdict != literal_column("'delete'", Text()))
    numbers = (
        select(func.count().label("scanned"), chosen.label("chosen"), deleted.label("deleted"))
        .select_from(verdicts)
        .subquery("numbers")
    )
    left = numbers.c.scanned - numbers.c.chosen - numbers.c.deleted
    excess = func.coalesce(func.greatest(left - bindparam("max_live", type_=BigInteger()), 0), 0)
    return select(
        numbers.c.scanned,
        (
            numbers.c.chosen
            + case((bindparam("max_live", type_=BigInteger()).is_(None), 0), else_=excess)
        ).label("archived"),
        numbers.c.deleted,
        _count_orphans(tables).label("swept"),
    )


@lru_cache
def sweep(tables: Tables) -> tuple[ReturningDelete[Any], ...]:
    """Removes counters, labels and links whose memory is gone, `batch_size` of each at most."""
    statements: list[ReturningDelete[Any]] = []
    for table, lost in _orphans(tables):
        key = table.primary_key.columns
        orphans = (
            select(*key)
            .where(owned(table), lost)
            .order_by(*key)
            .limit(bindparam("batch_size", type_=Integer()))
            .with_for_update(skip_locked=True)
            .cte("orphans")
        )
        same = and_(*(table.c[column.name] == orphans.c[column.name] for column in key))
        statements.append(delete_(table).where(owned(table), same).returning(literal_column("1")))
    return tuple(statements)


def _count_orphans(tables: Tables) -> ColumnElement[Any]:
    counts = [
        select(func.count()).select_from(table).where(owned(table), lost).scalar_subquery()
        for table, lost in _orphans(tables)
    ]
    return counts[0] + counts[1] + counts[2]


@lru_cache
def owners_of_orphans(tables: Tables) -> Select[Any]:
    """Who has counters, labels or links but no memory at all."""
    names = union(
        *(
            _names(table.c.agent_id, f"names_of_{table.name}")
            for table in (tables.memory_usage, tables.memory_labels, tables.memory_links)
        )
    ).subquery("names")
    without = (
        ~select(literal_column("1")).where(owner(memories) == names.c.owner_id).exists()
        for memories in (tables.agent_memories, tables.team_memories)
    )
    return select(names.c.owner_id).where(*without).order_by(names.c.owner_id)


def _orphans(tables: Tables) -> list[tuple[Table, ColumnElement[bool]]]:
    """What tells of memories, and whether a row of it tells of one that is gone."""
    usage, labels, links = tables.memory_usage, tables.memory_labels, tables.memory_links
    return [
        (usage, _gone(tables, usage, usage.c.memory_id)),
        (labels, _gone(tables, labels, labels.c.memory_id)),
        (
            links,
            or_(_gone(tables, links, links.c.source_id), _gone(tables, links, links.c.target_id)),
        ),
    ]


def _gone(tables: Tables, table: FromClause, memory_id: Any) -> Any:
    return and_(
        *(
            ~select(literal_column("1"))
            .where(owner(memories) == table.c.agent_id, memories.c.id == memory_id)
            .exists()
            for memories in (tables.agent_memories, tables.team_memories)
        )
    )


@lru_cache
def begin_run(tables: Tables) -> Insert:
    """A row in the log for the run `run_id` that begins now."""
    runs = tables.gc_runs
    return insert(runs).values(
        agent_id=bindparam("owner_id", type_=Text()),
        id=bindparam("run_id", type_=Uuid()),
        table_name=literal_column(f"'{tables.memories.name}'", Text()),
        policy=bindparam("policy_name", type_=Text()),
        min_trust_threshold=bindparam("run_min_trust_threshold", type_=Double()),
        delete_threshold=bindparam("run_delete_threshold", type_=Double()),
        max_age_hours=bindparam("run_max_age_hours", type_=Double()),
        max_live=bindparam("run_max_live", type_=BigInteger()),
        scanned=literal_column("0"),
        archived=literal_column("0"),
        deleted=literal_column("0"),
        swept=literal_column("0"),
        started_at=func.now(),
        seconds=literal_column("0"),
        finished=literal_column("false", Boolean()),
    )


@lru_cache
def note_run(tables: Tables) -> Update:
    """Adds a batch's numbers to the log's row; parameters: run_id, more_…, run_seconds,
    is_finished."""
    runs = tables.gc_runs
    return (
        update_(runs)
        .where(owned(runs), runs.c.id == bindparam("run_id", type_=Uuid()))
        .values(
            scanned=runs.c.scanned + bindparam("more_scanned", type_=BigInteger()),
            archived=runs.c.archived + bindparam("more_archived", type_=BigInteger()),
            deleted=runs.c.deleted + bindparam("more_deleted", type_=BigInteger()),
            swept=runs.c.swept + bindparam("more_swept", type_=BigInteger()),
            seconds=bindparam("run_seconds", type_=Double()),
            finished=bindparam("is_finished", type_=Boolean()),
        )
    )


def _live(memories: FromClause) -> ColumnElement[bool]:
    condition: ColumnElement[bool] = memories.c.status != _ARCHIVED
    return condition


def _verdict(memories: FromClause) -> ColumnElement[Any]:
    """delete, or the rule by which it is archived, or NULL; a rule whose value is NULL is off."""
    columns = memories.c
    min_trust: Any = bindparam("min_trust_threshold", type_=Double())
    delete_below: Any = bindparam("delete_threshold", type_=Double())
    max_age: Any = cast(bindparam("max_age_hours", type_=Double()), Double)
    oldest = cast(func.now(), DateTime(timezone=True)) - max_age * HOUR
    return case(
        (columns.trust < delete_below, literal_column("'delete'", Text())),
        (columns.expires_at <= func.now(), literal_column("'expires_at'", Text())),
        (columns.trust < min_trust, literal_column("'min_trust_threshold'", Text())),
        (columns.created_at < oldest, literal_column("'max_age_hours'", Text())),
    )


def _status(status: Any, rule: Any = None) -> Any:
    pairs = [literal_column("'status'", Text()), status]
    if rule is not None:
        pairs += [literal_column("'rule'", Text()), rule]
    return func.jsonb_build_object(*pairs, type_=JSONB())
