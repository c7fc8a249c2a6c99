from __future__ import annotations

import random
from uuid import UUID

import pytest

from pgrecall import MemoryRepository, NewMemory, Profile
from pgrecall.signals import Confidence, Recency, Similarity
from tests.integration.support import NORTH, NOW, at, before, contents, similar


def test_the_best_come_first(either: MemoryRepository) -> None:
    angles = random.sample(range(90), 30)
    either.add_many("agent", [NewMemory(f"{angle:02}", embedding=at(angle)) for angle in angles])

    hits = either.search("agent", NORTH, k=30)

    assert contents(hits) == sorted(f"{angle:02}" for angle in angles)
    assert [hit.score for hit in hits] == sorted((hit.score for hit in hits), reverse=True)


@pytest.mark.parametrize(("k", "found"), [(1, 1), (7, 7), (12, 12), (13, 12), (1_000_000, 12)])
def test_k_limits_the_hits(shared_repo: MemoryRepository, agent: str, k: int, found: int) -> None:
    shared_repo.add_many(agent, [NewMemory(f"{i:02}", embedding=at(i)) for i in range(12)])

    hits = shared_repo.search(agent, NORTH, k=k)

    assert contents(hits) == [f"{i:02}" for i in range(found)]


def test_ten_hits_come_back_unless_k_is_given(either: MemoryRepository) -> None:
    either.add_many("agent", [NewMemory(str(i), embedding=NORTH) for i in range(12)])

    assert len(either.search("agent", NORTH)) == 10


def test_ties_are_ordered_by_id(either: MemoryRepository) -> None:
    ids = [UUID(int=n) for n in random.sample(range(1, 100), 20)]
    either.add_many(
        "agent",
        [
            NewMemory(f"{n} of equals", id=memory_id, embedding=NORTH, created_at=NOW)
            for n, memory_id in enumerate(ids)
        ],
    )

    hits = either.search("agent", NORTH, k=15, as_of=NOW)

    assert [hit.memory.id for hit in hits] == sorted(ids)[:15]


def test_min_similarity_leaves_out_what_is_less_similar(either: MemoryRepository) -> None:
    either.add_many(
        "agent",
        [
            NewMemory("near", embedding=similar(0.9)),
            NewMemory("far", embedding=similar(0.1)),
            NewMemory("opposite", embedding=at(180)),
            NewMemory("not embedded", embedding=None),
        ],
    )

    assert contents(either.search("agent", NORTH, min_similarity=0.15)) == ["near"]


def test_min_similarity_is_included(shared_repo: MemoryRepository, agent: str) -> None:
    shared_repo.add(agent, NewMemory("a", embedding=[3.0, 4.0, *[0.0] * 6]))
    [hit] = shared_repo.search(agent, NORTH)
    assert hit.similarity is not None

    assert shared_repo.search(agent, NORTH, min_similarity=hit.similarity) != []
    assert shared_repo.search(agent, NORTH, min_similarity=hit.similarity + 1e-9) == []


def test_min_similarity_zero_leaves_out_only_what_has_no_embedding(
    shared_repo: MemoryRepository, agent: str
) -> None:
    shared_repo.add_many(
        agent, [NewMemory("opposite", embedding=at(180)), NewMemory("bare", embedding=None)]
    )

    assert contents(shared_repo.search(agent, NORTH, min_similarity=0)) == ["opposite"]


def test_min_similarity_applies_before_the_limit(either: MemoryRepository) -> None:
    either.add_many(
        "agent",
        [
            NewMemory("high score", embedding=at(90), usefulness=1, confidence=1),
            NewMemory("similar", embedding=at(60), usefulness=0, confidence=0),
        ],
    )

    assert contents(either.search("agent", NORTH, k=1, profile="five_factor")) == ["high score"]
    assert contents(
        either.search("agent", NORTH, k=1, min_similarity=0.4, profile="five_factor")
    ) == ["similar"]


def test_min_score_leaves_out_what_scores_less(either: MemoryRepository) -> None:
    either.add_many("agent", [NewMemory(f"{i}", embedding=at(i * 10)) for i in range(9)])
    hits = either.search("agent", NORTH, as_of=None, touch=False)
    threshold = hits[3].score

    found = either.search("agent", NORTH, min_score=threshold + 1e-3, touch=False)

    assert contents(found) == ["0", "1", "2"]


def test_min_score_is_included(shared_repo: MemoryRepository, agent: str) -> None:
    shared_repo.add(agent, NewMemory("a", embedding=at(33), created_at=before(7)))
    [hit] = shared_repo.search(agent, NORTH, as_of=NOW, touch=False)

    assert shared_repo.search(agent, NORTH, as_of=NOW, touch=False, min_score=hit.score) == [hit]
    assert shared_repo.search(agent, NORTH, as_of=NOW, min_score=hit.score + 1e-12) == []


def test_weights_replace_the_profiles(either: MemoryRepository) -> None:
    either.add_many(
        "agent",
        [
            NewMemory("similar", embedding=NORTH, usefulness=0, confidence=0),
            NewMemory("useful", embedding=at(90), usefulness=1, confidence=0),
        ],
    )

    only_similar = either.search("agent", NORTH, weights={"similarity": 1})
    only_useful = either.search("agent", NORTH, weights={"usefulness": 0.75, "confidence": 0.25})

    assert contents(only_similar) == ["similar", "useful"]
    assert [hit.score for hit in only_similar] == pytest.approx([1, 0])
    assert contents(only_useful) == ["useful", "similar"]
    assert [hit.score for hit in only_useful] == pytest.approx([0.75, 0])


def test_a_signal_that_weighs_nothing_is_still_told(either: MemoryRepository) -> None:
    either.add("agent", NewMemory("a", embedding=NORTH, usefulness=0.25))

    [hit] = either.search("agent", NORTH, weights={"similarity": 1})

    assert hit.signals["usefulness"] == 0.25
    assert hit.contributions["usefulness"] == 0


def test_a_profile_may_be_named(shared_repo: MemoryRepository, agent: str) -> None:
    shared_repo.add(agent, NewMemory("a", embedding=at(20), created_at=before(3)))

    named = shared_repo.search(agent, NORTH, profile="hybrid", as_of=NOW, touch=False)

    assert named == shared_repo.search(agent, NORTH, as_of=NOW, touch=False)


def test_a_profile_of_ones_own_decides_the_order(either: MemoryRepository) -> None:
    mine = Profile("mine", {Recency(half_life=1): 0.5, Confidence(): 0.5})
    either.add_many(
        "agent",
        [
            NewMemory("old", embedding=None, confidence=0.5, created_at=before(2)),
            NewMemory("new", embedding=None, confidence=0.5, created_at=before(1)),
        ],
    )

    hits = either.search("agent", NORTH, profile=mine, as_of=NOW)

    assert contents(hits) == ["new", "old"]
    assert [hit.score for hit in hits] == pytest.approx([0.5, 0.375])
    assert set(hits[0].signals) == {"recency", "confidence"}


@pytest.mark.parametrize(("missing", "first"), [(0.0, "embedded"), (1.0, "bare")])
def test_a_missing_similarity_counts_as_the_profile_says(
    shared_repo: MemoryRepository, agent: str, missing: float, first: str
) -> None:
    profile = Profile("mine", {Similarity(missing=missing): 1})
    shared_repo.add_many(
        agent, [NewMemory("bare", embedding=None), NewMemory("embedded", embedding=at(60))]
    )

    assert contents(shared_repo.search(agent, NORTH, profile=profile))[0] == first


def test_without_a_query_the_other_signals_rank(either: MemoryRepository) -> None:
    either.add_many(
        "agent",
        [
            NewMemory("near", embedding=NORTH, usefulness=0.1),
            NewMemory("useful", embedding=at(90), usefulness=0.9),
            NewMemory("bare", embedding=None, usefulness=0.5),
        ],
    )

    hits = either.search("agent", None)

    assert contents(hits) == ["useful", "bare", "near"]
    assert [hit.similarity for hit in hits] == [None] * 3


def test_weights_may_be_normalised_by_their_sum(either: MemoryRepository) -> None:
    either.add("agent", NewMemory("a", embedding=NORTH, usefulness=0.5))

    [hit] = either.search(
        "agent", NORTH, weights={"similarity": 1, "usefulness": 1}, normalise_weights=True
    )

    assert hit.score == pytest.approx(0.75)
