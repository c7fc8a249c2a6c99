"""How well the labelled questions are answered, by each profile and weight."""

from __future__ import annotations

import gzip
import json
import statistics
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.progress import Progress
from rich.table import Table
from sqlalchemy import create_engine

from pgrecall import MemoryRepository, NewMemory, Profile, migrate, profiles
from pgrecall.embedders import LocalEmbedder
from pgrecall.migrate.connecting import database_url
from pgrecall.signals import Keyword, Similarity

LABELLED = Path(__file__).parents[1] / "labelled"
NOW = datetime(2026, 11, 1, tzinfo=UTC)
AGENT = "assistant"
K = 5
DISTRACTORS = 6_000
"""Passages of a diary among which the labelled memories are hidden, all that are no answer."""
PARTS = (1.0, 0.8, 0.7, 0.6, 0.5, 0.4, 0.2, 0.0)
"""Of similarity; the rest is the keyword signal's."""


@dataclass(frozen=True)
class Question:
    text: str
    relevant: frozenset[int]
    group: str


@dataclass(frozen=True)
class Quality:
    """Of one profile over all questions."""

    recall: float
    """The share of the relevant memories among the first K."""
    reciprocal_rank: float
    """1 / the place of the first relevant one, 0 beyond 100."""
    by_group: Mapping[str, float]
    """Group of questions → recall."""

    def record(self) -> dict[str, Any]:
        """The numbers as plain JSON values."""
        return {
            "recall": round(self.recall, 4),
            "mrr": round(self.reciprocal_rank, 4),
            "by_group": {name: round(share, 4) for name, share in self.by_group.items()},
        }


def candidates() -> dict[str, Profile]:
    """What is compared, by name."""
    mixed = {
        f"{part:g} similarity + {1 - part:g} keyword": Profile(
            "mixed", {Similarity(): part, Keyword(): round(1 - part, 9)}
        )
        for part in PARTS
    }
    return {**mixed, "five_factor": profiles.five_factor, "hybrid": profiles.hybrid}


def measured(url: str, passages: Path | None, progress: Progress) -> dict[str, dict[str, Quality]]:
    """Set of memories → profile → quality."""
    engine = create_engine(database_url(url))
    migrate.upgrade(url)
    repo = MemoryRepository(engine, embedder=LocalEmbedder())
    repo.add_many(AGENT, list(_memories()))
    questions = list(_questions())
    sets = {"300 memories": AGENT}
    if passages is not None:
        among = f"{AGENT} among passages"
        repo.add_many(among, [*_memories(), *_distractors(passages)])
        sets[f"300 memories among {DISTRACTORS:,} passages"] = among
    asked = candidates()
    task = progress.add_task("asking", total=len(sets) * len(asked) * len(questions))
    found: dict[str, dict[str, Quality]] = {}
    for name, agent in sets.items():
        found[name] = {
            label: _quality(repo, agent, profile, questions, lambda: progress.advance(task))
            for label, profile in asked.items()
        }
    engine.dispose()
    return found


def print_quality(console: Console, found: Mapping[str, Mapping[str, Quality]]) -> None:
    for name, by_profile in found.items():
        groups = list(next(iter(by_profile.values())).by_group)
        table = Table(title=name, title_justify="left")
        table.add_column("profile")
        for column in (f"recall@{K}", "MRR", *groups):
            table.add_column(column, justify="right")
        for label, quality in by_profile.items():
            shares = (quality.recall, quality.reciprocal_rank, *quality.by_group.values())
            table.add_row(label, *(f"{share:.3f}" for share in shares))
        console.print(table)


def _quality(
    repo: MemoryRepository,
    agent: str,
    profile: Profile,
    questions: Sequence[Question],
    done: Any,
) -> Quality:
    recalls: dict[str, list[float]] = {}
    ranks = []
    for question in questions:
        hits = repo.search(agent, question.text, k=100, profile=profile, as_of=NOW, touch=False)
        numbers = [hit.memory.metadata["number"] for hit in hits]
        first = question.relevant & set(numbers[:K])
        recalls.setdefault(question.group, []).append(len(first) / len(question.relevant))
        places = [place for place, one in enumerate(numbers, 1) if one in question.relevant]
        ranks.append(1 / places[0] if places else 0.0)
        done()
    return Quality(
        statistics.fmean(share for shares in recalls.values() for share in shares),
        statistics.fmean(ranks),
        {group: statistics.fmean(shares) for group, shares in recalls.items()},
    )


def _lines(path: Path) -> Iterator[dict[str, Any]]:
    with (gzip.open if path.suffix == ".gz" else open)(path, "rt", encoding="utf-8") as file:
        yield from map(json.loads, file)


def _questions() -> Iterator[Question]:
    for line in _lines(LABELLED / "questions.jsonl"):
        yield Question(line["question"], frozenset(line["relevant"]), line["group"])


def _memories() -> Iterator[NewMemory]:
    for line in _lines(LABELLED / "memories.jsonl"):
        yield NewMemory(
            line["content"],
            created_at=datetime.fromisoformat(line["created_at"]),
            memory_type=line["memory_type"],
            importance=line["importance"],
            entities=line["entities"],
            metadata={"number": line["id"]},
        )


def _distractors(passages: Path) -> Iterator[NewMemory]:
    """Evenly over the file, and over the year before NOW."""
    lines = list(_lines(passages))
    step = max(len(lines) // DISTRACTORS, 1)
    for place, line in enumerate(lines[::step][:DISTRACTORS]):
        yield NewMemory(
            line["content"],
            created_at=NOW - timedelta(days=365 * (place + 1) / DISTRACTORS),
            metadata={"number": -1},
        )
