"""mem0's vector store for pgvector, without the language model of its Memory.

https://docs.mem0.ai/components/vectordbs/dbs/pgvector: a connection string and `hnsw`; the pool of
connections is the default. The payload is the text, the agent and what the score needs; Memory
would add a hash and a copy of the text for words. The filter on the agent is one on the payload,
for which the page names no index.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Sequence
from contextlib import ExitStack
from typing import Any

from benchmarks.data import DIMENSIONS, Row
from benchmarks.peers.given import Asked, Candidate, attributes
from benchmarks.peers.store import Reranking


class Mem0(Reranking):
    name = "mem0 PGVector"
    relations = "relname = 'mem0' AND relnamespace = 'public'::regnamespace"

    def __init__(self, url: str, stack: ExitStack) -> None:
        self._url = url
        self._store = self._connected(hnsw=False)
        stack.callback(self._store.connection_pool.close)

    def write(self, agent_id: str, rows: Sequence[Row]) -> Any:
        self._store.insert(
            vectors=[row.embedding.tolist() for row in rows],  # type: ignore[union-attr]
            payloads=[
                {"data": row.content, "agent_id": agent_id} | attributes(row) for row in rows
            ],
            ids=[str(row.id) for row in rows],
        )

    def fetch(self, asked: Asked, limit: int) -> list[Candidate]:
        found = self._store.search(
            asked.text, asked.vector, top_k=limit, filters={"agent_id": asked.agent_id}
        )
        return [Candidate.of(one.id, one.score, one.payload) for one in found]

    def index(self) -> Any:
        store = self._connected(hnsw=True)
        store.create_col()
        store.connection_pool.close()

    def _connected(self, *, hnsw: bool) -> Any:
        # Read on import, which otherwise starts telemetry and makes a folder at home.
        os.environ |= {"MEM0_TELEMETRY": "False", "MEM0_DIR": tempfile.gettempdir()}
        from mem0.configs.vector_stores.pgvector import PGVectorConfig
        from mem0.vector_stores.pgvector import PGVector

        config = PGVectorConfig(
            connection_string=self._url, embedding_model_dims=DIMENSIONS, hnsw=hnsw
        )
        return PGVector(**config.model_dump())
