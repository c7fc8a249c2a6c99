"""How many hits come back, in what order, above which thresholds, and what each tells."""

from __future__ import annotations

import json
from math import cos, radians
from typing import Any

import pytest

from pgrecall import MemoryRepository, NewMemory, Profile, ScoredMemory, profiles
from pgrecall.scoring.signals import Confidence, Recency
from tests.integration.owner import Owner, plain
from tests.integration.support import NORTH, NOW, at, before, contents, similar

ASKED: dict[str, Any] = {"profile": "five_factor", "as_of": NOW, "touch": False}


def test_min_similarity_leaves_out_what_is_less_similar(
    shared_repo: MemoryRepository, agent: str
) -> None:
    same: dict[str, Any] = {"created_at": NOW, "usefulness": 0.0, "confidence": 0.0}
    shared_repo.add_many(
        agent,
        [
            NewMemory("near", embedding=similar(0.9), **same),
            NewMemory("far", embedding=[3.0, 4.0, *[0.0] * 6], **same),
            NewMemory("opposite", embedding=at(180), created_at=NOW, usefulness=1, confidence=1),
            plain("not embedded"),
        ],
    )

    def found(least: float, **arguments: Any) -> list[str]:
        asked = {**ASKED, "min_similarity": least, **arguments}
        return contents(shared_repo.search(agent, NORTH, **asked))

    assert found(0.65) == ["near"]
    assert found(0.6) == ["near", "far"], "itself is included"
    assert found(0.6 + 1e-9) == ["near"]
    assert sorted(found(0)) == ["far", "near"], "the cosine of the opposite is negative"
    assert sorted(found(-1)) == ["far", "near", "opposite"]
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


def test_a_profile_may_be_named_or_one_s_own_or_weighed_anew(
    shared_repo: MemoryRepository, agent: str
) -> None:
    mine = Profile("mine", {Recency(half_life=1): 0.5, Confidence(): 0.5})
    shared_repo.add_many(
        agent, [plain(f"{n}", confidence=0.5, created_at=before(n)) for n in (1, 2)]
    )
    asked: dict[str, Any] = {"as_of": NOW, "touch": False}

    def found(profile: Profile | str, **arguments: Any) -> list[ScoredMemory]:
        return shared_repo.search(agent, NORTH, profile=profile, **asked, **arguments)

    hits = found(mine)
    assert contents(hits) == ["1", "2"]
    assert [hit.score for hit in hits] == pytest.approx([0.5, 0.375])
    assert found("hybrid") == found(profiles.hybrid)
    weighed = found(mine, weights={"confidence": 3, "recency": 1}, normalise_weights=True)
    assert weighed[0].score == pytest.approx(0.75 * 0.5 + 0.25 * 0.5)
    alone = found(mine, weights={"confidence": 1})
    assert list(alone[0].signals) == list(alone[0].contributions) == list(mine.weights)
    assert (alone[0].signals["recency"], alone[0].contributions["recency"]) == (0.5, 0)


# What a hit tells


def hit_of(repo: MemoryRepository, agent: str, memory: NewMemory) -> ScoredMemory:
    repo.add(agent, memory)
    [hit] = repo.search(agent, NORTH, **ASKED)
    return hit


def test_a_negative_cosine_is_seen_and_filtered(mine: Owner) -> None:
    """Similarity is at least 0; also in psql, and where an explanation says why not."""
    memory_id = mine.add(NewMemory("a", embedding=at(120), created_at=NOW))
    none = mine.add(plain("b"))
    asked: dict[str, Any] = {**ASKED, "profile": "last_access"}

    [hit] = mine.search(NORTH, min_similarity=-0.6, **asked)
    explained = mine.explain(memory_id, NORTH, min_similarity=-0.4, as_of=NOW)

    assert (hit.similarity, hit.signals["similarity"]) == (0, 0)
    assert hit.cosine == pytest.approx(-0.5, abs=1e-6)
    assert hit.record()["cosine"] == -0.5
    assert mine.search(NORTH, min_similarity=-0.4, **asked) == []
    assert explained.hit.cosine == pytest.approx(-0.5, abs=1e-6)
    assert "its cosine similarity -0.5" in explained.reasons[0]
    assert mine.explain(none, NORTH, as_of=NOW).hit.cosine is None
    recall = "SELECT count(*) FROM pgrecall.recall(:agent, :vector, min_similarity => :least)"
    assert [mine.sql(recall, vector=str(NORTH), least=n) for n in (-0.6, -0.4)] == [[1], [0]]
    raw = "SELECT pgrecall.cosine(embedding, :vector) FROM pgrecall.memory_records WHERE id = :id"
    assert mine.sql(raw, vector=str(NORTH), id=memory_id) == [pytest.approx(-0.5, abs=1e-6)]


def test_similarity_is_none_without_an_embedding_and_does_not_depend_on_length(
    shared_repo: MemoryRepository, agent: str
) -> None:
    bare = hit_of(shared_repo, agent, plain("a", created_at=None))

    assert (bare.similarity, bare.signals["similarity"]) == (None, 0)
    assert (bare.record()["similarity"], bare.record()["created_at"]) == (None, None)
    assert bare.memory == shared_repo.get(agent, bare.memory.id)
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
        shared_repo.add(f"{agent} 2", plain(text, importance=importance))
    close = shared_repo.search(f"{agent} 2", profile="half_life", weights={"importance": 1})
    assert contents(close) == ["first", "second"]
    assert [hit.record()["score"] for hit in close] == [0.1, 0.1]
