"""Memories: made up from a seed, in topics or without, for one agent or several."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from enum import StrEnum
from functools import lru_cache

import numpy as np
from pgvector import HalfVector

from benchmarks.data import (
    CURVES,
    ENTITIES,
    SPREAD,
    TIERS,
    TOPICS,
    VOCABULARY,
    WORDS,
    Floats,
    Row,
    id_at,
)

AGENT = "agent"
AGE = timedelta(days=365)
"""Of the oldest memory."""
BATCH = 1_000
"""Memories drawn at a time."""
DEPTH, NOISE = 40, 0.1
"""Of the normal that continuous meanings are a linear map of; beside which every dimension of the
map has a deviation of about 1."""
USED = 0.2
"""The share of memories that were ever retrieved."""
TIER_SHARES = (0.1, 0.4, 0.5)
TYPES = {"rule": 0.001, "preference": 0.01, "task": 0.1, "fact": 0.5, "episodic": 1.0}
"""Memory type → share of the memories that are of it or one before it."""
SAMPLES = {"half": 0.5, "fifth": 0.2, "tenth": 0.1, "hundredth": 0.01, "thousandth": 0.001}
"""What metadata says a memory was drawn into → the share of memories that were."""
HALF_LIVES = (24.0, 48.0, 96.0, 168.0)
ZIPF, ASKED, COMMONEST = 50_000, (3, 8), 30
"""Words of a language; of a question, at least and at most; and those that no question holds."""


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


@dataclass(frozen=True)
class Question:
    """What every approach is asked in the same round."""

    vector: Floats
    entities: tuple[str, ...] = ()
    text: str | None = None


@dataclass(frozen=True)
class Memories:
    """Oldest first."""

    total: int
    now: datetime
    seed: int
    meanings: Meanings = Meanings.TOPICS
    dimensions: int = 384
    embedding_type: str = "vector"
    worded: bool = False
    """Texts of words as frequent as words are, and questions of some of them."""

    @property
    def name(self) -> str:
        return f"{self.total:,} × {self.dimensions:,} d, {self.meanings}"

    def __iter__(self) -> Iterator[Row]:
        random = np.random.default_rng(self.seed)
        of_texts = np.random.default_rng(self.seed + 3)
        words = np.array(VOCABULARY, dtype=object)
        for first in range(0, self.total, BATCH):
            count = min(BATCH, self.total - first)
            vectors = self._vectors(random, count)
            texts = words[random.integers(len(words), size=(count, WORDS))]
            mentioned = random.integers(len(ENTITIES), size=(count, 3))
            drafts = [
                Draft(
                    " ".join(drawn_words(of_texts, 30) if self.worded else texts[n]),
                    HalfVector(vectors[n]) if self.embedding_type == "halfvec" else vectors[n],
                    self.moment((first + n) / self.total),
                    [ENTITIES[i] for i in mentioned[n, : (first + n) % 4]],
                )
                for n in range(count)
            ]
            yield from completed(drafts, random, self.now)

    def moment(self, share: float) -> datetime:
        """When this share of the memories had been created."""
        return self.now - AGE * (1 - share)

    def questions(self, count: int) -> list[Question]:
        vectors = self._vectors(np.random.default_rng(self.seed + 1), count)
        random = np.random.default_rng(self.seed + 4)
        found = [Question(vector, ENTITIES[:3]) for vector in vectors]
        if not self.worded:
            return found
        return [replace(one, text=" ".join(asked_words(random))) for one in found]

    def _vectors(self, random: np.random.Generator, count: int) -> Floats:
        return self.meanings.drawn(random, count, self.dimensions, self.seed)


@dataclass(frozen=True)
class Draft:
    """What differs between made-up memories and real passages."""

    content: str
    embedding: Floats | HalfVector
    created_at: datetime
    entities: list[str]


def completed(drafts: Sequence[Draft], random: np.random.Generator, now: datetime) -> Iterator[Row]:
    """The memories; those that were retrieved were at a moment between their creation and now."""
    count = len(drafts)
    usefulness, importance = random.beta(2, 2, (2, count)).tolist()
    confidence = random.uniform(0.5, 1, count).tolist()
    trust, assessed = random.beta(5, 2, count).tolist(), random.random(count) < 2 / 3
    curves, half_lives = random.choice(CURVES, count), random.choice(HALF_LIVES, count)
    tiers = random.choice(TIERS, count, p=TIER_SHARES)
    kinds = np.searchsorted(list(TYPES.values()), random.random(count), side="right")
    sampled = random.random(count)
    used, since = random.random(count) < USED, random.random(count)
    retrievals = random.geometric(0.1, count)
    types = list(TYPES)
    for n, draft in enumerate(drafts):
        yield Row(
            agent_id=AGENT,
            id=id_at(draft.created_at, random),
            content=draft.content,
            embedding=draft.embedding,
            created_at=draft.created_at,
            usefulness=usefulness[n],
            confidence=confidence[n],
            importance=importance[n],
            trust=trust[n] if assessed[n] else None,
            trust_curve=str(curves[n]),
            trust_half_life_hours=float(half_lives[n]),
            tier=str(tiers[n]),
            entities=draft.entities,
            retrieval_count=int(retrievals[n]) if used[n] else None,
            last_accessed_at=draft.created_at + (now - draft.created_at) * float(since[n]),
            memory_type=types[kinds[n]],
            metadata={"drawn": [name for name, share in SAMPLES.items() if sampled[n] < share]},
        )


def asked_words(random: np.random.Generator) -> list[str]:
    number = int(random.integers(ASKED[0], ASKED[1] + 1))
    return list(dict.fromkeys(drawn_words(random, 4 * number, least=COMMONEST)))[:number]


def drawn_words(random: np.random.Generator, number: int, *, least: int = 0) -> list[str]:
    """Words by Zipf's law: the n-th commonest comes 1/n times as often as the first."""
    shares, words = _words()
    places = np.searchsorted(shares, random.random(3 * number) * shares[-1])
    return [words[place] for place in places if place >= least][:number]


@lru_cache
def _words() -> tuple[np.ndarray, list[str]]:
    syllables = [c + v for c in "bdfgklmnprstvz" for v in "aiou"]
    words = []
    for number in range(ZIPF):
        rest, word = number + len(syllables), ""
        while rest:
            rest, part = divmod(rest, len(syllables))
            word += syllables[part]
        words.append(word + "x")  # an ending that no stemmer takes away
    return np.cumsum(1 / np.arange(1, ZIPF + 1)), words
