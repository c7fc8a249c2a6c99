"""Every number of the five systems that concerns ranking, asked of the scorer; that a search finds
the same is told by test_profiles_agree."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import datetime, timedelta
from math import exp, fsum
from typing import Any, NamedTuple

import pytest

from pgrecall import Profile, profiles, score
from pgrecall.scoring.signals import Recency, Similarity, Trust
from tests.integration.support import NOW, before

EXACT = 1e-9
FIVE, LAST, HALF, TRUST, TIERED = (
    *(profiles.five_factor, profiles.last_access, profiles.half_life),
    *(profiles.trust, profiles.tiered),
)
LONG_AGO = before(99_999)


class Case(NamedTuple):
    """What is known of a memory and of the query, as `score` takes it, and the signals it has."""

    profile: Profile
    values: Mapping[str, Any]
    expected: Mapping[str, float]
    """Signals by name, and `score`."""


def ago(hours: float) -> datetime:
    return NOW - timedelta(hours=hours)


def recency(profile: Profile, value: float, **values: Any) -> Case:
    return Case(profile, values, {"recency": value})


def five_factor() -> Iterator[Case]:
    for created, value in (
        *((None, 0.5), (before(-1), 1), (NOW, 1), (before(1), exp(-0.05))),
        *((before(14), exp(-0.05 * 14)), (before(100), exp(-5))),
    ):
        yield recency(FIVE, value, created_at=created)
    yield recency(FIVE.with_half_life(14).renamed("of_14_days"), 0.5, created_at=before(14))
    for similarity, value in ((None, 0), (-0.6, 0), (0, 0), (0.28, 0.28), (1, 1)):
        yield Case(FIVE, {"similarity": similarity}, {"similarity": value})
    for count, value in ((None, 0), (0, 0), (1, 0.02), (25, 0.5), (49, 0.98), (50, 1), (51, 1)):
        yield Case(FIVE, {"retrieval_count": count}, {"frequency": value})
    yield Case(FIVE, {}, {"usefulness": 0.5, "confidence": 0.8, "similarity": 0, "frequency": 0})
    yield Case(FIVE, {"created_at": NOW}, {"score": 0.25 + 0.2 * 0.5 + 0.1 * 0.8})
    nothing_else = {"created_at": LONG_AGO, "usefulness": 0.0, "confidence": 0.0}
    all_else = {"created_at": NOW, "usefulness": 1.0, "confidence": 1.0, "retrieval_count": 50}
    yield Case(FIVE, {"similarity": 1} | nothing_else, {"score": 0.40})
    yield Case(FIVE, {"similarity": 0} | all_else, {"score": 0.60})
    yield Case(FIVE, {"similarity": 1} | all_else, {"score": 1})
    values = {"similarity": 0.28, "created_at": before(2), "usefulness": 0.7, "confidence": 0.3}
    by_hand = 0.4 * 0.28 + 0.25 * exp(-0.1) + 0.2 * 0.7 + 0.1 * 0.3 + 0.05 * 0.2
    yield Case(FIVE, values | {"retrieval_count": 10}, {"score": by_hand})


BY_TYPE = Recency(
    half_life=14,
    half_lives_by_type=(
        *(("factual", 180), ("procedural", 120), ("preference", 45)),
        *(("behavioural", 30), ("episodic", 14)),
    ),
)


def by_type() -> Iterator[Case]:
    """Of several types the shortest half-life counts."""
    for types, days in (
        *(("factual", 180), ("procedural", 120), ("preference", 45), ("behavioural", 30)),
        *(("episodic", 14), ("else", 14), ("factual procedural", 120)),
        *(("procedural factual", 120), ("factual procedural preference behavioural", 30)),
        *(("factual episodic", 14), ("factual else", 14), ("else factual", 14)),
    ):
        first, *more = types.split()
        of = {"memory_type": first, "additional_types": more}
        for times in (1, 2):
            created = before(times * days)
            yield recency(Profile("by_type", {BY_TYPE: 1}), 0.5**times, created_at=created, **of)


def last_access() -> Iterator[Case]:
    for days in (0, 1, 7, 14, 30, 60):  # published: 1.000, 0.951, 0.705, 0.497, 0.223, 0.050
        accessed = {"created_at": LONG_AGO, "last_accessed_at": before(days)}
        yield recency(LAST, exp(-0.05 * days), **accessed)
        yield recency(LAST, exp(-0.05 * days), created_at=before(days))
        yield recency(LAST, exp(-0.05 * days), created_at=before(days), retrieval_count=3)
    yield recency(LAST, exp(-0.35), created_at=NOW, last_accessed_at=before(7))
    values = {"similarity": 0.8, "importance": 0.6, "last_accessed_at": before(10)}
    yield Case(LAST, values, {"score": 0.5 * 0.8 + 0.3 * 0.6 + 0.2 * exp(-0.5)})


def half_life() -> Iterator[Case]:
    for days in (0.5, 14, 30, 365):
        profile = HALF if days == 14 else HALF.with_half_life(days).renamed("of_other_days")
        for times in (0, 1, 2, 4):
            yield recency(profile, 0.5**times, created_at=before(days * times))
    for created, accessed, age in (
        *((28, 14, 14), (14, 28, 14), (14, None, 14), (None, 14, 14), (14, 14, 14)),
        *((56, -1, 56), (None, None, 14)),
    ):
        clocks = {"created_at": created, "last_accessed_at": accessed}
        times_of = {name: days if days is None else before(days) for name, days in clocks.items()}
        yield recency(HALF, 0.5 ** (age / 14), **times_of)
    neutral = {"similarity": 0.5, "importance": 0.5, "score": 0.4 * 0.5 + 0.3 + 0.3 * 0.5}
    yield Case(HALF, {"created_at": NOW}, neutral)
    yield Case(HALF, {"created_at": NOW, "similarity": None}, neutral)
    values = {"similarity": 0.96, "importance": 0.2, "created_at": before(14)}
    yield Case(HALF, values, {"score": 0.4 * 0.96 + 0.3 * 0.5 + 0.3 * 0.2})


CURVES_OF_TRUST = {
    "hyperbolic": (
        (5 * 24, 7 * 24, 10 * 24),  # decision, reasoning, reflection
        ((0, 1), (0.5, 2 / 3), (1, 1 / 2), (2, 1 / 3), (3, 1 / 4), (9, 1 / 10)),
    ),
    "exponential": (
        (3 * 24, 4 * 24),  # action, prediction
        ((0, 1), (0.5, 0.5**0.5), (1, 1 / 2), (2, 1 / 4), (3, 1 / 8), (10, 2**-10)),
    ),
    "linear": (
        (1 * 24, 2 * 24),  # generation, observation
        ((0, 1), (0.5, 3 / 4), (1, 1 / 2), (1.5, 1 / 4), (2, 0), (5, 0)),
    ),
}
"""Curve → half-lives in hours, and (age in half-lives, what is left)."""


def trust() -> Iterator[Case]:
    for curve, (half_lives, factors) in CURVES_OF_TRUST.items():
        for hours in half_lives:
            of = {"trust": 0.8, "trust_curve": curve, "trust_half_life_hours": float(hours)}
            for times, factor in factors:
                accessed = {"last_accessed_at": ago(hours * times)}
                yield Case(TRUST, of | accessed, {"trust": 0.8 * factor})
            never = {"created_at": LONG_AGO, "retrieval_count": 4}
            yield Case(TRUST, of | never, {"trust": 0.8})
    for hours, factor in ((0, 1), (168, 1 / 2), (336, 1 / 3), (504, 1 / 4)):
        yield Case(TRUST, {"trust": 0.6, "last_accessed_at": ago(hours)}, {"trust": 0.6 * factor})
    old = {"trust": 0.6, "trust_curve": "linear", "last_accessed_at": LONG_AGO}
    yield Case(TRUST, old, {"trust": 0})
    yield Case(profiles.trust_stored, old, {"trust": 0.6})
    yield Case(TRUST, {"last_accessed_at": before(99)}, {"trust": 0.5})
    yield Case(Profile("missing", {Trust(missing=0): 1}), {}, {"trust": 0, "score": 0})
    for hours in (0, 1, 84, 168, 336, 1_680):
        clocks = {"created_at": ago(hours), "last_accessed_at": ago(7)}
        yield recency(TRUST, 1 / (1 + hours / 168), **clocks)
    values = {"trust": 0.9, "trust_curve": "exponential", "trust_half_life_hours": 72.0}
    values |= {"last_accessed_at": ago(72), "created_at": before(7), "importance": 0.7}
    by_hand = 0.40 * 0.45 + 0.15 * 0.5 + 0.10 * 0.7
    yield Case(TRUST, values, {"score": by_hand})
    yield Case(TRUST, values | {"similarity": 0.6}, {"score": by_hand + 0.35 * 0.6})


ENTITIES: tuple[tuple[list[str] | None, list[str], float], ...] = (
    *((None, ["a"], 0), ([], ["a"], 0), ([], [], 0), (["a"], [], 0), (["a"], ["a"], 1)),
    *((["a"], ["a", "b", "c"], 1), (["a", "b"], ["a"], 1 / 2), (["A"], ["a"], 0)),
    *((["a", "b", "c"], ["c", "a", "x"], 2 / 3), (["a", "b", "c"], ["x"], 0)),
    *((["a", "a", "b"], ["a"], 1 / 2), (["a", "b"], ["a", "a"], 1 / 2)),
)
"""Q, M and |Q ∩ M| / |Q|."""


def tiered() -> Iterator[Case]:
    for tier, hours in (("short", 6), ("medium", 7 * 24), ("long", 90 * 24)):
        for times in (0, 1, 2, 4):
            moment = ago(hours * times)
            accessed = {"created_at": LONG_AGO, "last_accessed_at": moment}
            yield recency(TIERED, 0.5**times, tier=tier, **accessed)
            yield recency(TIERED, 0.5**times, tier=tier, created_at=moment)
    own = Recency(half_life=10, half_lives_by_tier=(("short", 1.0), ("medium", 5.0)))
    for tier, days in (("short", 1), ("medium", 5), ("long", 10)):
        yield recency(Profile("by_tier", {own: 1}), 0.5, tier=tier, created_at=before(days))
    for count, value in ((0, 0), (1, 0.05), (10, 0.5), (19, 0.95), (20, 1), (21, 1), (1_000, 1)):
        yield Case(TIERED, {"retrieval_count": count}, {"frequency": value})
    for asked, there, value in ENTITIES:
        entities = {"query_entities": asked, "entities": there}
        yield Case(TIERED, entities, {"entity_overlap": value})
    yield Case(TIERED, {}, {"importance": 0.5})
    values: dict[str, Any] = {"similarity": 0.96, "tier": "short", "importance": 0.6}
    values |= {"last_accessed_at": ago(12), "retrieval_count": 5, "usefulness": 0.7}
    values |= {"entities": ["Ann"], "query_entities": ["Ann", "Bob"]}
    by_hand = 0.40 * 0.96 + 0.20 * 0.25 + 0.15 * 0.6 + 0.10 * 0.25 + 0.10 * 0.7 + 0.05 * 0.5
    yield Case(TIERED, values, {"score": by_hand})


SYSTEMS = {
    of.__name__: [*of()] for of in (five_factor, by_type, last_access, half_life, trust, tiered)
}


@pytest.mark.parametrize("system", SYSTEMS)
def test_every_number_of_a_system(system: str) -> None:
    wrong = []
    for case in SYSTEMS[system]:
        scored = score(case.profile, case.values, as_of=NOW)
        found = {**scored.signals, "score": scored.score}
        for name, value in case.expected.items():
            if found[name] != pytest.approx(value, rel=0, abs=EXACT):
                wrong.append(f"{name} {found[name]}, not {value}: {case.values}")
    assert not wrong, "\n".join(["", *wrong])


BY_GRACE = {"trust": 0.40, "similarity": 0.35, "recency": 0.15, "importance": 0.10}
WEIGHTS = {
    "five_factor": {"similarity": 0.40, "recency": 0.25, "usefulness": 0.20}
    | {"confidence": 0.10, "frequency": 0.05},
    "last_access": {"similarity": 0.5, "importance": 0.3, "recency": 0.2},
    "half_life": {"similarity": 0.4, "recency": 0.3, "importance": 0.3},
    "trust": BY_GRACE,
    "trust_stored": BY_GRACE,
    "tiered": {"similarity": 0.40, "recency": 0.20, "importance": 0.15, "frequency": 0.10}
    | {"usefulness": 0.10, "entity_overlap": 0.05},
}


def test_each_profile_has_the_weights_of_its_system() -> None:
    assert list(profiles.BUILT_IN) == ["hybrid", *WEIGHTS], "and one of our own"
    assert {name: profiles.named(name).weights for name in WEIGHTS} == WEIGHTS
    assert {round(fsum(weights.values()), 15) for weights in WEIGHTS.values()} == {1}
    [similarity] = [s for s in LAST.signals if isinstance(s, Similarity)]
    assert similarity.required
