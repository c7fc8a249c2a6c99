"""The score in plain Python: without a database, and as the oracle that tests it.

Shares the profiles with the compiler and nothing else.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from datetime import UTC, datetime
from functools import singledispatch
from typing import Any

from pgrecall.errors import InputError, UnknownName
from pgrecall.profile import Profile
from pgrecall.scored_memory import Breakdown, contributions
from pgrecall.signals import (
    Clock,
    Confidence,
    Frequency,
    Recency,
    Signal,
    Similarity,
    Usefulness,
)

VALUES = (
    "similarity",
    "created_at",
    "last_accessed_at",
    "retrieval_count",
    "usefulness",
    "confidence",
)
SECONDS_PER_DAY = 86_400


def score(
    profile: Profile, values: Mapping[str, Any], *, as_of: datetime | None = None
) -> Breakdown:
    """The score of values at hand.

    `values` may hold similarity, created_at, last_accessed_at, retrieval_count, usefulness and
    confidence, meaning what the columns of those names mean; what is missing or None counts as
    it does in the database: no embedding, unknown age, never retrieved, the column's default.
    `as_of` is the moment ages are measured at, by default now.

    Raises UnknownName for a value of another name, InputError for a time without a zone.
    """
    unknown = sorted(values.keys() - set(VALUES))
    if unknown:
        raise UnknownName(f"unknown value {', '.join(unknown)}; the values are {', '.join(VALUES)}")
    moment = as_of or datetime.now(UTC)
    signals = {signal.name: _value(signal, values, moment) for signal in profile.signals}
    shares = contributions(profile, signals)
    return Breakdown(math.fsum(shares.values()), signals, shares)


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
    days = max(_seconds(as_of, clock), 0.0) / SECONDS_PER_DAY
    return math.exp(-signal.rate_per_day * days)


@_value.register
def _(signal: Usefulness, values: Mapping[str, Any], as_of: datetime) -> float:
    return _column(values, "usefulness", 0.5)


@_value.register
def _(signal: Confidence, values: Mapping[str, Any], as_of: datetime) -> float:
    return _column(values, "confidence", 0.8)


@_value.register
def _(signal: Frequency, values: Mapping[str, Any], as_of: datetime) -> float:
    return _clamped((values.get("retrieval_count") or 0) / signal.cap)


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


def _seconds(later: datetime, earlier: datetime) -> float:
    try:
        return (later - earlier).total_seconds()
    except TypeError:
        raise InputError(f"times need a time zone: {earlier!r}, {later!r}") from None


def _column(values: Mapping[str, Any], name: str, default: float) -> float:
    value = values.get(name)
    return default if value is None else _clamped(value)


def _clamped(value: float) -> float:
    return min(max(float(value), 0.0), 1.0)
