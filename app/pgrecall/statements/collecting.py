"""Garbage collection: batch by batch, each a short transaction of its own."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

from sqlalchemy import (
    BigInteger,
    ColumnElement,
    DateTime,
    Double,
    FromClause,
    Integer,
    Select,
    Text,
    Uuid,
    bindparam,
    case,
    cast,
    func,
    literal_column,
    select,
    union_all,
)
from sqlalchemy import update as update_

from pgrecall.schema import Tables
from pgrecall.statements.assessing import HOUR
from pgrecall.statements.changing import Change, changed, named, noted_as
from pgrecall.statements.conditions import owned
from pgrecall.statements.json_objects import json_object
from pgrecall.statements.sweeping import count_orphans
from pgrecall.statements.writing import deleted

_ARCHIVED = literal_column("'archived'", Text())
_NEUTRAL_TRUST: ColumnElement[Any] = literal_column("0.5::float8", Double())


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
            json_object({"status": locked.c.status}).label("old_values"),
            json_object({"status": memories.c.status, "rule": locked.c.verdict}).label(
                "new_values"
            ),
        )
        .cte("archived")
    )
    gone = deleted(
        tables,
        select(locked.c.id).where(locked.c.verdict == literal_column("'delete'", Text())),
    )
    happened = union_all(select(archived), select(gone)).subquery("happened")
    last = (
        select(scanned.c.id).order_by(scanned.c.id.desc()).limit(literal_column("1"))
    ).scalar_subquery()
    return select(
        select(func.count()).select_from(scanned).scalar_subquery().label("scanned"),
        last.label("last_id"),
        select(func.count()).select_from(archived).scalar_subquery().label("archived"),
        func.array(select(gone.c.id).scalar_subquery()).label("deleted_ids"),
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
        count_orphans(tables).label("swept"),
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
