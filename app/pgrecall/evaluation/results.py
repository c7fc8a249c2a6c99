"""Records of evaluations."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from pgrecall.core.display import Cell, Column, Displayed, Grid, Part, line, numbers, text_of
from pgrecall.evaluation.relevance_thresholds import Floor
from pgrecall.scoring.profile import Profile
from pgrecall.scoring.scored_memory import RECORD_DECIMALS

METRICS = ("recall", "mrr", "ndcg")
"""recall: the share of the relevant memories among the first k. mrr: the mean of 1 / rank of the
first relevant memory, among all memories. ndcg: Σ gain / log₂(1 + rank) over the first k, divided
by that of the ideal order (Järvelin and Kekäläinen 2002; linear gain as in trec_eval)."""

_SHOWN = 6
"""Profiles in the `repr` of an evaluation."""
FEWEST = 10
"""The fewest queries for a clear difference: with fewer, bootstrap intervals are too narrow."""
FEWEST_OWNERS = 5
"""The fewest owners that are resampled with all their queries; with fewer, queries are."""


@dataclass(frozen=True, slots=True)
class Difference:
    """The mean difference to the first profile, paired by query."""

    mean: float
    low: float
    high: float
    """low and high: the 95 % interval by paired bootstrap."""
    queries: int
    """Number of queries compared."""

    @property
    def is_clear(self) -> bool:
        """True if the interval excludes 0 and there are at least FEWEST queries."""
        return self.queries >= FEWEST and (self.low > 0 or self.high < 0)


@dataclass(frozen=True, slots=True)
class Scores:
    """The metrics of one profile over some queries."""

    queries: int
    means: Mapping[str, float]
    """The mean of each of METRICS, in [0, 1]."""
    differences: Mapping[str, Difference]
    """The difference of each of METRICS to the first profile; empty for the first profile."""
    owners: int = 1
    """Number of owners whose memories the queries are about."""

    @property
    def intervals_over(self) -> Literal["owners", "queries"]:
        """The unit of resampling for the intervals of the differences."""
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
    """A profile's part of an evaluation."""

    profile: Profile
    overall: Scores
    by_group: Mapping[str, Scores]
    """Group → scores, in the order of their first queries; empty if no query has a group."""
    per_query: Mapping[str, Sequence[float]]
    """Each of METRICS for each query that has an answer, in the order given."""

    def __repr__(self) -> str:
        means = (f"{name} {mean:.3f}" for name, mean in self.overall.means.items())
        return f"ProfileEvaluation({line(self.profile.name, 40)!r}, {', '.join(means)})"

    def record(self) -> dict[str, Any]:
        """The evaluation as plain JSON values, without `per_query`."""
        return {
            "profile": self.profile.name,
            **self.overall.record(),
            "by_group": {name: scores.record() for name, scores in self.by_group.items()},
        }


@dataclass(frozen=True, slots=True)
class Evaluation(Displayed):
    """A comparison of profiles by the same judged queries."""

    k: int
    profiles: Sequence[ProfileEvaluation]
    """The profiles that were passed."""
    baselines: Sequence[ProfileEvaluation]
    """Similarity alone, keyword alone and hybrid, compared with the first profile too. A baseline
    is left out if it is among `profiles`, or if no query has the vector or text that it needs. With
    a reranker, these and the first profile are measured without it."""
    missing: int
    """Number of relevant memories that do not exist; they count as not found."""
    floors: Sequence[Floor] | None = None
    """The effect of each min_relevance on the first profile: by hundredths, its own, and wherever
    one more query without an answer returns nothing. None if every query has an answer."""
    not_reranked: int | None = None
    """For how many queries and profiles the reranker failed or took too long; the order by score
    was measured there. None if there is no reranker."""

    @property
    def compared(self) -> Sequence[ProfileEvaluation]:
        """The profiles, followed by the baselines."""
        return (*self.profiles, *self.baselines)

    def __repr__(self) -> str:
        queries = self.profiles[0].overall.queries
        shown = [
            f"{line(one.profile.name, 40)} {one.overall.means['ndcg']:.3f}"
            for one in self.compared[:_SHOWN]
        ]
        more = [f"… {len(self.compared) - _SHOWN} more"] if len(self.compared) > _SHOWN else []
        name = metric_names(self.k)["ndcg"]
        return f"Evaluation({queries:,} queries, {name}: {', '.join([*shown, *more])})"

    def __str__(self) -> str:
        return text_of(self._parts())

    def _parts(self) -> Iterable[Part]:
        return [*evaluation_grids(self), *floor_grids(self)]

    def record(self) -> dict[str, Any]:
        """The evaluation as plain JSON values."""
        return {
            "k": self.k,
            "missing": self.missing,
            "profiles": [one.record() for one in self.profiles],
            "baselines": [one.record() for one in self.baselines],
            **({} if self.not_reranked is None else {"not_reranked": self.not_reranked}),
            **({} if self.floors is None else {"floors": [one.record() for one in self.floors]}),
        }


_ALL = "all queries"
STEP = 0.05
"""The distance between two values of min_relevance that are shown."""


def metric_names(k: int) -> dict[str, str]:
    """The metrics as they are shown."""
    return {"recall": f"recall@{k}", "mrr": "MRR", "ndcg": f"nDCG@{k}"}


def evaluation_grids(evaluation: Evaluation) -> list[Grid]:
    """A table of all queries, and one of each group."""
    compared = evaluation.compared
    grids = [_grid(_ALL, evaluation, [(one, one.overall) for one in compared])]
    for group in evaluation.profiles[0].by_group:
        grids.append(_grid(group, evaluation, [(one, one.by_group[group]) for one in compared]))
    return grids


def _grid(
    title: str, evaluation: Evaluation, rows: Sequence[tuple[ProfileEvaluation, Scores]]
) -> Grid:
    """The profiles, and below a line the baselines."""
    first = rows[0][1]
    title += f": {first.queries:,}"
    if first.owners > 1:
        unit = {"owners": "agents", "queries": "queries"}[first.intervals_over]
        title += f" of {first.owners:,} agents, intervals over {unit}"
    if evaluation.not_reranked and title.startswith(_ALL):
        title += f"; {evaluation.not_reranked:,} rankings were not reranked in time, or at all"
    compares = len(rows) > 1
    names = metric_names(evaluation.k)
    columns = [Column("profile")]
    for name in names.values():
        columns += numbers(name, *(["± first"] if compares else []))
    cells = [(one.profile.name, *_cells(scores, names, compares=compares)) for one, scores in rows]
    line_after = len(evaluation.profiles) - 1 if evaluation.baselines else None
    return Grid(columns, cells, title, line_after)


def _cells(scores: Scores, metrics: Iterable[str], *, compares: bool) -> list[str | Cell]:
    cells: list[str | Cell] = []
    for metric in metrics:
        cells.append(f"{scores.means[metric]:.3f}")
        if compares:
            cells.append(_difference(scores, metric))
    return cells


def _difference(scores: Scores, metric: str) -> str | Cell:
    if metric not in scores.differences:
        return ""
    one = scores.differences[metric]
    text = f"{one.mean:+.3f} [{one.low:+.3f}, {one.high:+.3f}]"
    return Cell(text, ("good" if one.mean > 0 else "bad") if one.is_clear else "")


def floor_grids(evaluation: Evaluation) -> list[Grid]:
    """A table of min_relevance by STEP, with the profile's, as far as memories are found."""
    profile = evaluation.profiles[0].profile
    rows = []
    for floor in evaluation.floors or ():
        is_own = floor.min_relevance == profile.min_relevance
        if is_own or not round(floor.min_relevance * 1e6) % round(STEP * 1e6):
            shown = (floor.min_relevance, floor.silent, floor.lost, floor.precision, floor.recall)
            cells = ["" if number is None else f"{number:.3f}" for number in shown]
            rows.append((*cells, "the profile's" if is_own else ""))
        if floor.silent == 1 and floor.lost == 1:
            break
    silent = ("nothing found, no answer", "nothing found, answer")
    columns = numbers("min_relevance", *silent, "precision", f"recall@{evaluation.k}", "")
    return [Grid(columns, rows, f"min_relevance, by {profile.name}")] if rows else []
