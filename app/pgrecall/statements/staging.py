"""Bulk ingestion: COPY into a temporary table, then one INSERT … ON CONFLICT."""

from __future__ import annotations

from dataclasses import fields
from functools import lru_cache

from sqlalchemy import (
    Boolean,
    Column,
    Insert,
    Integer,
    MetaData,
    Table,
    Text,
    bindparam,
    case,
    func,
    select,
)
from sqlalchemy.dialects.postgresql import insert

from pgrecall.memory import NewMemory
from pgrecall.schema import Tables

ORDINAL = "ordinal"
CREATED_NOW = "created_now"
"""Tells a row without created_at that is new from one of unknown age."""


def staged_fields() -> list[str]:
    """The columns that are copied: every field a caller may set."""
    return [field.name for field in fields(NewMemory)]


@lru_cache
def staging(tables: Tables) -> Table:
    """Rows on their way in, for one transaction: the fields of NewMemory, in input order."""
    columns = tables.agent_memories.c
    return Table(
        "pgrecall_staging",
        MetaData(),
        Column(ORDINAL, Integer),
        Column(CREATED_NOW, Boolean),
        *(Column(name, columns[name].type) for name in staged_fields()),
        prefixes=["TEMPORARY"],
        postgresql_on_commit="DROP",
    )


def insert_staged(tables: Tables, agent_id: str) -> Insert:
    """All staged rows in input order; a row that is already there under its id stays as it is."""
    memories, rows = tables.agent_memories, staging(tables)
    names = staged_fields()
    created_at = case((rows.c[CREATED_NOW], func.now()), else_=rows.c.created_at)
    values = [created_at if name == "created_at" else rows.c[name] for name in names]
    return (
        insert(memories)
        .from_select(
            ["agent_id", *names],
            select(bindparam("agent_id", agent_id, type_=Text()), *values).order_by(
                rows.c[ORDINAL]
            ),
        )
        .on_conflict_do_nothing(index_elements=[memories.c.agent_id, memories.c.id])
    )
