"""Grace moves in: nothing is lost, and the ranking is the one of its own formula."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import psycopg
import pytest

from pgrecall import MemoryRepository, profiles
from pgrecall.core.ids import id_of_key
from tests.integration.moving_in import Row, assert_ranked, days, insert, naive, outcomes
from tests.integration.support import before, read, similar
from tests.integration.test_adhoc import Database

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


GC_LOG = """
CREATE TABLE cognition_gc_log (
    id serial PRIMARY KEY, policy_name text, artifacts_scanned integer,
    artifacts_archived integer, artifacts_deleted integer, threshold_trust float8,
    threshold_age_hours float8, duration_ms integer, metadata text, created_at timestamp);
"""


@pytest.mark.parametrize("spelling", ["metadata", "meta_data"])
def test_grace(
    own_url: str, theirs: psycopg.Connection[Any], own_repo: MemoryRepository, spelling: str
) -> None:
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
            policy_tags='[{"policy_name": "privacy", "status": "violation", "reason": ""}]',
            audit_log_id=7,
        )
        | {spelling: '{"user": "ann"}'},
        grace_row(6, "hyperbolic", 120, 0.9, is_archived=True),
        grace_row(7, "hyperbolic", 120, 0.9, is_deleted=True, updated_at=before(2)),
    ]
    theirs.execute(GRACE.replace("meta_data", spelling))
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
        | {spelling: '{"access_count": 6}'},
    ]
    insert(theirs, "cognition_trust_events", events)
    labels = [("keyword", "billing", 4), ("component", "reflection", 1), ("policy", "privacy", 2)]
    for kind, value, weight in labels:
        label = {"index_type": kind, "index_value": value, "weight": weight}
        insert(theirs, "cognition_memory_index", [{"artifact_id": 1} | label])

    assert outcomes(own_url, "grace.sql", agent="grace") == {"inserted": 7}
    assert outcomes(own_url, "grace.sql", agent="grace") == {"known": 7}

    ids = {row["id"]: id_of_key("grace", row["memory_ref"]) for row in rows}
    for number, similarity in ((1, 0.25), (2, 1), (4, 0.75)):  # Grace itself has no vectors
        rows[number - 1]["similarity"] = similarity
        own_repo.update("grace", ids[number], embedding=similar(similarity))
    ranked = {ids[row["id"]]: {"similarity": 0} | row for row in rows[:5]}
    assert_ranked(own_repo, "grace", profiles.trust, ranked, grace_score)
    one, four, five, six = (read(own_repo, "grace", ids[number]) for number in (1, 4, 5, 6))
    assert (one.key, one.content, one.loop) == (rows[0]["memory_ref"], "result 1", "loop-1")
    assert (one.retrieval_count, one.success_count, one.failure_count) == (6, 5, 1)
    assert (one.trust, one.trust_provenance, one.trust_governance) == (0.8, 0.75, 1.0)
    assert (four.compliant, four.requires_approval, four.violates_policy) == (False, True, False)
    assert (five.content, five.violates_policy) == ('{"choice": "b"}', True)
    assert five.metadata.items() >= {"user": "ann", "audit_log_id": 7}.items()
    assert six.status == "archived"
    seven = read(own_repo, "grace", ids[7])
    assert (seven.invalidation_reason, seven.invalidated_at) == ("forgotten", before(2))
    found = {(one.kind, one.value, one.weight) for one in own_repo.labels.of("grace", ids[1])}
    assert found == {
        *(("keyword", "billing", 1.0), ("component", "reflection", 0.25)),
        ("tag", "policy:privacy", 0.5),
    }
    initial, success, *_ = own_repo.history("grace", ids[1])
    assert (initial.event_type, initial.occurred_at) == ("initial", before(20))
    assert (initial.delta("trust_provenance"), initial.delta()) == (0.75, 0.75)
    assert (success.event_type, success.reason) == ("reinforcement", "success")
    assert (success.actor, success.new_values["trust"]) == ("system", 0.8)
    assert (success.delta("trust_usage"), success.delta("trust_provenance")) == (0.25, 0)
    assert success.metadata == {"event_type": "successful_use", "access_count": 6}


def test_the_log_of_grace_moves_and_a_dry_run_says_what_would(
    own_url: str, theirs: psycopg.Connection[Any], own_repo: MemoryRepository
) -> None:
    theirs.execute(GRACE + GC_LOG)
    ends: tuple[Row, ...] = ({}, {"is_archived": True}, {"is_deleted": True})
    rows = [grace_row(n, "linear", 24, 0.5, **end) for n, end in enumerate(ends)]
    insert(theirs, "cognition_memory_artifacts", rows)
    insert(
        theirs,
        "cognition_memory_index",
        [{"artifact_id": 0, "index_type": "tag", "index_value": "tea"}],
    )
    started = naive(before(3))
    run = {"policy_name": "nightly", "artifacts_scanned": 9, "artifacts_archived": 4}
    run |= {"artifacts_deleted": 2, "threshold_trust": 0.2, "threshold_age_hours": 720.0}
    run |= {"duration_ms": 1500, "metadata": '{"by": "cron"}', "created_at": started}
    insert(theirs, "cognition_gc_log", [run])

    def found() -> list[Row]:
        options = {"agent": "grace", "source": "theirs", "dry_run": "on"}
        return Database(own_url).ask("import/grace.sql", **options).tables["Found"]

    assert [(row["what"], row["rows"], row["outcome"]) for row in found()] == [
        ("artifacts", "3", "become memories"),
        ("artifacts, archived", "1", "become archived memories"),
        ("artifacts, deleted", "1", "become forgotten memories"),
        ("index rows", "1", "become labels"),
        ("runs of the garbage collection", "1", "become runs"),
        ("runs with metadata", "1", "their metadata stays behind"),
    ]
    runs = (
        "SELECT policy, scanned, archived, deleted, min_trust_threshold, max_age_hours, "
        "seconds, started_at FROM pgrecall.gc_runs WHERE agent_id = 'grace'"
    )
    assert (own_repo.count("grace"), Database(own_url).rows(runs)) == (0, [])
    assert outcomes(own_url, "grace.sql", agent="grace") == {"inserted": 3}
    assert outcomes(own_url, "grace.sql", agent="grace") == {"known": 3}
    assert Database(own_url).rows(runs) == [("nightly", 9, 4, 2, 0.2, 720, 1.5, before(3))]
    assert [(row["what"], row["outcome"]) for row in found()] == [
        ("artifacts that are there already", "stay behind"),
        ("index rows of no artifact, or of one that is there", "stay behind"),
    ]


def test_grace_needs_an_agent(own_url: str) -> None:
    refused = Database(own_url).run("import/grace.sql")

    assert (refused.code, refused.printed) == (3, "")
    assert "agent is not set: psql -v agent=… -f grace.sql" in refused.errors
