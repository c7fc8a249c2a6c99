"""The named tests of system A, in the database and in pgrecall.score alike."""

from __future__ import annotations

import random
from datetime import datetime, timedelta
from math import fsum
from typing import Any

import pytest
from sqlalchemy import Engine

from pgrecall import MemoryRepository, NewMemory, ScoredMemory, profiles, score
from pgrecall.scored_memory import Breakdown
from tests.integration.support import NORTH, NOW, at, before, similar, sql

ALL_ONE = {"usefulness": 1.0, "confidence": 1.0, "created_at": NOW, "retrieval_count": 50}
ALL_ZERO = {"usefulness": 0.0, "confidence": 0.0, "created_at": before(20_000)}


class Scorer:
    """Scores one memory in the database and in Python; the two must agree."""

    def __init__(self, repo: MemoryRepository, engine: Engine) -> None:
        self._repo, self._engine = repo, engine

    def __call__(self, similarity: float, **values: Any) -> Breakdown:
        in_python = score(profiles.five_factor, {"similarity": similarity, **values}, as_of=NOW)
        in_database = self._in_database(similarity, **values)
        assert in_database.score == pytest.approx(in_python.score, abs=1e-6)
        assert in_database.signals == pytest.approx(in_python.signals, abs=1e-6)
        return Breakdown(in_database.score, in_database.signals, in_database.contributions)

    def _in_database(
        self, similarity: float, retrieval_count: int = 0, **values: Any
    ) -> ScoredMemory:
        memory_id = self._repo.add("agent", NewMemory("a", embedding=similar(similarity), **values))
        sql(
            self._engine,
            "INSERT INTO pgrecall.memory_usage (agent_id, memory_id, retrieval_count) "
            "VALUES ('agent', :memory, :n)",
            memory=memory_id,
            n=retrieval_count,
        )
        [hit] = self._repo.search("agent", NORTH, profile="five_factor", as_of=NOW, touch=False)
        return hit


@pytest.fixture
def scored(repo: MemoryRepository, engine: Engine) -> Scorer:
    return Scorer(repo, engine)


def test_weights_sum_to_one(scored: Scorer) -> None:
    assert fsum(profiles.five_factor.weights.values()) == 1
    assert scored(1.0, **ALL_ONE).score == pytest.approx(1.0, abs=1e-12)


def test_relevance_alone_scores_0_40(scored: Scorer) -> None:
    assert scored(1.0, **ALL_ZERO).score == pytest.approx(0.40, abs=1e-9)


def test_all_but_relevance_scores_0_60(scored: Scorer) -> None:
    assert scored(0.0, **ALL_ONE).score == pytest.approx(0.60, abs=1e-9)


def test_14_day_decay_is_about_one_half(scored: Scorer) -> None:
    assert scored(1.0, created_at=before(14)).signals["recency"] == pytest.approx(0.4966, abs=5e-5)


@pytest.mark.parametrize(("retrievals", "frequency"), [(0, 0), (25, 0.5), (50, 1), (100, 1)])
def test_frequency_caps_at_50(scored: Scorer, retrievals: int, frequency: float) -> None:
    result = scored(1.0, created_at=NOW, retrieval_count=retrievals)

    assert result.signals["frequency"] == frequency


def test_unknown_age_is_neutral(scored: Scorer) -> None:
    assert scored(1.0, created_at=None).signals["recency"] == 0.5


@pytest.mark.parametrize("ahead", [timedelta(0), timedelta(seconds=1), timedelta(days=10)])
def test_an_age_is_never_negative(ahead: timedelta) -> None:
    values: dict[str, datetime] = {"created_at": NOW + ahead}

    assert score(profiles.five_factor, values, as_of=NOW).signals["recency"] == 1


def test_output_is_sorted_descending(repo: MemoryRepository) -> None:
    dice = random.Random(14)
    batch = [
        NewMemory(
            str(i),
            embedding=at(dice.uniform(0, 180)),
            usefulness=dice.random(),
            confidence=dice.random(),
            created_at=before(dice.uniform(0, 60)),
        )
        for i in range(100)
    ]
    repo.add_many("agent", batch)

    hits = repo.search("agent", NORTH, k=100, profile="five_factor", as_of=NOW)

    in_python = [
        score(
            profiles.five_factor,
            {
                "similarity": hit.similarity,
                "created_at": hit.memory.created_at,
                "usefulness": hit.memory.usefulness,
                "confidence": hit.memory.confidence,
            },
            as_of=NOW,
        ).score
        for hit in hits
    ]
    assert [hit.score for hit in hits] == sorted((hit.score for hit in hits), reverse=True)
    assert [hit.score for hit in hits] == pytest.approx(in_python, abs=1e-12)


def test_defaults_score_as_documented(scored: Scorer) -> None:
    breakdown = scored(0.0, created_at=NOW)

    assert breakdown.score == pytest.approx(0.25 + 0.20 * 0.5 + 0.10 * 0.8)
