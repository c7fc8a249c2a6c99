"""A hit: a memory with its score and the whole account of it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from pgrecall.memory import Memory
from pgrecall.profile import Profile

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

    def record(self) -> dict[str, Any]:
        """The hit as plain JSON values, numbers rounded to six decimals.

        Keys: id, content, score, similarity, signals, contributions, created_at, and steps for
        a neighbour of a hit.
        """
        record = {
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
        return record | {"steps": self.steps} if self.steps else record


def contributions(profile: Profile, signals: Mapping[str, float]) -> dict[str, float]:
    """Signal name → weight · value, in the profile's order."""
    return {name: weight * signals[name] for name, weight in profile.weights.items()}


def _rounded(values: Mapping[str, float]) -> dict[str, float]:
    return {name: round(value, RECORD_DECIMALS) for name, value in values.items()}
