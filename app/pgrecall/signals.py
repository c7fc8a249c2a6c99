"""Signals: numbers in [0, 1] computed for one memory and one query.

A signal here is only a name and its parameters. What it means in SQL stands in
`sql/functions/`, what it means in Python in `pgrecall.scorer`; the two are written
independently so that each can check the other.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from enum import StrEnum
from typing import ClassVar

from pgrecall.errors import InvalidProfile

MAX_RATE = 1e9
"""Per day; faster decay than a millisecond's half-life would overflow in the exponent."""


class Clock(StrEnum):
    """The timestamp a decay runs from."""

    CREATED_AT = "created_at"
    LAST_ACCESSED_AT = "last_accessed_at"
    """Falls back to created_at for a memory never retrieved."""
    LATEST = "latest"
    """The later of the two."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Signal:
    """The base of all signals; `name` is unique within a profile."""

    name: ClassVar[str]

    @property
    def reads_usage(self) -> bool:
        """Whether the signal needs `memory_usage`, so that a profile without it skips the join."""
        return False


@dataclass(frozen=True, slots=True, kw_only=True)
class Similarity(Signal):
    """Cosine similarity of embedding and query, clamped to [0, 1].

    `missing` is its value where the memory has no embedding.
    """

    name: ClassVar[str] = "similarity"
    missing: float = 0.0

    def __post_init__(self) -> None:
        _require_share("similarity", "missing", self.missing)


@dataclass(frozen=True, slots=True, kw_only=True)
class Recency(Signal):
    """Exponential decay exp(-rate · age in days); an age is never negative.

    Give `rate` (per day) or `half_life` (days), not both; rate = ln 2 / half_life.
    `unknown` is the value where the clock has no time.
    """

    name: ClassVar[str] = "recency"
    rate: float | None = None
    half_life: float | None = None
    clock: Clock = Clock.CREATED_AT
    unknown: float = 0.5

    def __post_init__(self) -> None:
        if (self.rate is None) == (self.half_life is None):
            raise InvalidProfile("recency takes either rate (per day) or half_life (days)")
        if self.half_life is not None and not self.half_life > 0:
            raise InvalidProfile(f"recency: half_life must be above 0 days, got {self.half_life}")
        if not 0 <= self.rate_per_day <= MAX_RATE:
            raise InvalidProfile(
                f"recency: the rate must lie within 0 and {MAX_RATE:g} per day, "
                f"got {self.rate_per_day}"
            )
        if self.clock not in set(Clock):
            raise InvalidProfile(
                f"recency: unknown clock {self.clock!r}; the clocks are {', '.join(Clock)}"
            )
        _require_share("recency", "unknown", self.unknown)

    @property
    def rate_per_day(self) -> float:
        if self.rate is not None:
            return self.rate
        assert self.half_life is not None
        return math.log(2) / self.half_life

    @property
    def reads_usage(self) -> bool:
        return self.clock is not Clock.CREATED_AT


@dataclass(frozen=True, slots=True, kw_only=True)
class Usefulness(Signal):
    """The stored usefulness, moved by feedback; 0.5 before any."""

    name: ClassVar[str] = "usefulness"


@dataclass(frozen=True, slots=True, kw_only=True)
class Confidence(Signal):
    """The confidence set when the memory was extracted."""

    name: ClassVar[str] = "confidence"


@dataclass(frozen=True, slots=True, kw_only=True)
class Frequency(Signal):
    """Retrievals so far as a share of `cap`, at most 1."""

    name: ClassVar[str] = "frequency"
    cap: float = 50

    def __post_init__(self) -> None:
        if not 1 <= self.cap <= 1e9:
            raise InvalidProfile(f"frequency: cap must lie within 1 and 1e9, got {self.cap}")

    @property
    def reads_usage(self) -> bool:
        return True


def _require_share(signal: str, parameter: str, value: float) -> None:
    if not (value == 0 or 1e-100 <= value <= 1):
        raise InvalidProfile(f"{signal}: {parameter} must lie within 0 and 1, got {value}")
