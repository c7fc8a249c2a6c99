"""IBEX Harness moves in: nothing is lost, and the ranking is the one of its own formula."""

from __future__ import annotations

from datetime import datetime
from math import exp
from typing import Any
from uuid import UUID

import psycopg

from pgrecall import MemoryRepository, profiles
from tests.integration.moving_in import Row, assert_ranked, days, insert, naive, outcomes
from tests.integration.support import before, read, similar

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
    own_url: str, theirs: psycopg.Connection[Any], own_repo: MemoryRepository
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

    assert outcomes(own_url, "ibex_harness.sql") == {"inserted": 10}
    assert outcomes(own_url, "ibex_harness.sql") == {"known": 10}

    agent = str(IBEX_AGENT)
    ranked = {row["id"]: row for row in rows if row["id"].int in (1, 2, 3, 4, 6)}
    assert_ranked(own_repo, agent, profiles.five_factor, ranked, ibex_score)
    one, two, three, four, five, _, seven, eight, nine, ten = (
        read(own_repo, agent, row["id"]) for row in rows[:10]
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
    assert {(one.kind, one.value, one.weight) for one in own_repo.labels.of(agent, whole)} == {
        ("concept", label, share) for label, share in labels
    }
    [link], [merge] = own_repo.links.of(agent, new), own_repo.links.of(agent, merged)
    assert (link.target_id, link.kind, link.weight) == (old, "supersedes", 0.95)
    assert (merge.target_id, merge.kind) == (whole, "merged_into")
    [voted], [linked] = own_repo.history(agent, whole), own_repo.history(agent, new)
    assert (voted.event_type, voted.reason, voted.occurred_at) == ("feedback", "good", before(4))
    assert (voted.actor, voted.metadata) == (agent, {"feedback": "positive"})
    assert (linked.event_type, linked.reason) == ("linked", "moved")


def test_ibex_harness_in_times_without_a_zone(
    own_url: str, theirs: psycopg.Connection[Any], own_repo: MemoryRepository
) -> None:
    theirs.execute(IBEX_HARNESS.replace("timestamptz", "timestamp"))
    row = ibex_row(1, 0.5, 14, last_retrieved_at=before(2))
    del row["similarity"]
    times = {name: naive(value) for name, value in row.items() if isinstance(value, datetime)}
    insert(theirs, "memories", [row | times])
    theirs.execute(f"ALTER DATABASE {theirs.info.dbname} SET timezone = 'Asia/Tokyo'")

    assert outcomes(own_url, "ibex_harness.sql") == {"inserted": 1}

    moved = read(own_repo, str(IBEX_AGENT), row["id"])
    assert (moved.created_at, moved.last_accessed_at) == (before(14), before(2))
    assert moved.valid_from == before(100)
