"""Every number of the five systems that concerns ranking, through pgrecall.score."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from math import exp, fsum, log
from typing import Any

import pytest

from pgrecall import Profile, profiles, score
from pgrecall.errors import InvalidProfile
from pgrecall.scored_memory import Breakdown
from pgrecall.signals import Clock, Curve, Recency, Similarity, Trust

NOW = datetime(2026, 6, 1, 12, tzinfo=UTC)
EXACT = 1e-12

WEIGHTS = {
    "five_factor": {
        "similarity": 0.40,
        "recency": 0.25,
        "usefulness": 0.20,
        "confidence": 0.10,
        "frequency": 0.05,
    },
    "last_access": {"similarity": 0.5, "importance": 0.3, "recency": 0.2},
    "half_life": {"similarity": 0.4, "recency": 0.3, "importance": 0.3},
    "trust": {"trust": 0.40, "similarity": 0.35, "recency": 0.15, "importance": 0.10},
    "tiered": {
        "similarity": 0.40,
        "recency": 0.20,
        "importance": 0.15,
        "frequency": 0.10,
        "usefulness": 0.10,
        "entity_overlap": 0.05,
    },
}


def before(days: float = 0, hours: float = 0) -> datetime:
    return NOW - timedelta(days=days, hours=hours)


def scored(profile: Profile, **values: Any) -> Breakdown:
    return score(profile, values, as_of=NOW)


@pytest.mark.parametrize("name", WEIGHTS)
def test_each_profile_has_the_weights_of_its_system(name: str) -> None:
    assert profiles.named(name).weights == WEIGHTS[name]
    assert fsum(WEIGHTS[name].values()) == pytest.approx(1, abs=1e-15)


def test_there_is_a_profile_for_each_system() -> None:
    assert list(profiles.BUILT_IN) == ["hybrid", *WEIGHTS], "and one of our own"


def test_a_lambda_is_not_quite_a_half_life_of_14_days() -> None:
    by_rate = scored(profiles.five_factor, created_at=before(14)).signals["recency"]
    by_half_life = profiles.five_factor.with_half_life(14)

    assert by_rate == pytest.approx(0.4966, abs=5e-5)
    assert by_rate == pytest.approx(exp(-0.05 * 14), abs=EXACT)
    assert log(2) / 14 == pytest.approx(0.0495, abs=5e-5)
    assert scored(by_half_life, created_at=before(14)).signals["recency"] == 0.5


@pytest.mark.parametrize(
    ("values", "signal", "expected"),
    [
        ({"created_at": None}, "recency", 0.5),
        ({"created_at": NOW + timedelta(days=1)}, "recency", 1),
        ({"created_at": NOW}, "recency", 1),
        ({"similarity": None}, "similarity", 0),
        ({"similarity": -0.5}, "similarity", 0),
        ({}, "usefulness", 0.5),
        ({}, "confidence", 0.8),
        ({"retrieval_count": None}, "frequency", 0),
        ({"retrieval_count": 0}, "frequency", 0),
        ({"retrieval_count": 1}, "frequency", 0.02),
        ({"retrieval_count": 25}, "frequency", 0.5),
        ({"retrieval_count": 49}, "frequency", 0.98),
        ({"retrieval_count": 50}, "frequency", 1),
        ({"retrieval_count": 51}, "frequency", 1),
        ({"retrieval_count": 100}, "frequency", 1),
    ],
)
def test_a_neutral_values_and_caps(values: dict[str, Any], signal: str, expected: float) -> None:
    found = scored(profiles.five_factor, **values).signals[signal]

    assert found == pytest.approx(expected, abs=EXACT)


def test_a_relevance_does_not_dominate() -> None:
    """ADR-0040: 0.40 for relevance alone, 0.60 for all the rest."""
    long_ago = datetime(1, 1, 2, tzinfo=UTC)
    nothing_else = {"created_at": long_ago, "usefulness": 0, "confidence": 0}
    all_else = {"created_at": NOW, "usefulness": 1, "confidence": 1, "retrieval_count": 50}

    relevant = scored(profiles.five_factor, similarity=1, **nothing_else).score
    other = scored(profiles.five_factor, similarity=0, **all_else).score

    assert relevant == pytest.approx(0.40, abs=EXACT)
    assert other == pytest.approx(0.60, abs=EXACT)
    assert scored(profiles.five_factor, similarity=1, **all_else).score == pytest.approx(1)


BY_TYPE = Recency(
    half_life=14,
    half_lives_by_type=(
        ("factual", 180),
        ("procedural", 120),
        ("preference", 45),
        ("behavioural", 30),
        ("episodic", 14),
    ),
)


@pytest.mark.parametrize(
    ("types", "days"),
    [
        (["factual"], 180),
        (["procedural"], 120),
        (["preference"], 45),
        (["behavioural"], 30),
        (["episodic"], 14),
        (["anything else"], 14),
        (["factual", "procedural"], 120),
        (["procedural", "factual"], 120),
        (["factual", "procedural", "preference", "behavioural"], 30),
        (["factual", "episodic"], 14),
        (["factual", "anything else"], 14),
        (["anything else", "factual"], 14),
    ],
)
def test_a_half_life_by_type_the_shortest_counts(types: list[str], days: int) -> None:
    profile = Profile("by type", {BY_TYPE: 1})
    first, *more = types
    values = {"memory_type": first, "additional_types": more}

    once = scored(profile, created_at=before(days), **values).score
    twice = scored(profile, created_at=before(2 * days), **values).score

    assert once == pytest.approx(0.5, abs=EXACT)
    assert twice == pytest.approx(0.25, abs=EXACT)


def test_a_the_formula_is_not_rounded() -> None:
    found = scored(profiles.five_factor, similarity=1 / 3, created_at=before(1)).score

    assert found != round(found, 6)
    assert found == pytest.approx(0.4 / 3 + 0.25 * exp(-0.05) + 0.2 * 0.5 + 0.1 * 0.8, abs=EXACT)


DECAY_OF_B = [(0, 1.000), (1, 0.951), (7, 0.705), (14, 0.497), (30, 0.223), (60, 0.050)]


@pytest.mark.parametrize(("days", "expected"), DECAY_OF_B)
def test_b_the_decay_table(days: int, expected: float) -> None:
    accessed = scored(
        profiles.last_access, created_at=before(999), last_accessed_at=before(days)
    ).signals["recency"]

    assert accessed == pytest.approx(expected, abs=5e-4)
    assert accessed == pytest.approx(exp(-0.05 * days), abs=EXACT)


@pytest.mark.parametrize(("days", "expected"), DECAY_OF_B)
def test_b_never_accessed_falls_back_to_created_at(days: int, expected: float) -> None:
    found = scored(profiles.last_access, created_at=before(days), last_accessed_at=None)

    assert found.signals["recency"] == pytest.approx(expected, abs=5e-4)


def test_b_an_access_counts_even_before_creation() -> None:
    found = scored(profiles.last_access, created_at=NOW, last_accessed_at=before(7))

    assert found.signals["recency"] == pytest.approx(exp(-0.35), abs=EXACT)


def test_b_the_formula() -> None:
    found = scored(
        profiles.last_access, similarity=0.8, importance=0.6, last_accessed_at=before(10)
    ).score

    assert found == pytest.approx(0.5 * 0.8 + 0.3 * 0.6 + 0.2 * exp(-0.5), abs=EXACT)


def test_b_memories_without_an_embedding_are_left_out() -> None:
    [similarity] = [s for s in profiles.last_access.signals if isinstance(s, Similarity)]

    assert similarity.required


DECAY_OF_C = [(0, 1.0), (14, 0.5), (28, 0.25), (56, 0.0625)]


@pytest.mark.parametrize(("days", "expected"), DECAY_OF_C)
def test_c_the_half_life_is_14_days(days: int, expected: float) -> None:
    found = scored(profiles.half_life, created_at=before(days)).signals["recency"]

    assert found == pytest.approx(expected, abs=EXACT)


@pytest.mark.parametrize(("half_lives", "expected"), [(0, 1.0), (1, 0.5), (2, 0.25), (4, 0.0625)])
@pytest.mark.parametrize("days", [0.5, 7, 30, 365])
def test_c_the_half_life_can_be_set(days: float, half_lives: int, expected: float) -> None:
    profile = profiles.half_life.with_half_life(days)

    found = scored(profile, created_at=before(days * half_lives)).signals["recency"]

    assert found == pytest.approx(expected, abs=EXACT)


@pytest.mark.parametrize(
    ("created", "accessed", "age"),
    [(28, 14, 14), (14, 28, 14), (14, None, 14), (None, 14, 14), (56, -1, 56), (14, 14, 14)],
)
def test_c_the_clock_is_the_later_one(
    created: float | None, accessed: float | None, age: float
) -> None:
    values = {
        "created_at": None if created is None else before(created),
        "last_accessed_at": None if accessed is None else before(accessed),
    }

    found = scored(profiles.half_life, **values).signals["recency"]

    assert found == pytest.approx(0.5 ** (age / 14), abs=EXACT)


def test_c_missing_similarity_and_importance_are_neutral() -> None:
    found = scored(profiles.half_life, created_at=NOW)

    assert (found.signals["similarity"], found.signals["importance"]) == (0.5, 0.5)
    assert found.score == pytest.approx(0.4 * 0.5 + 0.3 + 0.3 * 0.5, abs=EXACT)


def test_c_the_formula_under_weights_of_its_own() -> None:
    values = {"similarity": 0.9, "importance": 0.2, "created_at": before(14)}
    other = profiles.half_life.with_weights(similarity=0.5, recency=0.25, importance=0.25)

    assert scored(profiles.half_life, **values).score == pytest.approx(
        0.4 * 0.9 + 0.3 * 0.5 + 0.3 * 0.2, abs=EXACT
    )
    assert scored(other, **values).score == pytest.approx(
        0.5 * 0.9 + 0.25 * 0.5 + 0.25 * 0.2, abs=EXACT
    )
    with pytest.raises(InvalidProfile, match="sum to 1"):
        profiles.half_life.with_weights(similarity=0.8, recency=0.4, importance=0.4)


DECAY_OF_D = [
    ("hyperbolic", 7 * 24, "reasoning"),
    ("hyperbolic", 5 * 24, "decision"),
    ("hyperbolic", 10 * 24, "reflection"),
    ("exponential", 3 * 24, "action"),
    ("exponential", 4 * 24, "prediction"),
    ("linear", 2 * 24, "observation"),
    ("linear", 1 * 24, "generation"),
]
"""Curve, half-life in hours, and what systems.md uses it for."""

FACTORS = {
    "hyperbolic": [(0, 1), (0.5, 2 / 3), (1, 1 / 2), (2, 1 / 3), (3, 1 / 4), (9, 1 / 10)],
    "exponential": [(0, 1), (0.5, 0.5**0.5), (1, 1 / 2), (2, 1 / 4), (3, 1 / 8), (10, 2**-10)],
    "linear": [(0, 1), (0.5, 3 / 4), (1, 1 / 2), (1.5, 1 / 4), (2, 0), (5, 0)],
}
"""Curve → (age in half-lives, factor)."""


@pytest.mark.parametrize(
    ("curve", "hours", "half_lives", "factor"),
    [
        pytest.param(curve, hours, half_lives, factor, id=f"{used_for}-{half_lives}")
        for curve, hours, used_for in DECAY_OF_D
        for half_lives, factor in FACTORS[curve]
    ],
)
def test_d_trust_decays_by_the_curve_of_its_row(
    curve: str, hours: float, half_lives: float, factor: float
) -> None:
    found = scored(
        profiles.trust,
        trust=0.8,
        trust_curve=curve,
        trust_half_life_hours=hours,
        last_accessed_at=before(hours=hours * half_lives),
    ).signals["trust"]

    assert found == pytest.approx(0.8 * factor, abs=EXACT)


@pytest.mark.parametrize("curve", [None, *Curve])
def test_d_never_accessed_is_no_decay(curve: str | None) -> None:
    found = scored(profiles.trust, trust=0.8, trust_curve=curve, created_at=before(9_999))

    assert found.signals["trust"] == 0.8


@pytest.mark.parametrize(("hours", "factor"), [(0, 1), (168, 1 / 2), (336, 1 / 3), (504, 1 / 4)])
def test_d_an_unknown_curve_is_hyperbolic_with_168_hours(hours: float, factor: float) -> None:
    found = scored(profiles.trust, trust=0.6, last_accessed_at=before(hours=hours))

    assert found.signals["trust"] == pytest.approx(0.6 * factor, abs=EXACT)


def test_d_trust_may_be_ranked_as_stored() -> None:
    values = {"trust": 0.6, "trust_curve": "linear", "last_accessed_at": before(9_999)}

    assert scored(profiles.trust, **values).signals["trust"] == 0
    assert scored(profiles.trust.without_trust_decay(), **values).signals["trust"] == 0.6


def test_d_trust_never_assessed_is_neutral() -> None:
    assert scored(profiles.trust, last_accessed_at=before(99)).signals["trust"] == 0.5
    assert scored(Profile("mine", {Trust(missing=0): 1})).score == 0


@pytest.mark.parametrize("hours", [0, 1, 84, 168, 336, 1_680])
def test_d_recency_is_hyperbolic_in_hours_since_creation(hours: float) -> None:
    found = scored(
        profiles.trust, created_at=before(hours=hours), last_accessed_at=before(hours=7)
    ).signals["recency"]

    assert found == pytest.approx(1 / (1 + hours / 168), abs=EXACT)


def test_d_the_rank_formula() -> None:
    values = {
        "trust": 0.9,
        "trust_curve": "exponential",
        "trust_half_life_hours": 72,
        "last_accessed_at": before(hours=72),
        "created_at": before(hours=168),
        "importance": 0.7,
    }
    without_query = 0.40 * 0.45 + 0.15 * 0.5 + 0.10 * 0.7

    assert scored(profiles.trust, **values).score == pytest.approx(without_query, abs=EXACT)
    assert scored(profiles.trust, similarity=0.6, **values).score == pytest.approx(
        without_query + 0.35 * 0.6, abs=EXACT
    )


@pytest.mark.parametrize(("half_lives", "expected"), [(0, 1), (1, 0.5), (2, 0.25), (4, 0.0625)])
@pytest.mark.parametrize(("tier", "hours"), [("short", 6), ("medium", 7 * 24), ("long", 90 * 24)])
def test_e_half_lives_by_tier(tier: str, hours: float, half_lives: float, expected: float) -> None:
    moment = before(hours=hours * half_lives)

    accessed = scored(
        profiles.tiered, tier=tier, created_at=before(9_999), last_accessed_at=moment
    ).signals["recency"]
    never_accessed = scored(profiles.tiered, tier=tier, created_at=moment).signals["recency"]

    assert accessed == pytest.approx(expected, abs=EXACT)
    assert never_accessed == pytest.approx(expected, abs=EXACT)


@pytest.mark.parametrize(
    ("retrievals", "expected"), [(0, 0), (1, 0.05), (10, 0.5), (19, 0.95), (20, 1), (21, 1)]
)
def test_e_access_caps_at_20(retrievals: int, expected: float) -> None:
    found = scored(profiles.tiered, retrieval_count=retrievals).signals["frequency"]

    assert found == pytest.approx(expected, abs=EXACT)


ENTITIES_OF_E: list[tuple[list[str] | None, list[str] | None, float]] = [
    (None, ["a"], 0),
    ([], ["a"], 0),
    ([], [], 0),
    (["a"], [], 0),
    (["a"], None, 0),
    (["a"], ["a"], 1),
    (["a"], ["a", "b", "c"], 1),
    (["a", "b"], ["a"], 1 / 2),
    (["a", "b", "c"], ["c", "a", "x"], 2 / 3),
    (["a", "b", "c"], ["x"], 0),
    (["a", "a", "b"], ["a"], 1 / 2),
    (["a", "b"], ["a", "a"], 1 / 2),
    (["A"], ["a"], 0),
]
"""Q, M and |Q ∩ M| / |Q|."""


@pytest.mark.parametrize(("asked", "of_memory", "expected"), ENTITIES_OF_E)
def test_e_entity_overlap(
    asked: list[str] | None, of_memory: list[str] | None, expected: float
) -> None:
    found = scored(profiles.tiered, query_entities=asked, entities=of_memory)

    assert found.signals["entity_overlap"] == pytest.approx(expected, abs=EXACT)


def test_e_the_formula() -> None:
    found = scored(
        profiles.tiered,
        similarity=0.9,
        tier="short",
        last_accessed_at=before(hours=12),
        importance=0.6,
        retrieval_count=5,
        usefulness=0.7,
        entities=["Ann"],
        query_entities=["Ann", "Bob"],
    ).score

    by_hand = 0.40 * 0.9 + 0.20 * 0.25 + 0.15 * 0.6 + 0.10 * 0.25 + 0.10 * 0.7 + 0.05 * 0.5
    assert found == pytest.approx(by_hand, abs=EXACT)


def test_e_importance_is_one_half_unless_set() -> None:
    assert scored(profiles.tiered).signals["importance"] == 0.5
    assert scored(profiles.tiered, importance=0.1).signals["importance"] == 0.1


@pytest.mark.parametrize("curve", Curve)
@pytest.mark.parametrize("clock", Clock)
def test_an_age_is_never_negative(curve: Curve, clock: Clock) -> None:
    profile = Profile("mine", {Recency(half_life=1, curve=curve, clock=clock): 1})
    ahead = NOW + timedelta(days=3)

    assert scored(profile, created_at=ahead, last_accessed_at=ahead).score == 1


@pytest.mark.parametrize("profile", profiles.BUILT_IN.values(), ids=profiles.BUILT_IN)
def test_signals_and_scores_lie_in_0_and_1(profile: Profile) -> None:
    best = scored(
        profile,
        similarity=1,
        created_at=NOW,
        last_accessed_at=NOW,
        retrieval_count=10**9,
        usefulness=1,
        importance=1,
        confidence=1,
        trust=1,
        entities=["a"],
        query_entities=["a"],
        keyword=1,
        query_time=(NOW, NOW + timedelta(days=1)),
    )
    worst = scored(
        profile,
        similarity=-1,
        created_at=datetime(1, 1, 2, tzinfo=UTC),
        last_accessed_at=datetime(1, 1, 2, tzinfo=UTC),
        usefulness=0,
        importance=0,
        confidence=0,
        trust=0,
    )

    assert set(best.signals.values()) == {1.0}
    assert best.score == pytest.approx(1, abs=EXACT)
    assert worst.score == pytest.approx(0, abs=1e-4)  # a hyperbola never ends
    assert all(0 <= value < 1e-3 for value in worst.signals.values())
