"""Tunings: weights and a half-life chosen by labelled queries, and whether to believe them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

from pgrecall.evaluation import Difference, Evaluation
from pgrecall.profile import Profile
from pgrecall.profile_file import as_values

FEWEST = 30
"""Different held-out questions below which an interval says little of queries to come."""

Verdict = Literal["better", "thin", "no better"]
"""better: the held-out difference in nDCG is above 0 with its whole interval. thin: it is above 0,
but the interval is not, or fewer than FEWEST questions were kept back. no better: it is not above
0."""


@dataclass(frozen=True, slots=True)
class Tuning:
    """What tuning found, and how it does on queries that it has not seen."""

    start: Profile
    found: Profile
    """The best on the training part."""
    training: Evaluation
    """start and found, in this order, over the queries that found was chosen by."""
    held_out: Evaluation
    """The same over those kept back."""
    questions: int
    """How many different ones were kept back; copies of a question count once."""

    @property
    def difference(self) -> Difference:
        """Of nDCG, over the held-out queries."""
        return self.held_out.profiles[1].overall.differences["ndcg"]

    @property
    def verdict(self) -> Verdict:
        difference = self.difference
        if difference.mean <= 0:
            return "no better"
        return "better" if difference.low > 0 and self.questions >= FEWEST else "thin"

    @property
    def proposed(self) -> Profile | None:
        """`found`, unless it is no better than `start` on the held-out queries."""
        return None if self.verdict == "no better" else self.found

    def record(self) -> dict[str, Any]:
        """The tuning as plain JSON values."""
        return {
            "verdict": self.verdict,
            "start": as_values(self.start),
            "found": as_values(self.found),
            "training": self.training.record(),
            "held_out": self.held_out.record(),
        }
