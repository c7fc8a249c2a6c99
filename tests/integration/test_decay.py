"""A decay multiplies the whole score: by the formulas of two systems that do so, and wherever
scores are shown. That searches, psql, evaluations and explanations agree is told by the tests of
each."""

from __future__ import annotations

from math import exp, fsum
from typing import Any

import pytest

from pgrecall import Decay, NewMemory, Profile, Recency, Similarity
from pgrecall.core.display import Bar
from pgrecall.core.limits import SMALLEST_SHARE
from pgrecall.migrate.ranked_function import readable
from pgrecall.scoring.scored_memory import hit_grid
from pgrecall.scoring.signals import MAX_RATE, Importance
from tests.integration.owner import Owner, plain
from tests.integration.support import NORTH, NOW, before, contents, similar

AGES = {"a": (0.9, 0.0), "b": (0.95, 30.0), "c": (1.0, 400.0), "d": (0.3, 1.0), "e": (0.85, -3.0)}
"""Text → similarity, and age in days."""


def fill(mine: Owner, **fields: Any) -> None:
    mine.add_many(
        NewMemory(text, embedding=similar(share), created_at=before(days), **fields)
        for text, (share, days) in AGES.items()
    )


def test_a_floor_ranks_as_the_combined_scoring_of_hindsight(mine: Owner) -> None:
    """combined = base · (1 + 0.2 · (recency - 0.5)), recency = min(1, 0.5 ** (days / 90)):
    `apply_combined_scoring` of vectorize-io/hindsight, hindsight_api/engine/search/reranking.py, by
    its exponential curve, where nothing but age differs. Here the base is the similarity.

    Its factor lies within 0.9 and 1.1. Ours is that divided by 1.1, so that no score exceeds 1.
    """
    fill(mine)
    profile = Profile(
        "hindsight", {Similarity(): 1.0}, decay=Decay(Recency(half_life=90), floor=0.9 / 1.1)
    )
    combined = {
        text: share * (1 + 0.2 * (min(1.0, 0.5 ** ((days + 4) / 90)) - 0.5))
        for text, (share, days) in AGES.items()
    }

    hits = mine.search(NORTH, profile=profile, as_of=before(-4))

    assert contents(hits) == sorted(combined, key=lambda text: -combined[text])
    for hit in hits:
        assert 1.1 * hit.score == pytest.approx(combined[hit.memory.content], abs=1e-6)


def test_a_hit_shows_the_decay_once_and_its_parts_sum_to_the_score(mine: Owner) -> None:
    fill(mine, importance=0.4)
    profile = Profile(
        "mine", {Similarity(): 0.8, Importance(): 0.2}, decay=Decay(Recency(rate=0.05), floor=0.5)
    )
    [hit] = mine.search(NORTH, k=1, as_of=before(-2), profile=profile)
    left = 0.5 + 0.5 * exp(-0.05 * 2)

    assert hit.signals == pytest.approx({"similarity": 0.9, "importance": 0.4, "decay": left})
    parts = {"similarity": 0.8 * 0.9 * left, "importance": 0.2 * 0.4 * left}
    assert hit.contributions == pytest.approx(parts)
    assert fsum(hit.contributions.values()) == pytest.approx(hit.score)
    assert hit.record()["signals"]["decay"] == round(left, 6)
    [row, _] = hit_grid([hit]).rows
    assert row[2] == Bar(hit.contributions)
    assert list(hit.contributions) == ["similarity", "importance"]
    explained = mine.explain(hit.memory.id, NORTH, as_of=before(-2), profile=profile)
    assert explained.decay == hit.signals["decay"]
    assert readable(profile) == (
        "decayed(0.8 * coalesce(m.similarity, 0.0) + 0.2 * m.importance, "
        "0.5::float8 + 0.5::float8 * recency_exponential(m.created_at, m.moment, 0.05, 0.5))"
    )


def test_a_product_of_tiny_numbers_is_0_and_no_error(mine: Owner) -> None:
    mine.add(plain("old", importance=SMALLEST_SHARE, created_at=before(3_000)))
    profile = Profile("tiny", {Importance(): 1.0}, decay=Decay(Recency(rate=MAX_RATE)))

    [hit] = mine.search(None, profile=profile, as_of=NOW)

    assert (hit.score, hit.signals["importance"]) == (0, SMALLEST_SHARE)
    assert 0 < hit.signals["decay"] < SMALLEST_SHARE


def test_one_half_life_is_that_of_the_signal_or_else_of_the_decay() -> None:
    decay = Decay(Recency(half_life=9), floor=0.2)
    both = Profile("both", {Similarity(): 0.5, Recency(rate=0.1): 0.5}, decay=decay)
    alone = Profile("alone", {Similarity(): 1}, decay=decay)

    assert both.with_half_life(3).decay == decay
    assert alone.with_half_life(3).decay == Decay(Recency(half_life=3), floor=0.2)
