"""Comparison: approaches to the same questions, and how well and how fast each answered."""

from __future__ import annotations

import statistics
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from rich.progress import Progress

from benchmarks.contenders import K
from benchmarks.index.approaches import EXACT
from benchmarks.index.asking import Approach, Question
from benchmarks.index.goals import Goal
from benchmarks.measuring import Timing, measured
from pgrecall.ranking.hits import Hits


@dataclass(frozen=True)
class Outcome:
    """How one approach did over all questions."""

    timing: Timing
    faster: float
    """Median of the ratios within a round: exact over this."""
    recall: float
    """The share of the exact hits that it found."""
    full: float
    """The share of questions to which it found as many hits as the exact search."""
    in_index: float
    """The share of questions that a rank index answered, not an exact search in its place."""

    def record(self) -> dict[str, Any]:
        """The numbers as plain JSON values."""
        return {
            "recall": round(self.recall, 4),
            "times_faster": round(self.faster, 3),
            "median_ms": round(self.timing.median * 1000, 3),
            "p90_ms": round(self.timing.slow * 1000, 3),
            "full": round(self.full, 4),
            "in_index": round(self.in_index, 4),
        }


@dataclass(frozen=True)
class Comparison:
    """One kind of question to one set of memories."""

    case: int
    data: str
    question: str
    outcomes: Mapping[str, Outcome]
    goal: Goal | None = None
    plotted: bool = False

    def record(self) -> dict[str, Any]:
        """The numbers as plain JSON values."""
        return {
            "case": self.case,
            "data": self.data,
            "question": self.question,
            "approaches": {name: outcome.record() for name, outcome in self.outcomes.items()},
        }


def compared(
    approaches: Mapping[str, Approach],
    questions: Sequence[Question],
    progress: Progress,
    what: str,
) -> dict[str, Outcome]:
    """Each approach's outcome; one of them is the exact one."""
    return compared_together({"": approaches}, questions, progress, what)[""]


def compared_together(
    groups: Mapping[str, Mapping[str, Approach]],
    questions: Sequence[Question],
    progress: Progress,
    what: str,
) -> dict[str, dict[str, Outcome]]:
    """The same for several groups in the same rounds, so that they can be compared too."""
    found: dict[str, dict[int, Hits]] = defaultdict(dict)

    def note(name: str, number: int, hits: Hits) -> None:
        found[name][number] = hits

    contenders = {
        f"{group}/{name}": approach
        for group, approaches in groups.items()
        for name, approach in approaches.items()
    }
    timings = measured(
        contenders, questions, len(questions), progress, note=note, what=f"measuring {what}"
    )

    def outcome(group: str, name: str) -> Outcome:
        exact, this = f"{group}/{EXACT}", f"{group}/{name}"
        answers = [(found[exact][n], found[this][n]) for n in range(len(questions))]
        return Outcome(
            timing=timings[this],
            faster=timings[exact].over(timings[this]),
            recall=statistics.fmean(_recall(right, hits) for right, hits in answers),
            full=statistics.fmean(len(hits) >= min(K, len(right)) for right, hits in answers),
            in_index=statistics.fmean(hits.strategy == "index" for _, hits in answers),
        )

    return {
        group: {name: outcome(group, name) for name in approaches}
        for group, approaches in groups.items()
    }


def _recall(right: Hits, hits: Hits) -> float:
    wanted = {hit.memory.id for hit in right}
    return len(wanted & {hit.memory.id for hit in hits}) / len(wanted) if wanted else 1.0
