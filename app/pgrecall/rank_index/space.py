"""The rank space, in which the inner product of a memory and a query is the score.

A score is a sum of weight · signal, and cosine similarity is itself an inner product. A memory
becomes the position [unit embedding, √ρ₁·s₁, √ρ₂·s₂, …] and a query the direction
[w·unit query, w₁/√ρ₁, w₂/√ρ₂, …]. Their inner product is the score for any weights w, since weights
and `as_of` are part of the direction only. ρ is the influence of an axis, relative to similarity,
on the distances between memories from which the graph is built.

Exponential decay separates: after d more days a value with half-life h is multiplied by 2^(-d/h),
the same factor for every memory. So positions store recency at the moment of the index for several
half-lives, and other half-lives are interpolated. Values with a half-life per row (trust, tiers)
are stored for several moments and interpolated between them.
"""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from functools import lru_cache

from pgrecall.scoring.profile import Profile
from pgrecall.scoring.profiles import tiered
from pgrecall.scoring.signals import (
    KINDS,
    Clock,
    Confidence,
    Curve,
    EntityOverlap,
    Frequency,
    Importance,
    Keyword,
    Recency,
    Signal,
    Similarity,
    Time,
    Trust,
    Usefulness,
)

VERSION = 4
"""Increment it whenever AXES or `positions_of` changes. Other versions' positions are not used.
Version 3 has coordinates on principal axes; in version 4, what is placed is not in the graph."""

AXES_STEP, MOST_AXES, KEPT = 64, 256, 0.8
"""Positions have the coordinates of embeddings on as many of these steps of axes as describe the
share KEPT of them. If the most axes, or half as many as there are dimensions, do not, positions
have whole embeddings."""
REST = 0.3
"""How much of the most that the rest of the embeddings could add counts for candidates."""

HALF_LIVES = (1.0, 4.0, 14.0, 45.0, 180.0)
"""In days. Half-lives in between are interpolated from their two neighbours."""
MOMENTS = (0.0, 7.0, 30.0)
"""In days after the moment of the index: when values with a half-life per row are stored."""
CAPS = (20.0, 50.0)
"""Caps of the frequency signal for which positions store its value."""
MOSTLY_ONE = 0.6
MAX_FREQUENCY = 0.1
"""Up to this weight, frequency is covered: positions have the counts of the build."""

_HYPERBOLIC = (
    (0.7110930099, 0.4157745568),
    (0.2785177336, 2.2942803603),
    (0.0103892565, 6.28994508),
)
"""Weights and nodes of Gauss–Laguerre quadrature of order 3 (Abramowitz & Stegun, table 25.9):
1 / (1 + x) = ∫ exp(-s) exp(-s·x) ds ≈ Σ weight · exp(-node · x)."""


class Missing(StrEnum):
    """A value that a memory may lack; its axis is 1 if it does."""

    EMBEDDING = "embedding"
    TRUST = "trust"
    CREATED_AT = "created_at"


@dataclass(frozen=True, slots=True)
class Axis:
    """One coordinate of a position, in addition to those of the embedding."""

    what: Signal | Missing
    """A signal, with 0 for a missing value; or whether that value is missing."""
    after: float = 0.0
    """Days after the moment of the index at which the signal is evaluated."""
    reference: float = 0.05
    """ρ; that of similarity is 1."""

    @property
    def scale(self) -> float:
        return math.sqrt(self.reference)


def _recency(clock: Clock, half_life: float) -> Recency:
    return Recency(half_life=half_life, clock=clock, unknown=0.0)


_USED = Clock.LAST_ACCESSED_AT
_TIERS = next(signal for signal in tiered.signals if isinstance(signal, Recency))
_BY_TIER = Recency(
    half_life=_TIERS.half_life,
    half_lives_by_tier=_TIERS.half_lives_by_tier,
    clock=_USED,
    unknown=0.0,
)

AXES: tuple[Axis, ...] = (
    Axis(Usefulness(), reference=0.24),
    Axis(Importance(), reference=0.36),
    Axis(Confidence(), reference=0.12),
    Axis(Trust(decay=False, missing=0.0), reference=0.1),
    *(Axis(Trust(missing=0.0), days, reference=0.1) for days in MOMENTS),
    *(
        Axis(_recency(clock, half_life), reference=0.07)
        for clock in (Clock.CREATED_AT, _USED)
        for half_life in HALF_LIVES
    ),
    *(Axis(_BY_TIER, days, reference=0.08) for days in MOMENTS),
    *(Axis(Frequency(cap=cap), reference=0.06) for cap in CAPS),
    *(Axis(missing, reference=0.05) for missing in Missing),
)
"""The signals and half-lives that the rank index covers."""
SIGNAL_AXES = len(AXES) + 1
"""The coordinates behind those of the embedding; the last one equalises lengths."""


@dataclass(frozen=True, slots=True)
class Term:
    """One coordinate of the direction for a signal of weight 1."""

    axis: int
    """Its place in AXES."""
    share: float
    half_life: float | None = None
    """Half-life of the coefficient in days; None if it does not decay."""
    moment: float | None = None
    """The one of MOMENTS that the axis is for; None if it is not interpolated."""

    def at(self, elapsed: float) -> float:
        """The coordinate, `elapsed` days after the moment of the index."""
        coordinate = self.share / AXES[self.axis].scale
        if self.half_life is not None:
            coordinate *= math.exp(max(-math.log(2) * elapsed / self.half_life, -700.0))
        if self.moment is not None:
            coordinate *= dict(_between(MOMENTS, elapsed)).get(self.moment, 0.0)
        return coordinate

    @property
    def values(self) -> dict[str, float]:
        """The form that the SQL function rank_direction needs; axes are counted from 1."""
        row = {"axis": self.axis + 1, "share": self.share / AXES[self.axis].scale}
        if self.half_life is not None:
            row["half_life"] = self.half_life
        if self.moment is not None:
            place = MOMENTS.index(self.moment)
            around = {"before": MOMENTS[place - 1 : place], "after": MOMENTS[place + 1 :]}
            row |= {"moment": self.moment, **{name: m[0] for name, m in around.items() if m}}
        return row


def direction(
    profile: Profile, elapsed: float, *, with_query: bool = True, used: bool = False
) -> tuple[float, list[float]]:
    """The direction of a query by this profile, `elapsed` days after the moment of the index.

    Among memories `used` since then, whose positions have outdated times of use, these are left
    out: recency counts as equal, and trust as not decayed. Returns the weight of the unit query
    vector, and one coordinate per axis.
    """
    similarity = 0.0
    coordinates = [0.0] * len(AXES)
    for signal, weight in profile:
        if isinstance(signal, Similarity):
            if not with_query:
                continue  # the same for every memory
            similarity = weight
        for term in terms_if_used(signal) if used else terms(signal):
            coordinates[term.axis] += weight * term.at(elapsed)
    return similarity, coordinates


def uncovered(profile: Profile, *, with_entities: bool) -> float:
    """The total weight of signals that positions do not contain.

    They affect the exact scores of candidates, but not which memories become candidates. Signals of
    unknown classes are among them, and frequency with a weight above MAX_FREQUENCY.
    """
    return sum(
        weight
        for signal, weight in profile
        if not is_covered(signal, with_entities=with_entities)
        or (isinstance(signal, Frequency) and weight > MAX_FREQUENCY)
    )


def one_sided(profile: Profile) -> float:
    """How far one signal decides: 0 up to MOSTLY_ONE of the weight, 1 if it has all. Words do not
    count: they are not in the graph."""
    weights = [weight for signal, weight in profile if not isinstance(signal, Keyword)]
    most = max(weights, default=0.0)
    return max(most / sum(weights) - MOSTLY_ONE, 0.0) / (1 - MOSTLY_ONE) if most else 0.0


def is_rough(profile: Profile) -> bool:
    """True if positions only approximate the score: trust decays by a half-life per row, or
    recency is linear."""
    return any(weight > 0 and is_followed_roughly(signal) for signal, weight in profile)


def is_followed_roughly(signal: Signal) -> bool:
    """True if positions only approximate this signal."""
    if isinstance(signal, Trust):
        return signal.decay
    return isinstance(signal, Recency) and signal.curve is Curve.LINEAR


def is_covered(signal: Signal, *, with_entities: bool) -> bool:
    """True if positions contain the signal. Only exact classes count; a subclass may differ."""
    kind = type(signal)
    if kind is EntityOverlap:
        return not with_entities  # without entities it is 0 for every memory
    if isinstance(signal, Recency) and kind is Recency:
        return _holds_decay(signal)
    if isinstance(signal, Frequency) and kind is Frequency:
        return signal.cap >= CAPS[0]
    # Words are not in the graph, but each search of it compares them too. Time is 0 for every
    # memory, since a search with a period uses no index.
    return kind in (Similarity, Usefulness, Importance, Confidence, Trust, Keyword, Time)


def _holds_decay(signal: Recency) -> bool:
    if signal.half_lives_by_type:
        return False
    if signal.half_lives_by_tier:
        return _by_tier(signal)
    half_life = _half_life(signal)
    return half_life is None or HALF_LIVES[0] <= half_life <= HALF_LIVES[-1]


def _by_tier(signal: Recency) -> bool:
    """True if these are the half-lives by tier that have axes of their own."""
    return (
        signal.half_lives_by_tier == _BY_TIER.half_lives_by_tier
        and signal.half_life == _BY_TIER.half_life
        and signal.curve is _BY_TIER.curve
        and signal.clock is not Clock.CREATED_AT
    )


def _half_life(signal: Recency) -> float | None:
    """The half-life in days; None if nothing decays."""
    if signal.half_life is not None:
        return signal.half_life
    return math.log(2) / signal.rate_per_day if signal.rate_per_day else None


_PLACES = {(axis.what, axis.after): place for place, axis in enumerate(AXES)}


@lru_cache(maxsize=1024)
def terms(signal: Signal) -> tuple[Term, ...]:
    """The coordinates of a signal, except for the embedding; none for unknown classes."""
    return tuple(_terms(signal))


def _terms(signal: Signal) -> Iterator[Term]:
    if type(signal) not in KINDS.values():
        return
    match signal:
        case Similarity():
            yield Term(_PLACES[Missing.EMBEDDING, 0.0], signal.missing)
        case Usefulness() | Importance() | Confidence():
            yield Term(_PLACES[signal, 0.0], 1.0)
        case Trust():
            yield Term(_PLACES[Missing.TRUST, 0.0], signal.missing)
            if signal.decay:
                yield from _interpolated(Trust(missing=0.0))
            else:
                yield Term(_PLACES[Trust(decay=False, missing=0.0), 0.0], 1.0)
        case Recency():
            if _half_life(signal) is None:  # 1 for every memory whose age is known
                yield Term(_PLACES[Missing.CREATED_AT, 0.0], signal.unknown - 1.0)
                return
            yield Term(_PLACES[Missing.CREATED_AT, 0.0], signal.unknown)
            yield from _interpolated(_BY_TIER) if _by_tier(signal) else _decays(signal)
        case Frequency():
            yield from _frequencies(signal.cap)


def terms_if_used(signal: Signal) -> tuple[Term, ...]:
    """The terms of a signal among memories that were just used."""
    if isinstance(signal, Trust) and signal.decay:
        return terms(replace(signal, decay=False))
    if isinstance(signal, Recency) and signal.reads_usage:
        return ()
    return terms(signal)


def _interpolated(signal: Signal) -> Iterator[Term]:
    """Terms for all MOMENTS; `Term.at` interpolates between them."""
    for moment in MOMENTS:
        yield Term(_PLACES[signal, moment], 1.0, moment=moment)


def _decays(signal: Recency) -> Iterator[Term]:
    half_life = _half_life(signal)
    assert half_life is not None
    clock = Clock.CREATED_AT if signal.clock is Clock.CREATED_AT else _USED
    parts = [(1.0, half_life)]
    if signal.curve is Curve.HYPERBOLIC:
        parts = [(share, half_life * math.log(2) / node) for share, node in _HYPERBOLIC]
    for share, half_life in parts:
        for covered, part in _between(HALF_LIVES, half_life, map_by=math.log):
            yield Term(_PLACES[_recency(clock, covered), 0.0], share * part, half_life=covered)


def _frequencies(cap: float) -> Iterator[Term]:
    """Terms of min(n / cap, 1). Beyond the largest of CAPS, the slope is exact up to that cap."""
    beyond = min(1.0, CAPS[-1] / cap)
    for covered, share in _between(CAPS, cap, map_by=lambda x: 1 / x):
        yield Term(_PLACES[Frequency(cap=covered), 0.0], share * beyond)


def _between(
    known: Sequence[float], value: float, *, map_by: Callable[[float], float] = float
) -> list[tuple[float, float]]:
    """Interpolation: the known values around this one with their shares, linear in `map_by`.

    Outside of the known values, the nearest one.
    """
    place = bisect_right(known, value)
    if place in (0, len(known)):
        return [(known[min(place, len(known) - 1)], 1.0)]
    lower, upper = known[place - 1], known[place]
    share = (map_by(value) - map_by(lower)) / (map_by(upper) - map_by(lower))
    return [(lower, 1.0 - share), (upper, share)]
