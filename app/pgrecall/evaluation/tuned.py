"""Tuning: the result of tuning a profile, with the evidence for it."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from pgrecall.core.display import line
from pgrecall.evaluation.relevance_thresholds import Floor, proposed
from pgrecall.evaluation.results import Difference, Evaluation, ProfileEvaluation
from pgrecall.scoring.profile import Profile
from pgrecall.scoring.profile_file import as_values

FEWEST = 30
"""The fewest different held-out questions whose interval says something about future queries."""


@dataclass(frozen=True, slots=True)
class Tuning:
    """The profile that tuning found, and its evaluation on held-out queries."""

    start: Profile
    found: Profile
    """The best profile on the training queries."""
    training: Evaluation
    """start and found, in this order, on the training queries."""
    held_out: Evaluation
    """start and found on the held-out queries."""
    questions: int
    """Number of different held-out questions; copies of a question count once."""
    precision: float | None = None
    """The `precision` that was passed, for a floor."""

    @property
    def difference(self) -> Difference:
        """The difference in nDCG between found and start, on the held-out queries."""
        return self.held_out.profiles[1].overall.differences["ndcg"]

    @property
    def better_baseline(self) -> ProfileEvaluation | None:
        """The best of similarity alone, keyword alone and hybrid, if its nDCG on the held-out
        queries is better than that of `found`."""
        reached = _ndcg(self.held_out.profiles[1])
        best = max(self.held_out.baselines, key=_ndcg, default=None)
        return best if best is not None and _ndcg(best) > reached else None

    @property
    def verdict(self) -> str:
        """A verdict on `found` by the difference in nDCG on the held-out queries.

        - no better: the difference is not above 0.
        - better than its start, but worse than hybrid (or another baseline).
        - thin: the difference is above 0, but its interval is not, or there were fewer than FEWEST
          held-out questions.
        - better: the whole interval is above 0.
        """
        difference, baseline = self.difference, self.better_baseline
        if difference.mean <= 0:
            return "no better"
        if baseline is not None:
            return f"better than its start, but worse than {baseline.profile.name}"
        return "better" if difference.low > 0 and self.questions >= FEWEST else "thin"

    @property
    def floor(self) -> Floor | None:
        """The effect on the held-out queries of the floor chosen on the training queries. None if
        no floor meets the precision or if no precision was passed."""
        chosen = proposed(self.training.floors or (), self.precision or 1.0)
        judged_by = {one.min_relevance: one for one in self.held_out.floors or ()}
        return None if chosen is None else judged_by[chosen.min_relevance]

    @property
    def proposed(self) -> Profile | None:
        """`found`, with the floor if there is one. None if on the held-out queries it is no better
        than `start` or worse than a baseline."""
        if self.verdict not in ("better", "thin"):
            return None
        floor = self.floor
        return (
            self.found if floor is None else replace(self.found, min_relevance=floor.min_relevance)
        )

    def __repr__(self) -> str:
        one = self.difference
        return (
            f"Tuning({self.verdict!r}, {line(self.start.name, 40)!r}, {self.questions:,} "
            f"questions, ndcg {one.mean:+.3f} [{one.low:+.3f}, {one.high:+.3f}])"
        )

    def __str__(self) -> str:
        return f"{self.verdict}\n{self.held_out}"

    def record(self) -> dict[str, Any]:
        """The tuning as plain JSON values."""
        return {
            "verdict": self.verdict,
            "proposed": self.proposed is not None,
            "start": as_values(self.start),
            "found": as_values(self.found),
            "training": self.training.record(),
            "held_out": self.held_out.record(),
            "floor": None if self.floor is None else self.floor.record(),
        }


def _ndcg(evaluation: ProfileEvaluation) -> float:
    return evaluation.overall.means["ndcg"]
