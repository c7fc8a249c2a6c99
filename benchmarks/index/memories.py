"""Memories: made up from a seed, for one agent or several."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta

import numpy as np
from pgvector import HalfVector

from benchmarks.data import ENTITIES, VOCABULARY, WORDS, Floats, Row
from benchmarks.index.asking import Question
from benchmarks.index.drafts import Draft, completed
from benchmarks.index.meanings import Meanings

AGE = timedelta(days=365)
"""Of the oldest memory."""
BATCH = 1_000
"""Memories drawn at a time."""


@dataclass(frozen=True)
class Memories:
    """Oldest first, those of all agents interleaved."""

    agents: tuple[tuple[str, int], ...]
    """Name, and how many memories."""
    indexed: tuple[str, ...]
    """The agents that get a rank index."""
    now: datetime
    seed: int
    meanings: Meanings = Meanings.TOPICS
    dimensions: int = 384
    embedding_type: str = "vector"

    @property
    def total(self) -> int:
        return sum(count for _, count in self.agents)

    @property
    def name(self) -> str:
        return f"{self.total:,} × {self.dimensions:,} d, {self.meanings}"

    def __iter__(self) -> Iterator[Row]:
        random = np.random.default_rng(self.seed)
        names = [name for name, _ in self.agents]
        whose = np.repeat(np.arange(len(names)), [count for _, count in self.agents])
        random.shuffle(whose)
        words = np.array(VOCABULARY, dtype=object)
        for first in range(0, self.total, BATCH):
            count = min(BATCH, self.total - first)
            vectors = self._vectors(random, count)
            texts = words[random.integers(len(words), size=(count, WORDS))]
            mentioned = random.integers(len(ENTITIES), size=(count, 3))
            drafts = [
                Draft(
                    agent_id=names[whose[first + n]],
                    content=" ".join(texts[n]),
                    embedding=self._stored(vectors[n]),
                    created_at=self.moment((first + n) / self.total),
                    entities=[ENTITIES[i] for i in mentioned[n, : (first + n) % 4]],
                )
                for n in range(count)
            ]
            yield from completed(drafts, random, self.now)

    def moment(self, share: float) -> datetime:
        """When this share of the memories had been created."""
        return self.now - AGE * (1 - share)

    def questions(self, count: int) -> list[Question]:
        random = np.random.default_rng(self.seed + 1)
        return [Question(vector, ENTITIES[:3]) for vector in self._vectors(random, count)]

    def _vectors(self, random: np.random.Generator, count: int) -> Floats:
        return self.meanings.drawn(random, count, self.dimensions, self.seed)

    def _stored(self, vector: Floats) -> Floats | HalfVector:
        return HalfVector(vector) if self.embedding_type == "halfvec" else vector
