"""The space of the rank index, in which the inner product of memory and query is the score.

A score is a sum of weight · signal, and cosine similarity is itself an inner product. So with a
memory as the point [unit embedding, √ρ₁·s₁, √ρ₂·s₂, …] and a query as the direction
[w·unit query, w₁/√ρ₁, w₂/√ρ₂, …] their inner product is the score, for any weights w: weights and
the moment asked about stand in the query alone. ρ is how much an axis counts, beside similarity,
in the distances between memories that the graph of the index is built from.

Exponential decay separates: after d more days a value of half-life h is 2^(-d/h) times what it
was, the same factor for every memory. So recency is kept as it was at the index's moment, for
several half-lives, and other decays are mixed from these. What decays by a half-life of its own in
each row (trust, tiers) is kept as it will be at several moments, to be interpolated between.
"""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum

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

VERSION = 1
"""Changes whenever AXES or `positions_of` does: positions of another version are not used."""

HALF_LIVES = (1.0, 4.0, 14.0, 45.0, 180.0)
"""Days. Any from the first to the last is mixed from its two neighbours."""
MOMENTS = (0.0, 7.0, 30.0)
"""Days after the index's moment at which decays that differ from row to row are kept."""
CAPS = (20.0, 50.0)
"""Of the frequency of retrieval."""
MOSTLY_ONE = 0.6

_HYPERBOLIC = (
    (0.7110930099, 0.4157745568),
    (0.2785177336, 2.2942803603),
    (0.0103892565, 6.28994508),
)
"""Weights and nodes of Gauss–Laguerre quadrature of order 3 (Abramowitz & Stegun, table 25.9):
1 / (1 + x) = ∫ exp(-s) exp(-s·x) ds is nearly their sum of weight · exp(-node · x)."""


class Missing(StrEnum):
    """What a memory may lack; its axis is 1 where it does."""

    EMBEDDING = "embedding"
    TRUST = "trust"
    CREATED_AT = "created_at"


@dataclass(frozen=True, slots=True)
class Axis:
    """One coordinate of a position, beside those of the embedding."""

    what: Signal | Missing
    """A signal, whose value where something is missing is 0 here; or that it is missing."""
    after: float = 0.0
    """The days after the index's moment at which the signal's value is taken."""
    reference: float = 0.05
    """ρ, where similarity has 1."""

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


@dataclass(frozen=True, slots=True)
class Term:
    """A part of what a signal of weight 1 asks of positions: one coordinate of the direction."""

    axis: Axis
    share: float
    half_life: float | None = None
    """Days in which it falls by half, where it fades."""
    moment: float | None = None
    """One of MOMENTS, where it is interpolated between them."""

    def at(self, elapsed: float) -> float:
        """The coordinate, so many days after the index's moment."""
        coordinate = self.share / self.axis.scale
        if self.half_life is not None:
            coordinate *= math.exp(max(-math.log(2) * elapsed / self.half_life, -700.0))
        if self.moment is not None:
            coordinate *= dict(_between(MOMENTS, elapsed)).get(self.moment, 0.0)
        return coordinate

    @property
    def values(self) -> dict[str, float]:
        """As `rank_direction` in SQL takes it; axes are counted from 1."""
        found = {"axis": AXES.index(self.axis) + 1, "share": self.share / self.axis.scale}
        if self.half_life is not None:
            found["half_life"] = self.half_life
        if self.moment is not None:
            place = MOMENTS.index(self.moment)
            around = {"before": MOMENTS[place - 1 : place], "after": MOMENTS[place + 1 :]}
            found |= {"moment": self.moment, **{name: m[0] for name, m in around.items() if m}}
        return found


def direction(
    profile: Profile, elapsed: float, *, with_query: bool = True
) -> tuple[float, list[float]]:
    """A question by this profile, `elapsed` days after the index's moment.

    Returns the weight of the unit query vector, and one coordinate per axis.
    """
    similarity = 0.0
    coordinates = dict.fromkeys(AXES, 0.0)
    for signal, weight in profile:
        if isinstance(signal, Similarity):
            if not with_query:
                continue  # then it is the same for every memory
            similarity = weight
        for term in terms(signal):
            coordinates[term.axis] += weight * term.at(elapsed)
    return similarity, list(coordinates.values())


def uncovered(profile: Profile, *, with_entities: bool) -> float:
    """The weight of the signals that positions say nothing of: their share of the score is not in
    the order of the index, only in the exact scoring of what it hands on.

    A class of signals that is not named here is one of them.
    """
    return sum(
        weight for signal, weight in profile if not is_covered(signal, with_entities=with_entities)
    )


def is_hard(profile: Profile) -> bool:
    """Whether finding as much takes twice the candidates, as measured.

    Where one signal is nearly all, the graph, which mixes all of them, leads less well. Words are
    not in the graph, so that the others share its whole order.
    """
    total = sum(weight for signal, weight in profile if not isinstance(signal, Keyword))
    return is_rough(profile) or any(
        weight > MOSTLY_ONE * total and not isinstance(signal, Keyword)
        for signal, weight in profile
    )


def is_rough(profile: Profile) -> bool:
    """Whether positions follow the score only roughly: where trust decays by each row's own
    half-life or recency is linear."""
    return any(weight > 0 and is_followed_roughly(signal) for signal, weight in profile)


def is_followed_roughly(signal: Signal) -> bool:
    """Whether positions follow this signal only roughly."""
    if isinstance(signal, Trust):
        return signal.decay
    return isinstance(signal, Recency) and signal.curve is Curve.LINEAR


def is_covered(signal: Signal, *, with_entities: bool) -> bool:
    """By the class itself: a subclass may mean something else."""
    kind = type(signal)
    if kind is EntityOverlap:
        return not with_entities  # then it is 0 for every memory
    if isinstance(signal, Recency) and kind is Recency:
        return _holds_decay(signal)
    if isinstance(signal, Frequency) and kind is Frequency:
        return signal.cap >= CAPS[0]
    # Words are not in the graph, but each walk compares them beside it. Time is 0 for every memory:
    # a search with a period goes through no index.
    return kind in (Similarity, Usefulness, Importance, Confidence, Trust, Keyword, Time)


def _holds_decay(signal: Recency) -> bool:
    if signal.half_lives_by_type:
        return False
    if signal.half_lives_by_tier:
        return _by_tier(signal)
    half_life = _half_life(signal)
    return half_life is None or HALF_LIVES[0] <= half_life <= HALF_LIVES[-1]


def _by_tier(signal: Recency) -> bool:
    """Whether it is the decay by tier that has axes of its own."""
    return (
        signal.half_lives_by_tier == _BY_TIER.half_lives_by_tier
        and signal.half_life == _BY_TIER.half_life
        and signal.curve is _BY_TIER.curve
        and signal.clock is not Clock.CREATED_AT
    )


def _half_life(signal: Recency) -> float | None:
    """Days; None where nothing decays."""
    if signal.half_life is not None:
        return signal.half_life
    return math.log(2) / signal.rate_per_day if signal.rate_per_day else None


_AXES = {(axis.what, axis.after): axis for axis in AXES}


def terms(signal: Signal) -> Iterator[Term]:
    """What the signal asks of positions, but for the embedding; nothing by a class of its own."""
    if type(signal) not in KINDS.values():
        return
    match signal:
        case Similarity():
            yield Term(_AXES[Missing.EMBEDDING, 0.0], signal.missing)
        case Usefulness() | Importance() | Confidence():
            yield Term(_AXES[signal, 0.0], 1.0)
        case Trust():
            yield Term(_AXES[Missing.TRUST, 0.0], signal.missing)
            if signal.decay:
                yield from _interpolated(Trust(missing=0.0))
            else:
                yield Term(_AXES[Trust(decay=False, missing=0.0), 0.0], 1.0)
        case Recency():
            if _half_life(signal) is None:  # 1 for every memory but those of unknown age
                yield Term(_AXES[Missing.CREATED_AT, 0.0], signal.unknown - 1.0)
                return
            yield Term(_AXES[Missing.CREATED_AT, 0.0], signal.unknown)
            yield from _interpolated(_BY_TIER) if _by_tier(signal) else _decays(signal)
        case Frequency():
            yield from _frequencies(signal.cap)


def _interpolated(signal: Signal) -> Iterator[Term]:
    """Between the two moments around the one asked about; after the last, as at the last."""
    for moment in MOMENTS:
        yield Term(_AXES[signal, moment], 1.0, moment=moment)


def _decays(signal: Recency) -> Iterator[Term]:
    half_life = _half_life(signal)
    assert half_life is not None
    clock = Clock.CREATED_AT if signal.clock is Clock.CREATED_AT else _USED
    parts = [(1.0, half_life)]
    if signal.curve is Curve.HYPERBOLIC:
        parts = [(share, half_life * math.log(2) / node) for share, node in _HYPERBOLIC]
    for share, half_life in parts:
        for covered, part in _between(HALF_LIVES, half_life, map_by=math.log):
            yield Term(_AXES[_recency(clock, covered), 0.0], share * part, half_life=covered)


def _frequencies(cap: float) -> Iterator[Term]:
    """min(n / cap, 1); beyond the largest cap the slope is right, up to where that one ends."""
    beyond = min(1.0, CAPS[-1] / cap)
    for covered, share in _between(CAPS, cap, map_by=lambda x: 1 / x):
        yield Term(_AXES[Frequency(cap=covered), 0.0], share * beyond)


def _between(
    known: Sequence[float], value: float, *, map_by: Callable[[float], float] = float
) -> list[tuple[float, float]]:
    """The known values around this one with their shares, linear in `map_by`; outside, the end."""
    place = bisect_right(known, value)
    if place in (0, len(known)):
        return [(known[min(place, len(known) - 1)], 1.0)]
    lower, upper = known[place - 1], known[place]
    share = (map_by(value) - map_by(lower)) / (map_by(upper) - map_by(lower))
    return [(lower, 1.0 - share), (upper, share)]
