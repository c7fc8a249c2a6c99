"""What every store is given: memories, queries with their vectors, and the right answers."""

from __future__ import annotations

import math
import random
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Any

import numpy as np
import numpy.typing as npt
from langchain_core.embeddings import Embeddings

from benchmarks.data import Corpus, Floats, Row
from benchmarks.everyday import SIZES, agents_of

K = 10
QUERIES = 20
"""By agents of each size."""
TOPICS = 20
"""Of all memories: an agent of 100 has some five about the topic of a query."""
_RATE, _CAP = 0.05, 50
_SIMILARITY, _RECENCY, _USEFULNESS, _CONFIDENCE, _FREQUENCY = 0.40, 0.25, 0.20, 0.10, 0.05


@dataclass(frozen=True)
class Asked:
    """A query of one agent, and the ids of the K memories that answer it best."""

    agent_id: str
    text: str
    vector: list[float]
    best: frozenset[str]


@dataclass(frozen=True)
class Candidate:
    """A memory that a store has found, with what the composite score needs."""

    id: str
    similarity: float
    created_at: datetime
    usefulness: float
    confidence: float
    retrieval_count: int

    @classmethod
    def of(cls, id_: str, similarity: float, attributes: Mapping[str, Any]) -> Candidate:
        """From the JSON beside a memory, as `attributes` writes it."""
        return cls(
            id_,
            similarity,
            datetime.fromisoformat(attributes["created_at"]),
            attributes["usefulness"],
            attributes["confidence"],
            attributes["retrieval_count"],
        )


def attributes(row: Row) -> dict[str, Any]:
    """What stores without columns for it keep as JSON."""
    return {
        "created_at": row.created_at.isoformat(),
        "usefulness": row.usefulness,
        "confidence": row.confidence,
        "retrieval_count": row.retrieval_count or 0,
    }


def reranked(candidates: Iterable[Candidate]) -> list[str]:
    """The ids of the K best by the composite score, as an application computes it."""
    now = datetime.now(UTC)

    def score(one: Candidate) -> float:
        days = max(0.0, (now - one.created_at).total_seconds() / 86_400)
        return (
            _SIMILARITY * max(0.0, one.similarity)
            + _RECENCY * math.exp(-_RATE * days)
            + _USEFULNESS * one.usefulness
            + _CONFIDENCE * one.confidence
            + _FREQUENCY * min(one.retrieval_count / _CAP, 1.0)
        )

    return [one.id for one in sorted(candidates, key=score, reverse=True)[:K]]


def memories(scale: float, seed: int) -> dict[str, list[Row]]:
    """Those of each agent, which all began at the same time; `scale` of the agents of 100."""
    owners = [owner for size in SIZES for owner in agents_of(size, scale) for _ in range(size)]
    random.Random(seed).shuffle(owners)
    found = defaultdict[str, list[Row]](list)
    for owner, row in zip(owners, Corpus.of(len(owners), seed, TOPICS), strict=True):
        found[owner].append(replace(row, agent_id=owner))
    return found


def asked(size: int, rows: Mapping[str, Sequence[Row]], scale: float, seed: int) -> list[Asked]:
    """Queries by agents of this size."""
    chosen = random.Random(seed)
    found = []
    for number, vector in enumerate(Corpus.of(0, seed, TOPICS).queries(QUERIES)):
        agent_id = chosen.choice(agents_of(size, scale))
        best = frozenset(_best(rows[agent_id], vector))
        found.append(Asked(agent_id, f"query {number}", vector.tolist(), best))
    return found


def _best(rows: Sequence[Row], query: Floats) -> list[str]:
    """The right answer: the exact score of every memory, in NumPy."""
    now = datetime.now(UTC)
    vectors = np.array([row.embedding for row in rows], dtype=np.float64)
    similarity = vectors @ query / (np.linalg.norm(vectors, axis=1) * np.linalg.norm(query))
    days = _each(rows, lambda row: (now - row.created_at).total_seconds() / 86_400)
    score = (
        _SIMILARITY * np.maximum(similarity, 0)
        + _RECENCY * np.exp(-_RATE * days)
        + _USEFULNESS * _each(rows, lambda row: row.usefulness)
        + _CONFIDENCE * _each(rows, lambda row: row.confidence)
        + _FREQUENCY * np.minimum(_each(rows, lambda row: row.retrieval_count or 0) / _CAP, 1)
    )
    return [str(rows[place].id) for place in np.argsort(-score)[:K]]


def _each(rows: Sequence[Row], value: Any) -> npt.NDArray[np.float64]:
    return np.array([value(row) for row in rows], dtype=np.float64)


class Given(Embeddings):
    """Looks up the vector of a text: no store waits for a model."""

    def __init__(self, rows: Iterable[Row], questions: Iterable[Asked]) -> None:
        self._rows: dict[str, Any] = {row.content: row.embedding for row in rows}
        self._questions = {one.text: one.vector for one in questions}

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        return [self.embed_query(text) for text in texts]

    def embed_query(self, text: str) -> list[float]:
        found = self._questions.get(text)
        return self._rows[text].tolist() if found is None else found
