"""The search for weights and a half-life, by functions whose best is known."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import pytest

from pgrecall.evaluation.weight_search import (
    LONGEST,
    PULL,
    ROUNDS,
    SHARES,
    SHORTEST,
    Candidate,
    searching,
)

Worth = Callable[[Candidate], float]
START = Candidate((0.4, 0.25, 0.2, 0.1, 0.05), 14.0)
ALL_FREE = [True] * 5


@dataclass
class Searched:
    best: Candidate
    rounds: list[list[Candidate]] = field(default_factory=list)

    @property
    def tried(self) -> list[Candidate]:
        return [one for tried in self.rounds for one in tried]


def searched(
    worth: Worth, start: Candidate = START, free: Sequence[bool] = ALL_FREE, seed: int = 0
) -> Searched:
    tries = searching(start, free, seed, recency=1)
    rounds: list[list[Candidate]] = []
    values: list[float] | None = None
    while True:
        try:
            tried = next(tries) if values is None else tries.send(values)
        except StopIteration as end:
            return Searched(end.value, rounds)
        rounds.append(list(tried))
        values = [worth(one) for one in tried]


def near(*weights: float, half_life: float | None = None) -> Worth:
    """1 at this place, falling with the distance from it."""

    def worth(candidate: Candidate) -> float:
        away = math.dist(candidate.weights, weights)
        if half_life is not None and candidate.half_life is not None:
            away += 0.2 * abs(math.log(candidate.half_life / half_life))
        return 1 - away

    return worth


def flat(_: Candidate) -> float:
    return 0.5


def test_the_best_is_found() -> None:
    wanted = (0.1, 0.5, 0.05, 0.3, 0.05)

    for seed in range(5):
        found = searched(near(*wanted, half_life=60), seed=seed).best
        assert found.weights == pytest.approx(wanted, abs=0.05)
        assert found.half_life == pytest.approx(60, rel=0.15)
        assert searched(near(0, 0, 0, 0, 1), seed=seed).best.weights[4] > 0.97


@pytest.mark.parametrize("worth", [flat, near(0.1, 0.5, 0.05, 0.3, 0.05), near(1, 0, 0, 0, 0)])
def test_weights_sum_to_1_and_lie_within_0_and_1(worth: Worth) -> None:
    result = searched(worth)
    assert result.tried[0] == START
    assert 10 < len(result.rounds) <= ROUNDS
    for candidate in result.tried:
        assert math.fsum(candidate.weights) == pytest.approx(1, abs=1e-12)
        assert all(0 <= weight <= 1 for weight in candidate.weights)
        assert candidate.half_life is not None
        assert SHORTEST <= candidate.half_life <= LONGEST


FREE = [[True, False, True, True, False], [False, True, True, False, True], [False, *[True] * 4]]


@pytest.mark.parametrize("free", FREE, ids=str)
def test_weights_that_are_not_free_stay_to_the_bit(free: list[bool]) -> None:
    """And so does the half-life of a recency that is not."""
    result = searched(near(0.1, 0.1, 0.1, 0.1, 0.6, half_life=60), free=free)

    for candidate in result.tried:
        for weight, start, is_free in zip(candidate.weights, START.weights, free, strict=True):
            assert is_free or weight == start
        assert free[1] or candidate.half_life == START.half_life
    assert result.best.weights != START.weights


def test_where_no_weight_can_move_none_does() -> None:
    alone = searched(near(0, 0, 0, 0, 1), free=[True, *[False] * 4])
    none = searched(near(0, 0, 0, 0, 1, half_life=100), free=[False] * 5)

    assert alone.best.weights == pytest.approx(START.weights)
    assert (none.best, none.rounds) == (START, [])


@pytest.mark.parametrize("half_life", [14.0, None])
def test_of_those_that_do_alike_the_start_is_taken(half_life: float | None) -> None:
    start = Candidate(START.weights, half_life)

    assert [searched(flat, start, seed=seed).best for seed in range(3)] == [start] * 3


def test_what_does_hardly_better_is_not_worth_going_there() -> None:
    def worth(candidate: Candidate) -> float:
        return 0.5 + PULL / 4 * math.dist(candidate.weights, START.weights)

    assert searched(worth).best == START


def test_it_never_returns_what_did_worse_than_the_start() -> None:
    def worth(candidate: Candidate) -> float:
        return math.sin(1e4 * math.fsum(n * w for n, w in enumerate(candidate.weights)))

    for seed in range(10):
        assert worth(searched(worth, seed=seed).best) >= worth(START)


def test_of_a_signal_that_is_brought_in_some_shares_are_tried() -> None:
    tries = searching(
        Candidate((0.5, 0.3, 0.2, 0.0), None), [True, False, True, True], 0, brought_in=3
    )

    first = next(tries)

    assert [one.weights for one in first[1:4]] == [
        pytest.approx((0.5 * (1 - share), 0.3, 0.2 * (1 - share), 0.7 * share)) for share in SHARES
    ]


WITHOUT_LAST: list[tuple[tuple[float, ...], list[bool], tuple[float, ...]]] = [
    ((0.5, 0.3, 0.192, 0.008), [True, False, True, True], (0.505780, 0.3, 0.194220)),
    ((0.5, 0.5, 0.0), [True, True, True], (0.5, 0.5)),
    ((0.0, 0.992, 0.008), [True, False, True], (0.008, 0.992)),
]


def test_without_the_last_the_others_get_its_weight() -> None:
    for weights, free, expected in WITHOUT_LAST:
        found = Candidate(weights, 14.0).without_last(free)
        assert found.weights == pytest.approx(expected, abs=1e-6)
        assert math.fsum(found.weights) == pytest.approx(1)
        assert found.half_life == 14.0


def test_the_same_seed_tries_the_same() -> None:
    worth = near(0.1, 0.5, 0.05, 0.3, 0.05, half_life=3)

    one, again, other = (searched(worth, seed=seed) for seed in (3, 3, 4))

    assert one == again
    assert one.rounds != other.rounds


def test_without_a_half_life_none_is_tried_and_a_weight_of_nothing_can_come_back() -> None:
    result = searched(near(0.5, 0.5), Candidate((1.0, 0.0), None), [True, True])

    assert {candidate.half_life for candidate in result.tried} == {None}
    assert result.best.weights == pytest.approx((0.5, 0.5), abs=0.02)


ROUNDED: list[tuple[tuple[float, ...], tuple[float, ...]]] = [
    ((0.33333, 0.33333, 0.33334), (0.333, 0.333, 0.334)),
    ((0.5004, 0.2504, 0.2492), (0.501, 0.25, 0.249)),
    ((0.9996, 0.0004), (1.0, 0.0)),
    ((1.0,), (1.0,)),
    ((0.0005, 0.0005, 0.999), (0.001, 0.001, 0.998)),
    ((0.1,) * 10, (0.1,) * 10),
]


def test_rounded_weights_have_three_decimals_and_sum_to_1_and_half_lives_three_digits() -> None:
    for weights, rounded in ROUNDED:
        found = Candidate(weights, None).rounded([True] * len(weights)).weights

        assert math.fsum(found) == pytest.approx(1, abs=1e-12)
        assert found == tuple(round(weight, 3) for weight in found)
        assert found == pytest.approx(rounded, abs=1.1e-3)
    half_lives = {13.8629: 13.9, 123.456: 123.0, 1.0: 1.0, 0.123456: 0.123}
    for given, digits in half_lives.items():
        assert Candidate((1.0,), given).rounded([True]).half_life == digits
