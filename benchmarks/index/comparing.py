"""Comparing: a database with a rank index, and the same questions by it, exactly, and by peers."""

from __future__ import annotations

import statistics
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from functools import partial
from typing import Any, Literal

import psycopg
from pgvector.psycopg import register_vector
from sqlalchemy import create_engine

from benchmarks.index.memories import AGENT, Memories, Question
from benchmarks.index.passages import Passages
from benchmarks.loading import load_rows
from benchmarks.measuring import Timing, measured, say
from benchmarks.server import repository
from pgrecall import Hits, MemoryRepository, Profile, profiles
from pgrecall.migrate.connecting import database_url
from pgrecall.ranking.filters import Filter
from pgrecall.scoring.signals import Keyword, Similarity
from pgrecall.testing import new_database

K = 10
EXACT, INDEX = "exact", "rank index"
NEAREST = (50, 200, 1_000)
RERANKED = """
WITH near AS MATERIALIZED (
    SELECT agent_id, id, embedding <=> %(query)s AS distance FROM pgrecall.agent_memories
     WHERE agent_id = %(agent_id)s ORDER BY distance LIMIT %(nearest)s)
SELECT m.id, m.content,
       0.40::float8 * greatest(0, 1 - near.distance)
     + 0.25::float8 * exp(-0.05::float8 * greatest(0,
         (date_part('epoch', now()) - date_part('epoch', m.created_at)) / 86400::float8))
     + 0.20::float8 * m.usefulness + 0.10::float8 * m.confidence
     + 0.05::float8 * least(coalesce(u.retrieval_count, 0) / 50.0, 1)::float8 AS score
  FROM near JOIN pgrecall.agent_memories m USING (agent_id, id)
  LEFT JOIN pgrecall.memory_usage u ON (u.agent_id, u.memory_id) = (m.agent_id, m.id)
 ORDER BY score DESC, m.id LIMIT 10
"""
"""The nearest by cosine through an HNSW index, ranked again by five_factor, as written by hand."""
ALONE = Profile("similarity alone", {Similarity(): 1.0})
PROFILES = (*profiles.BUILT_IN.values(), ALONE)
Approach = Callable[[Question], list[Any]]


@dataclass(frozen=True)
class Outcome:
    """How one approach did over all questions."""

    timing: Timing
    faster: float
    """Median of the ratios within a round: exact over this."""
    recall: float
    """The share of the exact hits that it found."""
    by_index: float
    """The share of questions that a rank index answered, not an exact search in its place."""


@contextmanager
def indexed(
    server_url: str, source: Memories | Passages, *, rows: int | None = None
) -> Iterator[str]:
    """A database with the first of these memories, and their rank index."""
    with new_database(server_url) as url:
        say(f"loading {source.name}")
        stored = (row for row, _ in zip(source, range(rows or source.total), strict=False))
        load_rows(url, stored, dimensions=source.dimensions, embedding_type=source.embedding_type)
        build(url)
        yield url


def build(url: str) -> float:
    """Builds the rank index; seconds."""
    say("building the rank index")
    with repository(url) as repo:
        [built] = repo.rank_indexes.build(agent_id=AGENT, at_least=1)
    return built.seconds


def searching(
    repo: MemoryRepository,
    strategy: Literal["auto", "exact"],
    profile: Profile,
    only: Filter | None = None,
) -> Callable[[Question], Hits]:
    """As the library's user would."""
    by_words = profile.find(Keyword) is not None

    def search(question: Question) -> Hits:
        return repo.search(
            AGENT,
            question.vector,
            k=K,
            profile=profile,
            entities=question.entities,
            keywords=question.text if by_words else None,
            strategy=strategy,
            touch=False,
            filter=only,
        )

    return search


def compared(
    url: str,
    questions: Sequence[Question],
    profile: Profile,
    peers: Sequence[int] = (),
    only: Filter | None = None,
) -> dict[str, Outcome]:
    """Exact, by the rank index, and by the nearest ranked again, with so many of them."""
    found: dict[str, dict[int, Any]] = defaultdict(dict)

    def note(name: str, number: int, answer: Any) -> None:
        found[name][number] = answer

    with ExitStack() as stack:
        engine = create_engine(database_url(url), pool_size=1, max_overflow=0)
        stack.callback(engine.dispose)
        repo = MemoryRepository(engine)
        approaches: dict[str, Any] = {
            EXACT: searching(repo, "exact", profile, only),
            INDEX: searching(repo, "auto", profile, only),
            **{_nearest(number): stack.enter_context(_peer(url, number)) for number in peers},
        }
        timings = measured(approaches, questions, len(questions), note=note)

    def recall(name: str, number: int) -> float:
        wanted = set(_ids(found[EXACT][number]))
        return len(wanted.intersection(_ids(found[name][number]))) / len(wanted) if wanted else 1.0

    numbers = range(len(questions))
    strategies = [found[INDEX][number].strategy == "index" for number in numbers]
    return {
        name: Outcome(
            timing,
            timings[EXACT].over(timing),
            statistics.fmean(recall(name, number) for number in numbers),
            statistics.fmean(strategies),
        )
        for name, timing in timings.items()
    }


def _ids(answer: Any) -> list[Any]:
    return [hit.memory.id for hit in answer] if isinstance(answer, Hits) else answer


def _nearest(number: int) -> str:
    return f"{number:,} nearest"


@contextmanager
def _peer(url: str, number: int) -> Iterator[Approach]:
    options = f"-c hnsw.ef_search={max(40, number)} -c enable_sort=off"
    with psycopg.connect(url, autocommit=True, options=options) as connection:
        register_vector(connection)
        connection.execute(
            "CREATE INDEX IF NOT EXISTS peers ON pgrecall.agent_memories "
            "USING hnsw (embedding vector_cosine_ops)"
        )
        yield partial(_reranked, connection, number)


def _reranked(connection: psycopg.Connection[Any], number: int, question: Question) -> list[Any]:
    given = {"query": question.vector, "agent_id": AGENT, "nearest": number}
    return [row[0] for row in connection.execute(RERANKED, given, prepare=True)]
