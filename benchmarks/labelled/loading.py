"""Loading the labelled memories, alone and among others."""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from pgrecall import JudgedQuery, MemoryRepository, NewMemory
from pgrecall.memories.record import id_of_source

FOLDER = Path(__file__).parent
NOW = datetime(2026, 11, 1, tzinfo=UTC)
DISTRACTORS = 6_000
"""Passages of a diary among which the labelled memories are hidden, all that are no answer."""


def stored(repo: MemoryRepository, passages: Path | None) -> dict[str, str]:
    """Stores them for an agent, and for another among passages: name of the set → agent."""
    repo.add_many("alone", list(_memories("alone")))
    sets = {"300 memories": "alone"}
    if passages is not None:
        repo.add_many("among", [*_memories("among"), *_distractors(passages)])
        sets[f"300 memories among {DISTRACTORS:,} passages"] = "among"
    return sets


def queries(agent: str) -> list[JudgedQuery]:
    """The questions about this agent's memories."""
    return [
        JudgedQuery(
            line["question"],
            [id_of_source(number, agent) for number in line["relevant"]],
            group=line["group"],
        )
        for line in _lines(FOLDER / "questions.jsonl")
    ]


def _memories(agent: str) -> Iterator[NewMemory]:
    for line in _lines(FOLDER / "memories.jsonl"):
        yield NewMemory(
            line["content"],
            id=id_of_source(line["id"], agent),
            created_at=datetime.fromisoformat(line["created_at"]),
            memory_type=line["memory_type"],
            importance=line["importance"],
            entities=line["entities"],
        )


def _distractors(passages: Path) -> Iterator[NewMemory]:
    """Evenly over the file, and over the year before NOW."""
    lines = list(_lines(passages))
    step = max(len(lines) // DISTRACTORS, 1)
    for place, line in enumerate(lines[::step][:DISTRACTORS]):
        age = timedelta(days=365 * (place + 1) / DISTRACTORS)
        yield NewMemory(line["content"], created_at=NOW - age)


def _lines(path: Path) -> Iterator[dict[str, Any]]:
    with (gzip.open if path.suffix == ".gz" else open)(path, "rt", encoding="utf-8") as file:
        yield from map(json.loads, file)
