"""Loading a corpus: how its rows lie on disk is part of what is measured."""

from __future__ import annotations

from collections.abc import Iterable
from enum import StrEnum

import psycopg
from pgvector.psycopg import register_vector
from rich.progress import Progress, TaskID

from benchmarks.data import DIMENSIONS, Corpus, Row
from pgrecall import migrate

WITHOUT_INDEX, WITH_INDEX = "0001", "head"

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
    "entities": "text[]",
}
"""The columns that are copied."""


class Order(StrEnum):
    """How the rows of agents lie beside each other."""

    INTERLEAVED = "rows of all agents interleaved"
    TOGETHER = "rows of each agent together"

    def arranged(self, corpus: Corpus) -> Iterable[Row]:
        if self is Order.INTERLEAVED:
            return corpus
        return sorted(corpus, key=lambda row: (row.agent_id, row.id))


def load(url: str, corpus: Corpus, order: Order, progress: Progress) -> None:
    """Creates the schema with these rows in it, the index built last, and vacuums it."""
    task = progress.add_task(f"loading: {order}", total=corpus.rows)
    migrate.upgrade(url, dimensions=DIMENSIONS, revision=WITHOUT_INDEX)
    with psycopg.connect(url) as connection:
        register_vector(connection)
        counted = _copy_memories(connection, order.arranged(corpus), progress, task)
        _copy_usage(connection, counted)
    progress.update(task, description="building the HNSW index", total=None)
    migrate.upgrade(url, revision=WITH_INDEX)
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute("VACUUM (ANALYZE, FREEZE) pgrecall.agent_memories")
        connection.execute("VACUUM (ANALYZE, FREEZE) pgrecall.memory_usage")
        connection.execute("CHECKPOINT")
    progress.remove_task(task)


def _copy_memories(
    connection: psycopg.Connection, rows: Iterable[Row], progress: Progress, task: TaskID
) -> list[Row]:
    """Returns the rows that have counters."""
    counted = []
    statement = f"COPY pgrecall.agent_memories ({', '.join(TYPES)}) FROM STDIN (FORMAT BINARY)"
    with connection.cursor() as cursor, cursor.copy(statement) as copy:
        copy.set_types(list(TYPES.values()))
        for row in rows:
            copy.write_row([getattr(row, column) for column in TYPES])
            progress.advance(task)
            if row.retrieval_count is not None:
                counted.append(row)
    return counted


def _copy_usage(connection: psycopg.Connection, rows: Iterable[Row]) -> None:
    statement = (
        "COPY pgrecall.memory_usage (agent_id, memory_id, retrieval_count, last_accessed_at) "
        "FROM STDIN (FORMAT BINARY)"
    )
    with connection.cursor() as cursor, cursor.copy(statement) as copy:
        copy.set_types(("text", "uuid", "int4", "timestamptz"))
        for row in rows:
            copy.write_row((row.agent_id, row.id, row.retrieval_count, row.created_at))
