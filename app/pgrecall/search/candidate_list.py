"""Candidates: the memories that any weights of a profile could rank first, with their values."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from pgrecall.core.dates import Period
from pgrecall.core.memory import Memory


@dataclass(frozen=True, slots=True)
class Candidate:
    """A memory that a search could return by other weights, with its exact values."""

    memory: Memory
    score: float
    """By the profile and the weights in effect."""
    similarity: float | None
    relevance: float | None
    signals: dict[str, float]
    """The value of each signal by its name; and `decay`, the factor of all, if there is one."""
    age_days: dict[str, float | None]
    """The days since the clock of `recency`, and since that of `decay`; None without a clock."""
    terms: list[str]
    """The terms of the query's text that it has, as `explain` names them."""


@dataclass(frozen=True, slots=True)
class SignalBound:
    """The most that a memory which is no candidate has of a signal."""

    has_value: bool
    """False: the query has nothing to compare, and the signal is the same for every memory."""
    nth: float | None
    """The n-th greatest value; None if fewer than n memories pass."""
    nth_age_days: float | None = None
    """The least age of one that is no candidate, for a signal with a clock."""


@dataclass(frozen=True, slots=True)
class Candidates:
    """The n best memories by the score, and those with more of a signal than its n-th value."""

    profile: dict[str, Any]
    """As a profile file has it, with the caller's weights."""
    total: int | None
    """How many memories pass the filters; None if only the best by the score were looked for,
    unless these are all."""
    query_time: Period | None
    signals: dict[str, SignalBound]
    decay: SignalBound | None
    memories: list[Candidate]
    """Best first by the profile."""
