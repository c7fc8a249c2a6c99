"""The views: memory_signals against the scorer in Python, and its plan; team_memories."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID

import psycopg
import pytest
from psycopg import sql
from psycopg.rows import dict_row

from pgrecall import profiles, score
from pgrecall.ids import new_id
from pgrecall.resources import sql_folder
from tests.conftest import new_database

PATH = "-csearch_path=pgrecall,public"
FUNCTIONS = {path.stem for path in (sql_folder() / "signals").glob("*.sql")}


def ago(**age: float) -> datetime:
    return datetime.now(UTC) - timedelta(**age)


@dataclass(frozen=True)
class Stored:
    """What a memory has that differs from the defaults, and its counters."""

    values: Mapping[str, Any]
    usage: Mapping[str, Any] | None = None


def used(times: int, last: datetime | None) -> dict[str, Any]:
    counters = {"success_count": times // 2, "failure_count": times // 3}
    return {"retrieval_count": times, "last_accessed_at": last} | counters


MEMORIES = {
    "untouched": Stored({"created_at": ago(days=3)}),
    "ageless": Stored({"created_at": None}),
    "ageless, accessed": Stored({"created_at": None, "trust": 0.6}, used(3, ago(days=5))),
    "in the future": Stored({"created_at": ago(days=-2)}, used(1, ago(days=-1))),
    "accessed before it was created": Stored({"created_at": ago(days=2)}, used(4, ago(days=20))),
    "ancient": Stored({"created_at": datetime(1900, 1, 1, tzinfo=UTC), "tier": "short"}),
    "short": Stored({"created_at": ago(days=2), "tier": "short"}, used(7, ago(hours=5))),
    "medium": Stored({"created_at": ago(days=9), "tier": "medium"}, used(20, ago(days=7))),
    "long": Stored({"created_at": ago(days=90), "tier": "long"}, used(50, ago(days=40))),
    "beyond every cap": Stored({"created_at": ago(days=90)}, used(1000, ago(days=1))),
    "counted but not accessed": Stored(
        {"created_at": ago(days=9), "trust": 0.9}, {"success_count": 2}
    ),
    "hyperbolic": Stored(
        {"trust": 0.8, "trust_curve": "hyperbolic", "trust_half_life_hours": 24.0},
        used(2, ago(hours=24)),
    ),
    "exponential": Stored(
        {"trust": 0.8, "trust_curve": "exponential", "trust_half_life_hours": 72.0},
        used(2, ago(hours=30)),
    ),
    "linear": Stored(
        {"trust": 0.8, "trust_curve": "linear", "trust_half_life_hours": 48.0},
        used(2, ago(hours=30)),
    ),
    "trusted, without a curve": Stored({"trust": 0.7}, used(2, ago(days=7))),
    "weighed": Stored({"usefulness": 0.1, "importance": 0.9, "confidence": 0.25}),
    "kind": Stored({"memory_type": "task", "status": "completed"}),
}

Add = Callable[[str, Stored], UUID]


@pytest.fixture(scope="module")
def connection(server_url: str, template: str) -> Iterator[psycopg.Connection]:
    with (
        new_database(server_url, template) as url,
        psycopg.connect(url, autocommit=True, options=PATH) as connection,
    ):
        yield connection


@pytest.fixture(scope="module")
def add(connection: psycopg.Connection) -> Add:
    def insert(table: str, values: Mapping[str, Any]) -> None:
        connection.execute(
            sql.SQL("INSERT INTO {} ({}) VALUES ({})").format(
                sql.Identifier(table),
                sql.SQL(", ").join(map(sql.Identifier, values)),
                sql.SQL(", ").join(sql.Placeholder() * len(values)),
            ),
            list(values.values()),
        )

    def added(owner: str, memory: Stored) -> UUID:
        id_ = new_id()
        values = {"agent_id": owner, "id": id_, "content": f"text {id_}", **memory.values}
        insert("agent_memories", values)
        if memory.usage is not None:
            insert("memory_usage", {"agent_id": owner, "memory_id": id_, **memory.usage})
        return id_

    return added


@pytest.fixture(scope="module")
def rows(connection: psycopg.Connection, add: Add) -> dict[str, dict[str, Any]]:
    """What the view shows of each memory, beside what the tables hold: by name."""
    ids = {name: add("owner", memory) for name, memory in MEMORIES.items()}
    with connection.cursor(row_factory=dict_row) as cursor:
        query = (
            "SELECT v.*, m.created_at, m.trust_curve, m.trust_half_life_hours, now() AS as_of "
            "FROM memory_signals v JOIN agent_memories m USING (agent_id, id) "
            "WHERE v.agent_id = 'owner'"
        )
        by_id = {row["id"]: row for row in cursor.execute(query).fetchall()}
    return {name: by_id[id_] for name, id_ in ids.items()}


DEFAULTS = {
    "memory_type": "episodic",
    "tier": "long",
    "status": "active",
    "trust": None,
    "usefulness": 0.5,
    "importance": 0.5,
    "confidence": 0.8,
    "last_accessed_at": None,
    "retrieval_count": 0,
    "success_count": 0,
    "failure_count": 0,
}
SHOWN = [profile for profile in profiles.BUILT_IN.values() if profile is not profiles.hybrid]
"""Of words first of all the view has none."""


@pytest.mark.parametrize("name", MEMORIES)
def test_signals_are_those_of_the_scorer_and_values_are_as_stored(
    rows: dict[str, dict[str, Any]], name: str
) -> None:
    memory, row = MEMORIES[name], rows[name]
    of_scorer = (
        *("created_at", "last_accessed_at", "retrieval_count", "tier", "memory_type"),
        *("trust", "trust_curve", "trust_half_life_hours"),
    )
    values = {name: row[name] for name in of_scorer}

    for profile in SHOWN:
        expected = score(profile, values, as_of=row["as_of"]).signals
        for signal in {"recency", "frequency"} & expected.keys():
            shown = row[f"{signal}_{profile.name}"]
            assert shown == pytest.approx(expected[signal], rel=1e-9, abs=1e-9)
    trust = score(profiles.trust, values, as_of=row["as_of"]).signals["trust"]
    assert row["decayed_trust"] == (row["trust"] and pytest.approx(trust, rel=1e-9))
    for age, clock in (("age_days", "created_at"), ("days_since_access", "last_accessed_at")):
        if row[clock] is None:
            assert row[age] is None
        else:
            days = max(0.0, (row["as_of"] - row[clock]) / timedelta(days=1))
            assert row[age] == pytest.approx(days, rel=1e-9)
    stored = DEFAULTS | dict(memory.values) | dict(memory.usage or {})
    assert {key: row[key] for key in stored} == stored


def test_valid_says_whether_it_holds_now(connection: psycopg.Connection, add: Add) -> None:
    for values, valid in (
        ({}, True),
        ({"valid_from": ago(days=1), "valid_until": ago(days=-1)}, True),
        ({"valid_from": ago(days=-1)}, False),
        ({"valid_until": ago(days=1)}, False),
        ({"invalidated_at": ago(days=1)}, False),
        ({"invalidated_at": ago(days=-1)}, True),
        ({"expires_at": ago(days=1)}, False),
        ({"expires_at": ago(days=-1)}, True),
        ({"status": "archived"}, True),
    ):
        id_ = add("team:valid", Stored(values))
        query = "SELECT valid FROM memory_signals WHERE agent_id = 'team:valid' AND id = %s"

        assert connection.execute(query, [id_]).fetchall() == [(valid,)]


# The plan


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
        "SELECT agent_id, id, 3, now() FROM agent_memories WHERE agent_id LIKE 'agent %'"
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


# team_memories


def test_team_memories_shows_those_of_teams_by_their_id(
    connection: psycopg.Connection, add: Add
) -> None:
    for owner in ("red", "team:red", "team:team"):
        add(owner, Stored({"content": f"of {owner}"}))

    shown = connection.execute(
        "SELECT team_id, agent_id, content FROM team_memories "
        "WHERE content LIKE 'of %' ORDER BY team_id"
    ).fetchall()

    assert shown == [("red", "team:red", "of team:red"), ("team", "team:team", "of team:team")]
