"""A context: the text of the memories that go into a prompt, and the account of it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal
from uuid import UUID

from pgrecall.core.dates import Period, period_record
from pgrecall.scoring.scored_memory import RECORD_DECIMALS, ScoredMemory

Reason = Literal[
    "min_score", "min_relevance", "too_long", "reserved", "near_duplicate", "stopped", "limit"
]
"""Why a memory was left out: its score or its relevance is below the floor; it does not fit into
what is left of the budget; it would, if that were not kept for other types; it says much the same
as one that is in; too many before it in a row did not fit; k are in already."""


@dataclass(frozen=True, slots=True)
class Packed:
    """A memory that is in."""

    hit: ScoredMemory
    tokens: int
    """What it was reckoned to take up, with the lines around it."""


@dataclass(frozen=True, slots=True)
class LeftOut:
    """A memory that was considered and is not in."""

    hit: ScoredMemory
    tokens: int
    reason: Reason
    near: UUID | None = None
    """The memory in the text that it is a near duplicate of."""


@dataclass(frozen=True, slots=True)
class Context:
    """The memories for one prompt."""

    text: str
    """Ready for the prompt; empty where no memory is in."""
    packed: Sequence[Packed]
    """What is in it, in the order in which it was chosen."""
    left_out: Sequence[LeftOut]
    """What was considered beside it, best first."""
    tokens: int
    """Of the text, by the repository's token counter, and by that never more than `max_tokens`."""
    max_tokens: int
    marker: str
    """Begins each memory and ends the text, drawn anew each time; empty where no memory is in."""
    strategy: Literal["exact", "index"]
    """How the memories were found."""
    min_relevance: float | None = None
    """The floor that held: the one given, or the profile's; None: none."""

    @property
    def emptied_by(self) -> Literal["min_score", "min_relevance"] | None:
        """The floor that nothing reached, where no memory is in for that reason."""
        reasons = {one.reason for one in self.left_out}
        if self.packed or not reasons <= {"min_score", "min_relevance"}:
            return None
        if "min_score" in reasons:
            return "min_score"
        return "min_relevance" if reasons else None

    @property
    def best_relevance(self) -> float | None:
        """The highest relevance of what was considered; None where it was not measured."""
        hits = [one.hit for one in self.packed] + [one.hit for one in self.left_out]
        return max((hit.relevance for hit in hits if hit.relevance is not None), default=None)

    query_time: Period | None = None
    """The period that was asked for, given or found in the text."""

    def record(self) -> dict[str, Any]:
        """The context as plain JSON values."""
        return {
            "text": self.text,
            "tokens": self.tokens,
            "max_tokens": self.max_tokens,
            "marker": self.marker,
            "strategy": self.strategy,
            "min_relevance": self.min_relevance,
            "emptied_by": self.emptied_by,
            **period_record(self.query_time),
            "packed": [
                one.hit.record() | {"memory_type": one.hit.memory.memory_type, "tokens": one.tokens}
                for one in self.packed
            ],
            "left_out": [
                {
                    "id": str(one.hit.memory.id),
                    "score": round(one.hit.score, RECORD_DECIMALS),
                    "memory_type": one.hit.memory.memory_type,
                    "tokens": one.tokens,
                    "reason": one.reason,
                }
                | _relevance(one.hit)
                | ({} if one.near is None else {"near": str(one.near)})
                for one in self.left_out
            ],
        }


def _relevance(hit: ScoredMemory) -> dict[str, float]:
    relevance = hit.relevance
    return {} if relevance is None else {"relevance": round(relevance, RECORD_DECIMALS)}
