"""Floors: what each min_relevance would leave out, by questions with and without an answer."""

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
    """Above 0 and at most 1; raises InputError."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 < value <= 1:
        raise InputError(f"precision must lie within 0 and 1, got {shortened(value)}")
    return float(value)


@dataclass(frozen=True, slots=True)
class Floor:
    """What one floor does to the questions of an evaluation."""

    min_relevance: float
    silent: float
    """The share of the questions without an answer that return nothing."""
    lost: float
    """The share of those with an answer that return nothing."""
    precision: float | None
    """Of all that return nothing, the share without an answer; None: all return something. It
    depends on how many of either kind were asked."""
    recall: float
    """recall@k over the questions with an answer."""

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
    """Up to which floor one question returns what."""

    best: float | None
    """The highest relevance of any memory; None where none is ranked."""
    relevant: Sequence[tuple[float, float]]
    """Of each memory that answers: its relevance, and the floor above which it is among the k best
    (below 0: at any)."""
    answers: int
    """How many memories answer it."""

    def is_silent(self, floor: float) -> bool:
        """Whether nothing is returned."""
        return self.best is None or self.best < floor

    def recall(self, floor: float) -> float:
        """The share of the answers among the k best that reach the floor."""
        found = sum(above < floor <= relevance for relevance, above in self.relevant)
        return found / self.answers


@dataclass(frozen=True, slots=True)
class FloorEvaluation:
    """What min_relevance does, whatever its value."""

    k: int
    profile: Profile
    answered: Sequence[Reach]
    """Of the questions that memories answer, in the order given."""
    unanswered: Sequence[Reach]
    """Of those that none answers."""

    def at(self, min_relevance: float) -> Floor:
        """What this floor does."""
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
        """Every floor that one question without an answer more reaches nothing by, from 0 up."""
        highest = {0.0 if one.best is None else one.best for one in self.unanswered}
        least = (math.floor(best * STEP + 1) / STEP for best in highest)
        return [self.at(floor) for floor in sorted({0.0, *(min(one, 1.0) for one in least)})]

    def proposed(self, precision: float) -> Floor | None:
        """The floor by which most questions without an answer return nothing, where at least this
        share of all that do have none; None where no floor keeps to that."""
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
