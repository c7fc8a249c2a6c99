"""Candidates: the memories that any weights of a profile could rank first, with their values."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from pgrecall.core.dates import Period
from pgrecall.core.memory import Memory
from pgrecall.scoring.profile import Profile, contributions
from pgrecall.scoring.profile_file import as_values
from pgrecall.scoring.scored_memory import ScoredMemory

CLOSE = 1e-12
"""A score has to exceed the bound by this much, since sums are rounded."""


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
    terms: tuple[str, ...]
    """The terms of the query's text that it has, as `explain` names them."""

    @classmethod
    def of(
        cls, hit: ScoredMemory, ages: dict[str, float | None], terms: Sequence[str] | None
    ) -> Candidate:
        """The candidate of a hit."""
        shown = (hit.memory, hit.score, hit.similarity, hit.relevance, hit.signals)
        return cls(*shown, ages, tuple(terms or ()))


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
    """The n best memories by the score, and those with more of a signal than its n-th value.

    A memory that is none of them scores at most `bound`, by any weights. So where the k-th of them
    exceeds it, their order is that of all memories, without another search.
    """

    profile: Profile
    """With the caller's weights."""
    weights: dict[str, float]
    """The ones in effect, after redistribution."""
    total: int | None
    """How many memories pass the filters; None if only the best by the score were looked for."""
    n: int
    query_time: Period | None
    signals: dict[str, SignalBound]
    decay: SignalBound | None
    memories: list[Candidate]
    """Best first by the profile."""

    def ranked(
        self, weights: Mapping[str, float], k: int = 10
    ) -> tuple[list[tuple[UUID, float]], bool]:
        """The k best by other weights, with their scores, and whether this is exact.

        False: a memory that is no candidate may belong among them, so search for it. The weights
        are those in effect: signals without a value should have none in a profile that
        redistributes. Raises UnknownName for a signal that the profile does not have, and
        InvalidProfile for weights that do not sum to 1.
        """
        weights = self.profile.with_weights(**weights).weights
        scored = [(one.memory.id, self._score(weights, one.signals)) for one in self.memories]
        best = sorted(scored, key=lambda one: (-one[1], one[0]))[:k]
        bound = self.bound(weights)
        return best, bound is None or (len(best) == k and best[-1][1] > bound + CLOSE)

    def bound(self, weights: Mapping[str, float]) -> float | None:
        """The most that a memory scores which is no candidate; None if there is none."""
        if self.total is not None and self.total <= len(self.memories):
            return None
        least = {name: one.nth or 0.0 for name, one in self.signals.items()}
        if self.decay is not None:
            least["decay"] = self.decay.nth or 0.0
        return self._score(weights, least)

    def _score(self, weights: Mapping[str, float], signals: Mapping[str, float]) -> float:
        given = {name: weight for name, weight in weights.items() if weight}
        return sum(contributions(given, signals).values())

    def record(self) -> dict[str, Any]:
        """The candidates as an answer shows them, the profile as its definition."""
        shown = {name: getattr(self, name) for name in self.__slots__}
        return shown | {"profile": as_values(self.profile)}
