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
    return float(0.5 * similarity + 0.3 * row["importance"] + 0.2 * exp(-0.05 * idle))


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


# Grace

GRACE = """
CREATE TABLE cognition_memory_artifacts (
    id serial PRIMARY KEY, memory_ref varchar(128) UNIQUE NOT NULL, loop_id varchar(128) NOT NULL,
    component varchar(64) NOT NULL, output_type varchar(32) NOT NULL, result_data text NOT NULL,
    reasoning_chain_id varchar(128), trust_score float8, provenance_score float8,
    consensus_score float8, governance_score float8, usage_score float8, decay_curve varchar(32),
    half_life_hours float8, access_count integer, success_count integer, failure_count integer,
    last_accessed_at timestamptz, confidence float8, quality_score float8, importance float8,
    constitutional_compliance boolean, requires_approval boolean, domain varchar(64),
    category varchar(64), policy_tags text, meta_data text, created_at timestamptz DEFAULT now(),
    updated_at timestamptz, expires_at timestamptz, is_archived boolean, is_deleted boolean,
    verification_envelope_id varchar(128), audit_log_id integer);
CREATE TABLE cognition_trust_events (
    id serial PRIMARY KEY, artifact_id integer NOT NULL REFERENCES cognition_memory_artifacts,
    event_type varchar(32) NOT NULL, reason varchar(64) NOT NULL, old_trust_score float8 NOT NULL,
    new_trust_score float8 NOT NULL, delta float8 NOT NULL, provenance_delta float8 DEFAULT 0,
    consensus_delta float8 DEFAULT 0, governance_delta float8 DEFAULT 0,
    usage_delta float8 DEFAULT 0, actor varchar(64), meta_data text,
    created_at timestamptz DEFAULT now());
CREATE TABLE cognition_memory_index (
    id serial PRIMARY KEY, artifact_id integer NOT NULL REFERENCES cognition_memory_artifacts,
    index_type varchar(32) NOT NULL, index_value varchar(256) NOT NULL, weight float8 DEFAULT 1,
    created_at timestamptz DEFAULT now());
"""
GRACES_FACTORS: Mapping[str, Callable[[float], float]] = {
    "hyperbolic": lambda half_lives: 1 / (1 + half_lives),
    "exponential": lambda half_lives: 0.5**half_lives,
    "linear": lambda half_lives: max(0.0, 1 - half_lives / 2),
}


def grace_row(number: int, curve: str, half_life: float, trust: float, **values: Any) -> Row:
    accessed, created = values.pop("accessed", None), values.pop("created", 20)
    return {
        "id": number,
        "memory_ref": f"mem_{number:016x}",
        "loop_id": "loop-1",
        "component": "reflection",
        "output_type": "reasoning",
        "result_data": f'"result {number}"',
        "trust_score": trust,
        "provenance_score": 0.75,
        "consensus_score": 0.5,
        "governance_score": 1.0,
        "usage_score": 0.0,
        "decay_curve": curve,
        "half_life_hours": half_life,
        "last_accessed_at": None if accessed is None else before(accessed),
        "importance": number / 10,
        "created_at": before(created),
    } | values


def grace_score(row: Row) -> float:
    """0.40 decayed trust + 0.35 similarity + 0.15 / (1 + hours / 168) + 0.10 importance."""
    trust, accessed = row["trust_score"], row["last_accessed_at"]
    if accessed is not None:
        half_lives = days(accessed) * 24 / row["half_life_hours"]
        trust *= GRACES_FACTORS[row["decay_curve"]](half_lives)
    recency = 1 / (1 + days(row["created_at"]) * 24 / 168)
    score = 0.40 * trust + 0.35 * row["similarity"] + 0.15 * recency + 0.10 * row["importance"]
    return float(score)


def test_grace(own: Database, theirs: psycopg.Connection[Any], repo: MemoryRepository) -> None:
    used = {"access_count": 6, "success_count": 5, "failure_count": 1}
    rows = [
        grace_row(1, "hyperbolic", 168, 0.8, accessed=7, **used),
        grace_row(2, "exponential", 72, 0.6, accessed=1, created=3),
        # The same result of another component is another memory.
        grace_row(3, "linear", 24, 0.9, accessed=1.5, result_data='"result 2"', component="hunter"),
        grace_row(4, "linear", 24, 0.4, constitutional_compliance=False, requires_approval=True),
        grace_row(
            *(5, "hyperbolic", 120, 0.5),
            result_data='{"choice": "b"}',
            meta_data='{"user": "ann"}',
            policy_tags='[{"policy_name": "privacy", "status": "violation", "reason": ""}]',
            audit_log_id=7,
        ),
        grace_row(6, "hyperbolic", 120, 0.9, is_archived=True),
        grace_row(7, "hyperbolic", 120, 0.9, is_deleted=True),
    ]
    theirs.execute(GRACE)
    insert(theirs, "cognition_memory_artifacts", rows)
    first = {"artifact_id": 1, "actor": "system"}
    events = [
        first
        | {"event_type": "initial", "reason": "Initial trust", "created_at": before(20)}
        | {"old_trust_score": 0, "new_trust_score": 0.75, "delta": 0.75}
        | {"provenance_delta": 0.75, "consensus_delta": 0.5, "governance_delta": 1},
        first
        | {"event_type": "successful_use", "reason": "success", "created_at": before(7)}
        | {"old_trust_score": 0.75, "new_trust_score": 0.8, "delta": 0.05, "usage_delta": 0.25}
        | {"meta_data": '{"access_count": 6}'},
    ]
    insert(theirs, "cognition_trust_events", events)
    labels = [("keyword", "billing", 4), ("component", "reflection", 1), ("policy", "privacy", 2)]
    for kind, value, weight in labels:
        label = {"index_type": kind, "index_value": value, "weight": weight}
        insert(theirs, "cognition_memory_index", [{"artifact_id": 1} | label])

    assert outcomes(own, "grace.sql", agent="grace") == {"inserted": 6}
    assert outcomes(own, "grace.sql", agent="grace") == {"known": 6}

    ids = {row["id"]: repo.ids.of_key("grace", row["memory_ref"]) for row in rows}
    for number, similarity in ((1, 0.25), (2, 1), (4, 0.75)):  # Grace itself has no vectors
        rows[number - 1]["similarity"] = similarity
        repo.update("grace", ids[number], embedding=similar(similarity))
    ranked = {ids[row["id"]]: {"similarity": 0} | row for row in rows[:5]}
    assert_ranked(repo, "grace", profiles.trust, ranked, grace_score)
    one, four, five, six = (read(repo, "grace", ids[number]) for number in (1, 4, 5, 6))
    assert (one.key, one.content, one.loop) == (rows[0]["memory_ref"], "result 1", "loop-1")
    assert (one.retrieval_count, one.success_count, one.failure_count) == (6, 5, 1)
    assert (one.trust, one.trust_provenance, one.trust_governance) == (0.8, 0.75, 1.0)
    assert (four.compliant, four.requires_approval, four.violates_policy) == (False, True, False)
    assert (five.content, five.violates_policy) == ('{"choice": "b"}', True)
    assert five.metadata.items() >= {"user": "ann", "audit_log_id": 7}.items()
    assert six.status == "archived"
    found = {(one.kind, one.value, one.weight) for one in repo.labels.of("grace", ids[1])}
    assert found == {
        *(("keyword", "billing", 1.0), ("component", "reflection", 0.25)),
        ("tag", "policy:privacy", 0.5),
    }
    initial, success, *_ = repo.history("grace", ids[1])
    assert (initial.event_type, initial.occurred_at) == ("initial", before(20))
    assert (initial.delta("trust_provenance"), initial.delta()) == (0.75, 0.75)
    assert (success.event_type, success.reason) == ("reinforcement", "success")
    assert (success.actor, success.new_values["trust"]) == ("system", 0.8)
    assert (success.delta("trust_usage"), success.delta("trust_provenance")) == (0.25, 0)
    assert success.metadata == {"event_type": "successful_use", "access_count": 6}


# IBEX Harness

IBEX_HARNESS = """
CREATE TABLE memories (
    id uuid PRIMARY KEY, org_id uuid NOT NULL, agent_id uuid NOT NULL, session_id uuid,
    created_by_user uuid, content text NOT NULL, content_hash text, content_tokens integer NOT NULL,
    category text NOT NULL DEFAULT 'factual', status text NOT NULL DEFAULT 'active',
    deleted_at timestamptz, valid_from timestamptz NOT NULL, valid_until timestamptz,
    observed_at timestamptz NOT NULL, created_at timestamptz, updated_at timestamptz NOT NULL,
    embedding vector(8), embedding_model text, embedding_dim integer,
    confidence numeric(3, 2) NOT NULL DEFAULT 0.80,
    usefulness_score numeric(3, 2) NOT NULL DEFAULT 0.50, source text NOT NULL DEFAULT 'extracted',
    superseded_by uuid, merged_into uuid, retrieval_count integer NOT NULL DEFAULT 0,
    last_retrieved_at timestamptz, pii_detected boolean NOT NULL DEFAULT false,
    pii_redacted boolean NOT NULL DEFAULT false, metadata jsonb NOT NULL DEFAULT '{}');
CREATE TABLE memory_labels (
    memory_id uuid, org_id uuid, label text, confidence numeric(3, 2) DEFAULT 1.00,
    created_at timestamptz DEFAULT now(), PRIMARY KEY (memory_id, label));
CREATE TABLE memory_relationships (
    id uuid PRIMARY KEY DEFAULT gen_random_uuid(), org_id uuid, source_memory_id uuid,
    target_memory_id uuid, relationship_type text, confidence numeric(3, 2) DEFAULT 0.90,
    resolution_notes text, created_at timestamptz DEFAULT now());
CREATE TABLE memory_feedback (
    id uuid PRIMARY KEY DEFAULT gen_random_uuid(), org_id uuid, memory_id uuid, agent_id uuid,
    feedback text, session_id uuid, trace_id uuid, notes text,
    created_at timestamptz DEFAULT now(), updated_at timestamptz DEFAULT now());
"""
IBEX_AGENT, IBEX_ORGANISATION = UUID(int=900), UUID(int=901)


def ibex_row(number: int, similarity: float, age: float | None, **values: Any) -> Row:
    created = None if age is None else before(age)
    return {
        "id": UUID(int=number),
        "org_id": IBEX_ORGANISATION,
        "agent_id": IBEX_AGENT,
        "content": f"memory {number}",
        "content_tokens": 3,
        "category": "factual",
        "valid_from": before(100),
        "observed_at": before(50),
        "created_at": created,
        "updated_at": before(1),
        "embedding": str(similar(similarity)),
        "embedding_model": "bge-m3",
        "confidence": 0.8,
        "usefulness_score": 0.5,
        "retrieval_count": 0,
        "similarity": similarity,
    } | values


def ibex_score(row: Row) -> float:
    """0.40 relevance + 0.25 recency + 0.20 usefulness + 0.10 confidence + 0.05 frequency."""
    recency = 0.5 if row["created_at"] is None else exp(-0.05 * days(row["created_at"]))
    frequency = min(row["retrieval_count"] / 50, 1)
    score = 0.40 * row["similarity"] + 0.25 * recency + 0.20 * row["usefulness_score"]
    return float(score + 0.10 * row["confidence"] + 0.05 * frequency)


def test_ibex_harness(
    own: Database, theirs: psycopg.Connection[Any], repo: MemoryRepository
) -> None:
    old, new, merged, whole = (UUID(int=number) for number in (5, 6, 7, 1))
    rows = [
        ibex_row(1, 0.75, 14, usefulness_score=0.9, retrieval_count=60, session_id=UUID(int=77)),
        ibex_row(2, 0.5, 1, confidence=0.3, retrieval_count=10, last_retrieved_at=before(2)),
        ibex_row(3, 0.25, None, category="preference", metadata={"tone": "dry"}),
        # The same text, valid later, is another memory.
        ibex_row(4, 0.25, 3, content="memory 2", pii_detected=True),
        ibex_row(5, 1, 40, status="superseded", superseded_by=new),
        ibex_row(6, 1, 20),
        ibex_row(7, 1, 20, status="merged_into", merged_into=whole),
        ibex_row(8, 1, 20, status="archived"),
        ibex_row(9, 1, 20, status="quarantined"),
        ibex_row(10, 1, 20, valid_until=before(2)),
        ibex_row(11, 1, 20, status="deleted"),
    ]
    theirs.execute(IBEX_HARNESS)
    insert(theirs, "memories", [{k: v for k, v in r.items() if k != "similarity"} for r in rows])
    labels = [("factual", 1.0), ("procedural", 0.75)]
    insert(
        theirs,
        "memory_labels",
        [{"memory_id": whole, "label": label, "confidence": share} for label, share in labels],
    )
    insert(
        theirs,
        "memory_relationships",
        [
            {"source_memory_id": new, "target_memory_id": old, "relationship_type": "supersedes"}
            | {"confidence": 0.95, "resolution_notes": "moved", "created_at": before(20)}
        ],
    )
    vote = {"memory_id": whole, "agent_id": IBEX_AGENT, "feedback": "positive", "notes": "good"}
    insert(theirs, "memory_feedback", [vote | {"updated_at": before(4)}])

    assert outcomes(own, "ibex_harness.sql") == {"inserted": 10}
    assert outcomes(own, "ibex_harness.sql") == {"known": 10}

    agent = str(IBEX_AGENT)
    ranked = {row["id"]: row for row in rows if row["id"].int in (1, 2, 3, 4, 6)}
    assert_ranked(repo, agent, profiles.five_factor, ranked, ibex_score)
    one, two, three, four, five, _, seven, eight, nine, ten = (
        read(repo, agent, row["id"]) for row in rows[:10]
    )
    assert (one.memory_type, one.additional_types) == ("factual", ["procedural"])
    assert (one.session, one.embedding_model) == (str(UUID(int=77)), "bge-m3")
    assert (two.retrieval_count, two.last_accessed_at) == (10, before(2))
    assert (three.created_at, three.observed_at, three.metadata["tone"]) == (
        None,
        before(50),
        "dry",
    )
    assert four.metadata.items() >= {"pii_detected": True, "source": "extracted"}.items()
    assert (five.status, five.superseded_by, five.invalidated_at) == ("active", new, before(20))
    assert [one.status for one in (seven, eight, nine)] == ["consolidated", "archived", "archived"]
    assert nine.metadata["quarantined"] is True
    assert (ten.valid_from, ten.valid_until) == (before(100), before(2))
    assert {(one.kind, one.value, one.weight) for one in repo.labels.of(agent, whole)} == {
        ("concept", label, share) for label, share in labels
    }
    [link], [merge] = repo.links.of(agent, new), repo.links.of(agent, merged)
    assert (link.target_id, link.kind, link.weight) == (old, "supersedes", 0.95)
    assert (merge.target_id, merge.kind) == (whole, "merged_into")
    [voted], [linked] = repo.history(agent, whole), repo.history(agent, new)
    assert (voted.event_type, voted.reason, voted.occurred_at) == ("feedback", "good", before(4))
    assert (voted.actor, voted.metadata) == (agent, {"feedback": "positive"})
    assert (linked.event_type, linked.reason) == ("linked", "moved")


def test_ibex_harness_in_times_without_a_zone(
    own: Database, theirs: psycopg.Connection[Any], repo: MemoryRepository
) -> None:
    theirs.execute(IBEX_HARNESS.replace("timestamptz", "timestamp"))
    row = ibex_row(1, 0.5, 14, last_retrieved_at=before(2))
    del row["similarity"]
    times = {name: naive(value) for name, value in row.items() if isinstance(value, datetime)}
    insert(theirs, "memories", [row | times])
    theirs.execute(f"ALTER DATABASE {theirs.info.dbname} SET timezone = 'Asia/Tokyo'")

    assert outcomes(own, "ibex_harness.sql") == {"inserted": 1}

    moved = read(repo, str(IBEX_AGENT), row["id"])
    assert (moved.created_at, moved.last_accessed_at) == (before(14), before(2))
    assert moved.valid_from == before(100)
