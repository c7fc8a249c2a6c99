from __future__ import annotations

import json
from math import cos, exp, fsum, radians
from typing import Any

import pytest
from sqlalchemy import Engine

from pgrecall import MemoryRepository, NewMemory, ScoredMemory, profiles
from tests.integration.support import NORTH, NOW, at, before, sql

WEIGHTS = profiles.five_factor.weights
ASKED: dict[str, Any] = {"profile": "five_factor", "as_of": NOW}


def _hit(repo: MemoryRepository, memory: NewMemory, agent: str = "agent") -> ScoredMemory:
    repo.add(agent, memory)
    [hit] = repo.search(agent, NORTH, **ASKED, touch=False)
    return hit


def test_the_signals_are_those_of_the_row(either: MemoryRepository, engine: Engine) -> None:
    memory = NewMemory("a", embedding=at(60), usefulness=0.3, confidence=0.7, created_at=before(10))
    memory_id = either.add("agent", memory)
    sql(
        engine,
        "INSERT INTO pgrecall.memory_usage (agent_id, memory_id, retrieval_count) "
        "VALUES ('agent', :memory, 20)",
        memory=memory_id,
    )

    [hit] = either.search("agent", NORTH, **ASKED)

    assert hit.similarity == pytest.approx(cos(radians(60)), abs=1e-6)
    assert hit.signals == pytest.approx(
        {
            "similarity": 0.5,
            "recency": exp(-0.5),
            "usefulness": 0.3,
            "confidence": 0.7,
            "frequency": 0.4,
        },
        abs=1e-6,
    )


def test_a_contribution_is_weight_times_signal(either: MemoryRepository) -> None:
    hit = _hit(either, NewMemory("a", embedding=at(25), usefulness=0.9, created_at=before(3)))

    assert hit.contributions == {name: WEIGHTS[name] * hit.signals[name] for name in WEIGHTS}


@pytest.mark.parametrize("angle", [0, 10, 45, 90, 135, 180])
def test_the_contributions_sum_to_the_score(
    shared_repo: MemoryRepository, agent: str, angle: int
) -> None:
    memory = NewMemory("a", embedding=at(angle), usefulness=0.123, created_at=before(angle))

    hit = _hit(shared_repo, memory, agent)

    assert fsum(hit.contributions.values()) == pytest.approx(hit.score, abs=1e-12)
    assert 0 <= hit.score <= 1


def test_signals_come_in_the_profiles_order(either: MemoryRepository) -> None:
    hit = _hit(either, NewMemory("a", embedding=NORTH, created_at=NOW))

    assert list(hit.signals) == list(hit.contributions) == list(WEIGHTS)


def test_similarity_is_none_without_an_embedding_and_counts_as_zero(
    either: MemoryRepository,
) -> None:
    hit = _hit(either, NewMemory("a", embedding=None, created_at=NOW))

    assert hit.similarity is None
    assert hit.signals["similarity"] == 0
    assert hit.record()["similarity"] is None


def test_an_opposite_direction_is_not_similar_at_all(either: MemoryRepository) -> None:
    hit = _hit(either, NewMemory("a", embedding=at(180), created_at=NOW))

    assert hit.similarity == hit.signals["similarity"] == 0


@pytest.mark.parametrize("length", [1e-12, 0.5, 3.0, 1e12])
def test_the_length_of_a_vector_does_not_matter(
    shared_repo: MemoryRepository, agent: str, length: float
) -> None:
    memory = NewMemory("a", embedding=[x * length for x in at(60)], created_at=NOW)

    assert _hit(shared_repo, memory, agent).similarity == pytest.approx(0.5, abs=1e-6)


def test_a_hit_carries_the_whole_memory(either: MemoryRepository) -> None:
    hit = _hit(either, NewMemory("a", embedding=NORTH, tags=["t"], created_at=NOW))

    assert hit.memory == either.get("agent", hit.memory.id)


def test_a_record_is_plain_json_rounded_to_six_decimals(either: MemoryRepository) -> None:
    hit = _hit(either, NewMemory("a", embedding=at(33), created_at=before(7)))

    record = hit.record()

    assert record == {
        "id": str(hit.memory.id),
        "content": "a",
        "score": round(hit.score, 6),
        "similarity": round(cos(radians(33)), 6),
        "signals": {name: round(value, 6) for name, value in hit.signals.items()},
        "contributions": {name: round(value, 6) for name, value in hit.contributions.items()},
        "created_at": "2026-05-25T12:00:00+00:00",
    }
    assert record["score"] != hit.score
    assert json.loads(json.dumps(record)) == record


def test_the_record_of_an_undated_memory_says_null(either: MemoryRepository) -> None:
    hit = _hit(either, NewMemory("a", embedding=NORTH, created_at=None))

    assert hit.record()["created_at"] is None
