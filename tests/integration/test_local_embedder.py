"""The local embedder, and questions whose answers are known: words find what meaning alone misses.

The memories and questions of benchmarks/labelled, written for this project.
"""

from __future__ import annotations

import asyncio
import json
from array import array
from collections.abc import Iterable, Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sqlalchemy import create_engine

from pgrecall import JudgedQuery, MemoryRepository, NewMemory, Profile, profiles
from pgrecall.core.embedders import LocalEmbedder
from pgrecall.core.vectors import VectorLike, components_of
from pgrecall.migrate.connecting import database_url
from pgrecall.scoring.signals import Similarity
from pgrecall.testing import new_database
from tests.integration.support import contents

LABELLED = Path(__file__).parents[2] / "benchmarks" / "labelled"
AGENT = "assistant"
NOW = datetime(2026, 11, 1, tzinfo=UTC)
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


def test_a_text_has_one_vector_alone_and_in_any_batch() -> None:
    """The library embeds many; few are embedded without it."""
    texts = [
        *("", "subject 7 item", "tea " * 20_000),
        *(" ", "\u200b🙂", "Überraschung " * 300),
        *(line["content"] for line in lines("memories.jsonl")),
    ]
    one_by_one, at_once, mixed = LocalEmbedder(), LocalEmbedder(), LocalEmbedder()

    alone = [one_by_one.embed_query(text) for text in texts[:2]]  # before any large batch
    alone += [one_by_one.embed_query(text) for text in texts[2:]]
    together = at_once.embed_documents(texts)
    backwards = mixed.embed_documents([*texts[:5], *texts[::-1]])[5:]

    assert sum(map(len, texts)) > 20_000
    assert alone[0] == [0.0] * LocalEmbedder.dimensions
    assert as_bytes(alone) == as_bytes(together) == as_bytes(backwards[::-1])


def as_bytes(vectors: Iterable[VectorLike]) -> list[bytes]:
    return [array("d", components_of(vector)).tobytes() for vector in vectors]


async def test_threads_may_share_one(local_embedder: LocalEmbedder) -> None:
    texts = [f"text {i}" for i in range(20)]
    together = [asyncio.to_thread(local_embedder.embed_query, text) for text in texts]

    found = np.asarray(await asyncio.gather(*together))

    assert found == pytest.approx(np.asarray([*map(local_embedder.embed_query, texts)]), abs=1e-6)
    assert np.linalg.norm(found, axis=1) == pytest.approx(1, abs=1e-5)


def test_hybrid_answers_better_than_meaning_alone(assistant: MemoryRepository) -> None:
    """Where question and answer share words; not where they are chosen to share none."""
    hits = assistant.search(AGENT, None, k=1_000, touch=False)
    ids = {hit.memory.metadata["number"]: hit.memory.id for hit in hits}
    queries = [
        JudgedQuery(
            line["question"], [ids[number] for number in line["relevant"]], group=line["group"]
        )
        for line in lines("questions.jsonl")
        if line["group"] in {"name", "number", "rare", "mixed"}
    ]

    hybrid, by_meaning = assistant.evaluation.evaluate(
        AGENT, queries, profiles=[profiles.hybrid, BY_MEANING], k=5, as_of=NOW
    ).profiles

    assert hybrid.overall.means["recall"] > by_meaning.overall.means["recall"] + 0.01
    assert hybrid.overall.means["mrr"] > by_meaning.overall.means["mrr"] + 0.03
    for query, mrr in zip(queries, hybrid.per_query["mrr"], strict=True):
        assert query.group != "number" or mrr >= 1 / 10, query
