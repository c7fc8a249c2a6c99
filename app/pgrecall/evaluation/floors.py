"""Floors: the effect of each min_relevance on queries with and without an answer."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from pgrecall.core.quoting import shortened
from pgrecall.errors import InputError
from pgrecall.scoring.profile import Profile
from pgrecall.scoring.scored_memory import RECORD_DECIMALS

STEP = 10**RECORD_DECIMALS


def require_precision(value: object) -> float:
    """A number above 0 and at most 1; raises InputError."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 < value <= 1:
        raise InputError(f"precision must be above 0 and at most 1, got {shortened(value)}")
    return float(value)


@dataclass(frozen=True, slots=True)
class Floor:
    """The effect of one min_relevance on the queries of an evaluation."""

    min_relevance: float
    silent: float
    """The share of the queries without an answer that return nothing."""
    lost: float
    """The share of the queries with an answer that return nothing."""
    precision: float | None
    """The share of queries without an answer among those that return nothing; None if there are
    none of these. Depends on how many queries of each kind there are."""
    recall: float
    """recall@k over the queries with an answer."""

    def record(self) -> dict[str, float | None]:
        """The floor as plain JSON values."""
        names = ("min_relevance", "silent", "lost", "precision", "recall")
        values = {name: getattr(self, name) for name in names}
        return {
            name: None if value is None else round(value, RECORD_DECIMALS)
            for name, value in values.items()
        }


@dataclass(frozen=True, slots=True)
class Reach:
    """The result of one query, depending on the floor."""

    best: float | None
    """The highest relevance of any memory; None if no memory is ranked."""
    relevant: Sequence[tuple[float, float]]
    """For each relevant memory, its relevance and the floor above which it is among the k best
    (negative: with any floor)."""
    answers: int
    """The number of relevant memories."""

    def is_silent(self, floor: float) -> bool:
        """True if the query returns nothing with this floor."""
        return self.best is None or self.best < floor

    def recall(self, floor: float) -> float:
        """The share of the relevant memories that are returned among the k best with this floor."""
        found = sum(above < floor <= relevance for relevance, above in self.relevant)
        return found / self.answers


@dataclass(frozen=True, slots=True)
class FloorEvaluation:
    """The effect of every possible min_relevance."""

    k: int
    profile: Profile
    answered: Sequence[Reach]
    """For queries with an answer, in the order given."""
    unanswered: Sequence[Reach]
    """For queries without an answer."""

    def at(self, min_relevance: float) -> Floor:
        """The effect of this floor."""
        silent = sum(one.is_silent(min_relevance) for one in self.unanswered)
        lost = sum(one.is_silent(min_relevance) for one in self.answered)
        recalls = (one.recall(min_relevance) for one in self.answered)
        return Floor(
            min_relevance,
            silent / len(self.unanswered),
            lost / len(self.answered),
            silent / (silent + lost) if silent + lost else None,
            math.fsum(recalls) / len(self.answered),
        )

    @property
    def floors(self) -> list[Floor]:
        """0 and every floor at which one more query without an answer returns nothing."""
        highest = {0.0 if one.best is None else one.best for one in self.unanswered}
        least = (math.floor(best * STEP + 1) / STEP for best in highest)
        return [self.at(floor) for floor in sorted({0.0, *(min(one, 1.0) for one in least)})]

    def proposed(self, precision: float) -> Floor | None:
        """The floor by which most queries without an answer return nothing, on the condition that
        at least this share of the queries that return nothing have no answer. None if no floor
        meets the condition."""
        least = require_precision(precision)
        kept = [one for one in self.floors if (one.precision or 0) >= least and one.silent]
        return max(kept, key=lambda one: (one.silent, -one.min_relevance), default=None)

    def record(self) -> dict[str, Any]:
        """The evaluation as plain JSON values."""
        return {
            "k": self.k,
            "profile": self.profile.name,
            "answered": len(self.answered),
            "unanswered": len(self.unanswered),
            "floors": [one.record() for one in self.floors],
        }
