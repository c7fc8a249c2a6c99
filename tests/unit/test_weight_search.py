"""The search for weights and variants, by functions whose best is known."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace

import pytest

from pgrecall.evaluation.weight_search import (
    PER_CHANGE,
    PULL,
    SHARES,
    Candidate,
    Space,
    searched,
)

Value = Callable[[Sequence[float], Sequence[int]], float]
START = Candidate((0.4, 0.25, 0.2, 0.1, 0.05), (0, 0, 0, 0, 0))
ALL_FREE = [[True]] * 5
MANY = 100_000
"""So many queries that only PULL remains of the penalties."""


@dataclass
class Searched:
    best: Candidate
    tried: list[Candidate] = field(default_factory=list)


def search(
    value: Value,
    start: Candidate = START,
    varying: Sequence[Sequence[bool]] = ALL_FREE,
    *,
    queries: int = MANY,
    beginnings: Sequence[Sequence[float]] = (),
    seed: int = 0,
) -> Searched:
    """The function is of weights that sum to 1, as those of a score would."""
    space = Space(start, varying, beginnings, queries)
    tried: list[Candidate] = []

    def worth(weights: Sequence[float], variants: Sequence[int]) -> float:
        candidate = space.normalised(Candidate(tuple(weights), tuple(variants)))
        tried.append(candidate)
        return value(candidate.weights, candidate.variants)

    return Searched(searched(worth, space, seed), tried)


def near(*weights: float) -> Value:
    """1 at this place, falling with the distance from it."""
    return lambda its, _: 1 - math.dist(its, weights)


def flat(*_: object) -> float:
    return 0.5


def test_the_best_is_found() -> None:
    wanted = (0.1, 0.5, 0.05, 0.3, 0.05)

    for seed in range(5):
        assert search(near(*wanted), seed=seed).best.weights == pytest.approx(wanted, abs=0.05)
        assert search(near(0, 0, 0, 0, 1), seed=seed).best.weights[4] > 0.95


@pytest.mark.parametrize("value", [flat, near(0.1, 0.5, 0.05, 0.3, 0.05), near(1, 0, 0, 0, 0)])
def test_weights_sum_to_1_and_lie_within_0_and_1(value: Value) -> None:
    result = search(value)

    assert result.tried[0] == START
    assert len(result.tried) < 1_000
    for candidate in result.tried:
        assert math.fsum(candidate.weights) == pytest.approx(1, abs=1e-12)
        assert all(0 <= weight <= 1 for weight in candidate.weights)


FREE = [[True, False, True, True, False], [False, True, True, False, True], [False, *[True] * 4]]


@pytest.mark.parametrize("free", FREE, ids=str)
def test_weights_that_are_not_free_stay_to_the_bit(free: list[bool]) -> None:
    result = search(near(0.1, 0.1, 0.1, 0.1, 0.6), varying=[[one] for one in free])

    for candidate in result.tried:
        for weight, start, is_free in zip(candidate.weights, START.weights, free, strict=True):
            assert is_free or weight == start
    assert result.best.weights != START.weights


def test_where_no_weight_can_move_none_does() -> None:
    alone = search(near(0, 0, 0, 0, 1), varying=[[True], *[[False]] * 4])
    none = search(near(0, 0, 0, 0, 1), varying=[[False]] * 5)

    assert alone.best.weights == pytest.approx(START.weights)
    assert (none.best, none.tried) == (START, [])


def test_of_those_that_do_alike_the_start_is_taken() -> None:
    assert [search(flat, seed=seed).best for seed in range(3)] == [START] * 3


def test_what_does_hardly_better_is_not_worth_going_there() -> None:
    def slightly(weights: Sequence[float], _: object) -> float:
        return 0.5 + PULL / 4 * math.dist(weights, START.weights)

    assert search(slightly).best == START


def test_few_queries_move_less_far_than_many() -> None:
    wanted = (0.1, 0.5, 0.05, 0.3, 0.05)

    def gently(weights: Sequence[float], _: object) -> float:
        return 0.5 - 0.1 * math.dist(weights, wanted) ** 2

    few, many = (search(gently, queries=number).best.weights for number in (20, MANY))

    assert math.dist(few, START.weights) < 0.7 * math.dist(many, START.weights)


def test_it_never_returns_what_did_worse_than_the_start() -> None:
    def rugged(weights: Sequence[float], _: object) -> float:
        return math.sin(1e4 * math.fsum(n * w for n, w in enumerate(weights)))

    for seed in range(10):
        best = search(rugged, seed=seed).best
        assert rugged(best.weights, ()) >= rugged(START.weights, ())


def test_of_a_signal_that_is_added_some_shares_are_tried() -> None:
    start = Candidate((0.5, 0.3, 0.2, 0.0), (0, 0, 0, 0))

    first = search(flat, start, [[True], [False], [True], [True]]).tried[1:4]

    assert [one.weights for one in first] == [
        pytest.approx((0.5 * (1 - share), 0.3, 0.2 * (1 - share), 0.7 * share)) for share in SHARES
    ]


def test_what_others_begin_with_is_tried_too() -> None:
    beginning = (0.0, 0.0, 0.0, 0.3, 0.1)

    tried = search(flat, beginnings=[beginning]).tried

    assert pytest.approx((0, 0, 0, 0.75, 0.25)) in [one.weights for one in tried]


def test_variants_are_chosen_with_the_weights_that_they_need() -> None:
    """Variant 2 of the second signal is the best, at another weight than the first one's."""
    wanted = {0: (0.4, 0.25, 0.2, 0.1, 0.05), 1: (0.4, 0.3, 0.15, 0.1, 0.05)}
    best = (0.25, 0.5, 0.15, 0.05, 0.05)

    def value(weights: Sequence[float], variants: Sequence[int]) -> float:
        place = wanted.get(variants[1], best)
        return (0.9 if place is best else 0.7) - math.dist(weights, place)

    found = search(value, varying=[[True], [True] * 3, *[[True]] * 3]).best

    assert found.variants == (0, 2, 0, 0, 0)
    assert found.weights == pytest.approx(best, abs=0.05)


def test_a_variant_that_does_no_better_is_not_chosen() -> None:
    def value(weights: Sequence[float], variants: Sequence[int]) -> float:
        return 1 - math.dist(weights, (0.2,) * 5) + sum(variants) * PER_CHANGE / 20 / 2

    assert search(value, varying=[[True, True]] * 5, queries=20).best.variants == (0,) * 5


def test_where_the_variant_of_the_start_tells_nothing_another_is_tried_at_once() -> None:
    """Such as the time signal without periods: all weights are tried with them."""

    def value(weights: Sequence[float], variants: Sequence[int]) -> float:
        return weights[1] if variants[1] else 0.0

    result = search(value, varying=[[True], [False, True], *[[True]] * 3])

    assert result.tried[1] == replace(START, variants=(0, 1, 0, 0, 0))
    assert result.best.variants[1] == 1
    assert result.best.weights[1] > 0.95


def test_the_same_seed_tries_the_same() -> None:
    value = near(0.1, 0.5, 0.05, 0.3, 0.05)

    one, again, other = (search(value, seed=seed) for seed in (3, 3, 4))

    assert one == again
    assert one.tried != other.tried


def test_a_weight_of_nothing_can_come_back() -> None:
    result = search(near(0.5, 0.5), Candidate((1.0, 0.0), (0, 0)), [[True]] * 2)

    assert result.best.weights == pytest.approx((0.5, 0.5), abs=0.02)


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
        candidate = Candidate(weights, (0,) * len(weights))
        found = candidate.rounded([True] * len(weights)).weights

        assert math.fsum(found) == pytest.approx(1, abs=1e-12)
        assert found == tuple(round(weight, 3) for weight in found)
        assert found == pytest.approx(rounded, abs=1.1e-3)
