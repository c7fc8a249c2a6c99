"""Peers: the nearest by cosine through the HNSW index, re-ranked by the composite score.

One statement, with the library's own expression for the score, its filters and its description of
the hits, so that nothing differs but where the candidates come from.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from sqlalchemy import Double, Engine, Integer, Select, bindparam, literal_column, select

from benchmarks.contenders import K
from benchmarks.index.asking import Asked, Question
from pgrecall.core.vectors import EmbeddingType, StoredVector, stored_vector
from pgrecall.ranking.conditions import owned, scope
from pgrecall.ranking.filters import Filters
from pgrecall.ranking.hits import Hits
from pgrecall.ranking.memory_columns import with_usage
from pgrecall.ranking.search_parameters import Search, Shape
from pgrecall.ranking.statement import described_in_order, passing
from pgrecall.schema import Tables, tables
from pgrecall.scoring import compiler
from pgrecall.search.searching import hit


def session_settings(nearest: int, *, iterative: bool) -> str:
    """How a connection has to be set: any other plan for the nearest would need a sort."""
    settings = {
        "hnsw.ef_search": max(40, min(nearest, 1_000)),
        "hnsw.iterative_scan": "relaxed_order" if iterative else "off",
        "enable_sort": "off",
    }
    return " ".join(f"-c {name}={value}" for name, value in settings.items())


class Peer:
    """Returns the same records as the library does."""

    def __init__(
        self, engine: Engine, dimensions: int, embedding_type: str, asked: Asked, nearest: int
    ) -> None:
        self._engine = engine
        self._dimensions = dimensions
        self._embedding_type = EmbeddingType(embedding_type)
        self._wanted = Search(
            asked.agent_id,
            query=self._vector([1.0] * dimensions),
            k=K,
            profile=asked.profile,
            filters=Filters.of(asked.filters),
        )
        self._statement = reranked(tables(), self._wanted.shape, nearest)

    def __call__(self, question: Question) -> Hits:
        wanted = replace(
            self._wanted, query=self._vector(question.vector), query_entities=question.entities
        )
        with self._engine.begin() as connection:
            rows = connection.execute(self._statement, wanted.parameters).all()
        return Hits(hit(wanted.profile, row._mapping) for row in rows)

    def _vector(self, values: Any) -> StoredVector:
        return stored_vector(
            values, dimensions=self._dimensions, embedding_type=self._embedding_type
        )


def reranked(tables: Tables, shape: Shape, nearest: int) -> Select[Any]:
    memories, usage = tables.memories, tables.memory_usage
    within = scope(tables, memories, as_of=False)
    distance: Any = memories.c.embedding.op("<=>", return_type=Double())(within.query)
    found = (
        select(memories)
        .where(owned(memories), *passing(within, shape, ()).values())
        .order_by(distance)
        .limit(literal_column(str(nearest), Integer()))
        .subquery("nearest")
    )
    score = compiler.score(shape.signals, replace(within, memories=found))
    best = (
        select(found.c.agent_id.label("owner_id"), found.c.id, score.label("score"))
        .select_from(with_usage(found, usage) if shape.reads_usage else found)
        .order_by(score.desc(), found.c.id)
        .limit(bindparam("k", type_=Integer()))
        .subquery("ranked")
    )
    return described_in_order(tables, shape, best)
