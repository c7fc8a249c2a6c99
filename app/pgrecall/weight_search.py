"""Searching for weights and a half-life: which to try next, by how well those before did.

At first at random over all weights that sum to 1 (Dirichlet) and half-lives of a day to a year,
then around the best so far, in steps that get smaller. How a candidate is judged is not known here.
"""

from __future__ import annotations

import math
from collections.abc import Generator, Sequence
from dataclasses import dataclass
from random import Random

FIRST = 47
"""Candidates at random."""
ROUNDS = 16
BY_CHANCE = 8
"""Candidates of a round that change everything at once; the others change one thing each."""
PULL = 0.002
"""How much better a candidate has to do that has moved all its weight elsewhere."""
SHORTEST, LONGEST = 1.0, 365.0
"""Half-lives that are tried, in days."""


@dataclass(frozen=True, slots=True)
class Candidate:
    """Weights that sum to 1, in the order of a profile's signals, and the half-life of recency."""

    weights: tuple[float, ...]
    half_life: float | None
    """In days; None where there is none to be tuned."""

    def rounded(self) -> Candidate:
        """Weights of three decimals that sum to 1, and a half-life of three digits."""
        weights = [round(weight, 3) for weight in self.weights]
        largest = max(range(len(weights)), key=weights.__getitem__)
        weights[largest] = round(1 - math.fsum(weights) + weights[largest], 3)
        half_life = self.half_life
        return Candidate(tuple(weights), None if half_life is None else float(f"{half_life:.3g}"))


Tries = Generator[Sequence[Candidate], Sequence[float], Candidate]
"""Yields candidates and is sent how good each is, more being better; returns the best."""


def searching(start: Candidate, free: Sequence[bool], seed: int) -> Tries:
    """Never returns one that did worse than `start`; the same seed tries the same.

    Only weights that are `free` are changed; together they keep what they have at the start. Of two
    that do alike the one nearer to the start is taken.
    """
    if math.fsum(w for w, is_free in zip(start.weights, free, strict=True) if is_free) <= 0:
        return start
    moves = _Moves(start, free, Random(seed))
    tried = [start, *(moves.by_chance() for _ in range(FIRST))]
    values = yield tried
    best, best_value = moves.best(tried, values)
    step = 0.5
    for _ in range(ROUNDS):
        tried = moves.around(best, step)
        values = yield tried
        found, value = moves.best(tried, values)
        if value > best_value:
            best, best_value = found, value
        else:
            step /= 2
    return best


@dataclass(frozen=True, slots=True)
class _Moves:
    """From candidates to others."""

    start: Candidate
    free: Sequence[bool]
    random: Random

    def best(self, tried: Sequence[Candidate], values: Sequence[float]) -> tuple[Candidate, float]:
        """The first of those that did best, and how well, less the pull to the start."""
        pulled = [
            value - PULL * self._distance(candidate)
            for candidate, value in zip(tried, values, strict=True)
        ]
        place = max(range(len(tried)), key=lambda number: (pulled[number], -number))
        return tried[place], pulled[place]

    def by_chance(self) -> Candidate:
        weights = [self.random.expovariate(1.0) for _ in self.start.weights]
        if self.start.half_life is None:
            return self._candidate(weights, None)
        shortest, longest = math.log(SHORTEST), math.log(LONGEST)
        return self._candidate(weights, math.exp(self.random.uniform(shortest, longest)))

    def around(self, best: Candidate, step: float) -> list[Candidate]:
        found = []
        for place in (place for place, is_free in enumerate(self.free) if is_free):
            for change in (1 + step, 1 / (1 + step)):
                weights = list(best.weights)
                # A weight that has come down to nothing can come back.
                weights[place] = weights[place] * change + (step / 10 if change > 1 else 0)
                found.append(self._candidate(weights, best.half_life))
        if best.half_life is not None:
            for power in (step, -step):
                found.append(self._candidate(best.weights, best.half_life * 2 ** (2 * power)))
        for _ in range(BY_CHANCE):
            weights = [weight * math.exp(self.random.gauss(0, step)) for weight in best.weights]
            half_life = best.half_life
            if half_life is not None:
                half_life *= math.exp(self.random.gauss(0, step))
            found.append(self._candidate(weights, half_life))
        return found

    def _candidate(self, weights: Sequence[float], half_life: float | None) -> Candidate:
        start, free = self.start.weights, self.free
        kept = math.fsum(w for w, is_free in zip(start, free, strict=True) if not is_free)
        total = math.fsum(w for w, is_free in zip(weights, free, strict=True) if is_free)
        shares = tuple(
            weight / total * (1 - kept) if is_free else before
            for weight, before, is_free in zip(weights, start, free, strict=True)
        )
        if half_life is not None:
            half_life = min(max(half_life, SHORTEST), LONGEST)
        return Candidate(shares, half_life)

    def _distance(self, candidate: Candidate) -> float:
        """Half the sum of the differences of the weights, in [0, 1]."""
        pairs = zip(candidate.weights, self.start.weights, strict=True)
        return math.fsum(abs(one - other) for one, other in pairs) / 2
