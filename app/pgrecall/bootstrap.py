"""The paired bootstrap: how sure a mean difference is, from the differences at hand.

Efron and Tibshirani, An Introduction to the Bootstrap, 1993, chapter 13: the percentile interval.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import islice
from random import Random

RESAMPLES = 2_000
LEVEL = 0.95


def intervals(
    samples: Sequence[Sequence[float]], seed: int, *, resamples: int = RESAMPLES
) -> list[tuple[float, float]]:
    """For each sample the interval that holds its mean with a probability of LEVEL.

    All samples are of the same cases in the same order, and drawn from together, so that what is
    told of one can be compared with what is told of another. The same seed gives the same result.
    """
    size = len(samples[0]) if samples else 0
    if not size:
        return [(0.0, 0.0) for _ in samples]
    means: list[list[float]] = [[] for _ in samples]
    for drawn in islice(_draws(size, seed), resamples):
        for sample, found in zip(samples, means, strict=True):
            found.append(sum(map(sample.__getitem__, drawn)) / size)
    beyond = round((1 - LEVEL) / 2 * resamples)
    ordered = map(sorted, means)
    return [(found[beyond], found[resamples - 1 - beyond]) for found in ordered]


def _draws(size: int, seed: int) -> Iterator[list[int]]:
    random, cases = Random(seed), range(size)
    while True:
        yield random.choices(cases, k=size)
