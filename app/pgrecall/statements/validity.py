"""Changes that move memories in and out of what is recalled, and between tiers."""

from __future__ import annotations

from functools import lru_cache
from itertools import pairwise
from typing import Any

from sqlalchemy import (
    ColumnElement,
    DateTime,
    Double,
    Select,
    Text,
    Uuid,
    and_,
    any_,
    bindparam,
    case,
    func,
    literal_column,
    null,
    or_,
    select,
)

from pgrecall.schema import Tables
from pgrecall.schema.limits import TIERS
from pgrecall.statements.assessing import expiry
from pgrecall.statements.changing import Change, changed, named
from pgrecall.statements.conditions import ACTIVE, Condition, active, owned, uuids
from pgrecall.statements.duplicates import content_hash


@lru_cache
def invalidate(tables: Tables) -> Select[Any]:
    """Forgets those of `ids` that stand."""
    memories = tables.memories
    change = Change(
        event_type=named("forgotten"),
        reads=("invalidated_at", "invalidation_reason"),
        assign=lambda *_: {
            "invalidated_at": func.now(),
            "invalidation_reason": literal_column("'forgotten'", Text()),
        },
    )
    standing = or_(memories.c.invalidated_at.is_(None), memories.c.invalidated_at > func.now())
    return changed(tables, change, memories.c.id == any_(uuids()), standing)


@lru_cache
def revive(tables: Tables) -> Select[Any]:
    """Makes those of `ids` recallable again that were invalidated, put away or have expired."""
    memories = tables.memories
    change = Change(
        event_type=named("revived"),
        reads=("status", "invalidated_at", "invalidation_reason", "superseded_by", "expires_at"),
        assign=lambda locked, _: {
            "status": ACTIVE,
            "invalidated_at": null(),
            "invalidation_reason": null(),
            "superseded_by": null(),
            "expires_at": case((locked.expires_at > func.now(), locked.expires_at)),
        },
    )
    away = or_(
        memories.c.invalidated_at.is_not(None),
        memories.c.status != ACTIVE,
        memories.c.expires_at <= func.now(),
    )
    return changed(tables, change, memories.c.id == any_(uuids()), away)


@lru_cache
def texts_taken(tables: Tables) -> Select[Any]:
    """Which of `ids` would be active beside another memory that says the same.

    Columns: id, other_id (active, or one of `ids` too). The rows are locked.
    """
    memories = tables.memories
    others = memories.alias("others")
    return (
        select(memories.c.id, others.c.id.label("other_id"))
        .select_from(
            memories.join(
                others,
                and_(
                    others.c.content_hash == memories.c.content_hash, others.c.id != memories.c.id
                ),
            )
        )
        .where(
            owned(memories),
            owned(others),
            memories.c.id == any_(uuids()),
            memories.c.status != ACTIVE,
            or_(active(others), others.c.id == any_(uuids())),
        )
        .order_by(memories.c.id, others.c.id)
        .with_for_update(key_share=True, of=memories)
    )


@lru_cache
def lock_for_supersession(tables: Tables) -> Select[Any]:
    """The memory `this_id` and the active one that says `content`, locked in the order of the key.

    With what decides whether the first may be superseded by `incoming_id` from `start` on.
    Columns: id, importance, subject, invalidated_at, superseded_by, valid_from, valid_until, same
    (whether it says the same as `content`), moment (when the other begins to hold), overlaps
    (whether it claims to hold at that moment or after, or begins no earlier), repeated (whether it
    was superseded by this very write).
    """
    memories, events = tables.memories, tables.memory_events
    columns = memories.c
    content = bindparam("content", type_=Text())
    incoming_id = bindparam("incoming_id", type_=Uuid())
    start: Any = bindparam("start", type_=DateTime(timezone=True))
    moment = func.coalesce(start, func.now(), type_=DateTime(timezone=True))
    overlaps = or_(
        func.coalesce(columns.valid_until > moment, False),
        # What is superseded twice within a transaction begins and ends at the same now().
        func.coalesce(columns.valid_from >= start, columns.valid_from > func.now(), False),
    )
    successor = memories.alias("successor")
    said = (
        select(literal_column("1"))
        .where(owned(events), events.c.memory_id == successor.c.id, events.c.id == incoming_id)
        .exists()
    )
    repeated = (
        select(literal_column("1"))
        .where(
            owned(successor),
            successor.c.id == columns.superseded_by,
            or_(successor.c.id == incoming_id, said),
        )
        .exists()
    )
    same = columns.content_hash == content_hash(tables, content)
    return (
        select(
            columns.id,
            columns.importance,
            columns.subject,
            columns.invalidated_at,
            columns.superseded_by,
            columns.valid_from,
            columns.valid_until,
            same.label("same"),
            moment.label("moment"),
            overlaps.label("overlaps"),
            repeated.label("repeated"),
        )
        .where(
            owned(memories),
            or_(columns.id == bindparam("this_id", type_=Uuid()), and_(same, active(memories))),
        )
        .order_by(columns.id)
        .with_for_update(key_share=True, of=memories)
    )


@lru_cache
def supersede(tables: Tables) -> Select[Any]:
    """Invalidates the memory `this_id` in favour of `successor`.

    From `moment` on, when the successor begins to hold, or from when that was created if it is
    later: at every moment asked about, one of the two is recalled.
    """
    others = tables.memories.alias("others")
    moment = bindparam("moment", type_=DateTime(timezone=True))
    created_at = (
        select(others.c.created_at)
        .where(owned(others), others.c.id == bindparam("successor", type_=Uuid()))
        .scalar_subquery()
    )
    change = Change(
        event_type=named("superseded"),
        reads=("invalidated_at", "invalidation_reason", "superseded_by"),
        assign=lambda *_: {
            "invalidated_at": func.greatest(created_at, moment),
            "invalidation_reason": literal_column("'superseded'", Text()),
            "superseded_by": bindparam("successor", type_=Uuid()),
        },
    )
    return changed(tables, change, tables.memories.c.id == bindparam("this_id", type_=Uuid()))


@lru_cache
def set_importance(tables: Tables) -> Select[Any]:
    """Gives the memory `this_id` the importance `new_importance`."""
    return _importance(tables)


@lru_cache
def raise_importance(tables: Tables) -> Select[Any]:
    """Gives the memory `this_id` the importance `new_importance`, unless it has more."""
    lower = tables.memories.c.importance < bindparam("new_importance", type_=Double())
    return _importance(tables, lower)


def _importance(tables: Tables, *which: Condition) -> Select[Any]:
    change = Change(
        event_type=named("importance"),
        reads=("importance",),
        assign=lambda *_: {"importance": bindparam("new_importance", type_=Double())},
    )
    this = tables.memories.c.id == bindparam("this_id", type_=Uuid())
    return changed(tables, change, this, *which)


@lru_cache
def move_tier(tables: Tables, *, up: bool) -> Select[Any]:
    """Moves those of `ids` one tier up or down that can move; the new tier sets their expiry."""
    memories = tables.memories
    steps = dict(pairwise(TIERS if up else reversed(TIERS)))

    def next_tier(tier: ColumnElement[Any]) -> ColumnElement[Any]:
        literals = {old: literal_column(f"'{new}'", Text()) for old, new in steps.items()}
        return case(literals, value=tier)

    def assign(locked: Any, _: Any) -> dict[str, ColumnElement[Any]]:
        tier = next_tier(locked.tier)
        return {"tier": tier, "expires_at": expiry(tables, tier)}

    change = Change(
        event_type=named("promoted" if up else "demoted"),
        reads=("tier", "expires_at"),
        assign=assign,
    )
    movable = next_tier(memories.c.tier).is_not(None)
    return changed(tables, change, memories.c.id == any_(uuids()), movable)
