"""What the rank index is compared with."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Goal:
    """Of one comparison; `faster` is how many times as fast as the exact search."""

    recall: float | None = None
    faster: float | None = None
    full: bool = False
    """Never fewer hits than the exact search has."""


RECALL, FASTER, FULL, COST = "recall@10", "times faster", "full rows", "cost"


@dataclass(frozen=True)
class Verdict:
    """One number beside its bound."""

    case: int
    data: str
    question: str
    measure: str
    value: float
    bound: float
    at_most: bool = False

    @property
    def is_met(self) -> bool:
        return self.value <= self.bound if self.at_most else self.value >= self.bound

    @property
    def goal(self) -> str:
        return f"{'≤' if self.at_most else '≥'} {self.bound:g}"

    def record(self) -> dict[str, Any]:
        """The verdict as plain JSON values."""
        return {
            "case": self.case,
            "data": self.data,
            "question": self.question,
            "measure": self.measure,
            "value": round(self.value, 4),
            "goal": self.goal,
            "met": self.is_met,
        }


OF_FIVE_FACTOR = Goal(recall=0.99, faster=15)
OF_OTHERS = Goal(recall=0.98, faster=12)
ONE_AGENT = {
    "five_factor": OF_FIVE_FACTOR,
    "last_access": OF_OTHERS,
    "half_life": OF_OTHERS,
    "tiered": OF_OTHERS,
    "similarity 0.7": OF_OTHERS,
}
"""Profile → goal; the others have none."""
SEVERAL_AGENTS = {
    100_000: Goal(recall=0.98, faster=15, full=True),
    50_000: Goal(recall=0.98, faster=12, full=True),
    30_000: Goal(recall=0.98, faster=10, full=True),
    10_000: Goal(recall=0.98, faster=5, full=True),
}
"""By size; the two in the middle lie between 5 and 15 as their logarithms do."""
REAL_TEXT = Goal(recall=0.98, faster=1)
WIDE = Goal(recall=0.98, faster=15)
GROWN = Goal(recall=0.98)
USED = Goal(recall=0.98)
WORN = 1.5
"""Times the cost of a fresh index, at most, after a month of use."""
GROWTH = 1.6
"""Times the cost of the smallest agent, at most, for eight times as many memories."""
