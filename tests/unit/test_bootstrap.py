"""The paired bootstrap, against what theory says of a mean."""

from __future__ import annotations

import math
import random
import statistics

import pytest

from pgrecall.evaluation.bootstrap import intervals


def normal(size: int, *, mean: float = 0.0, seed: int = 0) -> list[float]:
    dice = random.Random(seed)
    return [dice.gauss(mean, 1) for _ in range(size)]


def test_an_interval_is_as_wide_as_theory_says() -> None:
    sample = normal(400, mean=0.3)

    [(low, high)] = intervals([sample], 1)

    mean, error = statistics.fmean(sample), statistics.stdev(sample) / math.sqrt(len(sample))
    assert low == pytest.approx(mean - 1.96 * error, abs=error / 5)
    assert high == pytest.approx(mean + 1.96 * error, abs=error / 5)


def test_the_mean_is_covered_about_as_often_as_said() -> None:
    covered = 0
    for seed in range(200):
        [(low, high)] = intervals([normal(40, mean=0.5, seed=seed)], seed, resamples=300)
        covered += low <= 0.5 <= high

    assert 0.88 <= covered / 200 <= 0.99


def test_samples_are_drawn_from_together() -> None:
    sample = normal(25)
    shifted = [value + 10 for value in sample]

    [one, other] = intervals([sample, shifted], 2)

    assert other == pytest.approx((one[0] + 10, one[1] + 10))
    assert intervals([shifted], 2) == [other]


def test_over_owners_an_interval_is_as_wide_as_owners_differ() -> None:
    """Cases of one owner that are all alike tell no more than one of them."""
    sample, times = normal(40), 25
    cases = [value for value in sample for _ in range(times)]
    owners = [owner for owner in range(40) for _ in range(times)]

    [over_owners] = intervals([cases], 4, owners=owners)

    assert over_owners == pytest.approx(intervals([sample], 4)[0])


def test_an_owner_is_drawn_with_all_its_cases() -> None:
    cases, owners = [1.0, *[0.0] * 9], ["small", *["large"] * 9]

    [(low, high)] = intervals([cases], 4, owners=owners, resamples=400)

    assert (low, high) == (0.0, 1.0)
