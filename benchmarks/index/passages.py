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
from benchmarks.index.memories import Draft, Question, completed
from pgrecall.core.embedders import LocalEmbedder

BATCH = 1_000
QUESTIONS = (
    "What happened when the fire broke out in London?",
    "Which streets and churches did the fire burn down?",
    "Where did he bring his gold and his papers to be safe from the fire?",
    "Did he bury his wine and his Parmesan cheese in the garden?",
    "How many people died of the plague this week?",
    "houses shut up and marked with a red cross",
    "When did he move his wife to Woolwich because of the plague?",
    "What did the Duke of York say about the fleet?",
    "the King's coronation at Westminster",
    "Who was hanged and quartered at Charing Cross?",
    "the Dutch burning our ships in the Medway at Chatham",
    "sea fight with the Dutch, ships taken and sunk",
    "What does he think of Sir W. Batten?",
    "quarrels with Sir W. Penn about the contract for timber",
    "What did Mr. Coventry advise him in the office?",
    "dinner with Lord Sandwich before he went to sea",
    "Is Lord Sandwich out of favour at court?",
    "Lady Castlemayne and the King",
    "How did he and his wife quarrel about Deb?",
    "his wife is jealous of the dancing master",
    "He gave his wife a pearl necklace",
    "What plays did he see at the theatre, and did he like them?",
    "a play by Shakespeare that he thought insipid",
    "Nell Gwyn acting the comical part",
    "his vow to drink no wine and see no plays",
    "practising on the flageolet and the lute with his teacher",
    "composing a song and singing with Mercer in the garden",
    "How was he cut of the stone, and how does he keep the anniversary?",
    "pain in his eyes from reading and writing by candle",
    "bought a microscope and looked through a telescope at the moon",
    "experiments at Gresham College before the Royal Society",
    "a transfusion of blood from one dog into another",
    "How much is he worth at the end of the month?",
    "casting up his accounts until late at night",
    "bribes and presents from merchants for the office, gloves with gold in them",
    "Sir W. Warren and the masts for the navy",
    "Tangier committee and Mr. Povy's muddled accounts",
    "seamen unpaid, crying for wages in the streets",
    "speech before the House of Commons in defence of the Navy Office",
    "Was he afraid of being sent to the Tower?",
    "new coach and black horses",
    "a new velvet coat and a periwig made of his own hair",
    "having his hair cut short because of lice",
    "servant girl dismissed for stealing",
    "beat the boy for lying and for neglecting his work",
    "his brother Tom's sickness and death",
    "his mother's death and mourning clothes",
    "his father at Brampton and the trouble over the uncle's estate",
    "What did the sermon on Lord's day say?",
    "Quakers and Presbyterians arrested at a meeting",
    "oysters, lobster and a venison pasty for dinner with friends",
    "drinking chocolate or tea for the first time",
    "coffee house talk about the Turks and the plague in Amsterdam",
    "walked to Greenwich and Deptford to look at the dockyard",
    "by water to Whitehall in bad weather, under London Bridge",
    "hard frost, ice on the Thames and a great storm of wind",
    "seeing a comet in the sky",
    "cock fighting, wrestling and bear baiting",
    "books bought at the bookseller in St. Paul's Churchyard",
    "setting his library in order and numbering the books",
)
"""What a person might ask of Samuel Pepys' diary."""


@dataclass(frozen=True)
class Passage:
    content: str
    created_at: datetime
    entities: tuple[str, ...]


@dataclass(frozen=True)
class Passages:
    """Of one agent, embedded on this machine; what the text does not say is drawn from a seed."""

    passages: tuple[Passage, ...]
    seed: int
    now: datetime

    dimensions = LocalEmbedder.dimensions
    embedding_type = "vector"

    @classmethod
    def read(cls, path: Path, scale: float, seed: int, now: datetime) -> Passages:
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
        return cls(tuple(passages), seed, now)

    @property
    def total(self) -> int:
        return len(self.passages)

    @property
    def name(self) -> str:
        return f"{self.total:,} passages × {self.dimensions} d"

    def __iter__(self) -> Iterator[Row]:
        drawn, embedder = np.random.default_rng(self.seed), LocalEmbedder()
        for first in range(0, self.total, BATCH):
            batch = self.passages[first : first + BATCH]
            vectors: Sequence[Any] = embedder.embed_documents([one.content for one in batch])
            drafts = [
                Draft(
                    passage.content,
                    np.asarray(vector, dtype=np.float32),
                    passage.created_at,
                    list(passage.entities),
                )
                for passage, vector in zip(batch, vectors, strict=True)
            ]
            yield from completed(drafts, drawn, self.now)

    def questions(self, count: int) -> list[Question]:
        """With the known entities that each names."""
        embedder = LocalEmbedder()
        known = sorted({entity for passage in self.passages for entity in passage.entities})
        return [
            Question(
                np.asarray(embedder.embed_query(text), dtype=np.float32),
                tuple(entity for entity in known if entity in text),
                text,
            )
            for text in QUESTIONS[:count]
        ]
