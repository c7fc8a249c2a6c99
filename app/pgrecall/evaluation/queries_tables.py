"""Temporary tables of judged queries and of their labels."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

from sqlalchemy import (
    DDL,
    Boolean,
    Integer,
    Table,
    Text,
    Update,
    column,
    false,
    literal_column,
    select,
    update,
)
from sqlalchemy.schema import ExecutableDDLElement

from pgrecall.schema import Tables
from pgrecall.schema.temporary_tables import CreateTemporaryTable
from pgrecall.scoring import compiler

NUMBER, GAIN = "number", "gain"
TEMPORARY = "pg_temp"
"""The schema of temporary tables, so that no other table of the same name is dropped."""


@lru_cache
def create_queries(tables: Tables) -> CreateTemporaryTable:
    """Creates the table of queries.

    Columns: number, query (vector), as_of, question (the text in which entities are found),
    query_text, query_entities, recorded, period_from, period_to.
    """
    return CreateTemporaryTable(
        select(
            literal_column("0", Integer()).label(NUMBER),
            tables.memories.c.embedding.label("query"),
            tables.memories.c.created_at.label("as_of"),
            tables.memories.c.content.label("question"),
            tables.memories.c.content.label("query_text"),
            tables.memories.c.entities.label("query_entities"),
            literal_column("false", Boolean()).label("recorded"),
            tables.memories.c.created_at.label("period_from"),
            tables.memories.c.created_at.label("period_to"),
        ).where(false()),
        "pgrecall_queries",
        schema=TEMPORARY,
    )


@lru_cache
def create_relevant(tables: Tables) -> CreateTemporaryTable:
    """Creates the table of labels: number of the query, id of the memory, gain."""
    return CreateTemporaryTable(
        select(
            literal_column("0", Integer()).label(NUMBER),
            tables.memories.c.id,
            tables.memories.c.importance.label(GAIN),
        ).where(false()),
        "pgrecall_relevant",
        schema=TEMPORARY,
    )


@lru_cache
def store_inline(tables: Tables) -> ExecutableDDLElement:
    """Stores vectors inline. From TOAST, they would be fetched again for every pair."""
    plain: Any = DDL(  # type: ignore[no-untyped-call]
        "ALTER TABLE %(fullname)s ALTER COLUMN query SET STORAGE PLAIN"
    )
    found: ExecutableDDLElement = plain.against(queries_table(tables))
    return found


@lru_cache
def drop_empty_texts(tables: Tables) -> Update:
    """Sets texts of stop words only to NULL, so that their weight is redistributed."""
    queries = queries_table(tables)
    found: Any = compiler.schema_function(
        tables.schema, "query_terms", queries.c.query_text, type_=Text()
    )
    rows = found.table_valued(column("term", Text()), name="counting")
    has_terms = select(rows.c.term).select_from(rows).correlate(queries).exists()
    return update(queries).where(~has_terms).values(query_text=None)


def queries_table(tables: Tables) -> Table:
    return create_queries(tables).table


def relevant_table(tables: Tables) -> Table:
    return create_relevant(tables).table
