"""What is new is found by inserted_at: the moment of writing, by the server's clock."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any
from uuid import UUID

import psycopg
import pytest
from psycopg.errors import NotNullViolation

from pgrecall import NewMemory
from tests.migrations.asking import repository, rows, run, value, values

DIMENSIONS = 3


def inserted_at(url: str) -> dict[str, datetime]:
    return dict(rows(url, "SELECT content, inserted_at FROM pgrecall.agent_memories"))


def test_rows_bear_the_moment_they_were_written(migrated: str) -> None:
    """The server's clock, not the moment at which the transaction began."""
    columns = "pgrecall.agent_memories (agent_id, id, content)"

    with psycopg.connect(migrated) as connection:

        def clock() -> datetime:
            row = connection.execute("SELECT clock_timestamp()").fetchone()
            assert row is not None
            moment: datetime = row[0]
            return moment

        clock()  # the transaction begins
        start = clock()
        connection.execute(
            f"INSERT INTO {columns} VALUES ('agent', gen_random_uuid(), 'by INSERT')".encode()
        )
        between = clock()
        with connection.cursor().copy(f"COPY {columns} FROM STDIN".encode()) as copy:
            copy.write_row(("agent", UUID(int=1), "by COPY"))
        end = clock()

    found = inserted_at(migrated)
    assert start < found["by INSERT"] < between < found["by COPY"] < end
    with pytest.raises(NotNullViolation):
        run(migrated, "UPDATE pgrecall.agent_memories SET inserted_at = NULL")


def test_what_the_repository_writes_bears_the_moment_it_was_written(migrated: str) -> None:
    repo = repository(migrated)
    long_ago = datetime(2020, 1, 1, tzinfo=UTC)

    start = value(migrated, "SELECT clock_timestamp()")
    repo.add("agent", NewMemory("one", embedding=None, created_at=long_ago))
    repo.add_many("agent", [NewMemory("two", embedding=None, created_at=long_ago)])
    repo.teams.add("agent", NewMemory("three", embedding=None))
    end = value(migrated, "SELECT clock_timestamp()")

    found = inserted_at(migrated)
    assert sorted(found) == ["one", "three", "two"]
    assert all(start < moment < end for moment in found.values())


LOOKED_UP: dict[str, tuple[str, str]] = {
    "agent_memories": (
        "SELECT id FROM pgrecall.agent_memories WHERE agent_id = 'a 3' "
        "AND inserted_at >= now() + interval '1 hour'",
        "ix_agent_memories_agent_id_inserted_at",
    ),
    "memory_events": (
        "SELECT memory_id FROM pgrecall.memory_events WHERE agent_id = 'a 3' "
        "AND occurred_at >= now() + interval '1 hour' AND event_type <> 'initial'",
        "ix_memory_events_agent_id_occurred_at",
    ),
}


@pytest.mark.parametrize("table", LOOKED_UP)
def test_what_is_new_is_looked_up_in_these_indexes(migrated: str, table: str) -> None:
    run(
        migrated,
        "INSERT INTO pgrecall.agent_memories (agent_id, id, content) "
        "SELECT 'a ' || n % 10, gen_random_uuid(), 'memory ' || n "
        "FROM generate_series(1, 5000) AS n",
        "INSERT INTO pgrecall.memory_events (agent_id, memory_id, id, event_type, occurred_at) "
        "SELECT agent_id, id, pgrecall.event_id(), 'updated', now() FROM pgrecall.agent_memories",
        "ANALYZE",
    )
    query, index = LOOKED_UP[table]

    plan: list[Any] = values(migrated, f"EXPLAIN {query}")

    assert any(index in line for line in plan), plan
