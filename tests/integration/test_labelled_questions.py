"""Questions whose answers are known: words find what meaning alone misses.

The memories and questions of benchmarks/labelled, written for this project, embedded by the local
embedder. `python -m benchmarks.words` tells the figures.
"""

from __future__ import annotations

import json
import statistics
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import create_engine

from pgrecall import MemoryRepository, NewMemory, Profile, profiles
from pgrecall.embedders import LocalEmbedder
from pgrecall.migrate.connecting import database_url
from pgrecall.signals import Similarity
from tests.conftest import new_database

LABELLED = Path(__file__).parents[2] / "benchmarks" / "labelled"
AGENT = "assistant"
NOW = datetime(2026, 11, 1, tzinfo=UTC)
K = 5
BY_MEANING = Profile("by meaning", {Similarity(): 1.0})
WORDED = {"name", "number", "rare", "mixed"}


def lines(name: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (LABELLED / name).read_text("utf-8").splitlines()]


@pytest.fixture(scope="module")
def assistant(server_url: str, local_template: str) -> Iterator[MemoryRepository]:
    with new_database(server_url, local_template) as url:
        engine = create_engine(database_url(url))
        repo = MemoryRepository(engine, embedder=LocalEmbedder())
        repo.add_many(
            AGENT,
            [
                NewMemory(
                    line["content"],
                    created_at=datetime.fromisoformat(line["created_at"]),
                    importance=line["importance"],
                    metadata={"number": line["id"]},
                )
                for line in lines("memories.jsonl")
            ],
        )
        yield repo
        engine.dispose()


def answered(repo: MemoryRepository, profile: Profile, groups: set[str]) -> tuple[float, float]:
    """The mean share of the answers among the first K, and the mean of 1 / place of the first."""
    recalls, places = [], []
    for question in lines("questions.jsonl"):
        if question["group"] not in groups:
            continue
        hits = repo.search(
            AGENT, question["question"], k=300, profile=profile, as_of=NOW, touch=False
        )
        numbers = [hit.memory.metadata["number"] for hit in hits]
        right = set(question["relevant"])
        recalls.append(len(right & set(numbers[:K])) / len(right))
        places.append(1 + next(n for n, number in enumerate(numbers) if number in right))
    return statistics.fmean(recalls), statistics.fmean(1 / place for place in places)


def test_hybrid_answers_better_than_meaning_alone(assistant: MemoryRepository) -> None:
    """Where question and answer share words; not where they are chosen to share none."""
    recall, reciprocal_rank = answered(assistant, profiles.hybrid, WORDED)
    recall_by_meaning, reciprocal_rank_by_meaning = answered(assistant, BY_MEANING, WORDED)

    assert recall > recall_by_meaning + 0.01
    assert reciprocal_rank > reciprocal_rank_by_meaning + 0.03


@pytest.mark.parametrize(
    ("question", "answer"),
    [(q["question"], q["relevant"]) for q in lines("questions.jsonl") if q["group"] == "number"],
)
def test_a_number_finds_its_memory(
    assistant: MemoryRepository, question: str, answer: list[int]
) -> None:
    hits = assistant.search(
        AGENT, question, k=2 * K, profile=profiles.hybrid, as_of=NOW, touch=False
    )

    assert {hit.memory.metadata["number"] for hit in hits} & set(answer)
