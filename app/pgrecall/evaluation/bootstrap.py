"""The paired bootstrap: confidence intervals of mean differences.

Efron and Tibshirani, An Introduction to the Bootstrap, 1993, chapter 13: the percentile interval.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterator, Sequence
from itertools import islice
from operator import itemgetter
from random import Random

RESAMPLES = 2_000
LEVEL = 0.95


def intervals(
    samples: Sequence[Sequence[float]],
    seed: int,
    *,
    owners: Sequence[Hashable] | None = None,
    resamples: int = RESAMPLES,
) -> list[tuple[float, float]]:
    """The interval of each sample that contains its mean with probability LEVEL.

    All samples have the same cases in the same order and are resampled together, so their intervals
    can be compared. The same seed gives the same result. If `owners` has the owner of each case,
    owners are resampled with all their cases, since cases of one owner are more alike.
    """
    if not samples or not samples[0]:
        return [(0.0, 0.0) for _ in samples]
    sizes = [1] * len(samples[0])
    if owners is not None:
        places: dict[Hashable, list[int]] = {}
        for place, owner in enumerate(owners):
            places.setdefault(owner, []).append(place)
        sizes = [len(group) for group in places.values()]
        samples = [
            [math.fsum(map(sample.__getitem__, group)) for group in places.values()]
            for sample in samples
        ]
    means: list[list[float]] = [[] for _ in samples]
    for drawn in islice(_draws(len(sizes), seed), resamples):
        chosen = itemgetter(*drawn, 0)  # of two or more, it returns a tuple
        cases = sum(chosen(sizes)[:-1])
        for sample, resampled in zip(samples, means, strict=True):
            resampled.append(sum(chosen(sample)[:-1]) / cases)
    beyond = round((1 - LEVEL) / 2 * resamples)
    ordered = map(sorted, means)
    return [(resampled[beyond], resampled[resamples - 1 - beyond]) for resampled in ordered]


def _draws(size: int, seed: int) -> Iterator[list[int]]:
    random, cases = Random(seed), range(size)
    while True:
        yield random.choices(cases, k=size)
