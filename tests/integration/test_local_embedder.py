"""The local embedder, and questions whose answers are known: words find what meaning alone misses.

The memories and questions of benchmarks/labelled, written for this project. `python -m
benchmarks.words` tells the figures.
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
from tests.integration.support import contents

LABELLED = Path(__file__).parents[2] / "benchmarks" / "labelled"
AGENT = "assistant"
NOW = datetime(2026, 11, 1, tzinfo=UTC)
K = 5
BY_MEANING = Profile("by meaning", {Similarity(): 1.0})
ANSWERS = {
    "Which hot drink does the user like?": "The user prefers tea over coffee in the morning.",
    "Why did the release to the server go wrong?": (
        "The deployment failed because the disk was full."
    ),
    "When was Anna born?": "Anna's birthday is on the third of March.",
}


def lines(name: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (LABELLED / name).read_text("utf-8").splitlines()]


@pytest.fixture(scope="module")
def repo(server_url: str, local_template: str) -> Iterator[MemoryRepository]:
    with new_database(server_url, local_template) as url:
        engine = create_engine(database_url(url))
        yield MemoryRepository(engine, embedder=LocalEmbedder())
        engine.dispose()


@pytest.fixture(scope="module")
def assistant(repo: MemoryRepository) -> MemoryRepository:
    memories = [
        NewMemory(
            line["content"],
            created_at=datetime.fromisoformat(line["created_at"]),
            importance=line["importance"],
            metadata={"number": line["id"]},
        )
        for line in lines("memories.jsonl")
    ]
    repo.add_many(AGENT, memories)
    return repo


def test_a_question_finds_its_memory(repo: MemoryRepository, agent: str) -> None:
    first, *others = ANSWERS.values()
    repo.add(agent, first)
    repo.add_many(agent, others)

    for question, answer in ANSWERS.items():
        assert contents(repo.search(agent, question, touch=False))[0] == answer
    [hit] = repo.search(agent, first, k=1)
    assert hit.memory.embedding_model == LocalEmbedder.model
    assert hit.similarity == pytest.approx(1, abs=1e-6)


def test_any_text_can_be_remembered(repo: MemoryRepository, agent: str) -> None:
    for text in (" ", "🙂", "。", "\u200b", "tea " * 20_000):
        memory = repo.get(agent, repo.add(agent, text))
        assert memory is not None
        assert memory.content == text


def answered(repo: MemoryRepository, profile: Profile) -> tuple[float, float]:
    """The mean share of the answers among the first K, and the mean of 1 / place of the first.

    Where question and answer share words; not where they are chosen to share none.
    """
    recalls, places = [], []
    for question in lines("questions.jsonl"):
        if question["group"] not in {"name", "number", "rare", "mixed"}:
            continue
        asked: dict[str, Any] = {"profile": profile, "as_of": NOW, "touch": False}
        hits = repo.search(AGENT, question["question"], k=300, **asked)
        numbers = [hit.memory.metadata["number"] for hit in hits]
        right = set(question["relevant"])
        recalls.append(len(right & set(numbers[:K])) / len(right))
        places.append(1 + next(n for n, number in enumerate(numbers) if number in right))
        if profile is profiles.hybrid and question["group"] == "number":
            assert right & set(numbers[: 2 * K]), question
    return statistics.fmean(recalls), statistics.fmean(1 / place for place in places)


def test_hybrid_answers_better_than_meaning_alone(assistant: MemoryRepository) -> None:
    recall, reciprocal_rank = answered(assistant, profiles.hybrid)
    recall_by_meaning, reciprocal_rank_by_meaning = answered(assistant, BY_MEANING)

    assert recall > recall_by_meaning + 0.01
    assert reciprocal_rank > reciprocal_rank_by_meaning + 0.03
