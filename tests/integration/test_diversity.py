"""Hits that differ: maximal marginal relevance over the best, as a plain loop says, and as a
context chooses. That psql does the same for random arguments is told by test_statements."""

from __future__ import annotations

import math
from collections.abc import Sequence
from random import Random
from typing import Any

import pytest
from sqlalchemy import Engine

from pgrecall import MemoryRepository, NewMemory, ScoredMemory
from pgrecall.errors import InputError
from tests.conftest import DIMENSIONS
from tests.integration.support import NOW, before, contents

QUERY = [3.0, -1.0, 2.0, 1.0, -4.0, 1.0, 2.0, -2.0]
ASKED: dict[str, Any] = {"touch": False, "profile": "five_factor", "as_of": NOW}


@pytest.fixture(scope="module")
def repo(module_engine: Engine) -> MemoryRepository:
    """Memories in a few directions, so that many are alike; some have no embedding."""
    dice = Random("diversity")
    middles = [[dice.gauss(0, 1) for _ in range(DIMENSIONS)] for _ in range(12)]

    def memory(number: int) -> NewMemory:
        near = [one + dice.gauss(0, 0.2) for one in dice.choice(middles)]
        return NewMemory(
            f"memory {number}",
            embedding=near if number % 10 else None,
            usefulness=dice.random(),
            created_at=before(dice.uniform(0, 60)),
        )

    made = MemoryRepository(module_engine)
    made.add_many("agent", [memory(n) for n in range(150)])
    made.teams.add_many("red", [memory(n) for n in range(150, 190)])
    return made


def similarity(one: Sequence[float] | None, other: Sequence[float] | None) -> float:
    if one is None or other is None:
        return 0.0
    dot = math.fsum(a * b for a, b in zip(one, other, strict=True))
    return max(dot / (math.hypot(*one) * math.hypot(*other)), 0.0)


def chosen(ranked: Sequence[ScoredMemory], vectors: Any, k: int, diversity: float) -> list[str]:
    """Carbonell and Goldstein's loop; of equals, the one that ranks first."""
    rest, taken = list(ranked), list[ScoredMemory]()
    while rest and len(taken) < k:

        def gain(hit: ScoredMemory) -> float:
            nearest = max(
                (similarity(vectors[hit.memory.id], vectors[t.memory.id]) for t in taken),
                default=0.0,
            )
            return (1 - diversity) * hit.score - diversity * nearest

        best = max(rest, key=gain)
        rest.remove(best)
        taken.append(best)
    return contents(taken)


@pytest.mark.parametrize("diversity", [0.1, 0.5, 0.95])
@pytest.mark.parametrize(
    "case",
    [
        {"k": 8},
        {"k": 12, "teams": ["red"]},
        {"k": 30, "min_score": 0.35},
    ],
    ids=str,
)
def test_hits_are_chosen_as_a_loop_does(
    repo: MemoryRepository, case: dict[str, Any], diversity: float
) -> None:
    k = case["k"]
    ranked = repo.search("agent", QUERY, **ASKED, **{**case, "k": max(50, 5 * k)})
    owners = repo, repo.teams
    vectors = {
        one.id: one.embedding
        for which, owner in zip(owners, ("agent", "red"), strict=True)
        for one in which.list(owner, limit=500, include_embedding=True)
    }

    hits = repo.search("agent", QUERY, diversity=diversity, **ASKED, **case)

    assert contents(hits) == chosen(ranked, vectors, k, diversity)
    if diversity == 0.95:
        assert contents(hits) != contents(ranked[:k])
    by_text = {hit.memory.content: hit for hit in ranked}
    assert [*hits] == [by_text[hit.memory.content] for hit in hits], "scores do not change"
    asked = {"diversity": diversity, "fetch_k": max(50, 5 * k)} | ASKED | case
    packed = repo.context("agent", QUERY, **asked).packed
    assert {one.hit.memory.content for one in packed} == {*contents(hits)}
    [again] = repo.search_many("agent", [QUERY], diversity=diversity, **ASKED, **case)
    assert again == hits
    assert contents(repo.search("agent", QUERY, diversity=0, **ASKED, **case)) == contents(
        ranked[:k]
    )


def test_linked_memories_stand_behind_what_was_chosen(repo: MemoryRepository) -> None:
    asked: dict[str, Any] = {"k": 3, "diversity": 0.9, **ASKED}
    hits = repo.search("agent", QUERY, **asked)
    counted = repo.search("agent", QUERY, **{**asked, "touch": True})
    assert (counted, counted.touched) == (hits, True)
    apart = repo.search("agent", QUERY, k=99, **ASKED)[60]
    repo.links.add("agent", hits[1].memory.id, apart.memory.id)

    linked = repo.search("agent", QUERY, linked=1, **asked)

    assert contents(linked) == [*contents(hits), apart.memory.content]


def test_what_diversity_does_not_go_with_is_refused(repo: MemoryRepository) -> None:
    refused: tuple[tuple[dict[str, Any], str], ...] = (
        ({"diversity": 1}, "diversity must be less than 1"),
        ({"diversity": -0.1}, "diversity must lie within 0 and 1, got -0.1"),
        ({"diversity": "0.5"}, "diversity must"),
        ({"diversity": 0.5, "k": 101}, "with diversity, k may be at most 100, got 101"),
        ({"diversity": 0.5, "surrounding_turns": 1}, "does not go with surrounding_turns"),
        ({"diversity": 0.5, "rerank": lambda *_: []}, "rerank does not go with diversity"),
    )
    for arguments, message in refused:
        with pytest.raises(InputError, match=message):
            repo.search("agent", QUERY, **arguments)
        with pytest.raises(InputError, match=message):
            repo.search_many("agent", [QUERY], **arguments)
