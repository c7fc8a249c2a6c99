"""A profile: a named set of weighted signals."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import lru_cache
from numbers import Real
from types import MappingProxyType
from typing import TYPE_CHECKING, Literal, TypeVar, get_args

from pgrecall.core.limits import is_storable
from pgrecall.core.quoting import listed, shortened
from pgrecall.errors import InvalidProfile, UnknownName
from pgrecall.scoring.signals import DECAY, Decay, Recency, Signal

if TYPE_CHECKING:
    from sqlalchemy import ColumnElement

    from pgrecall.scoring.score import Matched

S = TypeVar("S", bound=Signal)
AccessedBy = Literal["retrieval", "use"]

WEIGHT_SUM_TOLERANCE = 1e-9
SMALLEST_WEIGHT = 1e-12
"""The product of a smaller weight and a tiny signal could underflow, and PostgreSQL raises."""


@dataclass(frozen=True, slots=True)
class Profile:
    """How a memory is scored: the sum of `weight · signal` over `signals`.

    The weights lie in [0, 1] and sum to 1, so a score lies in [0, 1]. A profile is a value:
    immutable, comparable, hashable.

    With `redistribute`, the weight of a signal that the query has no value for goes to the other
    signals, in proportion. `accessed_by` says what sets `last_accessed_at`: "retrieval", so every
    search does for its hits, or "use", so only `record_outcome` and `touch` do. `min_relevance` is
    the default of `context`; `search` ignores it. `decay` multiplies the score, and so each
    contribution, by a share that falls with age.

    Raises InvalidProfile if a weight or another value cannot be used.
    """

    name: str
    signals: Mapping[Signal, float]
    redistribute: bool = False
    accessed_by: AccessedBy = "retrieval"
    min_relevance: float | None = None
    decay: Decay | None = None
    _hash: int = field(init=False, repr=False, compare=False)
    """Computed once, since each search looks the profile up in several caches."""

    def __post_init__(self) -> None:
        if not (is_storable(self.name) and self.name.strip()):
            raise InvalidProfile(
                f"the name of a profile must be text that is not empty, got {shortened(self.name)}"
            )
        if not _are_signals(self.signals):
            raise InvalidProfile(
                f"profile {shortened(self.name)}: signals must map each Signal to its weight, "
                f"got {shortened(self.signals)}"
            )
        names = [signal.name for signal in self.signals]
        if len(names) != len(set(names)):
            raise InvalidProfile(
                f"profile {shortened(self.name)} has a signal twice: {', '.join(names)}"
            )
        if DECAY in names:
            raise InvalidProfile(
                f"profile {shortened(self.name)}: no signal may be named {DECAY}, which is what "
                "the factor of a decay is called"
            )
        checked = {
            signal: _checked_weight(self.name, signal.name, weight)
            for signal, weight in self.signals.items()
        }
        total = math.fsum(checked.values())
        if abs(total - 1) > WEIGHT_SUM_TOLERANCE:
            raise InvalidProfile(
                f"profile {shortened(self.name)}: the weights must sum to 1, "
                f"they sum to {total:.10g}"
            )
        object.__setattr__(self, "signals", MappingProxyType(checked))
        if not isinstance(self.redistribute, bool):
            raise InvalidProfile(
                f"profile {shortened(self.name)}: redistribute must be True or False, "
                f"got {shortened(self.redistribute)}"
            )
        if self.accessed_by not in get_args(AccessedBy):
            raise InvalidProfile(
                f"profile {shortened(self.name)}: accessed_by must be retrieval or use, "
                f"got {shortened(self.accessed_by)}"
            )
        floor = self.min_relevance
        if floor is not None:
            if isinstance(floor, bool) or not isinstance(floor, Real) or not 0 <= floor <= 1:
                raise InvalidProfile(
                    f"profile {shortened(self.name)}: min_relevance must lie within 0 and 1, "
                    f"got {shortened(floor)}"
                )
            object.__setattr__(self, "min_relevance", float(floor))
        if not isinstance(self.decay, Decay | None):
            raise InvalidProfile(
                f"profile {shortened(self.name)}: decay must be a Decay, "
                f"got {shortened(self.decay)}"
            )
        settings = self.redistribute, self.accessed_by, self.min_relevance, self.decay
        of_all = hash((self.name, tuple(self.signals.items()), *settings))
        object.__setattr__(self, "_hash", of_all)

    def __hash__(self) -> int:
        return self._hash

    def __reduce__(self) -> tuple[type[Profile], tuple[object, ...]]:
        # A mappingproxy cannot be pickled.
        settings = self.redistribute, self.accessed_by, self.min_relevance, self.decay
        return Profile, (self.name, dict(self.signals), *settings)

    def __iter__(self) -> Iterator[tuple[Signal, float]]:
        return iter(self.signals.items())

    @property
    def weights(self) -> dict[str, float]:
        """The weight of each signal by its name, in the profile's order."""
        return {signal.name: weight for signal, weight in self.signals.items()}

    def find(self, kind: type[S]) -> S | None:
        """Its signal of this kind; None if it has none."""
        for signal in self.signals:
            if isinstance(signal, kind):
                return signal
        return None

    @property
    def reads_usage(self) -> bool:
        """True if scoring needs the counters in `memory_usage`."""
        decays_by_use = self.decay is not None and self.decay.recency.reads_usage
        return decays_by_use or any(signal.reads_usage for signal in self.signals)

    def with_weights(self, /, **weights: float) -> Profile:
        """The same profile with these weights; a signal that is not named gets 0.

        Raises UnknownName for a signal that the profile does not have, and InvalidProfile if the
        weights do not sum to 1.
        """
        unknown = [name for name in weights if name not in self.weights]
        if unknown:
            raise UnknownName(
                f"profile {shortened(self.name)} has no signal {listed(unknown)}; "
                f"its signals are {', '.join(self.weights)}"
            )
        return replace(self, signals={s: weights.get(s.name, 0.0) for s in self.signals})

    def without(self, *names: str) -> Profile:
        """The same profile with the weights of these signals distributed to the others.

        The others keep their proportions. If none of them has a weight, nothing changes.
        """
        return _without(self, names)  # cached: called for each search and each hit

    def with_half_life(self, days: float) -> Profile:
        """The same profile with one half-life of recency, in days, for all memories.

        It is that of the recency signal, or of the decay if there is no such signal. Raises
        InvalidProfile if the profile has neither or the half-life is out of range.
        """
        if self.find(Recency) is not None:
            signals = {
                _lasting(signal, days) if isinstance(signal, Recency) else signal: weight
                for signal, weight in self
            }
            return replace(self, signals=signals)
        if self.decay is not None:
            decay = replace(self.decay, recency=_lasting(self.decay.recency, days))
            return replace(self, decay=decay)
        raise InvalidProfile(
            f"profile {shortened(self.name)} has no recency signal and no decay, so no half-life "
            "can be set"
        )

    def score(self, m: Matched) -> ColumnElement[float]:
        """The score as a SQLAlchemy expression over what `repository.matched` returns, for a
        SELECT of your own: ORDER BY it DESC, and then by id. Weights are bound as parameters.

        Raises InvalidProfile if `m` was asked for by a profile that centers similarity otherwise,
        or does not agree whether subjects are names.
        """
        from pgrecall.scoring.score import agreeing, score_expression  # it reads profiles, too

        return score_expression(agreeing(self, m), m)

    def renamed(self, name: str) -> Profile:
        """The same profile under another name."""
        return replace(self, name=name)


def contributions(weights: Mapping[str, float], signals: Mapping[str, float]) -> dict[str, float]:
    """weight · value of each signal by its name, in the profile's order, after the decay."""
    left = signals.get(DECAY, 1.0)
    return {name: weight * signals[name] * left for name, weight in weights.items()}


def _lasting(recency: Recency, days: float) -> Recency:
    """The recency with one half-life for all memories."""
    return replace(recency, rate=None, half_life=days, half_lives_by_type=(), half_lives_by_tier=())


def _are_signals(signals: object) -> bool:
    return isinstance(signals, Mapping) and all(isinstance(one, Signal) for one in signals)


def _checked_weight(profile: str, signal: str, weight: float) -> float:
    if isinstance(weight, bool) or not isinstance(weight, Real):
        raise InvalidProfile(
            f"profile {shortened(profile)}: the weight of {signal} must be a number, "
            f"got {shortened(weight)}"
        )
    if not (weight == 0 or SMALLEST_WEIGHT <= weight <= 1):
        raise InvalidProfile(
            f"profile {shortened(profile)}: the weight of {signal} must be 0 or lie within "
            f"{SMALLEST_WEIGHT:g} and 1, got {shortened(weight)}"
        )
    return float(weight)


@lru_cache
def _without(profile: Profile, names: tuple[str, ...]) -> Profile:
    weights = profile.weights
    others = {name: weight for name, weight in weights.items() if name not in names}
    total = math.fsum(others.values())
    if not total or not any(weights.get(name) for name in names):
        return profile
    return profile.with_weights(**{name: weight / total for name, weight in others.items()})
