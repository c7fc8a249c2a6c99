"""Inserting memories that are new."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

from sqlalchemy import (
    DateTime,
    Select,
    Text,
    bindparam,
    func,
    literal_column,
    select,
)
from sqlalchemy.dialects.postgresql import JSONB, insert

from pgrecall.schema import Tables, owner
from pgrecall.schema.limits import TRUST_PARTS
from pgrecall.statements.assessing import assessed
from pgrecall.statements.changing import event_id, named
from pgrecall.statements.duplicates import content_hash
from pgrecall.statements.staging import (
    ORDINAL,
    Staged,
    memory_fields,
    rows_of,
)

_FIRST_NOTED = ("trust", *(f"trust_{part}" for part in TRUST_PARTS))
"""What the first event of a memory tells."""


@lru_cache(maxsize=256)
def insert_incoming(tables: Tables, staged: Staged | None) -> Select[Any]:
    """Inserts the incoming rows with their first events, and returns the ids of those inserted.

    A row whose id or whose text is there already is left out. In the order of their hashes, so
    that two batches that share texts wait for each other and form no circle.
    Parameters: owner_id, note_actor, those of the incoming rows.
    """
    memories, events = tables.memories, tables.memory_events
    ready = assessed(tables, rows_of(tables, staged)).subquery("ready")
    names = memory_fields()
    inserted = (
        insert(memories)
        .from_select(
            [owner(memories).name, *names],
            select(
                bindparam("owner_id", type_=Text()), *(ready.c[name] for name in names)
            ).order_by(content_hash(tables, ready.c.content), ready.c[ORDINAL]),
        )
        .on_conflict_do_nothing()
        .returning(memories.c.id, *(memories.c[name] for name in _FIRST_NOTED))
        .cte("inserted")
    )
    pairs: list[Any] = []
    for name in _FIRST_NOTED:
        pairs += [literal_column(f"'{name}'", Text()), inserted.c[name]]
    noted = (
        insert(events)
        .from_select(
            ["agent_id", "memory_id", "id", "event_type", "actor", "new_values", "occurred_at"],
            select(
                bindparam("owner_id", type_=Text()),
                inserted.c.id,
                event_id(tables),
                named("initial"),
                bindparam("note_actor", type_=Text()),
                func.jsonb_build_object(*pairs, type_=JSONB()),
                func.clock_timestamp(type_=DateTime(timezone=True)),
            ),
        )
        .cte("noted")
    )
    return select(inserted.c.id).add_cte(noted)
