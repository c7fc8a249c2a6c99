"""Search for weights and variants of signals, independent of how candidates are compared.

It begins with those of the start, changed in one place, and with random weights (Dirichlet). It
continues around the best candidates in decreasing steps, and then tries the other variants there.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from random import Random

from pgrecall.core.computing import go_on

BY_CHANCE = 20
"""Number of random candidates in the first round."""
BEGINNINGS, ROUNDS_OF_EACH, LAST_ROUNDS = 3, 6, 10
"""How many of the best candidates are followed, for how many rounds each, and for how many more
rounds the best one of them."""
VARIANTS_IN_TURN, ROUNDS_AFTER_VARIANT = 4, 4
"""The most variants that are changed one after the other, and how many rounds follow each."""
SHARES = (0.1, 0.25, 0.5)
"""Weights that are tried for an added signal, as shares of the weight that may be moved."""
SCATTERED = 4
"""Candidates per round that change every weight; the others change one."""
SMALLEST_STEP = 0.02
PULL, PULL_OF_FEW, PER_CHANGE = 0.02, 0.5, 0.2
"""Penalties, in nDCG: for moving all weight to other signals; and, shared by all queries, for the
same and for each variant that is changed or signal that is added. So a few queries do not move far
from the start, and many do not go to an extreme that is hardly better."""


@dataclass(frozen=True, slots=True)
class Candidate:
    """Weights, in the order of a profile's signals, and which variant of each signal."""

    weights: tuple[float, ...]
    """They need not sum to 1, since only their proportions matter."""
    variants: tuple[int, ...]
    """0 is the variant of the start."""

    def moved(self, place: int, weight: float) -> Candidate:
        weights = list(self.weights)
        weights[place] = weight
        return replace(self, weights=tuple(weights))

    def with_variant(self, place: int, variant: int) -> Candidate:
        variants = list(self.variants)
        variants[place] = variant
        return replace(self, variants=tuple(variants))

    def rounded(self, free: Sequence[bool]) -> Candidate:
        """The candidate with free weights rounded to three decimals. The sum of the weights does
        not change."""
        weights = [
            round(weight, 3) if is_free else weight
            for weight, is_free in zip(self.weights, free, strict=True)
        ]
        places = [place for place, is_free in enumerate(free) if is_free]
        if places:
            largest = max(places, key=weights.__getitem__)
            others = weights[:largest] + weights[largest + 1 :]
            weights[largest] = round(math.fsum(self.weights) - math.fsum(others), 12)
        return replace(self, weights=tuple(weights))


Worth = Callable[[Sequence[float], Sequence[int]], float]
"""The value of these weights and variants, greater being better."""


@dataclass(frozen=True)
class Space:
    """The weights and variants that may change."""

    start: Candidate
    """Its weights sum to 1."""
    varying: Sequence[Sequence[bool]]
    """Signal → variant → whether it tells memories apart."""
    beginnings: Sequence[Sequence[float]] = ()
    """Weights to try at first, beside those of the start."""
    queries: int = 1
    """How many queries candidates are compared by."""

    @property
    def free(self) -> list[bool]:
        """Of each signal, whether its weight may change: some variant tells memories apart."""
        return [any(several) for several in self.varying]

    @property
    def telling(self) -> tuple[int, ...]:
        """The variants of the start, but where one tells nothing, the first that does."""
        pairs = zip(self.varying, self.start.variants, strict=True)
        return tuple(
            several.index(True) if any(several) and not several[own] else own
            for several, own in pairs
        )

    def normalised(self, candidate: Candidate) -> Candidate:
        """The candidate with weights that sum to 1, of which those that are not free are those of
        the start."""
        return replace(candidate, weights=self._shared(candidate.weights))

    def _shared(self, weights: Sequence[float]) -> tuple[float, ...]:
        pairs = list(zip(weights, self.free, self.start.weights, strict=True))
        total = math.fsum(weight for weight, is_free, _ in pairs if is_free)
        movable = math.fsum(before for _, is_free, before in pairs if is_free)
        return tuple(
            weight / total * movable if is_free and total else before
            for weight, is_free, before in pairs
        )

    def penalty(self, candidate: Candidate) -> float:
        """How much better than the start the candidate must be."""
        shares, start = self._shared(candidate.weights), self.start
        distance = math.fsum(
            abs(one - other) for one, other in zip(shares, start.weights, strict=True)
        )
        changed = sum(
            variant != own or (weight > 0 and before == 0)
            for variant, own, weight, before in zip(
                candidate.variants, start.variants, shares, start.weights, strict=True
            )
        )
        shared = PULL_OF_FEW * distance / 2 + PER_CHANGE * changed
        return PULL * distance / 2 + shared / self.queries


def searched(worth: Worth, space: Space, seed: int) -> Candidate:
    """A candidate that is at least as good as the start. The result depends on the seed.

    Only free weights change, and their sum does not. Of equally good candidates, the one nearer to
    the start wins.
    """
    places = [place for place, is_free in enumerate(space.free) if is_free]
    if math.fsum(space.start.weights[place] for place in places) <= 0:
        return space.start
    return _Searching(worth, space, places, Random(seed)).best()


@dataclass
class _Searching:
    worth: Worth
    space: Space
    places: Sequence[int]
    """The places of the free weights."""
    random: Random

    def best(self) -> Candidate:
        tried = [(one, self._value(one)) for one in self._first()]
        tried.sort(key=lambda pair: -pair[1])  # stable: the first of equals
        followed = [self._followed(*pair, ROUNDS_OF_EACH) for pair in tried[:BEGINNINGS]]
        best, value = self._followed(*max(followed, key=lambda pair: pair[1]), LAST_ROUNDS)
        for _ in range(VARIANTS_IN_TURN):
            other, other_value = self._best_of(self._other_variants(best))
            if other_value <= value:
                break
            best, value = self._followed(other, other_value, ROUNDS_AFTER_VARIANT)
        return self.space.normalised(self._simplest(best, value))

    def _value(self, candidate: Candidate) -> float:
        go_on()
        reached = self.worth(candidate.weights, candidate.variants)
        return reached - self.space.penalty(candidate)

    def _best_of(self, candidates: Iterable[Candidate]) -> tuple[Candidate, float]:
        return max(((one, self._value(one)) for one in candidates), key=lambda pair: pair[1])

    def _first(self) -> Iterator[Candidate]:
        space, start = self.space, self.space.start
        telling = replace(start, variants=space.telling)
        yield start
        if telling != start:
            yield telling
        for place in self.places:
            for variant, varies in enumerate(space.varying[place]):
                if varies and start.weights[place] and variant != start.variants[place]:
                    yield start.with_variant(place, variant)
        for place in self.places:
            if not start.weights[place]:
                movable = math.fsum(start.weights[one] for one in self.places)
                for share in SHARES:
                    yield telling.moved(place, movable * share / (1 - share))
        for weights in space.beginnings:
            yield replace(telling, weights=tuple(weights))
        for _ in range(BY_CHANCE):
            yield replace(telling, weights=self._by_chance())

    def _by_chance(self) -> tuple[float, ...]:
        """Of the signals that have a weight at the start, all; of the others, some."""
        start = self.space.start.weights
        chances = [self.random.expovariate(1.0) for _ in start]
        kept = [before > 0 or self.random.random() < 0.3 for before in start]
        return tuple(one if is_kept else 0.0 for one, is_kept in zip(chances, kept, strict=True))

    def _followed(self, best: Candidate, value: float, rounds: int) -> tuple[Candidate, float]:
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

    def _around(self, best: Candidate, step: float) -> Iterator[Candidate]:
        yield best  # the others differ from it in one weight, which is quick to compare
        total = math.fsum(best.weights[place] for place in self.places)
        for place in self.places:
            weight = best.weights[place]
            # A weight that has become 0 can grow again.
            yield best.moved(place, weight * (1 + step) + total * step / 10)
            if weight:
                yield best.moved(place, weight / (1 + step))
                yield best.moved(place, 0.0)
        for _ in range(SCATTERED):
            factors = (math.exp(self.random.gauss(0, step)) for _ in best.weights)
            pairs = zip(best.weights, factors, strict=True)
            yield replace(best, weights=tuple(weight * factor for weight, factor in pairs))

    def _other_variants(self, best: Candidate) -> Iterator[Candidate]:
        """A variant often needs another weight: a longer half-life does much the same as a larger
        weight."""
        yield best
        for place in self.places:
            for variant, varies in enumerate(self.space.varying[place]):
                if varies and best.weights[place] and variant != best.variants[place]:
                    other = best.with_variant(place, variant)
                    for factor in (1.0, 2.0, 0.5):
                        yield other.moved(place, best.weights[place] * factor)

    def _simplest(self, best: Candidate, value: float) -> Candidate:
        """Without changes that do not make it better."""
        start = self.space.start
        for place in self.places:
            back = best.with_variant(place, start.variants[place])
            if not start.weights[place]:
                back = back.moved(place, 0.0)
            if back != best and (other := self._value(back)) >= value:
                best, value = back, other
        return best
