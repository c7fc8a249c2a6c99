"""Passages: real text with real dates, moved so that the newest is of yesterday."""

from __future__ import annotations

import gzip
import json
import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.data import Row
from benchmarks.index.asking import Question
from benchmarks.index.diary import QUESTIONS
from benchmarks.index.drafts import Draft, completed
from pgrecall.core.embedders import LocalEmbedder

BATCH = 1_000


@dataclass(frozen=True)
class Passage:
    content: str
    created_at: datetime
    entities: tuple[str, ...]


@dataclass(frozen=True)
class Passages:
    """Of one agent, embedded on this machine; what the text does not say is drawn from a seed."""

    passages: tuple[Passage, ...]
    agent_id: str
    seed: int
    now: datetime

    dimensions = LocalEmbedder.dimensions
    embedding_type = "vector"

    @classmethod
    def read(cls, path: Path, agent_id: str, scale: float, seed: int, now: datetime) -> Passages:
        """Those of a file of JSON lines, each text once; at a smaller scale some of them."""
        found: dict[str, dict[str, Any]] = {}
        with gzip.open(path, "rt", encoding="utf-8") as lines:
            for line in lines:
                passage = json.loads(line)
                found.setdefault(" ".join(passage["content"].casefold().split()), passage)
        kept = list(found.values())
        if scale < 1:
            kept = random.Random(seed).sample(kept, max(round(scale * len(kept)), 1))
        moments = [datetime.fromisoformat(passage["created_at"]) for passage in kept]
        shift = now - timedelta(days=1) - max(moments)
        passages = sorted(
            (
                Passage(passage["content"], moment + shift, tuple(passage["entities"]))
                for passage, moment in zip(kept, moments, strict=True)
            ),
            key=lambda passage: passage.created_at,
        )
        return cls(tuple(passages), agent_id, seed, now)

    @property
    def total(self) -> int:
        return len(self.passages)

    @property
    def name(self) -> str:
        return f"{self.total:,} passages × {self.dimensions} d"

    @property
    def indexed(self) -> tuple[str, ...]:
        return (self.agent_id,)

    def __iter__(self) -> Iterator[Row]:
        drawn, embedder = np.random.default_rng(self.seed), LocalEmbedder()
        for first in range(0, self.total, BATCH):
            batch = self.passages[first : first + BATCH]
            vectors: Sequence[Any] = embedder.embed_documents([one.content for one in batch])
            drafts = [
                Draft(
                    agent_id=self.agent_id,
                    content=passage.content,
                    embedding=np.asarray(vector, dtype=np.float32),
                    created_at=passage.created_at,
                    entities=list(passage.entities),
                )
                for passage, vector in zip(batch, vectors, strict=True)
            ]
            yield from completed(drafts, drawn, self.now)

    def questions(self) -> list[Question]:
        """With the known entities that each names; by `hybrid`, their words count too."""
        embedder = LocalEmbedder()
        known = sorted({entity for passage in self.passages for entity in passage.entities})
        return [
            Question(
                np.asarray(embedder.embed_query(text), dtype=np.float32),
                tuple(entity for entity in known if entity in text),
                text,
            )
            for text in QUESTIONS
        ]
