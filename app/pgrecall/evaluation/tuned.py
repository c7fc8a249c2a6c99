"""Tuning: the result of tuning a profile, with the evidence for it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any, Literal

from pgrecall.core.display import Cell, Column, Displayed, Grid, Part, line, numbers, text_of
from pgrecall.evaluation.evaluation_grid import evaluation_grids, metric_names
from pgrecall.evaluation.relevance_thresholds import Floor
from pgrecall.evaluation.results import Difference, Evaluation
from pgrecall.evaluation.tunable import Change, changes
from pgrecall.scoring.profile import Profile
from pgrecall.scoring.profile_file import as_values
from pgrecall.scoring.scored_memory import RECORD_DECIMALS

FEWEST = 30
"""The fewest different questions whose interval says something about future queries."""
LEAST_GAIN = 0.01
"""The least mean gain in nDCG that is worth a change if its interval holds 0, and the difference of
two profiles that are about as good."""
_SHOWN = 5
"""The queries of each kind that are shown."""

Verdict = Literal["better", "thin", "no better"]


@dataclass(frozen=True, slots=True)
class MovedQuery:
    """A query whose nDCG@k is not the same by the start and by what was found."""

    number: int
    """Its place among the judged queries that have an answer, counted from 0."""
    text: str | None
    """Its text, if it has one."""
    agent_id: str
    """The agent or team that it is about."""
    before: int | None
    after: int | None
    """before and after: the best rank of a memory that answers it; None: not ranked."""
    gain: float
    """The difference in nDCG@k, below 0 if it falls."""


@dataclass(frozen=True, slots=True)
class Tuning(Displayed):
    """The profile that tuning found, and how well it does on queries that did not choose it."""

    start: Profile
    found: Profile
    """The best profile by all queries."""
    found_arguments: Mapping[str, Any]
    """The arguments of a search that come with `found`: `expand_session` and `lend`."""
    held_out: Evaluation
    """start and found, in this order. Each query is ranked by what the queries of the other folds
    find, in place of `found`, which all queries chose."""
    rivals: Mapping[str, Difference]
    """The difference in nDCG between each baseline and `found`, below 0 if the baseline is worse.
    """
    moved: Sequence[MovedQuery]
    """The held-out queries that rise or fall, those that rise most first."""
    questions: int
    """Number of different questions; copies of a question count once."""
    precision: float | None = None
    """The `precision` that was passed, for a floor."""
    floor: Floor | None = None
    """The proposed floor, with its effect on queries that did not choose it. None if no floor
    meets the precision or if no precision was passed."""

    @property
    def difference(self) -> Difference:
        """The difference in nDCG between found and start, on held-out queries."""
        return self.held_out.profiles[1].overall.differences["ndcg"]

    @property
    def better_baseline(self) -> Profile | None:
        """The best of similarity alone, keyword alone and hybrid, if it is clearly better than
        `found`: the whole interval of their difference is above 0."""
        name = max(self.rivals, key=lambda one: self.rivals[one].mean, default=None)
        if name is None or not self.rivals[name].low > 0:
            return None
        return next(one.profile for one in self.held_out.baselines if one.profile.name == name)

    @property
    def as_good(self) -> list[str]:
        """The baselines that are about as good as `found`."""
        better = self.better_baseline
        return [
            name
            for name, one in self.rivals.items()
            if one.mean >= -LEAST_GAIN and (better is None or name != better.name)
        ]

    @property
    def best(self) -> Profile:
        """`found`, or the baseline that is clearly better."""
        return self.better_baseline or self.found

    @property
    def gain(self) -> Difference:
        """The difference in nDCG between `best` and start."""
        best = self.better_baseline
        if best is None:
            return self.difference
        [its] = [one for one in self.held_out.baselines if one.profile == best]
        return its.overall.differences["ndcg"]

    @property
    def verdict(self) -> Verdict:
        """A verdict on `best` by its gain on held-out queries.

        - better: the whole interval is above 0, and there are FEWEST questions or more.
        - thin: the mean gain is LEAST_GAIN or more, but the interval reaches 0 or there are fewer
          questions.
        - no better: neither.
        """
        gain = self.gain
        if gain.low > 0 and self.questions >= FEWEST:
            return "better"
        return "thin" if gain.mean >= LEAST_GAIN else "no better"

    @property
    def proposed(self) -> Profile | None:
        """`best`, with the floor if there is one. None if it is no better than `start`."""
        if self.verdict == "no better":
            return None
        best, floor = self.best, self.floor
        return best if floor is None else replace(best, min_relevance=floor.min_relevance)

    @property
    def arguments(self) -> Mapping[str, Any]:
        """The arguments of a search that come with `proposed`."""
        if self.proposed is None or self.better_baseline is not None:
            return {}
        return self.found_arguments

    @property
    def changes(self) -> list[Change]:
        """The differences between `start` and `proposed` with its arguments, or else `found`."""
        proposed = self.proposed
        if proposed is None:
            return changes(self.start, self.found, self.found_arguments)
        return changes(self.start, proposed, self.arguments)

    @property
    def summary(self) -> str:
        """The verdict in plain words."""
        gain, name = self.gain, line(self.best.name, 40)
        metric = metric_names(self.held_out.k)["ndcg"]
        numbers = f"{metric} {gain.mean:+.3f} [{gain.low:+.3f}, {gain.high:+.3f}]"
        on = f"on {self.questions:,} held-out questions"
        owners = self.held_out.profiles[0].overall.owners
        on += f" of {owners:,} agents" if owners > 1 else ""
        said = {
            "better": f"{name} is better than {line(self.start.name, 40)} {on}: {numbers}.",
            "thin": f"{name} seems better {on}, but they are too few to be sure: {numbers}. "
            "Judge more queries.",
            "no better": f"Nothing better was found {on}: {numbers}. No profile is proposed.",
        }[self.verdict]
        if self.better_baseline is not None:
            said += f" It is clearly better than {line(self.found.name, 40)}, too."
        as_good = [name for name in self.as_good if self.verdict != "no better"]
        if as_good:
            said += f" About as good: {', '.join(as_good)}."
        return said

    def __repr__(self) -> str:
        one = self.difference
        return (
            f"Tuning({self.verdict!r}, {line(self.start.name, 40)!r}, {self.questions:,} "
            f"questions, ndcg {one.mean:+.3f} [{one.low:+.3f}, {one.high:+.3f}])"
        )

    def __str__(self) -> str:
        return text_of(self._parts())

    def _parts(self) -> list[Part]:
        """The parts that show it: the verdict, and tables of what changed, of the evidence, and of
        queries that rise and fall."""
        return [
            self.summary,
            *_change_grids(self.changes),
            *evaluation_grids(self.held_out),
            *_moved_grids("rise", [one for one in self.moved if one.gain > 0]),
            *_moved_grids("fall", [one for one in reversed(self.moved) if one.gain < 0]),
        ]

    def record(self) -> dict[str, Any]:
        """The tuning as plain JSON values."""
        proposed = self.proposed
        return {
            "verdict": self.verdict,
            "summary": self.summary,
            "proposed": None if proposed is None else as_values(proposed),
            "arguments": dict(self.arguments),
            "changes": [one._asdict() for one in self.changes],
            "start": as_values(self.start),
            "found": as_values(self.found),
            "found_arguments": dict(self.found_arguments),
            "held_out": self.held_out.record(),
            "moved": [
                asdict(one) | {"gain": round(one.gain, RECORD_DECIMALS)} for one in self.moved
            ],
            "floor": None if self.floor is None else self.floor.record(),
        }


def _change_grids(changed: Sequence[Change]) -> list[Grid]:
    if not changed:
        return []
    columns = [Column("changed"), *numbers("before", "after")]
    return [Grid(columns, [tuple(one) for one in changed])]


def _moved_grids(kind: str, moved: Sequence[MovedQuery]) -> list[Grid]:
    if not moved:
        return []
    rows = [
        (
            _rank(one.before),
            _rank(one.after),
            Cell(f"{one.gain:+.3f}", "good" if one.gain > 0 else "bad"),
            one.agent_id,
            f"query {one.number}" if one.text is None else line(one.text, 80),
        )
        for one in moved[:_SHOWN]
    ]
    columns = [*numbers("before", "after", "gain"), Column("agent"), Column("query", cut=True)]
    return [Grid(columns, rows, f"held-out queries that {kind}: {len(moved):,}")]


def _rank(rank: int | None) -> str:
    return "–" if rank is None else f"{rank:,}"
