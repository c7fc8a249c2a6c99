"""Searching for weights and a half-life: which to try next, by how well those before did.

At first at random over all weights that sum to 1 (Dirichlet) and half-lives of a day to a year,
then around the best so far, in steps that get smaller. How a candidate is judged is not known here.
"""

from __future__ import annotations

import math
from collections.abc import Generator, Sequence
from dataclasses import dataclass
from random import Random

GRID = (1, 2, 4, 8, 16, 32, 64, 128, 256)
"""Half-lives that are tried with the weights of the start."""
BY_CHANCE = 40
"""Candidates at random to begin with."""
BEGINNINGS, ROUNDS_OF_EACH, LAST_ROUNDS = 3, 8, 12
"""So many of the best are followed so far, and the best of them further."""
ROUNDS = 1 + BEGINNINGS * ROUNDS_OF_EACH + LAST_ROUNDS
"""At most."""
SHARES = (0.2, 0.4, 0.6)
"""Weights that are tried of a signal that is brought in, as parts of what may be given."""
SCATTERED = 8
"""Candidates of a round that change everything at once; the others change one thing or two."""
SMALLEST_STEP = 0.01
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

    def without_last(self, free: Sequence[bool]) -> Candidate:
        """Without the last weight, which goes to the other free ones, in proportion."""
        *weights, last = self.weights
        places = [place for place, is_free in enumerate(free[:-1]) if is_free]
        total = math.fsum(weights[place] for place in places)
        for place in places:
            weights[place] += last * (weights[place] / total if total else 1 / len(places))
        return Candidate(tuple(weights), self.half_life)

    def rounded(self, free: Sequence[bool]) -> Candidate:
        """Free weights of three decimals, the sum unchanged, and a half-life of three digits."""
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
"""Yields candidates and is sent how good each is, more being better; returns the best."""


def searching(
    start: Candidate,
    free: Sequence[bool],
    seed: int,
    *,
    recency: int | None = None,
    brought_in: int | None = None,
) -> Tries:
    """Never returns one that did worse than `start`; the same seed tries the same.

    Only weights that are `free` are changed; together they keep what they have at the start, and
    the half-life only where the weight at the place of `recency` is free. Of two that do alike the
    one nearer to the start is taken. The signal at the place `brought_in` weighs 0 at the start.
    """
    moves = _Moves(start, free, Random(seed), recency, brought_in)
    if moves.free_weight <= 0:
        return start
    tried = [start, *moves.on_the_grid(), *(moves.by_chance() for _ in range(BY_CHANCE))]
    values = moves.pulled(tried, (yield tried))
    order = sorted(range(len(tried)), key=lambda place: (-values[place], place))
    found = []
    for place in order[:BEGINNINGS]:
        found.append((yield from _followed(moves, tried[place], values[place], ROUNDS_OF_EACH)))
    best, value = max(found, key=lambda pair: pair[1])  # of equals the first
    best, _ = yield from _followed(moves, best, value, LAST_ROUNDS)
    return best


def _followed(
    moves: _Moves, best: Candidate, best_value: float, rounds: int
) -> Generator[Sequence[Candidate], Sequence[float], tuple[Candidate, float]]:
    """The best that is found around this one, and how well it does."""
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
    """From candidates to others."""

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
        """How well each did, less the pull to the start."""
        return [
            value - PULL * self._distance(candidate)
            for candidate, value in zip(tried, values, strict=True)
        ]

    def on_the_grid(self) -> list[Candidate]:
        days = GRID if self.moves_half_life else ()
        found = [self._candidate(self.start.weights, float(one)) for one in days]
        place = self.brought_in
        if place is not None and self.free[place]:
            for share in SHARES:
                weights = [weight * (1 - share) for weight in self.start.weights]
                weights[place] = share * self.free_weight
                found.append(self._candidate(weights, self.start.half_life or 1.0))
        return found

    def by_chance(self) -> Candidate:
        weights = [self.random.expovariate(1.0) for _ in self.start.weights]
        shortest, longest = math.log(SHORTEST), math.log(LONGEST)
        return self._candidate(weights, math.exp(self.random.uniform(shortest, longest)))

    def around(self, best: Candidate, step: float) -> list[Candidate]:
        more, less = 1 + step, 1 / (1 + step)
        found = []
        for place in (place for place, is_free in enumerate(self.free) if is_free):
            found += [self._scaled(best, place, change, 1.0) for change in (more, less)]
        if self.moves_half_life:
            assert self.recency is not None
            # A longer half-life and a larger weight do much the same: both at once too.
            for change in (more**2, less**2):
                found += [
                    self._scaled(best, self.recency, weight, change) for weight in (1.0, more, less)
                ]
        for _ in range(SCATTERED):
            weights = [weight * math.exp(self.random.gauss(0, step)) for weight in best.weights]
            days = (best.half_life or 1.0) * math.exp(self.random.gauss(0, step))
            found.append(self._candidate(weights, days))
        return found

    def _scaled(self, best: Candidate, place: int, weight: float, days: float) -> Candidate:
        weights = list(best.weights)
        # A weight that has come down to nothing can come back.
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
        """Half the sum of the differences of the weights, in [0, 1]."""
        pairs = zip(candidate.weights, self.start.weights, strict=True)
        return math.fsum(abs(one - other) for one, other in pairs) / 2
