"""Finds the best profile and arguments by the pairs of some queries. Needs no database."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from pgrecall.evaluation.pairs import Pairs
from pgrecall.evaluation.tunable import LENDING, Lending, variants
from pgrecall.evaluation.weight_search import PER_CHANGE, Candidate, Space, searched
from pgrecall.scoring.profile import Profile
from pgrecall.scoring.profiles import BASELINES
from pgrecall.scoring.signals import Signal

LEAST_WEIGHT = 0.01
"""An added signal with a smaller weight is removed again."""


@dataclass(frozen=True)
class Solution:
    """The profile that was found, and the arguments of a search that come with it."""

    profile: Profile
    lending: Lending | None

    @property
    def arguments(self) -> dict[str, Any]:
        return {} if self.lending is None else self.lending._asdict()


@dataclass(frozen=True)
class Problem:
    """The pairs of all queries, and the signals that may change."""

    start: Profile
    searched: Profile
    """The start with the signals that it may gain."""
    pairs: Pairs
    """With the variants of its signals."""

    @property
    def signals(self) -> list[list[Signal]]:
        """The variants of each of its signals."""
        return [variants(signal) for signal in self.searched.signals]

    def solved(self, numbers: Sequence[int], seed: int) -> Solution:
        """The best by the queries with these numbers. Takes seconds."""
        pairs = self.pairs.of(numbers)
        start = Candidate(tuple(self.searched.signals.values()), (0,) * len(self.signals))
        space = Space(start, pairs.varying, self._beginnings(), len(numbers))
        best = searched(pairs.worth, space, seed)
        return Solution(self._profile(best, space), _best_lending(pairs, best))

    def _beginnings(self) -> list[tuple[float, ...]]:
        """The weights of the baselines."""
        return [
            tuple(one.weights.get(signal.name, 0.0) for signal in self.searched.signals)
            for one in BASELINES
        ]

    def _profile(self, best: Candidate, space: Space) -> Profile:
        """The profile under the name <name>_tuned."""
        names = list(self.searched.weights)
        added = [names.index(name) for name in names if name not in self.start.weights]
        small = [place for place in added if best.weights[place] < LEAST_WEIGHT]
        for place in small:
            best = best.moved(place, 0.0)
        best = space.normalised(best).rounded(space.free)
        signals = {
            several[variant]: weight
            for place, (several, variant, weight) in enumerate(
                zip(self.signals, best.variants, best.weights, strict=True)
            )
            if weight or place not in added
        }
        if best == replace(space.start).rounded(space.free):
            signals = dict(self.start.signals)
        return replace(self.start, name=f"{self.start.name}_tuned", signals=signals)


def _best_lending(pairs: Pairs, best: Candidate) -> Lending | None:
    if not pairs.has_turns:
        return None
    least = pairs.worth(best.weights, best.variants) + 2 * PER_CHANGE / len(pairs.blocks)
    reached = {one: pairs.worth(best.weights, best.variants, one) for one in LENDING}
    lending = max(LENDING, key=lambda one: reached[one])
    return lending if reached[lending] > least else None
