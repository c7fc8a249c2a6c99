"""Records of a context: its text, the memories in it and those left out."""

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
"""Why a memory was left out. min_score, min_relevance: it is below this floor. too_long: it does
not fit in the rest of the budget. reserved: the rest is reserved for other types. near_duplicate:
it is too similar to a packed memory. stopped: too many memories in a row before it did not fit.
limit: k memories are packed already."""


@dataclass(frozen=True, slots=True)
class Packed:
    """A memory in the context."""

    hit: ScoredMemory
    tokens: int
    """Its estimated tokens, including what the style adds around it."""


@dataclass(frozen=True, slots=True)
class LeftOut:
    """A memory that was considered but is not in the context."""

    hit: ScoredMemory
    tokens: int
    reason: Reason
    near: UUID | None = None
    """The packed memory that it is a near duplicate of."""


@dataclass(frozen=True, slots=True)
class Context:
    """The memories for one prompt."""

    text: str
    """The text for the prompt; empty if no memory is packed."""
    packed: Sequence[Packed]
    """The memories in the text, in the order in which they were packed."""
    left_out: Sequence[LeftOut]
    """The memories that were considered but not packed, best first."""
    tokens: int
    """Tokens of the text by the repository's token counter, never more than `max_tokens`."""
    max_tokens: int
    marker: str
    """The random text that begins each memory and ends the text; empty if no memory is packed."""
    strategy: Literal["exact", "index"]
    """The strategy that found the memories."""
    min_relevance: float | None = None
    """The floor in use: the caller's, or the profile's; None: no floor."""

    @property
    def empty_because(self) -> Literal["min_score", "min_relevance"] | None:
        """The floor that no memory reached, if the context is empty for that reason."""
        reasons = {one.reason for one in self.left_out}
        if self.packed or not reasons <= {"min_score", "min_relevance"}:
            return None
        if "min_score" in reasons:
            return "min_score"
        return "min_relevance" if reasons else None

    @property
    def best_relevance(self) -> float | None:
        """The highest relevance of the memories considered; None if it was not measured."""
        hits = [one.hit for one in self.packed] + [one.hit for one in self.left_out]
        return max((hit.relevance for hit in hits if hit.relevance is not None), default=None)

    query_time: Period | None = None
    """The query's period: the caller's, or that in its text."""
    touched: bool = False
    """True if retrieval was counted, as `touched` of Hits."""

    def record(self) -> dict[str, Any]:
        """The context as plain JSON values."""
        return {
            "text": self.text,
            "tokens": self.tokens,
            "max_tokens": self.max_tokens,
            "marker": self.marker,
            "strategy": self.strategy,
            "min_relevance": self.min_relevance,
            "empty_because": self.empty_because,
            **period_record(self.query_time),
            "touched": self.touched,
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
