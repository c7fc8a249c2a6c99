"""Loading memories by COPY: how rows lie on disk is part of what is measured."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime
from uuid import UUID

import psycopg
from pgvector.psycopg import register_vector

from benchmarks.data import DIMENSIONS, Row
from pgrecall import migrate

TYPES = {
    "agent_id": "text",
    "id": "uuid",
    "content": "text",
    "embedding": "vector",
    "created_at": "timestamptz",
    "usefulness": "float8",
    "confidence": "float8",
    "importance": "float8",
    "trust": "float8",
    "trust_curve": "text",
    "trust_half_life_hours": "float8",
    "tier": "text",
    "memory_type": "text",
    "entities": "text[]",
    "metadata": "jsonb",
    "tokens": "int4",
}
"""The columns that are copied."""

Usage = tuple[str, UUID, int, datetime]


def load_rows(
    url: str,
    rows: Iterable[Row],
    *,
    dimensions: int = DIMENSIONS,
    embedding_type: str = "vector",
) -> None:
    """Creates the schema with these memories in it, stored in the order given, and vacuums it."""
    migrate.upgrade(url, dimensions=dimensions, embedding_type=embedding_type)
    with psycopg.connect(url) as connection:
        copy_rows(connection, rows, embedding_type=embedding_type)
    vacuum(url, "agent_memories", "memory_usage")


def copy_rows(
    connection: psycopg.Connection,
    rows: Iterable[Row],
    *,
    embedding_type: str = "vector",
) -> None:
    """The memories, and counters for those that were retrieved."""
    register_vector(connection)
    statement = f"COPY pgrecall.agent_memories ({', '.join(TYPES)}) FROM STDIN (FORMAT BINARY)"
    counted: list[Usage] = []
    with connection.cursor() as cursor, cursor.copy(statement) as copy:
        copy.set_types(list((TYPES | {"embedding": embedding_type}).values()))
        for row in rows:
            copy.write_row([getattr(row, column) for column in TYPES])
            if row.retrieval_count is not None:
                last = row.last_accessed_at or row.created_at
                counted.append((row.agent_id, row.id, row.retrieval_count, last))
    copy_usage(connection, counted)


def vacuum(url: str, *tables: str) -> None:
    with psycopg.connect(url, autocommit=True) as connection:
        for table in tables:
            connection.execute(f"VACUUM (ANALYZE, FREEZE) pgrecall.{table}")
        connection.execute("CHECKPOINT")


def copy_usage(connection: psycopg.Connection, counted: Iterable[Usage]) -> None:
    statement = (
        "COPY pgrecall.memory_usage (agent_id, memory_id, retrieval_count, last_accessed_at) "
        "FROM STDIN (FORMAT BINARY)"
    )
    with connection.cursor() as cursor, cursor.copy(statement) as copy:
        copy.set_types(("text", "uuid", "int4", "timestamptz"))
        for row in counted:
            copy.write_row(row)
