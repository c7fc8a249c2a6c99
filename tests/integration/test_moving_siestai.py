"""Siestai moves in: nothing is lost, and the ranking is the one of its own formula."""

from __future__ import annotations

from datetime import timedelta
from math import exp
from typing import Any
from uuid import UUID

import psycopg
import pytest
from sqlalchemy import NullPool, create_engine

from pgrecall import MemoryRepository, migrate, profiles
from pgrecall.testing import new_database
from tests.integration.moving_in import Row, assert_ranked, days, insert, naive, outcomes
from tests.integration.support import NORTH, NOW, before, read, similar
from tests.integration.test_adhoc import Database

SIESTAI = """
CREATE TABLE agent_memories (
    id uuid PRIMARY KEY, agent_id uuid NOT NULL, content text NOT NULL, embedding vector(8),
    memory_type varchar(30) NOT NULL, source_session_id uuid, importance real DEFAULT 0.5,
    created_at timestamp DEFAULT now(), last_accessed_at timestamp DEFAULT now());
CREATE TABLE team_memories (
    id uuid PRIMARY KEY, team_id uuid NOT NULL, content text NOT NULL, embedding vector(8),
    memory_type varchar(30) NOT NULL, source_session_id uuid, created_by_agent_id uuid,
    importance real DEFAULT 0.5, created_at timestamp DEFAULT now(),
    last_accessed_at timestamp DEFAULT now());
CREATE TABLE adhoc_memories (
    id uuid PRIMARY KEY, user_id text NOT NULL, content text NOT NULL, embedding vector(8),
    memory_type varchar(30) NOT NULL, source_session_id uuid,
    participant_agent_ids jsonb DEFAULT '[]', importance real DEFAULT 0.5,
    created_at timestamp DEFAULT now(), last_accessed_at timestamp DEFAULT now());
"""


def siestai_row(number: int, similarity: float, importance: float, **values: Any) -> Row:
    created, accessed = values.pop("created", 40), values.pop("accessed", None)
    return {
        "id": UUID(int=number),
        "content": f"memory {number}",
        "embedding": str(similar(similarity)),
        "memory_type": "fact",
        "importance": importance,
        "created_at": naive(before(created)),
        "last_accessed_at": naive(before(created if accessed is None else accessed)),
    } | values


def siestai_score(row: Row) -> float:
    """0.5 similarity + 0.3 importance + 0.2 exp(-0.05 · days since the last access)."""
    similarity = float(row["embedding"].strip("[]").split(",")[0])
    idle = days(row["last_accessed_at"].replace(tzinfo=NOW.tzinfo))
    return float(0.5 * similarity + 0.3 * row["importance"] + 0.2 * exp(-0.05 * idle))


def test_siestai(own_url: str, theirs: psycopg.Connection[Any], own_repo: MemoryRepository) -> None:
    agent, team, session = UUID(int=900), UUID(int=901), UUID(int=902)
    mine = [
        siestai_row(1, 0.75, 0.5, agent_id=agent, source_session_id=session),
        siestai_row(2, 0.5, 0.25, accessed=1, agent_id=agent, memory_type="skill"),
        siestai_row(3, 0.25, 1, accessed=30, agent_id=agent),
        # The same text at another time is another memory.
        siestai_row(4, 0.25, 1, created=2, agent_id=agent, content="memory 3"),
        siestai_row(5, 0.5, 1, agent_id=agent, embedding=None),
    ]
    of_team = [
        siestai_row(6, 1, 0.5, accessed=7, team_id=team, created_by_agent_id=agent),
        siestai_row(7, 0, 0.75, created=1, team_id=team, content="memory 3"),
    ]
    adhoc = [siestai_row(8, 0.5, 0.5, user_id="user-1", participant_agent_ids=None)]
    theirs.execute(SIESTAI)
    for table, rows in zip(("agent", "team", "adhoc"), (mine, of_team, adhoc), strict=True):
        insert(theirs, f"{table}_memories", rows)

    assert outcomes(own_url, "siestai.sql") == {"inserted": 8}
    assert outcomes(own_url, "siestai.sql") == {"known": 8}

    ranked = {row["id"]: row for row in [*mine, *of_team] if row["embedding"] is not None}
    profile = profiles.last_access
    assert_ranked(own_repo, str(agent), profile, ranked, siestai_score, teams=[str(team)])
    assert_ranked(own_repo, "user-1", profile, {adhoc[0]["id"]: adhoc[0]}, siestai_score)
    first, second = (read(own_repo, str(agent), row["id"]) for row in mine[:2])
    assert (first.session, first.created_at) == (str(session), before(40))
    assert (first.last_accessed_at, second.last_accessed_at) == (None, before(1))
    assert (second.memory_type, second.retrieval_count) == ("skill", 0)
    shared = read(own_repo.teams, str(team), of_team[0]["id"])
    assert shared.metadata == {"created_by_agent_id": str(agent)}
    assert own_repo.count(str(agent)) == 5


def test_siestai_with_a_status_and_a_time_zone(
    own_url: str, theirs: psycopg.Connection[Any], own_repo: MemoryRepository
) -> None:
    theirs.execute(SIESTAI)
    theirs.execute("ALTER TABLE agent_memories ADD status text DEFAULT 'active'")
    agent = UUID(int=900)
    rows = [
        siestai_row(number, 0.5, 0.5, agent_id=agent, status=status)
        for number, status in enumerate(("active", "consolidated", "completed"))
    ]
    insert(theirs, "agent_memories", rows)

    assert outcomes(own_url, "siestai.sql", timezone="Europe/Berlin") == {"inserted": 3}

    hits = own_repo.search(str(agent), NORTH, profile=profiles.last_access, touch=False)
    assert [hit.memory.id for hit in hits] == [rows[0]["id"]]
    stored = [read(own_repo, str(agent), row["id"]) for row in rows]
    assert [one.status for one in stored] == ["active", "consolidated", "completed"]
    assert stored[0].created_at == before(40) - timedelta(hours=2)


def test_siestai_as_it_is_documented_and_a_dry_run_says_what_would_move(
    own_url: str, theirs: psycopg.Connection[Any], own_repo: MemoryRepository
) -> None:
    """With a status, and without adhoc memories, sessions and creators."""
    for owner in ("agent", "team"):
        theirs.execute(
            f"CREATE TABLE {owner}_memories (id uuid PRIMARY KEY, {owner}_id uuid, content text, "
            "embedding vector(8), memory_type text, importance real, status text, "
            "created_at timestamptz, last_accessed_at timestamptz)"
        )
    agent, team = UUID(int=900), UUID(int=901)
    active: Row = {"agent_id": agent, "status": "active"}
    mine = [
        siestai_row(1, 0.75, 0.5, **active),
        siestai_row(2, 0.5, 0.5, embedding=None, **active),
        siestai_row(3, 0.25, 1, agent_id=agent, status="archived"),
    ]
    insert(theirs, "agent_memories", mine)
    insert(theirs, "team_memories", [siestai_row(4, 1, 0.5, team_id=team, status="active")])

    def found() -> list[Row]:
        options = {"source": "theirs", "dry_run": "on"}
        return Database(own_url).ask("import/siestai.sql", **options).tables["Found"]

    assert [(row["what"], row["rows"], row["outcome"]) for row in found()] == [
        ("memories of agents", "3", "become memories of agents"),
        ("memories of teams", "1", "become memories of teams"),
        ("of these, not active", "1", "keep their status, and are not found"),
        ("of these, without an embedding", "1", "are not found until they have one"),
    ]
    assert own_repo.count(str(agent)) == own_repo.teams.count(str(team)) == 0
    assert outcomes(own_url, "siestai.sql") == {"inserted": 4}
    assert [(row["rows"], row["outcome"]) for row in found()] == [("4", "stay behind")]
    hits = own_repo.search(str(agent), NORTH, profile="last_access", teams=[str(team)], touch=False)
    assert [hit.memory.content for hit in hits] == ["memory 4", "memory 1"]
    assert read(own_repo, str(agent), mine[2]["id"]).status == "archived"


def test_a_user_of_siestai_does_not_become_a_team(
    own_url: str, theirs: psycopg.Connection[Any], own_repo: MemoryRepository
) -> None:
    theirs.execute(SIESTAI)
    insert(theirs, "adhoc_memories", [siestai_row(1, 0.5, 0.5, user_id="team:red")])

    refused = Database(own_url).run("import/siestai.sql", source="theirs")

    assert (refused.code, refused.printed) == (3, "")
    assert "a user_id of adhoc_memories begins with team:" in refused.errors
    assert own_repo.teams.count("red") == 0


def test_siestai_moves_into_another_schema_and_type_of_vector(server_url: str) -> None:
    agent = UUID(int=900)
    row = siestai_row(1, 0.75, 0.5, agent_id=agent)
    with new_database(server_url) as url:
        with psycopg.connect(url, autocommit=True) as connection:
            connection.execute('CREATE SCHEMA "Ext"')
            connection.execute('CREATE EXTENSION vector SCHEMA "Ext"')
            connection.execute("CREATE SCHEMA theirs")
            connection.execute('SET search_path = theirs, "Ext"')
            connection.execute(SIESTAI)
            insert(connection, "agent_memories", [row])
        migrate.upgrade(url, schema="ours", embedding_type="halfvec", dimensions=8)

        assert outcomes(url, "siestai.sql", schema="ours") == {"inserted": 1}

        with create_engine(url, poolclass=NullPool).connect() as connected:
            repo = MemoryRepository(connected, schema="ours")
            moved = repo.get(str(agent), row["id"], include_embedding=True)
        assert moved is not None
        assert moved.embedding == pytest.approx(similar(0.75), abs=1e-3)
