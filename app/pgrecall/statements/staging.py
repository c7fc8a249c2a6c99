"""Bulk ingestion: COPY into a temporary table, then one INSERT … ON CONFLICT."""

from __future__ import annotations

from dataclasses import fields
from functools import lru_cache

from sqlalchemy import (
    Boolean,
    CreateTableAs,
    Insert,
    Integer,
    Table,
    Text,
    bindparam,
    case,
    false,
    func,
    literal_column,
    select,
)
from sqlalchemy.dialects.postgresql import insert

from pgrecall.memory import NewMemory
from pgrecall.schema import Tables, owner

ORDINAL = "ordinal"
CREATED_NOW = "created_now"
"""Tells a row without created_at that is new from one of unknown age."""


def staged_fields() -> list[str]:
    """The columns that are copied: every field a caller may set."""
    return [field.name for field in fields(NewMemory)]


@lru_cache
def create_staging(tables: Tables) -> CreateTableAs:
    """A table for rows on their way in, its columns those of the memories they will become.

    Made from a SELECT, so that types are the database's own: vector or halfvec, wherever the
    extension is installed.
    """
    columns = tables.memories.c
    nothing = select(
        literal_column("0", Integer()).label(ORDINAL),
        literal_column("false", Boolean()).label(CREATED_NOW),
        *(columns[name] for name in staged_fields()),
    ).where(false())
    return CreateTableAs(nothing, "pgrecall_staging", temporary=True)


def staging(tables: Tables) -> Table:
    return create_staging(tables).table


def insert_staged(tables: Tables, agent_id: str) -> Insert:
    """All staged rows in input order; a row that is already there under its id stays as it is."""
    memories, rows = tables.memories, staging(tables)
    names = staged_fields()
    created_at = case((rows.c[CREATED_NOW], func.now()), else_=rows.c.created_at)
    values = [created_at if name == "created_at" else rows.c[name] for name in names]
    return (
        insert(memories)
        .from_select(
            [owner(memories).name, *names],
            select(bindparam("owner_id", agent_id, type_=Text()), *values).order_by(
                rows.c[ORDINAL]
            ),
        )
        .on_conflict_do_nothing(index_elements=[owner(memories), memories.c.id])
    )
