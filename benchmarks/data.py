"""Memories made up from a seed: the same in every run."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID

import numpy as np
import numpy.typing as npt

from pgrecall.core.tokens import estimated_tokens
from pgrecall.core.vectors import HalfVector

DIMENSIONS = 384
AGENTS = 10
AGENT = "agent 3"
"""The agent that searches."""
ENTITIES = tuple(f"Entity {number}" for number in range(100))
TIERS = ("short", "medium", "long")
CURVES = ("hyperbolic", "exponential", "linear")
TOPICS = 200
SPREAD = 0.8
"""How far a memory lies from its topic; 0 would be on it."""
WORDS = 60
DAYS = 180

Floats = npt.NDArray[np.float32]

_TEXT = """
about after agent answer asked because before budget build called change client code customer
data database day deadline decided deploy design did during error every failed file first fixed
found from git help index invoice issue later list looked mail meeting memory message migration
model month moved need never new next note only open order other page plan prefers price project
query question read release remember report request result review schema second sent server
should since some still table team test than that their there they thing this time today tool
took track travel under update used user version wanted was week were when which while will with
work wrote
"""
VOCABULARY = _TEXT.split()


@dataclass(frozen=True)
class Row:
    """One memory, with its counters if it was ever retrieved."""

    agent_id: str
    id: UUID
    content: str
    embedding: Floats | HalfVector
    created_at: datetime
    usefulness: float
    confidence: float
    importance: float
    trust: float | None
    trust_curve: str
    trust_half_life_hours: float
    tier: str
    entities: list[str]
    retrieval_count: int | None
    last_accessed_at: datetime | None = None
    """Of what was retrieved; by default when it was created."""
    memory_type: str = "episodic"
    metadata: dict[str, Any] = field(default_factory=dict)

    @property
    def tokens(self) -> int:
        """Counted as the repository does when it writes a memory."""
        return estimated_tokens(self.content)


@dataclass(frozen=True)
class Corpus:
    """Rows of all agents, and queries about the same topics."""

    rows: int
    seed: int
    newest: datetime
    topics: int = TOPICS

    @classmethod
    def of(cls, rows: int, seed: int, topics: int = TOPICS) -> Corpus:
        return cls(rows, seed, datetime.now(UTC) - timedelta(hours=1), topics)

    def __iter__(self) -> Iterator[Row]:
        """Oldest first, the agents taking turns."""
        random = np.random.default_rng(self.seed)
        topics = self._topics()
        oldest = self.newest - timedelta(days=DAYS)
        for number in range(self.rows):
            created_at = oldest + timedelta(days=DAYS) * (number / self.rows)
            yield Row(
                agent_id=f"agent {number % AGENTS}",
                id=id_at(created_at, random),
                content=" ".join(random.choice(VOCABULARY, WORDS)),
                embedding=_near(topics[random.integers(self.topics)], random),
                created_at=created_at,
                usefulness=float(random.beta(2, 2)),
                confidence=float(random.uniform(0.5, 1)),
                importance=float(random.beta(2, 2)),
                trust=float(random.beta(5, 2)) if number % 3 else None,
                trust_curve=CURVES[int(random.integers(3))],
                trust_half_life_hours=float(random.choice([24, 48, 96, 168])),
                tier=TIERS[int(random.integers(3))],
                entities=[ENTITIES[i] for i in random.integers(len(ENTITIES), size=number % 4)],
                # Each agent's rows fall into both halves: not the parity of the number itself.
                retrieval_count=(
                    1 + int(random.geometric(0.1)) if number // AGENTS % 2 == 0 else None
                ),
            )

    def queries(self, count: int) -> list[Floats]:
        random = np.random.default_rng(self.seed + 1)
        return [_near(topic, random) for topic in random.choice(self._topics(), count)]

    def _topics(self) -> Floats:
        random = np.random.default_rng(self.seed + 2)
        return random.standard_normal((self.topics, DIMENSIONS), dtype=np.float32)


def _near(topic: Floats, random: np.random.Generator) -> Floats:
    vector = topic + SPREAD * random.standard_normal(DIMENSIONS, dtype=np.float32)
    unit: Floats = vector / np.linalg.norm(vector)
    return unit


def id_at(moment: datetime, random: np.random.Generator) -> UUID:
    """A UUID of version 7 for this moment, as a client would have made it then."""
    milliseconds = int(moment.timestamp() * 1000)
    low = int.from_bytes(random.bytes(10))
    return UUID(
        int=milliseconds << 80
        | 0x7 << 76
        | (low >> 68 & 0xFFF) << 64
        | 0b10 << 62
        | low & (1 << 62) - 1
    )
