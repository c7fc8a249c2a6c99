"""A hit: a memory with its score and the whole account of it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any
from uuid import UUID

from pgrecall.core.memory import Memory
from pgrecall.scoring.profile import Profile

RECORD_DECIMALS = 6


@dataclass(frozen=True, slots=True)
class Breakdown:
    """A score and what it is made of; the contributions sum to the score."""

    score: float
    signals: dict[str, float]
    """Signal name → its value in [0, 1]."""
    contributions: dict[str, float]
    """Signal name → weight · value."""


@dataclass(frozen=True, slots=True)
class ScoredMemory:
    """One hit of a search.

    `similarity` is the cosine similarity itself, None where the memory has no embedding; the
    signal of that name holds the value that was scored instead.
    """

    memory: Memory
    score: float
    similarity: float | None
    signals: dict[str, float]
    contributions: dict[str, float]
    steps: int = 0
    """How many links away from a hit; 0: a hit itself."""
    relevance: float | None = field(default=None, compare=False)
    """How much it has to do with the query, where `min_relevance` asked for it; hits are equal
    whether it was measured or not."""
    beside: UUID | None = None
    """The hit that it came along with as a turn of its session; None: a hit itself."""
    lent: float = 0.0
    """What the score was raised by; the contributions sum to the rest."""
    lender: UUID | None = None
    """The best of those that it stands beside, of whose score `lent` is a share."""

    def record(self) -> dict[str, Any]:
        """The hit as plain JSON values, numbers rounded to six decimals.

        Keys: id, content, score, similarity, signals, contributions, created_at; steps for a
        neighbour of a hit, beside for a turn that came along, lent and lender where there is one,
        and relevance where it was asked for.
        """
        record: dict[str, Any] = {
            "id": str(self.memory.id),
            "content": self.memory.content,
            "score": round(self.score, RECORD_DECIMALS),
            "similarity": (
                None if self.similarity is None else round(self.similarity, RECORD_DECIMALS)
            ),
            "signals": _rounded(self.signals),
            "contributions": _rounded(self.contributions),
            "created_at": (
                None if self.memory.created_at is None else self.memory.created_at.isoformat()
            ),
        }
        if self.steps:
            record["steps"] = self.steps
        if self.relevance is not None:
            record["relevance"] = round(self.relevance, RECORD_DECIMALS)
        if self.beside is not None:
            record["beside"] = str(self.beside)
        if self.lender is not None:
            record["lent"] = round(self.lent, RECORD_DECIMALS)
            record["lender"] = str(self.lender)
        return record


def contributions(profile: Profile, signals: Mapping[str, float]) -> dict[str, float]:
    """Signal name → weight · value, in the profile's order."""
    return {name: weight * signals[name] for name, weight in profile.weights.items()}


def _rounded(values: Mapping[str, float]) -> dict[str, float]:
    return {name: round(value, RECORD_DECIMALS) for name, value in values.items()}
