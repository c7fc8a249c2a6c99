"""Evaluating inside the database beside one call a query."""

from __future__ import annotations

import math
import random
import time
from collections.abc import Sequence
from typing import Any

from rich.progress import Progress
from sqlalchemy import Connection, create_engine, text

from benchmarks.data import AGENT, AGENTS, Corpus
from benchmarks.loading import Order, load
from benchmarks.measurement import Measurement
from pgrecall import JudgedQuery, MemoryRepository, profiles
from pgrecall.migrate.connecting import database_url

MEMORIES, QUERIES, K, GOAL = 5_000, 500, 10, 5.0
PROFILES = tuple(p for p in profiles.BUILT_IN.values() if p is not profiles.hybrid)
ROUNDS = 3


def measured(url: str, seed: int, progress: Progress) -> list[Measurement]:
    """Five profiles, 500 queries and 5,000 memories, the fastest of three rounds of each way."""
    corpus = Corpus.of(MEMORIES * AGENTS, seed)
    load(url, corpus, Order.INTERLEAVED, progress)
    engine = create_engine(database_url(url))
    with engine.connect() as connection:
        queries = _queries(connection, corpus)
    repo = MemoryRepository(engine)
    task = progress.add_task("evaluating", total=2 * ROUNDS)
    together, alone = [], []
    for _ in range(ROUNDS):
        start = time.perf_counter()
        evaluation = repo.evaluation.evaluate(AGENT, queries, profiles=PROFILES, k=K)
        together.append(time.perf_counter() - start)
        progress.advance(task)
        start = time.perf_counter()
        recalls = [_one_by_one(repo, queries, profile) for profile in PROFILES]
        alone.append(time.perf_counter() - start)
        progress.advance(task)
    engine.dispose()
    for recall, one in zip(recalls, evaluation.profiles, strict=True):
        assert math.isclose(recall, one.overall.means["recall"], abs_tol=1e-9), (recall, one)
    return [
        Measurement("evaluate", min(together), "s"),
        Measurement("one search a query and profile", min(alone), "s"),
        Measurement("times as fast", min(alone) / min(together), "×", GOAL, at_least=True),
    ]


def _queries(connection: Connection, corpus: Corpus) -> list[JudgedQuery]:
    ids = list(
        connection.scalars(
            text("SELECT id FROM pgrecall.agent_memories WHERE agent_id = :agent ORDER BY id"),
            {"agent": AGENT},
        )
    )
    chosen = random.Random(0)
    return [
        JudgedQuery(query.tolist(), chosen.sample(ids, chosen.randint(1, 3)))
        for query in corpus.queries(QUERIES)
    ]


def _one_by_one(repo: MemoryRepository, queries: Sequence[JudgedQuery], profile: Any) -> float:
    """recall@K, as an application would find it."""
    total = 0.0
    for query in queries:
        hits = repo.search(AGENT, query.query, k=K, profile=profile, strategy="exact", touch=False)
        relevant = set(query.relevant)
        total += len(relevant & {hit.memory.id for hit in hits}) / len(relevant)
    return total / len(queries)
