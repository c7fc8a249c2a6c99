"""A profile: a named set of weighted signals."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from numbers import Real
from types import MappingProxyType

from pgrecall.errors import InvalidProfile, UnknownName
from pgrecall.quoting import listed, shortened
from pgrecall.signals import Recency, Signal, Trust, is_storable

WEIGHT_SUM_TOLERANCE = 1e-9
SMALLEST_WEIGHT = 1e-12
"""Below it a product with a tiny signal could underflow, which PostgreSQL raises as an error."""


@dataclass(frozen=True, slots=True)
class Profile:
    """How a memory is scored: the sum of `weight · signal` over `signals`.

    The weights lie in [0, 1] and sum to 1, so a score lies in [0, 1] on a scale that does not
    depend on which memories were candidates. A profile is a value: immutable, comparable, hashable.

    Raises InvalidProfile when the weights do not fit.
    """

    name: str
    signals: Mapping[Signal, float]

    def __post_init__(self) -> None:
        if not (is_storable(self.name) and self.name.strip()):
            raise InvalidProfile(f"a profile needs a name, got {shortened(self.name)}")
        if not _are_signals(self.signals):
            raise InvalidProfile(
                f"profile {shortened(self.name)}: signals map a Signal to its weight, "
                f"got {shortened(self.signals)}"
            )
        names = [signal.name for signal in self.signals]
        if len(names) != len(set(names)):
            raise InvalidProfile(
                f"profile {shortened(self.name)} has a signal twice: {', '.join(names)}"
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

    def __hash__(self) -> int:
        return hash((self.name, tuple(self.signals.items())))

    def __reduce__(self) -> tuple[type[Profile], tuple[str, dict[Signal, float]]]:
        return Profile, (self.name, dict(self.signals))  # a mappingproxy cannot be pickled

    def __iter__(self) -> Iterator[tuple[Signal, float]]:
        return iter(self.signals.items())

    @property
    def weights(self) -> dict[str, float]:
        """Signal name → weight, in the profile's order."""
        return {signal.name: weight for signal, weight in self}

    @property
    def reads_usage(self) -> bool:
        """Whether scoring needs the counters in `memory_usage`."""
        return any(signal.reads_usage for signal in self.signals)

    def with_weights(self, /, **weights: float) -> Profile:
        """The same signals under these weights; a signal that is not named weighs 0.

        Raises UnknownName for a signal the profile does not have and InvalidProfile when the
        weights do not sum to 1.
        """
        unknown = [name for name in weights if name not in self.weights]
        if unknown:
            raise UnknownName(
                f"profile {shortened(self.name)} has no signal {listed(unknown)}; "
                f"its signals are {', '.join(self.weights)}"
            )
        return Profile(self.name, {s: weights.get(s.name, 0.0) for s in self.signals})

    def with_half_life(self, days: float) -> Profile:
        """The same profile with this half-life of recency for all memories.

        Raises InvalidProfile when the profile has no recency or the half-life cannot be used.
        """
        if not any(isinstance(signal, Recency) for signal in self.signals):
            raise InvalidProfile(
                f"profile {shortened(self.name)} has no recency to give a half-life"
            )
        return self._with(
            lambda signal: (
                replace(
                    signal,
                    rate=None,
                    half_life=days,
                    half_lives_by_type=(),
                    half_lives_by_tier=(),
                )
                if isinstance(signal, Recency)
                else signal
            )
        )

    def without_trust_decay(self) -> Profile:
        """The same profile ranking by trust as it is stored."""
        return self._with(
            lambda signal: replace(signal, decay=False) if isinstance(signal, Trust) else signal
        )

    def renamed(self, name: str) -> Profile:
        """The same profile under another name."""
        return Profile(name, self.signals)

    def _with(self, change: Callable[[Signal], Signal]) -> Profile:
        return Profile(self.name, {change(signal): weight for signal, weight in self})


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
