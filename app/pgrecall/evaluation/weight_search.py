"""Random search for weights and a half-life, independent of how candidates are evaluated.

It begins with random weights that sum to 1 (Dirichlet) and half-lives of a day to a year, and
continues around the best candidates, in decreasing steps.
"""

from __future__ import annotations

import math
from collections.abc import Generator, Sequence
from dataclasses import dataclass
from random import Random

GRID = (1, 2, 4, 8, 16, 32, 64, 128, 256)
"""Half-lives in days that are tried with the weights of the start."""
BY_CHANCE = 40
"""Number of random candidates in the first round."""
BEGINNINGS, ROUNDS_OF_EACH, LAST_ROUNDS = 3, 8, 12
"""How many of the best candidates are followed, for how many rounds each, and for how many more
rounds the best one of them."""
ROUNDS = 1 + BEGINNINGS * ROUNDS_OF_EACH + LAST_ROUNDS
"""The most rounds."""
SHARES = (0.2, 0.4, 0.6)
"""Weights that are tried for an added signal, as shares of the weight that may be moved."""
SCATTERED = 8
"""Candidates per round that change everything; the others change one or two values."""
SMALLEST_STEP = 0.01
PULL = 0.002
"""A penalty: how much better a candidate must be that moves all weight to other signals."""
SHORTEST, LONGEST = 1.0, 365.0
"""The range of half-lives, in days."""


@dataclass(frozen=True, slots=True)
class Candidate:
    """Weights that sum to 1, in the order of a profile's signals, and the half-life of recency."""

    weights: tuple[float, ...]
    half_life: float | None
    """The half-life in days; None if it is not tuned."""

    def without_last(self, free: Sequence[bool]) -> Candidate:
        """The candidate without its last weight, which the other free ones get in proportion."""
        *weights, last = self.weights
        places = [place for place, is_free in enumerate(free[:-1]) if is_free]
        total = math.fsum(weights[place] for place in places)
        for place in places:
            weights[place] += last * (weights[place] / total if total else 1 / len(places))
        return Candidate(tuple(weights), self.half_life)

    def rounded(self, free: Sequence[bool]) -> Candidate:
        """The candidate with free weights rounded to three decimals and the half-life to three
        digits. The sum of the weights does not change."""
        weights = [
            round(weight, 3) if is_free else weight
            for weight, is_free in zip(self.weights, free, strict=True)
        ]
        places = [place for place, is_free in enumerate(free) if is_free]
        if places:
            largest = max(places, key=weights.__getitem__)
            others = weights[:largest] + weights[largest + 1 :]
            weights[largest] = round(1 - math.fsum(others), 12)
        half_life = self.half_life
        return Candidate(tuple(weights), None if half_life is None else float(f"{half_life:.3g}"))


Tries = Generator[Sequence[Candidate], Sequence[float], Candidate]
"""Yields candidates and is sent the value of each, greater being better. Returns the best."""


def searching(
    start: Candidate,
    free: Sequence[bool],
    seed: int,
    *,
    recency: int | None = None,
    brought_in: int | None = None,
) -> Tries:
    """Searches for a candidate that is at least as good as `start`. The result depends on the seed.

    Only `free` weights change, and their sum does not. The half-life changes only if the weight at
    index `recency` is free. Of equally good candidates, the one nearer to `start` wins. The signal
    at index `brought_in` has the weight 0 in `start`.
    """
    moves = _Moves(start, free, Random(seed), recency, brought_in)
    if moves.free_weight <= 0:
        return start
    tried = [start, *moves.on_the_grid(), *(moves.by_chance() for _ in range(BY_CHANCE))]
    values = moves.pulled(tried, (yield tried))
    order = sorted(range(len(tried)), key=lambda place: (-values[place], place))
    results = []
    for place in order[:BEGINNINGS]:
        results.append((yield from _followed(moves, tried[place], values[place], ROUNDS_OF_EACH)))
    best, value = max(results, key=lambda pair: pair[1])  # the first one of equals
    best, _ = yield from _followed(moves, best, value, LAST_ROUNDS)
    return best


def _followed(
    moves: _Moves, best: Candidate, best_value: float, rounds: int
) -> Generator[Sequence[Candidate], Sequence[float], tuple[Candidate, float]]:
    """The best candidate found around this one, and its value."""
    step = 0.5
    for _ in range(rounds):
        tried = moves.around(best, step)
        values = moves.pulled(tried, (yield tried))
        place = max(range(len(tried)), key=lambda number: (values[number], -number))
        if values[place] > best_value:
            best, best_value = tried[place], values[place]
        else:
            step /= 2
            if step < SMALLEST_STEP:
                break
    return best, best_value


@dataclass(frozen=True, slots=True)
class _Moves:
    """Derives new candidates from others."""

    start: Candidate
    free: Sequence[bool]
    random: Random
    recency: int | None
    brought_in: int | None

    @property
    def free_weight(self) -> float:
        weights = zip(self.start.weights, self.free, strict=True)
        return math.fsum(weight for weight, is_free in weights if is_free)

    @property
    def moves_half_life(self) -> bool:
        return (
            self.start.half_life is not None
            and self.recency is not None
            and self.free[self.recency]
        )

    def pulled(self, tried: Sequence[Candidate], values: Sequence[float]) -> list[float]:
        """The value of each candidate minus its penalty for moving away from the start."""
        return [
            value - PULL * self._distance(candidate)
            for candidate, value in zip(tried, values, strict=True)
        ]

    def on_the_grid(self) -> list[Candidate]:
        days = GRID if self.moves_half_life else ()
        candidates = [self._candidate(self.start.weights, float(one)) for one in days]
        place = self.brought_in
        if place is not None and self.free[place]:
            for share in SHARES:
                weights = [weight * (1 - share) for weight in self.start.weights]
                weights[place] = share * self.free_weight
                candidates.append(self._candidate(weights, self.start.half_life or 1.0))
        return candidates

    def by_chance(self) -> Candidate:
        weights = [self.random.expovariate(1.0) for _ in self.start.weights]
        shortest, longest = math.log(SHORTEST), math.log(LONGEST)
        return self._candidate(weights, math.exp(self.random.uniform(shortest, longest)))

    def around(self, best: Candidate, step: float) -> list[Candidate]:
        more, less = 1 + step, 1 / (1 + step)
        candidates = []
        for place in (place for place, is_free in enumerate(self.free) if is_free):
            candidates += [self._scaled(best, place, change, 1.0) for change in (more, less)]
        if self.moves_half_life:
            assert self.recency is not None
            # A longer half-life and a larger weight have a similar effect: change both at once too.
            for change in (more**2, less**2):
                candidates += [
                    self._scaled(best, self.recency, weight, change) for weight in (1.0, more, less)
                ]
        for _ in range(SCATTERED):
            weights = [weight * math.exp(self.random.gauss(0, step)) for weight in best.weights]
            days = (best.half_life or 1.0) * math.exp(self.random.gauss(0, step))
            candidates.append(self._candidate(weights, days))
        return candidates

    def _scaled(self, best: Candidate, place: int, weight: float, days: float) -> Candidate:
        weights = list(best.weights)
        # A weight that has become 0 can grow again.
        weights[place] = weights[place] * weight + ((weight - 1) / 10 if weight > 1 else 0)
        return self._candidate(weights, (best.half_life or 1.0) * days)

    def _candidate(self, weights: Sequence[float], half_life: float) -> Candidate:
        start = self.start
        total = math.fsum(w for w, is_free in zip(weights, self.free, strict=True) if is_free)
        shares = tuple(
            weight / total * self.free_weight if is_free else before
            for weight, before, is_free in zip(weights, start.weights, self.free, strict=True)
        )
        if not self.moves_half_life or start.half_life is None:
            return Candidate(shares, start.half_life)
        shortest, longest = min(SHORTEST, start.half_life), max(LONGEST, start.half_life)
        return Candidate(shares, min(max(half_life, shortest), longest))

    def _distance(self, candidate: Candidate) -> float:
        """Half the sum of absolute differences of the weights, in [0, 1]."""
        pairs = zip(candidate.weights, self.start.weights, strict=True)
        return math.fsum(abs(one - other) for one, other in pairs) / 2
