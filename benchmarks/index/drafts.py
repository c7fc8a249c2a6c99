"""Drafts: memories of which everything but their text, meaning and age is still to be drawn."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime

import numpy as np
from pgvector import HalfVector

from benchmarks.data import CURVES, TIERS, Floats, Row, id_at

USED = 0.2
"""The share of memories that were ever retrieved."""
TIER_SHARES = (0.1, 0.4, 0.5)
TYPES = {"rule": 0.001, "preference": 0.01, "task": 0.1, "fact": 0.5, "episodic": 1.0}
"""Memory type → share of the memories that are of it or one before it."""
SAMPLES = {"half": 0.5, "tenth": 0.1, "hundredth": 0.01, "thousandth": 0.001}
"""What metadata says a memory was drawn into → the share of memories that were."""
HALF_LIVES = (24.0, 48.0, 96.0, 168.0)


@dataclass(frozen=True)
class Draft:
    """What differs between made-up memories and real passages."""

    agent_id: str
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
            agent_id=draft.agent_id,
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
