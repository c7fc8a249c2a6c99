"""How many hits come back, in what order, above which thresholds, and what each tells."""

from __future__ import annotations

import json
import random
from math import cos, exp, fsum, radians
from typing import Any
from uuid import UUID

import pytest
from sqlalchemy import Engine

from pgrecall import MemoryRepository, NewMemory, Profile, ScoredMemory, profiles
from pgrecall.signals import Confidence, Recency, Similarity
from tests.integration.support import NORTH, NOW, at, before, contents, similar, sql

ASKED: dict[str, Any] = {"profile": "five_factor", "as_of": NOW, "touch": False}


def test_k_limits_the_hits_and_ten_come_back_unless_it_is_given(
    shared_repo: MemoryRepository, agent: str
) -> None:
    angles = random.sample(range(90), 12)
    shared_repo.add_many(agent, [NewMemory(f"{a:02}", embedding=at(a)) for a in angles])
    best = sorted(f"{angle:02}" for angle in angles)

    for k, found in ((1, 1), (7, 7), (12, 12), (13, 12), (1_000_000, 12)):
        hits = shared_repo.search(agent, NORTH, k=k)
        assert contents(hits) == best[:found]
        assert [hit.score for hit in hits] == sorted((hit.score for hit in hits), reverse=True)
    assert contents(shared_repo.search(agent, NORTH)) == best[:10]


def test_ties_are_ordered_by_id(shared_repo: MemoryRepository, agent: str) -> None:
    ids = [UUID(int=n) for n in random.sample(range(1, 100), 20)]
    shared_repo.add_many(
        agent,
        [
            NewMemory(f"{n} of equals", id=memory_id, embedding=NORTH, created_at=NOW)
            for n, memory_id in enumerate(ids)
        ],
    )

    hits = shared_repo.search(agent, NORTH, k=15, as_of=NOW)

    assert [hit.memory.id for hit in hits] == sorted(ids)[:15]


def test_min_similarity_leaves_out_what_is_less_similar(
    shared_repo: MemoryRepository, agent: str
) -> None:
    plain: dict[str, Any] = {"created_at": NOW, "usefulness": 0.0, "confidence": 0.0}
    shared_repo.add_many(
        agent,
        [
            NewMemory("near", embedding=similar(0.9), **plain),
            NewMemory("far", embedding=[3.0, 4.0, *[0.0] * 6], **plain),
            NewMemory("opposite", embedding=at(180), created_at=NOW, usefulness=1, confidence=1),
            NewMemory("not embedded", embedding=None),
        ],
    )

    def found(least: float, **arguments: Any) -> list[str]:
        asked = {**ASKED, "min_similarity": least, **arguments}
        return contents(shared_repo.search(agent, NORTH, **asked))

    assert found(0.65) == ["near"]
    assert found(0.6) == ["near", "far"], "itself is included"
    assert found(0.6 + 1e-9) == ["near"]
    assert sorted(found(0)) == ["far", "near", "opposite"]
    shared_repo.add(agent, NewMemory("best", embedding=at(59), created_at=NOW, usefulness=1))
    assert contents(shared_repo.search(agent, NORTH, k=1, **ASKED)) == ["best"]
    assert found(0.65, k=1) == ["near"], "applied before the limit"


def test_min_score_leaves_out_what_scores_less(shared_repo: MemoryRepository, agent: str) -> None:
    shared_repo.add_many(
        agent, [NewMemory(f"{i}", embedding=at(i * 10), created_at=before(7)) for i in range(9)]
    )
    hits = shared_repo.search(agent, NORTH, **ASKED)
    least = hits[3].score

    assert contents(shared_repo.search(agent, NORTH, min_score=least, **ASKED)) == [*"0123"]
    assert contents(shared_repo.search(agent, NORTH, min_score=least + 1e-12, **ASKED)) == [*"012"]


def test_weights_replace_the_profiles(shared_repo: MemoryRepository, agent: str) -> None:
    shared_repo.add_many(
        agent,
        [
            NewMemory("similar", embedding=NORTH, usefulness=0, confidence=0),
            NewMemory("useful", embedding=at(90), usefulness=1, confidence=0),
        ],
    )

    def found(weights: dict[str, float], **arguments: Any) -> dict[str, float]:
        hits = shared_repo.search(agent, NORTH, weights=weights, **arguments)
        return {hit.memory.content: hit.score for hit in hits}

    only_similar, only_useful = {"similarity": 1.0}, {"usefulness": 0.75, "confidence": 0.25}
    assert list(found(only_similar).items()) == [("similar", 1), ("useful", pytest.approx(0))]
    assert list(found(only_useful).items()) == [("useful", 0.75), ("similar", 0)]
    halves = found({"similarity": 1, "usefulness": 3}, normalise_weights=True)
    assert halves == pytest.approx({"similar": 0.25, "useful": 0.75})
    [first, _] = shared_repo.search(agent, NORTH, weights=only_similar)
    assert (first.signals["usefulness"], first.contributions["usefulness"]) == (0, 0)


def test_a_profile_may_be_named_or_one_s_own(shared_repo: MemoryRepository, agent: str) -> None:
    mine = Profile("mine", {Recency(half_life=1): 0.5, Confidence(): 0.5})
    for days in (1, 2):
        new = NewMemory(f"{days}", embedding=None, confidence=0.5, created_at=before(days))
        shared_repo.add(agent, new)
    shared_repo.add(agent, NewMemory("3", embedding=at(60), confidence=0, created_at=before(999)))
    asked: dict[str, Any] = {"as_of": NOW, "touch": False}

    hits = shared_repo.search(agent, NORTH, profile=mine, **asked)

    assert contents(hits) == ["1", "2", "3"]
    assert [hit.score for hit in hits] == pytest.approx([0.5, 0.375, 0])
    assert set(hits[0].signals) == {"recency", "confidence"}
    named = shared_repo.search(agent, NORTH, profile="hybrid", **asked)
    assert named == shared_repo.search(agent, NORTH, **asked)
    for missing, first in ((0.0, "3"), (1.0, "1")):
        alone = Profile("alone", {Similarity(missing=missing): 1})
        assert contents(shared_repo.search(agent, NORTH, profile=alone, **asked))[0] == first


def test_without_a_query_the_other_signals_rank(shared_repo: MemoryRepository, agent: str) -> None:
    shared_repo.add_many(
        agent,
        [
            NewMemory("near", embedding=NORTH, usefulness=0.1),
            NewMemory("useful", embedding=at(90), usefulness=0.9),
            NewMemory("bare", embedding=None, usefulness=0.5),
        ],
    )

    hits = shared_repo.search(agent, None)

    assert contents(hits) == ["useful", "bare", "near"]
    assert [hit.similarity for hit in hits] == [None] * 3


# What a hit tells


def hit_of(repo: MemoryRepository, agent: str, memory: NewMemory) -> ScoredMemory:
    repo.add(agent, memory)
    [hit] = repo.search(agent, NORTH, **ASKED)
    return hit


def test_signals_are_those_of_the_row_and_contributions_sum_to_the_score(
    shared_repo: MemoryRepository, shared_engine: Engine, agent: str
) -> None:
    memory = NewMemory("a", embedding=at(60), usefulness=0.3, confidence=0.7, created_at=before(10))
    memory_id = shared_repo.add(agent, memory)
    sql(
        shared_engine,
        "INSERT INTO pgrecall.memory_usage (agent_id, memory_id, retrieval_count) "
        "VALUES (:agent, :memory, 20)",
        agent=agent,
        memory=memory_id,
    )

    [hit] = shared_repo.search(agent, NORTH, **ASKED)

    signals = {"similarity": 0.5, "recency": exp(-0.5), "usefulness": 0.3, "confidence": 0.7}
    assert hit.signals == pytest.approx(signals | {"frequency": 0.4}, abs=1e-6)
    assert hit.similarity == pytest.approx(cos(radians(60)), abs=1e-6)
    weights = profiles.five_factor.weights
    assert hit.contributions == {name: weights[name] * hit.signals[name] for name in weights}
    assert list(hit.signals) == list(hit.contributions) == list(weights)
    assert fsum(hit.contributions.values()) == pytest.approx(hit.score, abs=1e-12)
    assert hit.memory == shared_repo.get(agent, memory_id)


def test_similarity_is_none_without_an_embedding_and_never_below_0(
    shared_repo: MemoryRepository, agent: str
) -> None:
    bare = hit_of(shared_repo, agent, NewMemory("a", embedding=None, created_at=None))
    opposite = hit_of(
        shared_repo, f"{agent} opposite", NewMemory("a", embedding=at(180), created_at=NOW)
    )

    assert (bare.similarity, bare.signals["similarity"]) == (None, 0)
    assert (bare.record()["similarity"], bare.record()["created_at"]) == (None, None)
    assert opposite.similarity == opposite.signals["similarity"] == 0
    for length in (1e-12, 0.5, 3.0, 1e12):
        scaled = NewMemory("a", embedding=[x * length for x in at(60)], created_at=NOW)
        found = hit_of(shared_repo, f"{agent} {length}", scaled)
        assert found.similarity == pytest.approx(0.5, abs=1e-6)


def test_a_record_is_plain_json_rounded_to_six_decimals_and_the_order_is_not(
    shared_repo: MemoryRepository, agent: str
) -> None:
    hit = hit_of(shared_repo, agent, NewMemory("a", embedding=at(33), created_at=before(7)))

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
    for text, importance in (("first", 0.1 + 2e-9), ("second", 0.1)):
        shared_repo.add(f"{agent} 2", NewMemory(text, embedding=None, importance=importance))
    close = shared_repo.search(f"{agent} 2", profile="half_life", weights={"importance": 1})
    assert contents(close) == ["first", "second"]
    assert [hit.record()["score"] for hit in close] == [0.1, 0.1]
