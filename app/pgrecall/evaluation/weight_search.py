"""Search for the weights of a profile's signals, independent of how candidates are compared.

It begins with the weights of the start and with random ones (Dirichlet), and continues around the
best candidates in decreasing steps.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from random import Random

from pgrecall.core.computing import go_on

BY_CHANCE = 20
"""Number of random candidates in the first round."""
BEGINNINGS, ROUNDS_OF_EACH, LAST_ROUNDS = 3, 6, 10
"""How many of the best candidates are followed, for how many rounds each, and for how many more
rounds the best one of them."""
SHARES = (0.1, 0.25, 0.5)
"""Weights that are tried for a signal of weight 0, as shares of the weight that may be moved."""
SCATTERED = 4
"""Candidates per round that change every weight; the others change one."""
SMALLEST_STEP = 0.02
PULL, PULL_OF_FEW = 0.02, 0.5
"""Penalties, in nDCG, for moving all weight to other signals: always, and shared by all queries.
So a few queries do not move far from the start, and many do not go to an extreme that is hardly
better."""

Weights = tuple[float, ...]
"""In the order of a profile's signals. Only their proportions matter."""
Worth = Callable[[Weights], float]
"""The value of these weights, greater being better."""


@dataclass(frozen=True)
class Space:
    """The weights that may change."""

    start: Weights
    """They sum to 1."""
    free: Sequence[bool]
    """Of each signal, whether its weight may change: it tells memories apart."""
    beginnings: Sequence[Weights] = ()
    """Weights to try at first, beside those of the start."""
    queries: int = 1
    """How many queries candidates are compared by."""

    def normalised(self, weights: Weights) -> Weights:
        """The weights, whose sum is 1, of which those that are not free are those of the start."""
        triples = list(zip(weights, self.free, self.start, strict=True))
        total = math.fsum(weight for weight, is_free, _ in triples if is_free)
        movable = math.fsum(before for _, is_free, before in triples if is_free)
        return tuple(
            weight / total * movable if is_free and total else before
            for weight, is_free, before in triples
        )

    def rounded(self, weights: Weights) -> Weights:
        """The weights, of which free ones have three decimals. Their sum does not change."""
        result = [
            round(weight, 3) if is_free else weight
            for weight, is_free in zip(weights, self.free, strict=True)
        ]
        places = [place for place, is_free in enumerate(self.free) if is_free]
        if places:
            largest = max(places, key=result.__getitem__)
            others = result[:largest] + result[largest + 1 :]
            result[largest] = round(math.fsum(weights) - math.fsum(others), 12)
        return tuple(result)

    def penalty(self, weights: Weights) -> float:
        """How much better than the start the candidate must be."""
        pairs = zip(self.normalised(weights), self.start, strict=True)
        distance = math.fsum(abs(one - other) for one, other in pairs)
        return (PULL + PULL_OF_FEW / self.queries) * distance / 2


def searched(worth: Worth, space: Space, seed: int) -> Weights:
    """Weights that are at least as good as the start's. The result depends on the seed.

    Only free weights change, and their sum does not. Of equally good candidates, the one nearer to
    the start wins.
    """
    places = [place for place, is_free in enumerate(space.free) if is_free]
    if math.fsum(space.start[place] for place in places) <= 0:
        return space.start
    return _Searching(worth, space, places, Random(seed)).best()


@dataclass
class _Searching:
    worth: Worth
    space: Space
    places: Sequence[int]
    """The places of the free weights."""
    random: Random

    def best(self) -> Weights:
        tried = [(one, self._value(one)) for one in self._first()]
        tried.sort(key=lambda pair: -pair[1])  # stable: the first of equals
        followed = [self._followed(*pair, ROUNDS_OF_EACH) for pair in tried[:BEGINNINGS]]
        best, _ = self._followed(*max(followed, key=lambda pair: pair[1]), LAST_ROUNDS)
        return self.space.normalised(best)

    def _value(self, weights: Weights) -> float:
        go_on()
        return self.worth(weights) - self.space.penalty(weights)

    def _best_of(self, candidates: Iterable[Weights]) -> tuple[Weights, float]:
        return max(((one, self._value(one)) for one in candidates), key=lambda pair: pair[1])

    def _first(self) -> Iterator[Weights]:
        start = self.space.start
        movable = math.fsum(start[place] for place in self.places)
        yield start
        for place in self.places:
            if not start[place]:
                for share in SHARES:
                    yield _moved(start, place, movable * share / (1 - share))
        yield from self.space.beginnings
        for _ in range(BY_CHANCE):
            yield self._by_chance()

    def _by_chance(self) -> Weights:
        """Of the signals that have a weight at the start, all; of the others, some."""
        start = self.space.start
        chances = [self.random.expovariate(1.0) for _ in start]
        kept = [before > 0 or self.random.random() < 0.3 for before in start]
        return tuple(one if is_kept else 0.0 for one, is_kept in zip(chances, kept, strict=True))

    def _followed(self, best: Weights, value: float, rounds: int) -> tuple[Weights, float]:
        """The best candidate found around this one, and its value."""
        step = 0.5
        for _ in range(rounds):
            other, other_value = self._best_of(self._around(best, step))
            if other_value > value:
                best, value = other, other_value
            else:
                step /= 2
                if step < SMALLEST_STEP:
                    break
        return best, value

    def _around(self, best: Weights, step: float) -> Iterator[Weights]:
        yield best  # the others differ from it in one weight, which is quick to compare
        total = math.fsum(best[place] for place in self.places)
        for place in self.places:
            weight = best[place]
            # A weight that has become 0 can grow again.
            yield _moved(best, place, weight * (1 + step) + total * step / 10)
            if weight:
                yield _moved(best, place, weight / (1 + step))
                yield _moved(best, place, 0.0)
        for _ in range(SCATTERED):
            yield tuple(weight * math.exp(self.random.gauss(0, step)) for weight in best)


def _moved(weights: Weights, place: int, weight: float) -> Weights:
    return (*weights[:place], weight, *weights[place + 1 :])
