"""Meanings: what embeddings are made up from."""

from __future__ import annotations

from enum import StrEnum
from functools import lru_cache

import numpy as np

from benchmarks.data import SPREAD, TOPICS, Floats

DEPTH = 40
"""Of the normal that continuous meanings are a linear map of."""
NOISE = 0.1
"""Beside which every dimension of the map has a deviation of about 1."""


class Meanings(StrEnum):
    """Two kinds of data, since an index may do well on one of them only."""

    TOPICS = "topics"
    """Each lies near one of some topics, which have nothing to do with each other."""
    CONTINUOUS = "continuous"
    """No topics: each is a mixture of everything there is."""

    def drawn(self, random: np.random.Generator, count: int, dimensions: int, seed: int) -> Floats:
        """So many unit vectors; what they are near to depends on the seed alone."""
        base = _base(self, dimensions, seed)
        noise = random.standard_normal((count, dimensions), dtype=np.float32)
        if self is Meanings.TOPICS:
            vectors = base[random.integers(len(base), size=count)] + np.float32(SPREAD) * noise
        else:
            places = random.standard_normal((count, DEPTH), dtype=np.float32)
            vectors = places @ base / np.float32(DEPTH**0.5) + np.float32(NOISE) * noise
        unit: Floats = vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
        return unit


@lru_cache
def _base(meanings: Meanings, dimensions: int, seed: int) -> Floats:
    random = np.random.default_rng(seed + 2)
    rows = TOPICS if meanings is Meanings.TOPICS else DEPTH
    return random.standard_normal((rows, dimensions), dtype=np.float32)
