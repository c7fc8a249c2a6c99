"""`python -m benchmarks.exact`: ranking 10,000 memories in the database, and in the application.

Fetched is ranking in application code: all of the agent's rows, vectors in binary, ranked by
whole-array arithmetic; with every column, or with those ranked by alone and the hits afterwards.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from datetime import UTC, datetime
from functools import partial
from typing import Annotated, Any

import numpy as np
import psycopg
import typer
from pgvector import Vector
from pgvector.psycopg import register_vector
from sqlalchemy import create_engine, text

from benchmarks.data import AGENT, AGENTS, ENTITIES, Corpus, Floats, Row
from benchmarks.loading import load_rows
from benchmarks.measuring import measured, print_machine, print_table, say
from benchmarks.server import server
from pgrecall import MemoryRepository
from pgrecall.scoring.profiles import BUILT_IN

K = 10
OURS, COSINE = "five_factor", "cosine distance, same filters"
NEAREST = """
SELECT {columns}, u.retrieval_count, u.last_accessed_at, u.success_count, u.failure_count
  FROM (SELECT agent_id, id, embedding <=> :query AS distance
          FROM pgrecall.agent_memories
         WHERE agent_id = :agent_id AND status = ANY (ARRAY['active'])
           AND pgrecall.is_valid(valid_from, valid_until, invalidated_at, expires_at, now())
         ORDER BY distance LIMIT :k) AS ranked
  JOIN pgrecall.agent_memories m ON m.agent_id = ranked.agent_id AND m.id = ranked.id
  LEFT JOIN pgrecall.memory_usage u ON u.agent_id = ranked.agent_id AND u.memory_id = ranked.id
 ORDER BY ranked.distance
"""
NOT_RETURNED = ("embedding", "content_hash", "inserted_at")
RANKED_BY = (
    "m.id, m.embedding, m.created_at, m.usefulness, m.confidence, coalesce(u.retrieval_count, 0)"
)
FROM = f"""
  FROM pgrecall.agent_memories m
  LEFT JOIN pgrecall.memory_usage u ON u.agent_id = m.agent_id AND u.memory_id = m.id
 WHERE m.agent_id = '{AGENT}'
"""
Contender = Callable[[Floats], object]


@contextmanager
def contenders(url: str) -> Iterator[dict[str, Contender]]:
    """Each on a connection that stays open."""
    with ExitStack() as stack:

        def connection() -> psycopg.Connection:
            opened = stack.enter_context(psycopg.connect(url))
            register_vector(opened)
            return opened

        engine = create_engine(url, pool_size=1, max_overflow=0)
        stack.callback(engine.dispose)
        repo = MemoryRepository(engine)
        columns = (f"m.{one.name}" for one in repo.memories.c if one.name not in NOT_RETURNED)
        nearest = text(NEAREST.format(columns=", ".join(columns)))

        def by_cosine(query: Floats) -> object:
            given = {"agent_id": AGENT, "k": K, "query": Vector(query).to_text()}
            with engine.begin() as theirs:
                return theirs.execute(nearest, given).all()

        asked: dict[str, Any] = {"k": K, "touch": False}
        others = [name for name in BUILT_IN if name != OURS]
        yield {
            OURS: partial(repo.search, AGENT, profile=OURS, **asked),
            COSINE: by_cosine,
            "all rows fetched, ranked in NumPy": partial(_fetching, connection(), whole=True),
            "same, only the columns ranked by": partial(_fetching, connection(), whole=False),
            **{
                name: partial(repo.search, AGENT, profile=name, entities=ENTITIES[:3], **asked)
                for name in others
            },
        }


def _fetching(connection: psycopg.Connection, query: Floats, *, whole: bool) -> Sequence[Any]:
    with connection.transaction(), connection.cursor(binary=True) as cursor:
        columns = f"{RANKED_BY}, m.*, u.*" if whole else RANKED_BY
        rows = cursor.execute(f"SELECT {columns} {FROM}".encode(), prepare=True).fetchall()
        best = [rows[place] for place in np.argsort(-_scores(rows, query))[:K]]
        if whole:
            return best
        hits = f"SELECT m.*, u.* {FROM} AND m.id = ANY(%s)"
        return cursor.execute(hits.encode(), ([row[0] for row in best],), prepare=True).fetchall()


def _scores(rows: Sequence[Any], query: Floats) -> Floats:
    now = datetime.now(UTC)
    embeddings: list[Vector] = [row[1] for row in rows]
    matrix = np.stack([vector.to_numpy() for vector in embeddings])
    cosine = matrix @ query / (np.linalg.norm(matrix, axis=1) * np.linalg.norm(query))
    days = np.array([(now - row[2]).total_seconds() for row in rows]) / 86_400
    usefulness, confidence, retrievals = np.array([row[3:6] for row in rows]).T
    scores: Floats = (
        0.40 * np.clip(cosine, 0, 1)
        + 0.25 * np.exp(-0.05 * np.maximum(days, 0))
        + 0.20 * usefulness
        + 0.10 * confidence
        + 0.05 * np.minimum(retrievals / 50, 1)
    )
    return scores


def main(
    rows: Annotated[int, typer.Option(min=1_000, help=f"Memories of all {AGENTS}.")] = 100_000,
    rounds: Annotated[int, typer.Option(min=2, help="How often each is timed.")] = 40,
    seed: Annotated[int, typer.Option(help="Decides all the data.")] = 0,
) -> None:
    """One agent's searches among the memories of ten, in two layouts."""
    print_machine()
    corpus = Corpus.of(rows, seed)
    layouts: dict[str, Iterable[Row]] = {
        "rows of all agents mixed": corpus,
        "rows of each agent together": sorted(corpus, key=lambda row: (row.agent_id, row.id)),
    }
    for name, stored in layouts.items():
        say(name)
        with server() as url:
            load_rows(url, stored)
            with contenders(url) as entered:
                timed = measured(entered, corpus.queries(20), rounds)
        print_table(
            f"{rows // AGENTS:,} memories, {name}|ms|/ five_factor|/ cosine",
            (
                [of, one.ms, one.over(timed[OURS]), one.over(timed[COSINE])]
                for of, one in timed.items()
            ),
        )


if __name__ == "__main__":
    typer.run(main)
