"""The rank space against the plain Python scorer: no database, no compiler.

A memory's position is worked out from its values here. Its inner product with the direction of a
query has to be the score, exactly or within the bounds that stand here.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, datetime, timedelta
from hashlib import sha256
from typing import Any, ClassVar

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pgrecall import Attribute, Profile, profiles, score
from pgrecall.rank_index import space
from pgrecall.rank_index.space import AXES, CAPS, HALF_LIVES, MOMENTS, Axis, Missing
from pgrecall.rank_index.strategy import MAX_UNCOVERED
from pgrecall.scoring.scorer import VALUES
from pgrecall.scoring.signals import (
    LONGEST_HALF_LIFE,
    MAX_RATE,
    SHORTEST_HALF_LIFE,
    Clock,
    Confidence,
    Curve,
    EntityOverlap,
    Frequency,
    Importance,
    Recency,
    Signal,
    Similarity,
    Trust,
    Usefulness,
)

T0 = datetime(2026, 6, 1, 12, tzinfo=UTC)
"""The index's moment."""
EXACT = 1e-9
DIMENSIONS = 8
HALF_MAX = 65_504
"""The largest number of a halfvec."""
TIER_DAYS = {"short": 0.25, "medium": 7.0, "long": 90.0}

property_test = settings(deadline=None, max_examples=60, derandomize=True)


@dataclass(frozen=True)
class Memory:
    """The values that signals read; times as days before the index's moment."""

    embedding: tuple[float, ...] | None = None
    usefulness: float = 0.5
    importance: float = 0.5
    confidence: float = 0.8
    trust: float | None = None
    trust_curve: str | None = None
    trust_half_life_hours: float | None = None
    created: float | None = 0.0
    accessed: float | None = None
    retrieval_count: int = 0
    tier: str = "long"

    def values(self, similarity: float | None = None) -> dict[str, Any]:
        read = {name: value for name, value in asdict(self).items() if name in VALUES}
        times = {"created_at": _before(self.created), "last_accessed_at": _before(self.accessed)}
        return read | times | {"similarity": similarity}


def _before(days: float | None) -> datetime | None:
    return None if days is None else T0 - timedelta(days=days)


def coordinate(memory: Memory, axis: Axis) -> float:
    """The memory's value on an axis, times the square root of what the axis counts."""
    if isinstance(axis.what, Missing):
        lacking = {
            Missing.EMBEDDING: memory.embedding,
            Missing.TRUST: memory.trust,
            Missing.CREATED_AT: memory.created,
        }
        value = float(lacking[axis.what] is None)
    else:
        alone = Profile("one axis", {axis.what: 1.0})
        value = score(alone, memory.values(), as_of=T0 + timedelta(days=axis.after)).score
    return value * math.sqrt(axis.reference)


def cosine(memory: Memory, query: Sequence[float]) -> float | None:
    if memory.embedding is None:
        return None
    x, y = np.array(memory.embedding), np.array(query)
    return float(x @ y / np.linalg.norm(x) / np.linalg.norm(y))


def product(memory: Memory, profile: Profile, query: Sequence[float], elapsed: float) -> float:
    """The inner product of the memory's position and the query's direction."""
    weight, coordinates = space.direction(profile, elapsed)
    here = [coordinate(memory, axis) for axis in AXES]
    signals = float(np.dot(here, coordinates))
    return signals + weight * (cosine(memory, query) or 0.0)


def error(memory: Memory, profile: Profile, query: Sequence[float], elapsed: float) -> float:
    """By how much the inner product exceeds the score, were similarity not clamped at 0."""
    similarity = cosine(memory, query)
    as_of = T0 + timedelta(days=elapsed)
    exact = score(profile, memory.values(similarity), as_of=as_of)
    clamped = profile.weights.get("similarity", 0.0) * min(similarity or 0.0, 0.0)
    return product(memory, profile, query, elapsed) - exact.score - clamped


shares = st.floats(1e-6, 1) | st.sampled_from([0.0, 0.5, 1.0])
vectors = (
    st.lists(st.floats(-1, 1), min_size=DIMENSIONS, max_size=DIMENSIONS)
    .map(tuple)
    .filter(lambda vector: math.hypot(*vector) > 1e-3)
)
ages = st.floats(0, 3_000) | st.sampled_from([0.0, 1.0, 14.0])
elapses = st.floats(0, 30) | st.sampled_from(MOMENTS)
long_elapses = st.floats(0, 3_000)


@st.composite
def memories(draw: st.DrawFn) -> Memory:
    """Any memory but one retrieved before it came to be, or that is of unknown age and used."""
    created = draw(st.none() | ages)
    accessed = None
    if created is not None and draw(st.booleans()):
        accessed = draw(st.floats(0, created))
    trusted = draw(st.booleans())
    return Memory(
        embedding=draw(st.none() | vectors),
        usefulness=draw(shares),
        importance=draw(shares),
        confidence=draw(shares),
        trust=draw(shares) if trusted else None,
        trust_curve=draw(st.sampled_from([None, *map(str, Curve)])) if trusted else None,
        trust_half_life_hours=draw(st.none() | st.floats(1e-3, 1e9)) if trusted else None,
        created=created,
        accessed=accessed,
        retrieval_count=draw(st.integers(0, 200) | st.just(2**31 - 1)),
        tier=draw(st.sampled_from(list(TIER_DAYS))),
    )


@st.composite
def weighted(draw: st.DrawFn, signals: Sequence[Signal]) -> Profile:
    parts = draw(
        st.lists(
            st.just(0.0) | st.floats(1e-3, 1), min_size=len(signals), max_size=len(signals)
        ).filter(any)
    )
    total = math.fsum(parts)
    return Profile("random", {s: p / total for s, p in zip(signals, parts, strict=True)})


@st.composite
def exactly_covered(draw: st.DrawFn) -> Profile:
    """Signals that positions hold as they are, under any weights."""
    return draw(
        weighted(
            [
                Similarity(missing=draw(shares)),
                Recency(
                    half_life=draw(st.sampled_from(HALF_LIVES)),
                    clock=draw(st.sampled_from(Clock)),
                    unknown=draw(shares),
                ),
                Usefulness(),
                Importance(),
                Confidence(),
                Trust(decay=False, missing=draw(shares)),
                Frequency(cap=draw(st.sampled_from(CAPS))),
            ]
        )
    )


@property_test
@given(exactly_covered(), memories(), vectors, long_elapses)
def test_the_inner_product_is_the_score_for_any_weights_and_any_time_that_has_passed(
    profile: Profile, memory: Memory, query: tuple[float, ...], elapsed: float
) -> None:
    assert error(memory, profile, query, elapsed) == pytest.approx(0, abs=EXACT)


def trust_bound(memory: Memory) -> float:
    """How far trust may be overrated between two of the moments at which it is kept."""
    if memory.trust is None or memory.accessed is None:
        return 0.0
    days = (memory.trust_half_life_hours or 168.0) / 24
    if days < 7:
        return memory.trust
    of_curve = {"exponential": 0.12, "linear": 0.35}.get(memory.trust_curve or "", 0.09)
    return of_curve * memory.trust


OF_TIER = {"short": 0.8, "medium": 0.12, "long": 0.004}
Bounds = Callable[[Mapping[str, float], Memory], tuple[float, float]]
BOUNDS: dict[str, tuple[st.SearchStrategy[float], Bounds]] = {
    # A half-life between two that are kept.
    "five_factor": (long_elapses, lambda w, _: (0.001 * w["recency"], 0.002 * w["recency"])),
    "last_access": (long_elapses, lambda w, _: (0.001 * w["recency"], 0.002 * w["recency"])),
    "half_life": (long_elapses, lambda w, _: (0.0, 0.0)),
    "trust": (
        elapses,
        lambda w, m: (0.08 * w["recency"], trust_bound(m) * w["trust"] + 0.01 * w["recency"]),
    ),
    "tiered": (elapses, lambda w, m: (0.0, OF_TIER[m.tier] * w["recency"])),
}
"""For what times that have passed by how much a memory may be under- and overrated, by weights."""


@pytest.mark.parametrize("name", BOUNDS)
@property_test
@given(st.data(), memories(), vectors)
def test_a_profile_is_exact_within_its_bounds(
    name: str, data: st.DataObject, memory: Memory, query: tuple[float, ...]
) -> None:
    passing, bounds = BOUNDS[name]
    profile = data.draw(weighted(list(profiles.named(name).signals)))
    below, beyond = bounds(profile.weights, memory)

    above = error(memory, profile, query, data.draw(passing))

    assert -below - EXACT <= above <= beyond + EXACT


EXTREMES = [
    *(
        Recency(half_life=half_life, curve=curve)
        for half_life in (SHORTEST_HALF_LIFE, LONGEST_HALF_LIFE)
        for curve in Curve
    ),
    *(Recency(rate=rate, clock=clock) for rate in (0.0, MAX_RATE) for clock in Clock),
    Recency(half_life=LONGEST_HALF_LIFE, half_lives_by_tier=(("long", SHORTEST_HALF_LIFE),)),
    *(Frequency(cap=1), Frequency(cap=1e9), Trust(missing=1.0), Similarity(missing=1.0)),
]


def test_every_profile_has_a_direction_that_a_halfvec_can_hold() -> None:
    faded = Profile("alone", {Recency(rate=0.05, unknown=0.0): 1.0})
    assert max(space.direction(faded, 1e9)[1]) < 1e-100
    for signal in EXTREMES:
        for elapsed in (0.0, 3.0, 4e6, 1e300):
            _, coordinates = space.direction(Profile("alone", {signal: 1.0}), elapsed)
            assert len(coordinates) == len(AXES)
            assert all(-HALF_MAX < number < HALF_MAX for number in coordinates)


def recency(**parameters: Any) -> Profile:
    return Profile("half recency", {Similarity(): 0.5, Recency(**parameters): 0.5})


COVERED = [
    *(profile for name, profile in profiles.BUILT_IN.items() if name != "tiered"),
    *(recency(half_life=days) for days in (1, 180)),
    recency(half_life=30, curve="linear"),
    recency(half_life=30, curve="hyperbolic", clock="latest"),
    *(recency(rate=rate) for rate in (0, math.log(2))),
    recency(half_life=90, half_lives_by_tier=TIER_DAYS, clock="last_accessed_at"),
]
UNCOVERED = [
    *(recency(half_life=days) for days in (0.999, 180.001)),
    recency(rate=1e-12),
    recency(half_life=14, half_lives_by_type={"fact": 14}),
    recency(half_life=14, half_lives_by_tier={"short": 14}),
    recency(half_lives_by_tier=TIER_DAYS, half_life=80, clock="last_accessed_at"),
]


@dataclass(frozen=True, slots=True, kw_only=True)
class Urgency(Importance):
    """Only looks like a signal that indexes hold."""

    name: ClassVar[str] = "urgency"


def test_uncovered_is_the_weight_of_what_positions_do_not_hold() -> None:
    """Of decays; and of the overlap of entities where entities are asked for."""
    for with_entities in (False, True):
        for every, weight in ((COVERED, 0.0), (UNCOVERED, 0.5)):
            for profile in every:
                named = profile.find(EntityOverlap)
                asked = profile.signals[named] if named and with_entities else 0.0
                assert space.uncovered(profile, with_entities=with_entities) == weight + asked
    # Where a question names no date, names weigh what `auto` still accepts.
    without = profiles.hybrid.without("time")
    assert 0.09 < space.uncovered(without, with_entities=True) <= MAX_UNCOVERED
    urgent = Profile("mine", {Urgency(): 0.9, Similarity(): 0.1})
    assert space.uncovered(urgent, with_entities=False) == 0.9
    own = {Similarity(): 0.9, Attribute(name="own", metadata="views"): 0.1}
    assert space.uncovered(Profile("own", own), with_entities=False) == 0.1
    assert space.uncovered(profiles.tiered, with_entities=True) == 0.05
    assert space.uncovered(profiles.tiered, with_entities=False) == 0.0


FINGERPRINTS = {4: "ec8dd9f0bf250b5d"}
"""Version → what it says of the axes."""
EVENNESS = 0.5
"""Of lengths, in `positions_of`."""


def test_another_space_has_another_version() -> None:
    said = repr((AXES, EVENNESS))

    assert FINGERPRINTS[space.VERSION] == sha256(said.encode()).hexdigest()[:16]
    assert len({(axis.what, axis.after) for axis in AXES}) == len(AXES)
