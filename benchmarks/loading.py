"""Loading a corpus: how its rows lie on disk is part of what is measured."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime
from enum import StrEnum
from uuid import UUID

import psycopg
from pgvector.psycopg import register_vector
from rich.progress import Progress

from benchmarks.data import DIMENSIONS, Corpus, Row
from benchmarks.progress import tracked
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


class Order(StrEnum):
    """How the rows of agents lie beside each other."""

    INTERLEAVED = "rows of all agents interleaved"
    TOGETHER = "rows of each agent together"

    def arranged(self, corpus: Corpus) -> Iterable[Row]:
        if self is Order.INTERLEAVED:
            return corpus
        return sorted(corpus, key=lambda row: (row.agent_id, row.id))


def load(url: str, corpus: Corpus, order: Order, progress: Progress) -> None:
    """Creates the schema with these rows in it, and vacuums it."""
    rows = tracked(progress, order.arranged(corpus), corpus.rows, f"loading: {order}")
    load_rows(url, rows)


def load_rows(
    url: str,
    rows: Iterable[Row],
    *,
    dimensions: int = DIMENSIONS,
    embedding_type: str = "vector",
) -> None:
    """The same with rows that need not be of a corpus, stored in the order given."""
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
