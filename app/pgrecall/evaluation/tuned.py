"""Tuning: the result of tuning a profile, with the evidence for it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

from pgrecall.core.display import Column, Displayed, Grid, Part, line, numbers, text_of
from pgrecall.evaluation.results import Difference, Evaluation, evaluation_grids, metric_names
from pgrecall.scoring.profile import Profile
from pgrecall.scoring.profile_file import as_values

FEWEST = 30
"""The fewest different questions whose interval says something about future queries."""
LEAST_GAIN = 0.01
"""The least mean gain in nDCG that is worth a change if its interval holds 0."""

Verdict = Literal["better", "thin", "no better"]


@dataclass(frozen=True, slots=True)
class Tuning(Displayed):
    """The weights that tuning found, and how well they do on queries that did not choose them."""

    start: Profile
    found: Profile
    """The best profile by all queries."""
    held_out: Evaluation
    """start and found, in this order. Each query is ranked by what the queries of the other folds
    find, in place of `found`, which all queries chose."""
    questions: int
    """Number of different questions; copies of a question count once."""

    @property
    def difference(self) -> Difference:
        """The difference in nDCG between found and start, on held-out queries."""
        return self.held_out.profiles[1].overall.differences["ndcg"]

    @property
    def verdict(self) -> Verdict:
        """A verdict on `found` by its gain on held-out queries.

        - better: the whole interval is above 0, and there are FEWEST questions or more.
        - thin: the mean gain is LEAST_GAIN or more, but the interval reaches 0 or there are fewer
          questions.
        - no better: neither.
        """
        gain = self.difference
        if gain.low > 0 and self.questions >= FEWEST:
            return "better"
        return "thin" if gain.mean >= LEAST_GAIN else "no better"

    @property
    def proposed(self) -> Profile | None:
        """`found`. None if it is no better than `start`."""
        return None if self.verdict == "no better" else self.found

    @property
    def summary(self) -> str:
        """The verdict in plain words."""
        gain, name = self.difference, line(self.found.name, 40)
        metric = metric_names(self.held_out.k)["ndcg"]
        numbers = f"{metric} {gain.mean:+.3f} [{gain.low:+.3f}, {gain.high:+.3f}]"
        on = f"on {self.questions:,} held-out questions"
        owners = self.held_out.profiles[0].overall.owners
        on += f" of {owners:,} agents" if owners > 1 else ""
        return {
            "better": f"{name} is better than {line(self.start.name, 40)} {on}: {numbers}.",
            "thin": f"{name} seems better {on}, but they are too few to be sure: {numbers}. "
            "Judge more queries.",
            "no better": f"Nothing better was found {on}: {numbers}. No profile is proposed.",
        }[self.verdict]

    def __repr__(self) -> str:
        one = self.difference
        return (
            f"Tuning({self.verdict!r}, {line(self.start.name, 40)!r}, {self.questions:,} "
            f"questions, ndcg {one.mean:+.3f} [{one.low:+.3f}, {one.high:+.3f}])"
        )

    def __str__(self) -> str:
        return text_of(self._parts())

    def _parts(self) -> list[Part]:
        """The parts that show it: the verdict, the weights, and the evidence."""
        after = self.found.weights
        rows = [
            (name, f"{old:.3g}", f"{after[name]:.3g}") for name, old in self.start.weights.items()
        ]
        weights = Grid([Column("weight"), *numbers("before", "after")], rows)
        return [self.summary, weights, *evaluation_grids(self.held_out)]

    def record(self) -> dict[str, Any]:
        """The tuning as plain JSON values."""
        return {
            "verdict": self.verdict,
            "summary": self.summary,
            "proposed": None if self.proposed is None else as_values(self.proposed),
            "start": as_values(self.start),
            "found": as_values(self.found),
            "held_out": self.held_out.record(),
        }
