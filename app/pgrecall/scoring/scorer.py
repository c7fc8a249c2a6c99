"""Computes scores in plain Python: for use without a database, and as the oracle of the tests.

It shares the profiles with the compiler, but no other code.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime, timedelta
from functools import singledispatch
from numbers import Real
from typing import Any

from pgrecall.core.dates import instant, moment_of
from pgrecall.core.metadata_path import value_at
from pgrecall.core.quoting import listed, shortened
from pgrecall.core.validation import in_list
from pgrecall.errors import InputError, UnknownName
from pgrecall.scoring.attribute import Attribute
from pgrecall.scoring.profile import Profile, contributions
from pgrecall.scoring.scored_memory import Breakdown, ScoredValues
from pgrecall.scoring.signals import (
    DECAY,
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

_MOMENTS = ("created_at", "observed_at", "last_accessed_at")
_PERIOD = "period"
_NUMBERS = (
    *("similarity", "keyword", "retrieval_count", "usefulness", "importance"),
    *("confidence", "trust", "trust_half_life_hours", "bytes", "names"),
)
_WORDS = ("trust_curve", "tier", "memory_type", "subject")
_LISTS = ("additional_types", "entities", "query_entities")
_OF_QUERY = {
    Similarity.name: "similarity",
    Keyword.name: "keyword",
    EntityOverlap.name: "query_entities",
    Time.name: _PERIOD,
}
"""For each signal that a search may have no value for: the key of `values` that it needs."""
_OWN = "metadata"
"""Where attributes are looked for; read by these alone."""
VALUES = (*_MOMENTS, *_NUMBERS, *_WORDS, *_LISTS, _PERIOD, _OWN)
OTHER_NAMES: Mapping[str, str] = {
    "usefulness_score": "usefulness",
    "importance_score": "importance",
    "confidence_score": "confidence",
    "trust_score": "trust",
    "access_count": "retrieval_count",
}
"""Names that IBEX Harness, Grace and Memory OS have for values, and ours."""
SECONDS_PER_DAY = 86_400
SECONDS_PER_HOUR = 3_600
LEAST_HALF_WIDTH = timedelta(hours=12)
WRITTEN_AFTER = timedelta(days=1)
DEFAULT_TRUST_HALF_LIFE_HOURS = 168


def score(
    profile: Profile, values: Mapping[str, Any], *, as_of: datetime | None = None
) -> Breakdown:
    """Scores one memory without a database.

    `values` may contain `similarity` (with the shifted query, if the profile shifts it), `keyword`
    (the share of the query's terms that the memory has), `bytes` (the length of the memory in
    UTF-8), `query_entities`, `names` (how many names stand for these, if some name several),
    `period` (start, end) and the columns that signals read; VALUES lists them all, and
    OTHER_NAMES those of other systems. A value that is missing or None counts as in the database.
    Times may be ISO 8601 text. `as_of` is the moment at which ages are measured, by default now.

    If the profile redistributes weights, a key of a query that `values` lacks gives the weight of
    its signal to the others; with the value None its weight stays.

    Raises UnknownName for an unknown key, and InputError for a value of the wrong type or a time
    without a time zone.
    """
    return _scored(profile, values, as_of, datetime.now(UTC) if as_of is None else as_of)


def _scored(
    profile: Profile, values: Mapping[str, Any], as_of: datetime | None, moment: datetime
) -> Breakdown:
    for argument, kind in ((profile, Profile), (values, Mapping)):
        if not isinstance(argument, kind):
            raise InputError(f"score needs a {kind.__name__}, got {shortened(argument)}")
    values = _ours(values)
    unknown = [name for name in values if name not in VALUES]
    if unknown:
        raise UnknownName(f"unknown value {listed(unknown)}; the values are {', '.join(VALUES)}")
    for name, value in (("as_of", as_of), *values.items()):
        _require(name, value)
    moment = instant(moment)  # or ages within one zone would be by its clocks
    accessed = values.get("last_accessed_at")
    if as_of is not None and accessed is not None and accessed > moment:
        values = {**values, "last_accessed_at": None}
    if profile.redistribute:
        untold = (name for name, of in _OF_QUERY.items() if of not in values)
        profile = profile.without(*untold)
    signals = {signal.name: _value(signal, values, moment) for signal in profile.signals}
    if profile.decay is not None:
        recency, floor = profile.decay.recency, profile.decay.floor
        signals[DECAY] = floor + (1 - floor) * _value(recency, values, moment)
    shares = contributions(profile.weights, signals)
    return Breakdown(math.fsum(shares.values()), signals, shares)


def score_all(
    profile: Profile, memories: Iterable[Mapping[str, Any]], *, as_of: datetime | None = None
) -> list[ScoredValues]:
    """Scores several memories without a database, and returns them best first.

    Each is a mapping as for `score`, which may have other keys too, such as `id` and `content`;
    these are not read. Equal scores stay in the order of `memories`. Ages are measured at one
    moment. Raises InputError with the position of the memory, counted from 0.
    """
    several = None if isinstance(memories, Mapping) else in_list(memories)
    if several is None:
        raise InputError(f"memories must be a list of mappings, got {shortened(memories)}")
    moment = datetime.now(UTC) if as_of is None else as_of
    scored = []
    for position, one in enumerate(several):
        try:
            is_one = isinstance(one, Mapping)
            read = {n: one[n] for n in one if n in VALUES or n in OTHER_NAMES} if is_one else one
            score = _scored(profile, read, as_of, moment)
        except InputError as error:
            raise type(error)(f"memory {position} of {len(several)}: {error}") from None
        scored.append(ScoredValues(score.score, score.signals, score.contributions, one))
    return sorted(scored, key=lambda one: -one.score)


def _ours(values: Mapping[str, Any]) -> dict[str, Any]:
    """The values by our names, and times as datetimes; raises InputError."""
    named: dict[str, Any] = {}
    for name, value in values.items():
        ours = OTHER_NAMES.get(name, name)
        if ours in named:
            raise InputError(f"{ours} is given twice, once by another name")
        is_written = ours in _MOMENTS and isinstance(value, str)
        named[ours] = moment_of(name, value, UTC) if is_written else value
    return named


@singledispatch
def _value(signal: Signal, values: Mapping[str, Any], as_of: datetime) -> float:
    raise NotImplementedError(f"signal {type(signal).__name__} cannot be computed in Python")


@_value.register
def _(signal: Similarity, values: Mapping[str, Any], as_of: datetime) -> float:
    similarity = values.get("similarity")
    return signal.missing if similarity is None else _clamped(similarity)


@_value.register
def _(signal: Recency, values: Mapping[str, Any], as_of: datetime) -> float:
    clock = _clock(signal.clock, values)
    if clock is None:
        return signal.unknown
    days = _age(as_of, clock) / SECONDS_PER_DAY
    if signal.rate is not None:
        return math.exp(-signal.rate * days)
    return decay(signal.curve, days, _half_life(signal, values))


@_value.register
def _(signal: Usefulness, values: Mapping[str, Any], as_of: datetime) -> float:
    return _column(values, "usefulness", 0.5)


@_value.register
def _(signal: Importance, values: Mapping[str, Any], as_of: datetime) -> float:
    return _column(values, "importance", 0.5)


@_value.register
def _(signal: Confidence, values: Mapping[str, Any], as_of: datetime) -> float:
    return _column(values, "confidence", 0.8)


@_value.register
def _(signal: Trust, values: Mapping[str, Any], as_of: datetime) -> float:
    trust, accessed = values.get("trust"), values.get("last_accessed_at")
    if trust is None:
        return signal.missing
    if not signal.decay or accessed is None:
        return _clamped(trust)
    curve = Curve(values.get("trust_curve") or Curve.HYPERBOLIC)
    hours = _age(as_of, accessed) / SECONDS_PER_HOUR
    half_life = values.get("trust_half_life_hours") or DEFAULT_TRUST_HALF_LIFE_HOURS
    return _clamped(trust) * decay(curve, hours, half_life)


@_value.register
def _(signal: EntityOverlap, values: Mapping[str, Any], as_of: datetime) -> float:
    asked_for = set(values.get("query_entities") or ())
    its = {*(values.get("entities") or ()), *([values.get("subject")] if signal.subject else ())}
    number = values.get("names") or len(asked_for)
    return min(len(asked_for & its) / number, 1.0) if asked_for else 0.0


@_value.register
def _(signal: Keyword, values: Mapping[str, Any], as_of: datetime) -> float:
    return _clamped(values.get("keyword") or 0.0) / signal.divisor(values.get("bytes") or 0)


@_value.register
def _(signal: Frequency, values: Mapping[str, Any], as_of: datetime) -> float:
    return _clamped((values.get("retrieval_count") or 0) / signal.cap)


@_value.register
def _(signal: Time, values: Mapping[str, Any], as_of: datetime) -> float:
    period = values.get(_PERIOD)
    observed = values.get("observed_at")
    moment = observed or values.get("created_at")
    if period is None:
        return 0.0
    if moment is None:
        return signal.unknown
    start, end = map(instant, period)
    if start <= moment < end:
        return 1.0
    late = end if observed else end + WRITTEN_AFTER
    distance: timedelta = start - moment if moment < start else max(moment - late, timedelta())
    half_width = max((end - start) / 2, LEAST_HALF_WIDTH)
    return max(1.0 - float(distance / half_width) / 2, 0.0)


@_value.register
def _(signal: Attribute, values: Mapping[str, Any], as_of: datetime) -> float:
    number = value_at(values.get(_OWN), signal.path)
    # Whole numbers in metadata may be beyond any float, which math.isfinite refuses.
    if isinstance(number, bool) or not isinstance(number, int | float):
        return signal.missing
    if not -math.inf < number < math.inf:
        return signal.missing
    zero, one = signal.ends
    within = min(max(number, min(zero, one)), max(zero, one))
    return (within - zero) / (one - zero)


def _clock(clock: Clock, values: Mapping[str, Any]) -> datetime | None:
    created: datetime | None = values.get("created_at")
    accessed: datetime | None = values.get("last_accessed_at")
    match clock:
        case Clock.CREATED_AT:
            return created
        case Clock.LAST_ACCESSED_AT:
            return accessed or created
        case Clock.LATEST:
            known = [time for time in (created, accessed) if time is not None]
            return max(known) if known else None


def _half_life(signal: Recency, values: Mapping[str, Any]) -> float:
    """The shortest half-life that applies, in days."""
    assert signal.half_life is not None
    if signal.half_lives_by_tier:
        tier = values.get("tier") or "long"
        by_tier = dict(signal.half_lives_by_tier)
        return by_tier.get(tier, signal.half_life)
    own = dict(signal.half_lives_by_type)
    types = [values.get("memory_type") or "episodic", *(values.get("additional_types") or ())]
    return min(own.get(type_, signal.half_life) for type_ in types)


def decay(curve: Curve, age: float, half_life: float) -> float:
    """The share that is left at an age in the unit of the half-life."""
    match curve:
        case Curve.EXPONENTIAL:
            return math.exp2(-age / half_life)
        case Curve.HYPERBOLIC:
            return half_life / (half_life + age)
        case Curve.LINEAR:
            return max(0.0, 1 - age / (2 * half_life))


def _age(later: datetime, earlier: datetime) -> float:
    """The age in seconds, at least 0."""
    return max((later - earlier).total_seconds(), 0.0)


def _column(values: Mapping[str, Any], name: str, default: float) -> float:
    value = values.get(name)
    return default if value is None else _clamped(value)


def _clamped(value: float) -> float:
    return min(max(float(value), 0.0), 1.0)


def _is_number(value: Any) -> bool:
    try:
        is_real = isinstance(value, Real) and not isinstance(value, bool)
        return is_real and not math.isnan(float(value))
    except OverflowError:
        return False


def _require(name: str, value: Any) -> None:
    """Raises InputError or UnknownName if the value has the wrong type; None passes."""
    if value is None:
        return
    if name in ("as_of", *_MOMENTS) and (
        not isinstance(value, datetime) or value.utcoffset() is None
    ):
        raise InputError(f"{name} must be a datetime with a time zone, got {shortened(value)}")
    if name == _PERIOD:
        _require_period(value)
    if name in _NUMBERS and not _is_number(value):
        raise InputError(
            f"{name} must be a number, got {shortened(value)}; leave out unknown values"
        )
    if name in _WORDS and not isinstance(value, str):
        raise InputError(f"{name} must be text, got {shortened(value)}")
    if name == "trust_curve" and value not in tuple(Curve):
        raise UnknownName(f"unknown {name} {shortened(value)}; known are {', '.join(Curve)}")
    if name in _LISTS and (
        not isinstance(value, list | tuple | set | frozenset)
        or not all(isinstance(one, str) for one in value)
    ):
        raise InputError(f"{name} must be a list of texts, got {shortened(value)}")


def _require_period(value: Any) -> None:
    """Raises InputError unless the value is two datetimes, the second one later."""
    if (
        not isinstance(value, tuple | list)
        or len(value) != 2
        or any(not isinstance(one, datetime) or one.utcoffset() is None for one in value)
    ):
        raise InputError(
            f"{_PERIOD} must be two datetimes with a time zone, from and to, got {shortened(value)}"
        )
    if not value[0] < value[1]:
        raise InputError(f"{_PERIOD} must end after it begins, got {shortened(value)}")
