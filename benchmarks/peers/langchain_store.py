"""LangChain's PGVectorStore, of langchain-postgres.

https://github.com/langchain-ai/langchain-postgres, examples/pg_vectorstore_how_to.ipynb: PGEngine
from a connection string with asyncpg, a metadata column for what is filtered, `apply_vector_index`
with HNSWIndex, `index_query_options`. It names no index for a metadata column. Its asynchronous
methods have these synchronous ones, which run them in a thread.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from contextlib import ExitStack
from typing import Any

from langchain_postgres import Column, PGEngine, PGVectorStore
from langchain_postgres.v2.indexes import HNSWIndex, HNSWQueryOptions

from benchmarks.data import DIMENSIONS, Row
from benchmarks.peers.given import Asked, Candidate, Given, attributes
from benchmarks.peers.store import LIMITS, Reranking

TABLE = "vectorstore"


class LangChain(Reranking):
    name = "LangChain PGVectorStore"
    relations = f"relname = '{TABLE}' AND relnamespace = 'public'::regnamespace"

    def __init__(
        self, url: str, given: Given, stack: ExitStack, *, new: bool, indexed: bool
    ) -> None:
        engine = PGEngine.from_connection_string(url.replace("postgresql:", "postgresql+asyncpg:"))
        stack.callback(lambda: asyncio.run(engine.close()))
        if new:
            engine.init_vectorstore_table(
                TABLE, DIMENSIONS, metadata_columns=[Column("agent_id", "text", nullable=False)]
            )
        self._store = PGVectorStore.create_sync(
            engine,
            given,
            TABLE,
            metadata_columns=["agent_id"],
            index_query_options=HNSWQueryOptions(ef_search=max(LIMITS)) if indexed else None,
        )

    def write(self, agent_id: str, rows: Sequence[Row]) -> Any:
        self._store.add_texts(
            [row.content for row in rows],
            [{"agent_id": agent_id} | attributes(row) for row in rows],
            ids=[str(row.id) for row in rows],
        )

    def fetch(self, asked: Asked, limit: int) -> list[Candidate]:
        found = self._store.similarity_search_with_score_by_vector(
            asked.vector, k=limit, filter={"agent_id": asked.agent_id}
        )
        return [
            Candidate.of(str(document.id), 1 - distance, document.metadata)
            for document, distance in found
        ]

    def index(self) -> Any:
        self._store.apply_vector_index(HNSWIndex())
