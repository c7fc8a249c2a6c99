"""Signals: numbers in [0, 1] computed for one memory and one query.

A class here has only a name and parameters. Each signal is implemented twice and independently, in
SQL (`sql/signals/`) and in Python (`pgrecall.scoring.scorer`), so that each can check the other.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from numbers import Real
from typing import Any, ClassVar, Final, TypeVar

from pgrecall.core.limits import SMALLEST_SHARE, is_storable
from pgrecall.core.quoting import shortened
from pgrecall.errors import InvalidProfile

E = TypeVar("E", bound=StrEnum)

SHORTEST_HALF_LIFE, LONGEST_HALF_LIFE = 1e-9, 1e9
"""In days."""
MIN_RATE, MAX_RATE = 1e-12, 1e9
"""Per day. A faster decay could overflow in the exponent."""


class Clock(StrEnum):
    """The timestamp a decay runs from."""

    CREATED_AT = "created_at"
    LAST_ACCESSED_AT = "last_accessed_at"
    """Falls back to created_at if the memory was never accessed."""
    LATEST = "latest"
    """The later of created_at and last_accessed_at."""


class Curve(StrEnum):
    """The shape of a decay; each is one half at the half-life."""

    EXPONENTIAL = "exponential"
    HYPERBOLIC = "hyperbolic"
    LINEAR = "linear"


HalfLives = tuple[tuple[str, float], ...]
"""Pairs of name and days, shortest first; signals also accept a mapping."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Signal:
    """The base of all signals; `name` is unique within a profile."""

    @property
    def name(self) -> str:
        """The class of a built-in signal has it as `name`, an `Attribute` itself."""
        raise NotImplementedError

    @property
    def reads_usage(self) -> bool:
        """True if the signal needs `memory_usage`; profiles without such signals skip the join."""
        return False


@dataclass(frozen=True, slots=True, kw_only=True)
class Similarity(Signal):
    """Cosine similarity of embedding and query, clamped to [0, 1].

    `missing` is the value if there is no embedding or no query vector. With `required`, a search
    with a query vector leaves out memories without an embedding.

    `shift`, from 0 to below 1, compares with q - shift · μ instead of the query's vector q, of
    length 1, where μ is the mean of the owner's embeddings, each of length 1: what all memories
    have in common tells none from another. The mean is that of each memory's own owner; without
    one, q is not shifted. Similarity as it is shown, and as floors read it, is the plain cosine.
    """

    name: ClassVar[str] = "similarity"
    missing: float = 0.0
    required: bool = False
    shift: float = 0.0

    def __post_init__(self) -> None:
        require_share(self, "missing", self.missing)
        require_bool(self, "required", self.required)
        require_number(self.name, "shift", self.shift)
        if not 0 <= self.shift < 1:
            raise InvalidProfile(
                f"similarity: shift must lie within 0 and 1 and be less than 1, "
                f"got {shortened(self.shift)}"
            )


def requires_embedding(signals: Iterable[Signal]) -> bool:
    """True if these signals leave out memories without an embedding."""
    return any(isinstance(signal, Similarity) and signal.required for signal in signals)


@dataclass(frozen=True, slots=True, kw_only=True)
class Recency(Signal):
    """Decay with age. Takes either `half_life` in days or, for the exponential curve, `rate`.

    `curve`, where t is the age in days, at least 0:

    - exponential: exp(-rate · t), rate = ln 2 / half_life
    - hyperbolic: 1 / (1 + t / half_life)
    - linear: max(0, 1 - t / (2 · half_life))

    `half_lives_by_type` or `half_lives_by_tier`, in days, apply to memories of these types or
    tiers, and `half_life` to all others. If a memory has several types, the shortest half-life
    counts. `unknown` is the value if the clock's timestamp is NULL.
    """

    name: ClassVar[str] = "recency"
    rate: float | None = None
    half_life: float | None = None
    curve: Curve = Curve.EXPONENTIAL
    clock: Clock = Clock.CREATED_AT
    unknown: float = 0.5
    half_lives_by_type: HalfLives = ()
    half_lives_by_tier: HalfLives = ()

    def __post_init__(self) -> None:
        if (self.rate is None) == (self.half_life is None):
            raise InvalidProfile("recency needs either rate (per day) or half_life (days)")
        if self.rate is not None:
            require_number("recency", "rate", self.rate)
        for name, known in (("curve", Curve), ("clock", Clock)):
            object.__setattr__(self, name, _member(self, name, getattr(self, name), known))
        if self.rate is not None and self.curve is not Curve.EXPONENTIAL:
            raise InvalidProfile(f"recency: a {self.curve} curve needs half_life, not rate")
        for name in ("half_lives_by_type", "half_lives_by_tier"):
            object.__setattr__(self, name, _ascending(getattr(self, name)))
        if self.half_lives_by_type and self.half_lives_by_tier:
            raise InvalidProfile("recency takes half-lives by type or by tier, not both")
        if (self.half_lives_by_type or self.half_lives_by_tier) and self.half_life is None:
            raise InvalidProfile("recency: half-lives by type or tier need half_life for the rest")
        if self.half_life is not None:
            _require_half_life(self.half_life, "half_life")
        if not (self.rate is None or self.rate == 0 or MIN_RATE <= self.rate <= MAX_RATE):
            raise InvalidProfile(
                f"recency: the rate must be 0 or lie within {MIN_RATE:g} and {MAX_RATE:g} "
                f"per day, got {shortened(self.rate)}"
            )
        require_share(self, "unknown", self.unknown)

    @property
    def rate_per_day(self) -> float:
        """The rate of the exponential curve, if no half-life by type or tier applies."""
        if self.rate is not None:
            return self.rate
        assert self.half_life is not None
        return rate_of(self.half_life)

    @property
    def half_life_in_days(self) -> float:
        """The half-life if none by type or tier applies; LONGEST_HALF_LIFE if nothing decays."""
        if self.half_life is not None:
            return float(self.half_life)
        return rate_of(self.rate_per_day) if self.rate_per_day else LONGEST_HALF_LIFE

    @property
    def reads_usage(self) -> bool:
        return self.clock is not Clock.CREATED_AT


def rate_of(half_life: float) -> float:
    """The decay rate, ln 2 / half_life."""
    return math.log(2) / half_life


DECAY: Final = "decay"
"""The name of the factor among the values of signals. No signal may have it."""


@dataclass(frozen=True, slots=True)
class Decay:
    """Multiplies the score of a memory by floor + (1 - floor) · recency.

    A signal adds to the score, so an old memory that fits badly loses as much by its age as one
    that fits well. A decay takes the same share from each. `floor`, from 0 to 1, is the share that
    is left however old a memory is.
    """

    recency: Recency
    floor: float = 0.0

    def __post_init__(self) -> None:
        if not isinstance(self.recency, Recency):
            raise InvalidProfile(f"decay needs a Recency, got {shortened(self.recency)}")
        floor = self.floor
        if isinstance(floor, bool) or not isinstance(floor, Real) or not 0 <= floor <= 1:
            raise InvalidProfile(f"decay: floor must lie within 0 and 1, got {shortened(floor)}")
        object.__setattr__(self, "floor", float(floor))


@dataclass(frozen=True, slots=True, kw_only=True)
class Usefulness(Signal):
    """The stored usefulness, which feedback changes; 0.5 without feedback."""

    name: ClassVar[str] = "usefulness"


@dataclass(frozen=True, slots=True, kw_only=True)
class Importance(Signal):
    """The stored importance; 0.5 unless set."""

    name: ClassVar[str] = "importance"


@dataclass(frozen=True, slots=True, kw_only=True)
class Confidence(Signal):
    """The confidence set when the memory was extracted; 0.8 unless set."""

    name: ClassVar[str] = "confidence"


@dataclass(frozen=True, slots=True, kw_only=True)
class Trust(Signal):
    """The stored trust, which decays since the last access by the curve and half-life of its row.

    The trust of a memory that was never accessed does not decay. A row without a curve decays
    hyperbolically with a half-life of 168 hours. `decay=False` uses the stored trust. `missing` is
    the value if trust was never assessed.
    """

    name: ClassVar[str] = "trust"
    decay: bool = True
    missing: float = 0.5

    def __post_init__(self) -> None:
        require_share(self, "missing", self.missing)
        require_bool(self, "decay", self.decay)

    @property
    def reads_usage(self) -> bool:
        return self.decay


@dataclass(frozen=True, slots=True, kw_only=True)
class Frequency(Signal):
    """min(retrieval_count / cap, 1)."""

    name: ClassVar[str] = "frequency"
    cap: float = 50

    def __post_init__(self) -> None:
        require_number("frequency", "cap", self.cap)
        if not 1 <= self.cap <= 1e9:
            raise InvalidProfile(
                f"frequency: cap must lie within 1 and 1e9, got {shortened(self.cap)}"
            )

    @property
    def reads_usage(self) -> bool:
        return True


@dataclass(frozen=True, slots=True, kw_only=True)
class EntityOverlap(Signal):
    """The share of the query's entities Q that the memory M has, |Q ∩ M| / |Q|; 0 if Q is empty.

    With `subject`, the subject of a memory is one of its entities, such as the speaker of a turn.
    Where one name in a text stands for several entities (an alias, say), it counts once in |Q|.
    """

    name: ClassVar[str] = "entity_overlap"
    subject: bool = False

    def __post_init__(self) -> None:
        require_bool(self, "subject", self.subject)


@dataclass(frozen=True, slots=True, kw_only=True)
class Keyword(Signal):
    """The share of the query's terms that the memory has, reduced for long memories:
    share / (1 - b + b · greatest(1, bytes / pivot)), share = Σ idf(matched) / Σ idf(known).

    idf = ln(1 + (N - n + 0.5) / (n + 0.5)), where n of the owner's N memories have the term. Known
    terms are those that some memory searched has. `bytes` is the length of the memory in UTF-8.
    Memories of up to `pivot` bytes are not reduced; `b`, from 0 to 1, says how much longer ones
    are, since a long memory mentions many things in passing. 0 without a query text or known
    terms. The pivot is that of Singhal, Buckley and Mitra (1996).
    """

    name: ClassVar[str] = "keyword"
    b: float = 0.8
    pivot: float = 400

    def __post_init__(self) -> None:
        require_share(self, "b", self.b)
        require_number("keyword", "pivot", self.pivot)
        if not 1 <= self.pivot <= 1e9:
            raise InvalidProfile(
                f"keyword: pivot must lie within 1 and 1e9 bytes, got {shortened(self.pivot)}"
            )

    def divisor(self, size: int) -> float:
        """The divisor of the share for a memory of `size` bytes; 1 up to the pivot."""
        return 1 - self.b + self.b * max(size / self.pivot, 1.0)


@dataclass(frozen=True, slots=True, kw_only=True)
class Time(Signal):
    """Nearness of a memory's time to the query's `period`: 1 within the period,
    otherwise max(0, 1 - distance / length). The length is that of the period, at least a day.

    A memory's time is observed_at, or created_at if that is unknown; `unknown` is the value if both
    are. What was written down within a day after the period, without an observed_at, counts as
    within it. 0 if the query has no period.
    """

    name: ClassVar[str] = "time"
    unknown: float = 0.0

    def __post_init__(self) -> None:
        require_share(self, "unknown", self.unknown)


KINDS: dict[str, type[Signal]] = {
    kind.name: kind
    for kind in (
        *(Similarity, Recency, Usefulness, Importance),
        *(Confidence, Trust, Frequency, EntityOverlap, Keyword, Time),
    )
}
"""The class of each signal by its name."""


def _ascending(half_lives: HalfLives | Mapping[str, float]) -> HalfLives:
    if not isinstance(half_lives, Mapping | list | tuple):
        raise InvalidProfile(
            f"recency: half-lives must map names to days, got {shortened(half_lives)}"
        )
    pairs: list[Any] = list(half_lives.items() if isinstance(half_lives, Mapping) else half_lives)
    for pair in pairs:
        if not isinstance(pair, tuple | list) or len(pair) != 2:
            raise InvalidProfile(
                f"recency: half-lives must map names to days, got {shortened(pair)}"
            )
        name, days = pair
        if not name or not is_storable(name):
            raise InvalidProfile(
                f"recency: the name of a half-life must be text that is not empty, "
                f"got {shortened(name)}"
            )
        _require_half_life(days, f"the half-life of {shortened(name)}")
    return tuple(sorted(((name, float(days)) for name, days in pairs), key=lambda p: (p[1], p[0])))


def require_number(signal: str, parameter: str, value: object) -> None:
    if isinstance(value, bool) or not isinstance(value, Real):
        raise InvalidProfile(f"{signal}: {parameter} must be a number, got {shortened(value)}")


def _member(signal: Signal, parameter: str, value: Any, known: type[E]) -> E:
    if not isinstance(value, str) or value not in tuple(known):
        raise InvalidProfile(
            f"{signal.name}: unknown {parameter} {shortened(value)}; known are {', '.join(known)}"
        )
    return known(value)


def _require_half_life(days: Any, parameter: str) -> None:
    require_number("recency", parameter, days)
    if not SHORTEST_HALF_LIFE <= days <= LONGEST_HALF_LIFE:
        raise InvalidProfile(
            f"recency: {parameter} must lie within {SHORTEST_HALF_LIFE:g} and "
            f"{LONGEST_HALF_LIFE:g} days, got {shortened(days)}"
        )


def require_bool(signal: Signal, parameter: str, value: object) -> None:
    if not isinstance(value, bool):
        raise InvalidProfile(
            f"{signal.name}: {parameter} must be True or False, got {shortened(value)}"
        )


def require_share(signal: Signal, parameter: str, value: float) -> None:
    require_number(signal.name, parameter, value)
    if not (value == 0 or SMALLEST_SHARE <= value <= 1):
        raise InvalidProfile(
            f"{signal.name}: {parameter} must lie within 0 and 1, got {shortened(value)}"
        )
