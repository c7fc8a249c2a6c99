"""The five systems move in: nothing is lost, and the ranking is the one of their own formula.

The tables have the shape that each system publishes, as far as its memories are concerned.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import datetime, timedelta
from math import exp
from typing import Any
from uuid import UUID

import psycopg
import pytest
from psycopg import sql
from psycopg.types.json import Jsonb
from sqlalchemy import Engine

from pgrecall import MemoryRepository, Profile, profiles
from tests.integration.support import NORTH, NOW, before, read, similar
from tests.integration.test_adhoc import Database

Row = dict[str, Any]


@pytest.fixture
def repo(own_engine: Engine) -> MemoryRepository:
    return MemoryRepository(own_engine)


@pytest.fixture
def theirs(own: Database) -> Iterator[psycopg.Connection[Any]]:
    """A connection on which names without a schema are theirs."""
    with psycopg.connect(own.url, autocommit=True) as connection:
        connection.execute("CREATE SCHEMA theirs")
        connection.execute("SET search_path = theirs, public")
        yield connection


@pytest.fixture
def own(own_url: str) -> Database:
    return Database(own_url)


def naive(moment: datetime | None) -> datetime | None:
    """As a column without a time zone has it, which is in UTC."""
    return None if moment is None else moment.replace(tzinfo=None)


def insert(connection: psycopg.Connection[Any], table: str, rows: Sequence[Row]) -> None:
    for row in rows:
        values = [Jsonb(v) if isinstance(v, dict) else v for v in row.values()]
        connection.execute(
            sql.SQL("INSERT INTO {} ({}) VALUES ({})").format(
                sql.Identifier(table),
                sql.SQL(", ").join(map(sql.Identifier, row)),
                sql.SQL(", ").join(sql.Placeholder() * len(row)),
            ),
            values,
        )


def outcomes(own: Database, script: str, **variables: Any) -> dict[str, int]:
    """How many memories have each outcome."""
    rows = own.ask(f"import/{script}", source="theirs", **variables).rows
    return {row["outcome"]: int(row["memories"]) for row in rows}


def assert_ranked(
    repo: MemoryRepository,
    owner: str,
    profile: Profile,
    rows: Mapping[UUID, Row],
    formula: Callable[[Row], float],
    **options: Any,
) -> None:
    """A search ranks these rows, and no others, by their formula."""
    expected = {one: formula(row) for one, row in rows.items()}
    hits = repo.search(owner, NORTH, profile=profile, k=100, as_of=NOW, touch=False, **options)

    assert {hit.memory.id: hit.score for hit in hits} == pytest.approx(expected, abs=1e-9)
    ranking = [expected[hit.memory.id] for hit in hits]
    assert ranking == sorted(ranking, reverse=True)


def days(since: datetime) -> float:
    return (NOW - since) / timedelta(days=1)


# Siestai

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
    importance: float = row["importance"]
    return 0.5 * similarity + 0.3 * importance + 0.2 * exp(-0.05 * idle)


def test_siestai(own: Database, theirs: psycopg.Connection[Any], repo: MemoryRepository) -> None:
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

    assert outcomes(own, "siestai.sql") == {"inserted": 8}
    assert outcomes(own, "siestai.sql") == {"known": 8}

    ranked = {row["id"]: row for row in [*mine, *of_team] if row["embedding"] is not None}
    profile = profiles.last_access
    assert_ranked(repo, str(agent), profile, ranked, siestai_score, teams=[str(team)])
    assert_ranked(repo, "user-1", profile, {adhoc[0]["id"]: adhoc[0]}, siestai_score)
    first, second = (read(repo, str(agent), row["id"]) for row in mine[:2])
    assert (first.session, first.created_at) == (str(session), before(40))
    assert (first.last_accessed_at, second.last_accessed_at) == (None, before(1))
    assert (second.memory_type, second.retrieval_count) == ("skill", 0)
    shared = read(repo.teams, str(team), of_team[0]["id"])
    assert shared.metadata == {"created_by_agent_id": str(agent)}
    assert repo.count(str(agent)) == 5


def test_siestai_with_a_status_and_a_time_zone(
    own: Database, theirs: psycopg.Connection[Any], repo: MemoryRepository
) -> None:
    theirs.execute(SIESTAI)
    theirs.execute("ALTER TABLE agent_memories ADD status text DEFAULT 'active'")
    agent = UUID(int=900)
    rows = [
        siestai_row(number, 0.5, 0.5, agent_id=agent, status=status)
        for number, status in enumerate(("active", "consolidated", "completed"))
    ]
    insert(theirs, "agent_memories", rows)

    assert outcomes(own, "siestai.sql", timezone="Europe/Berlin") == {"inserted": 3}

    hits = repo.search(str(agent), NORTH, profile=profiles.last_access, touch=False)
    assert [hit.memory.id for hit in hits] == [rows[0]["id"]]
    stored = [read(repo, str(agent), row["id"]) for row in rows]
    assert [one.status for one in stored] == ["active", "consolidated", "completed"]
    assert stored[0].created_at == before(40) - timedelta(hours=2)
