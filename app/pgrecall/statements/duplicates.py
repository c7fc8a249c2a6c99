"""Memories that say what is there already: finding them, and what becomes of both.

The parameters of incoming rows are unset_fields, unless the rows have a column of that name, and
new_<field> for the one bound row, where there is no staging table.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any

from sqlalchemy import (
    Boolean,
    ColumnElement,
    DateTime,
    Double,
    FromClause,
    Integer,
    LargeBinary,
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
    null,
    select,
)
from sqlalchemy.dialects.postgresql import ARRAY, insert
from sqlalchemy.sql.dml import ReturningInsert

from pgrecall import compiler
from pgrecall.schema import Tables
from pgrecall.statements.assessing import assessed
from pgrecall.statements.changing import Change, changed, named
from pgrecall.statements.conditions import ACTIVE, active, owned, rows_of_arrays, scope, valid
from pgrecall.statements.json_objects import json_object
from pgrecall.statements.staging import (
    ORDINAL,
    Staged,
    field_of,
    memory_fields,
    rows_of,
    unset_fields,
)


@lru_cache(maxsize=256)
def duplicates(tables: Tables, staged: Staged | None) -> Select[Any]:
    """Which active memory says the same as an incoming row.

    Columns: ordinal, memory_id, valid (now), holds (whether the incoming row would be). The
    memories are kept as they are until the transaction ends. Parameters: owner_id,
    ordinals, those of the incoming rows.
    """
    memories, rows = tables.memories, rows_of(tables, staged)
    same = and_(
        owned(memories),
        memories.c.content_hash == content_hash(tables, rows.c.content),
        active(memories),
    )
    wanted = cast(bindparam("ordinals", type_=ARRAY(Integer)), ARRAY(Integer))
    return (
        select(
            rows.c[ORDINAL],
            memories.c.id.label("memory_id"),
            valid(scope(tables, memories, as_of=False)).label("valid"),
            _holds(tables, rows).label("holds"),
        )
        .select_from(rows.join(memories, same))
        .where(rows.c[ORDINAL] == any_(wanted))
        .order_by(memories.c.id, rows.c[ORDINAL])
        .with_for_update(key_share=True, of=memories)
    )


def _holds(tables: Tables, rows: FromClause) -> ColumnElement[bool]:
    """Whether an incoming row is valid now; an expiry left unset lies ahead."""
    is_unset = literal_column("'expires_at'", Text()) == any_(unset_fields(rows))
    return compiler.schema_function(
        tables.schema,
        "is_valid",
        field_of(tables, rows, "valid_from"),
        field_of(tables, rows, "valid_until"),
        null().cast(DateTime(timezone=True)),
        case((is_unset, null()), else_=field_of(tables, rows, "expires_at")),
        func.now(),
        type_=Boolean(),
    )


@lru_cache
def nearest(tables: Tables) -> Select[Any]:
    """The active, valid memory most similar to `query`, if it is more than `threshold` so.

    Exact: every memory of the owner is compared. One that `incoming_id` was found near to before
    comes first, so that a repeated write meets the same one. Columns: memory_id, similarity.
    """
    memories, events = tables.memories, tables.memory_events
    within = scope(tables, memories, as_of=False)
    found = (
        select(memories.c.id.label("memory_id"), compiler.similarity(within).label("similarity"))
        .where(owned(memories), active(memories), memories.c.embedding.is_not(None), valid(within))
        .subquery("found")
    )
    threshold: Any = bindparam("threshold", type_=Double())
    met_before = (
        select(literal_column("1"))
        .where(
            owned(events),
            events.c.memory_id == found.c.memory_id,
            events.c.id == bindparam("incoming_id", type_=Uuid()),
        )
        .exists()
    )
    best = (
        select(found)
        .where(found.c.similarity > threshold)
        .order_by(met_before.desc(), found.c.similarity.desc(), found.c.memory_id)
        .limit(literal_column("1"))
        .subquery("best")
    )
    return (
        select(best)
        .select_from(best.join(memories, memories.c.id == best.c.memory_id))
        .where(owned(memories))
        .with_for_update(key_share=True, of=memories)
    )


@lru_cache
def wait_for_rivals(tables: Tables) -> Select[Any]:
    """Waits until no other transaction looks for near duplicates of this owner's memories.

    Its column isolation tells whether what that one stored can be seen afterwards.
    """
    name = literal_column(f"'{tables.memories.name} '", Text()) + bindparam(
        "owner_id", type_=Text()
    )
    waited = func.pg_advisory_xact_lock(func.hashtextextended(name, literal_column("8741")))
    return select(
        waited.is_(None), func.current_setting("transaction_isolation").label("isolation")
    )


@lru_cache
def restate(tables: Tables) -> ReturningInsert[Any]:
    """Notes for each of `memory_ids` that it was said again, under the event of `event_ids`.

    Returns memory_id and the event's id for those that were not noted yet: the event carries the
    incoming row's id, so that a repeated write is recognised. Parameters: owner_id,
    memory_ids, event_ids, similarities, note_actor.
    """
    events = tables.memory_events
    said = rows_of_arrays(
        "said",
        memory_id=("memory_ids", Uuid()),
        event_id=("event_ids", Uuid()),
        similarity=("similarities", Double()),
    )
    return (
        insert(events)
        .from_select(
            ["agent_id", "memory_id", "id", "event_type", "actor", "metadata", "occurred_at"],
            select(
                bindparam("owner_id", type_=Text()),
                said.c.memory_id,
                said.c.event_id,
                named("restated"),
                bindparam("note_actor", type_=Text()),
                json_object({"similarity": said.c.similarity}),
                func.clock_timestamp(type_=DateTime(timezone=True)),
            ).order_by(said.c.memory_id, said.c.event_id),
        )
        .on_conflict_do_nothing()
        .returning(events.c.memory_id, events.c.id)
    )


@lru_cache(maxsize=256)
def replace(tables: Tables, staged: Staged | None) -> Select[Any]:
    """Gives the memories of `ids` all the fields of the incoming rows of `ordinals`.

    Their id, counters and history stay, and usefulness that feedback has moved. Parameters beside
    those of `changed`: ids, ordinals (one for each id), those of the incoming rows.
    """
    names = [name for name in memory_fields() if name != "id"]
    cleared = ("invalidated_at", "invalidation_reason", "superseded_by")
    change = Change(
        event_type=named("replaced"),
        reads=(*names, *cleared, "status"),
        assign=lambda locked, _: (
            {name: locked[_CARRIED + name] for name in names}
            | {"usefulness": _earned(tables, locked)}
            | {name: null() for name in cleared}
            | {"status": ACTIVE}
        ),
    )
    return _from_incoming(tables, change, names, staged)


@lru_cache(maxsize=256)
def revive_duplicates(tables: Tables, staged: Staged | None) -> Select[Any]:
    """Makes the memories of `ids` hold again, with the validity and expiry of the incoming rows.

    Parameters: as of `replace`.
    """
    taken = ("valid_from", "valid_until", "expires_at")
    cleared = ("invalidated_at", "invalidation_reason", "superseded_by")
    change = Change(
        event_type=named("revived"),
        reads=(*taken, *cleared),
        assign=lambda locked, _: (
            {name: locked[_CARRIED + name] for name in taken} | {name: null() for name in cleared}
        ),
    )
    return _from_incoming(tables, change, taken, staged)


_CARRIED = "incoming_"


def _earned(tables: Tables, locked: Any) -> ColumnElement[Any]:
    """The stored usefulness where there was feedback, else the incoming row's."""
    usage = tables.memory_usage
    voted = (
        select(literal_column("1"))
        .where(
            owned(usage),
            usage.c.memory_id == locked.id,
            usage.c.feedback_up + usage.c.feedback_down > literal_column("0"),
        )
        .exists()
    )
    return case((voted, locked.usefulness), else_=locked[_CARRIED + "usefulness"])


def _from_incoming(
    tables: Tables, change: Change, taken: Any, staged: Staged | None
) -> Select[Any]:
    memories = tables.memories
    ready = assessed(tables, rows_of(tables, staged)).subquery("ready")
    pairs = rows_of_arrays("pairs", id=("ids", Uuid()), ordinal=("ordinals", Integer()))
    source = (
        select(pairs.c.id.label("memory_id"), *(ready.c[name] for name in taken))
        .select_from(pairs.join(ready, ready.c[ORDINAL] == pairs.c.ordinal))
        .subquery("source")
    )
    carried = [source.c[name].label(_CARRIED + name) for name in taken]
    return changed(
        tables, change, memories.c.id == source.c.memory_id, source=source, carried=carried
    )


@lru_cache
def text_taken(tables: Tables) -> Select[Any]:
    """The other active memory that says `content`, if there is one and `this_id` is active."""
    memories = tables.memories
    this = memories.alias("this")
    is_active = (
        select(literal_column("1"))
        .where(owned(this), this.c.id == bindparam("this_id", type_=Uuid()), active(this))
        .exists()
    )
    hashed = content_hash(tables, bindparam("content", type_=Text()))
    other = memories.c.id != bindparam("this_id", type_=Uuid())
    return select(memories.c.id).where(
        owned(memories), memories.c.content_hash == hashed, active(memories), other, is_active
    )


def content_hash(tables: Tables, content: ColumnElement[str]) -> ColumnElement[Any]:
    return compiler.schema_function(tables.schema, "content_hash", content, type_=LargeBinary())
