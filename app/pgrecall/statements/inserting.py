"""Inserting memories that are new."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

from sqlalchemy import (
    Select,
    Text,
    bindparam,
    select,
)
from sqlalchemy.dialects.postgresql import insert

from pgrecall.schema import Tables
from pgrecall.schema.limits import TRUST_PARTS
from pgrecall.statements.assessing import assessed
from pgrecall.statements.changing import NOTHING, named, noted_as
from pgrecall.statements.duplicates import content_hash
from pgrecall.statements.json_objects import json_object
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
    Parameters: owner_id, note_reason, note_actor, note_metadata, those of the incoming rows.
    """
    memories = tables.memories
    ready = assessed(tables, rows_of(tables, staged)).subquery("ready")
    names = memory_fields()
    inserted = (
        insert(memories)
        .from_select(
            ["agent_id", *names],
            select(
                bindparam("owner_id", type_=Text()), *(ready.c[name] for name in names)
            ).order_by(content_hash(tables, ready.c.content), ready.c[ORDINAL]),
        )
        .on_conflict_do_nothing()
        .returning(memories.c.id, *(memories.c[name] for name in _FIRST_NOTED))
        .cte("inserted")
    )
    happened = select(
        inserted.c.id,
        named("initial").label("event_type"),
        NOTHING.label("old_values"),
        json_object({name: inserted.c[name] for name in _FIRST_NOTED}).label("new_values"),
    ).subquery("happened")
    return select(inserted.c.id).add_cte(noted_as(tables, happened))
