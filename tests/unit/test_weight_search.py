"""The search for weights, by functions whose best is known."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import pytest

from pgrecall.evaluation.weight_search import (
    Space,
    Weights,
    searched,
)

Value = Callable[[Weights], float]
START = (0.4, 0.25, 0.2, 0.1, 0.05)
ALL_FREE = [True] * 5
MANY = 100_000
"""So many queries that only PULL remains of the penalties."""


@dataclass
class Searched:
    best: Weights
    tried: list[Weights] = field(default_factory=list)


def search(
    value: Value,
    start: Weights = START,
    free: Sequence[bool] = ALL_FREE,
    *,
    queries: int = MANY,
    beginnings: Sequence[Weights] = (),
    seed: int = 0,
) -> Searched:
    """The function is of weights that sum to 1, as those of a score would."""
    space = Space(start, free, beginnings, queries)
    tried: list[Weights] = []

    def worth(weights: Weights) -> float:
        tried.append(space.normalised(weights))
        return value(tried[-1])

    return Searched(searched(worth, space, seed), tried)


def near(*weights: float) -> Value:
    """1 at this place, falling with the distance from it."""
    return lambda its: 1 - math.dist(its, weights)


def flat(*_: object) -> float:
    return 0.5


def test_the_best_is_found() -> None:
    wanted = (0.1, 0.5, 0.05, 0.3, 0.05)

    for seed in range(5):
        assert search(near(*wanted), seed=seed).best == pytest.approx(wanted, abs=0.05)
        assert search(near(0, 0, 0, 0, 1), seed=seed).best[4] > 0.95


@pytest.mark.parametrize("value", [flat, near(0.1, 0.5, 0.05, 0.3, 0.05), near(1, 0, 0, 0, 0)])
def test_weights_sum_to_1_and_lie_within_0_and_1(value: Value) -> None:
    result = search(value)

    assert result.tried[0] == START
    assert len(result.tried) < 1_000
    for candidate in result.tried:
        assert math.fsum(candidate) == pytest.approx(1, abs=1e-12)
        assert all(0 <= weight <= 1 for weight in candidate)


FREE = [[True, False, True, True, False], [False, True, True, False, True], [False, *[True] * 4]]


@pytest.mark.parametrize("free", FREE, ids=str)
def test_weights_that_are_not_free_stay_to_the_bit(free: list[bool]) -> None:
    result = search(near(0.1, 0.1, 0.1, 0.1, 0.6), free=free)

    for candidate in result.tried:
        for weight, start, is_free in zip(candidate, START, free, strict=True):
            assert is_free or weight == start
    assert result.best != START


def test_few_queries_move_less_far_than_many() -> None:
    wanted = (0.1, 0.5, 0.05, 0.3, 0.05)

    def gently(weights: Weights) -> float:
        return 0.5 - 0.1 * math.dist(weights, wanted) ** 2

    few, many = (search(gently, queries=number).best for number in (20, MANY))

    assert math.dist(few, START) < 0.7 * math.dist(many, START)


def test_it_never_returns_what_did_worse_than_the_start() -> None:
    def rugged(weights: Weights) -> float:
        return math.sin(1e4 * math.fsum(n * w for n, w in enumerate(weights)))

    for seed in range(10):
        best = search(rugged, seed=seed).best
        assert rugged(best) >= rugged(START)


def test_the_same_seed_tries_the_same() -> None:
    value = near(0.1, 0.5, 0.05, 0.3, 0.05)

    one, again, other = (search(value, seed=seed) for seed in (3, 3, 4))

    assert one == again
    assert one.tried != other.tried


def test_a_weight_of_nothing_can_come_back() -> None:
    result = search(near(0.5, 0.5), (1.0, 0.0), [True] * 2)

    assert result.best == pytest.approx((0.5, 0.5), abs=0.02)


ROUNDED: list[tuple[tuple[float, ...], tuple[float, ...]]] = [
    ((0.33333, 0.33333, 0.33334), (0.333, 0.333, 0.334)),
    ((0.5004, 0.2504, 0.2492), (0.501, 0.25, 0.249)),
    ((0.9996, 0.0004), (1.0, 0.0)),
    ((1.0,), (1.0,)),
    ((0.0005, 0.0005, 0.999), (0.001, 0.001, 0.998)),
    ((0.1,) * 10, (0.1,) * 10),
]


def test_rounded_weights_have_three_decimals_and_sum_to_1() -> None:
    for weights, rounded in ROUNDED:
        found = Space(weights, [True] * len(weights)).rounded(weights)

        assert math.fsum(found) == pytest.approx(1, abs=1e-12)
        assert found == tuple(round(weight, 3) for weight in found)
        assert found == pytest.approx(rounded, abs=1.1e-3)
