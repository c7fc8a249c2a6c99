"""Finds the best profile and arguments by the pairs of some queries. Needs no database."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from pgrecall.core.dates import AUTO
from pgrecall.evaluation.pairs import Pairs
from pgrecall.evaluation.tunable import LENDING, Lending, variants
from pgrecall.evaluation.weight_search import PER_CHANGE, Candidate, Space, searched
from pgrecall.scoring.profile import Profile
from pgrecall.scoring.profiles import BASELINES
from pgrecall.scoring.signals import Signal, Time

LEAST_WEIGHT = 0.01
"""An added signal with a smaller weight is removed again."""


@dataclass(frozen=True)
class Solution:
    """The profile that was found, and the arguments of a search that come with it."""

    profile: Profile
    lending: Lending | None
    dates: str | None

    @property
    def arguments(self) -> dict[str, Any]:
        found = {} if self.dates is None else {"dates": self.dates}
        return found | ({} if self.lending is None else self.lending._asdict())


@dataclass(frozen=True)
class Problem:
    """The pairs of all queries, and the signals that may change."""

    start: Profile
    searched: Profile
    """The start with the signals that it may gain."""
    signals: Sequence[Sequence[Signal]]
    """The variants of each of its signals."""
    finds_dates: bool
    """True if the second half of the variants of the time signal has the periods that the texts of
    queries name."""
    pairs: Pairs

    @classmethod
    def of(
        cls, start: Profile, searched: Profile, pairs: Pairs, without_period: Sequence[bool]
    ) -> Problem:
        """`without_period`: the queries that have no period as they are asked."""
        signals = [variants(signal) for signal in searched.signals]
        place = [isinstance(several[0], Time) for several in signals].index(True)
        named = [list(values) for values in pairs.columns[place]]
        as_asked = [_without(values, pairs, without_period) for values in named]
        if as_asked == named:
            return cls(start, searched, signals, False, pairs)
        columns = [*pairs.columns[:place], [*as_asked, *named], *pairs.columns[place + 1 :]]
        signals[place] = signals[place] * 2
        return cls(start, searched, signals, True, replace(pairs, columns=columns))

    def solved(self, numbers: Sequence[int], seed: int) -> Solution:
        """The best by the queries with these numbers. Takes seconds."""
        pairs = self.pairs.of(numbers)
        start = Candidate(tuple(self.searched.signals.values()), (0,) * len(self.signals))
        space = Space(start, pairs.varying, self._beginnings(), len(numbers))
        best = searched(pairs.worth, space, seed)
        profile, finds_dates = self._profile(best, space)
        return Solution(
            profile,
            _best_lending(pairs, best),
            AUTO if finds_dates else None,
        )

    def _beginnings(self) -> list[tuple[float, ...]]:
        """The weights of the baselines."""
        return [
            tuple(one.weights.get(signal.name, 0.0) for signal in self.searched.signals)
            for one in BASELINES
        ]

    def _profile(self, best: Candidate, space: Space) -> tuple[Profile, bool]:
        """The profile under the name <name>_tuned, and whether it needs dates."""
        names = list(self.searched.weights)
        added = [names.index(name) for name in names if name not in self.start.weights]
        small = [place for place in added if best.weights[place] < LEAST_WEIGHT]
        for place in small:
            best = best.moved(place, 0.0)
        best = space.normalised(best).rounded(space.free)
        time = next(n for n, several in enumerate(self.signals) if isinstance(several[0], Time))
        signals = {
            several[variant]: weight
            for place, (several, variant, weight) in enumerate(
                zip(self.signals, best.variants, best.weights, strict=True)
            )
            if weight or place not in added
        }
        if best == replace(space.start).rounded(space.free):
            signals = dict(self.start.signals)
        named = best.variants[time] * 2 >= len(self.signals[time])
        finds = self.finds_dates and named and best.weights[time] > 0
        return replace(self.start, name=f"{self.start.name}_tuned", signals=signals), finds


def _without(values: list[float], pairs: Pairs, without_period: Sequence[bool]) -> list[float]:
    """The values of the time signal, 0 where queries have no period."""
    for block, has_none in zip(pairs.blocks, without_period, strict=True):
        if has_none:
            size = block.end - block.start
            values = [*values[: block.start], *[0.0] * size, *values[block.end :]]
    return values


def _best_lending(pairs: Pairs, best: Candidate) -> Lending | None:
    if not pairs.has_turns:
        return None
    least = pairs.worth(best.weights, best.variants) + 2 * PER_CHANGE / len(pairs.blocks)
    reached = {one: pairs.worth(best.weights, best.variants, one) for one in LENDING}
    lending = max(LENDING, key=lambda one: reached[one])
    return lending if reached[lending] > least else None
