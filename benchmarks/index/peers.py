"""Peers: the nearest by cosine through the HNSW index, re-ranked by the composite score.

One statement, with the library's own expression for the score, its filters and its description of
the hits, so that nothing differs but where the candidates come from.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from psycopg import RawCursor
from psycopg.rows import namedtuple_row
from sqlalchemy import Engine

from benchmarks.contenders import K
from benchmarks.index.asking import Asked, Question
from pgrecall.core.vectors import EmbeddingType, StoredVector, stored_vector
from pgrecall.execution.driver import send_vectors
from pgrecall.ranking.composing import ranks
from pgrecall.ranking.filters import Filters
from pgrecall.ranking.hits import Hits
from pgrecall.ranking.search_parameters import Search
from pgrecall.schema import tables
from pgrecall.search.searching import hit

STATEMENT = "../../benchmarks/index/statements/peers"
"""Its files, as seen from those of the library."""


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
        self._nearest = nearest

    def __call__(self, question: Question) -> Hits:
        wanted = replace(
            self._wanted,
            query=self._vector(question.vector),
            query_entities=question.entities,
            names=len(question.entities),
        )
        run = ranks(tables(), STATEMENT, wanted, nearest=self._nearest)
        with self._engine.begin() as connection:
            driver: Any = connection.connection.driver_connection
            send_vectors(driver)
            cursor = RawCursor(driver, row_factory=namedtuple_row)
            cursor.execute(
                run.statement.numbered, run.statement.values(run.parameters), binary=True
            )
            return Hits(hit(wanted.profile, row) for row in cursor)

    def _vector(self, values: Any) -> StoredVector:
        return stored_vector(
            values, dimensions=self._dimensions, embedding_type=self._embedding_type
        )
