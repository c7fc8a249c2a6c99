"""The plan of memory_signals, whose values test_profiles_agree compares; and team_memories."""

from __future__ import annotations

import re
from collections.abc import Iterator

import psycopg
import pytest

from pgrecall.core.resources import sql_folder

FUNCTIONS = {path.stem for path in (sql_folder() / "signals").glob("*.sql")}


@pytest.fixture(scope="module")
def connection(module_url: str) -> Iterator[psycopg.Connection]:
    path = "-csearch_path=pgrecall,public"
    with psycopg.connect(module_url, autocommit=True, options=path) as made:
        yield made


def test_rows_of_an_owner_are_reached_by_keys_and_every_signal_is_written_out(
    connection: psycopg.Connection,
) -> None:
    connection.execute(
        "INSERT INTO agent_memories (agent_id, id, content) "
        "SELECT 'agent ' || n % 100, gen_random_uuid(), 'memory ' || n "
        "FROM generate_series(1, 3000) n"
    )
    connection.execute(
        "INSERT INTO memory_usage (agent_id, memory_id, retrieval_count, last_accessed_at) "
        "SELECT agent_id, id, 3, now() FROM agent_memories"
    )
    connection.execute("ANALYZE")
    query = "SELECT * FROM memory_signals WHERE agent_id = 'agent 7'"
    lines = connection.execute(f"EXPLAIN (VERBOSE, COSTS OFF) {query}".encode()).fetchall()
    plan = "\n".join(line for (line,) in lines)

    assert "pk_agent_memories" in plan or "ix_agent_memories_" in plan
    assert "pk_memory_usage" in plan
    assert "Seq Scan" not in plan
    called = set(re.findall(r"\b(\w+)\(", plan))
    assert "date_part" in called
    assert FUNCTIONS
    assert called & FUNCTIONS == set()


def test_team_memories_shows_those_of_teams_by_their_id(connection: psycopg.Connection) -> None:
    for owner in ("red", "team:red", "team:team"):
        connection.execute(
            "INSERT INTO agent_memories (agent_id, id, content) "
            "VALUES (%(owner)s, gen_random_uuid(), 'of ' || %(owner)s)",
            {"owner": owner},
        )

    shown = connection.execute(
        "SELECT team_id, agent_id, content FROM team_memories ORDER BY team_id"
    ).fetchall()

    assert shown == [("red", "team:red", "of team:red"), ("team", "team:team", "of team:team")]
