"""Evaluations: how well profiles find the memories that answer judged queries."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from pgrecall.evaluation.floors import FloorEvaluation
from pgrecall.scoring.profile import Profile
from pgrecall.scoring.scored_memory import RECORD_DECIMALS

METRICS = ("recall", "mrr", "ndcg")
"""recall: the share of the relevant memories among the first k. mrr: the mean of 1 / the rank of
the first relevant one among all memories. ndcg: Σ gain / log₂(1 + rank) over the first k, as a part
of what the best order would give (Järvelin and Kekäläinen 2002, with the gain itself as trec_eval
has it)."""


FEWEST = 10
"""Queries below which no difference is clear: an interval drawn from so few is too narrow."""
FEWEST_OWNERS = 5
"""Owners from which on intervals are over owners, each with all its queries; below over queries."""


@dataclass(frozen=True, slots=True)
class Difference:
    """How much better than the first profile, the same queries compared one by one."""

    mean: float
    low: float
    high: float
    """The interval that holds it with 95 %, by paired bootstrap."""
    queries: int
    """How many were compared."""

    @property
    def is_clear(self) -> bool:
        """Whether the interval leaves out 0 and is over FEWEST queries at least."""
        return self.queries >= FEWEST and (self.low > 0 or self.high < 0)


@dataclass(frozen=True, slots=True)
class Scores:
    """The metrics of one profile over some queries."""

    queries: int
    means: Mapping[str, float]
    """METRICS → the mean, in [0, 1]."""
    differences: Mapping[str, Difference]
    """METRICS → the difference to the first profile; empty for that one."""
    owners: int = 1
    """Whose memories the queries are about."""

    @property
    def intervals_over(self) -> Literal["owners", "queries"]:
        """What is drawn by chance for the intervals of the differences."""
        return "owners" if self.owners >= FEWEST_OWNERS else "queries"

    def record(self) -> dict[str, Any]:
        """The scores as plain JSON values."""
        return {
            "queries": self.queries,
            "owners": self.owners,
            "intervals_over": self.intervals_over,
            **{name: round(mean, RECORD_DECIMALS) for name, mean in self.means.items()},
            **{
                f"{name}_difference": [
                    round(number, RECORD_DECIMALS)
                    for number in (difference.mean, difference.low, difference.high)
                ]
                for name, difference in self.differences.items()
            },
        }


@dataclass(frozen=True, slots=True)
class ProfileEvaluation:
    """One profile's part of an evaluation."""

    profile: Profile
    overall: Scores
    by_group: Mapping[str, Scores]
    """In the order in which the groups first came; empty where no query names one."""
    per_query: Mapping[str, Sequence[float]]
    """METRICS → the value of each query that has an answer, in the order given."""

    def record(self) -> dict[str, Any]:
        """The evaluation as plain JSON values, without the single queries."""
        return {
            "profile": self.profile.name,
            **self.overall.record(),
            "by_group": {name: scores.record() for name, scores in self.by_group.items()},
        }


@dataclass(frozen=True, slots=True)
class Evaluation:
    """Profiles beside each other over the same judged queries."""

    k: int
    profiles: Sequence[ProfileEvaluation]
    """Those that were asked about."""
    baselines: Sequence[ProfileEvaluation]
    """Similarity alone, keyword alone and hybrid, compared with the first profile too. Left out is
    one that is among `profiles`, and one for which no query has a vector, or a text."""
    missing: int
    """Relevant memories that the agents and the teams do not have; they count as not found."""
    floors: FloorEvaluation | None = None
    """What each min_relevance does with the first profile; None where every query has an answer."""

    @property
    def compared(self) -> Sequence[ProfileEvaluation]:
        """The profiles, and after them the baselines."""
        return (*self.profiles, *self.baselines)

    def record(self) -> dict[str, Any]:
        """The evaluation as plain JSON values."""
        return {
            "k": self.k,
            "missing": self.missing,
            "profiles": [one.record() for one in self.profiles],
            "baselines": [one.record() for one in self.baselines],
            **({} if self.floors is None else {"floors": self.floors.record()}),
        }
