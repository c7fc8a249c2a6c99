"""Tunings: weights and a half-life chosen by judged queries, and whether to believe them."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from pgrecall.evaluation.floors import Floor
from pgrecall.evaluation.results import Difference, Evaluation, ProfileEvaluation
from pgrecall.scoring.profile import Profile
from pgrecall.scoring.profile_file import as_values

FEWEST = 30
"""Different held-out questions below which an interval says little of queries to come."""


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
    precision: float | None = None
    """That which a floor was asked for with."""

    @property
    def difference(self) -> Difference:
        """Of nDCG, over the held-out queries."""
        return self.held_out.profiles[1].overall.differences["ndcg"]

    @property
    def better_baseline(self) -> ProfileEvaluation | None:
        """The best of similarity alone, keyword alone and hybrid, where `found` is worse than it by
        nDCG over the held-out queries."""
        reached = _ndcg(self.held_out.profiles[1])
        best = max(self.held_out.baselines, key=_ndcg, default=None)
        return best if best is not None and _ndcg(best) > reached else None

    @property
    def verdict(self) -> str:
        """What the held-out difference in nDCG says of `found`.

        - no better: it is not above 0.
        - better than its start, but worse than hybrid (or than another baseline).
        - thin: it is above 0, but its interval is not, or fewer than FEWEST questions were kept
          back.
        - better: it is above 0 with its whole interval.
        """
        difference, baseline = self.difference, self.better_baseline
        if difference.mean <= 0:
            return "no better"
        if baseline is not None:
            return f"better than its start, but worse than {baseline.profile.name}"
        return "better" if difference.low > 0 and self.questions >= FEWEST else "thin"

    @property
    def floor(self) -> Floor | None:
        """What the floor chosen by the training part, for that precision, does to the part kept
        back; None where no floor keeps to the precision, or none was asked for."""
        chosen_by, judged_by = self.training.floors, self.held_out.floors
        if self.precision is None or chosen_by is None or judged_by is None:
            return None
        chosen = chosen_by.proposed(self.precision)
        return None if chosen is None else judged_by.at(chosen.min_relevance)

    @property
    def proposed(self) -> Profile | None:
        """`found`, with the floor if there is one, unless it is no better than `start` on the
        held-out queries, or worse than a baseline."""
        if self.verdict not in ("better", "thin"):
            return None
        floor = self.floor
        return (
            self.found if floor is None else replace(self.found, min_relevance=floor.min_relevance)
        )

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
