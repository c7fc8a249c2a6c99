"""LangGraph's PostgresStore, of langgraph-checkpoint-postgres.

https://reference.langchain.com/python/langgraph.store.postgres: an index configuration with
`fields`, ANNIndexConfig of kind "flat" or "hnsw" (the default), and `batch` for several writes. A
store from a connection string has a connection in autocommit that prepares each statement and
sends each batch as a pipeline.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import ExitStack
from typing import Any, Literal

from langgraph.store.base import PutOp
from langgraph.store.postgres import PostgresStore
from langgraph.store.postgres.base import PostgresIndexConfig

from benchmarks.data import DIMENSIONS, Row
from benchmarks.peers.given import Asked, Candidate, Given, attributes
from benchmarks.peers.store import Reranking


class LangGraph(Reranking):
    name = "LangGraph PostgresStore"
    relations = "relname IN ('store', 'store_vectors') AND relnamespace = 'public'::regnamespace"

    def __init__(self, url: str, given: Given, stack: ExitStack) -> None:
        self._url, self._given = url, given
        self._store = stack.enter_context(self._connected("flat"))
        self._store.setup()

    def write(self, agent_id: str, rows: Sequence[Row]) -> Any:
        self._store.batch(
            PutOp(("memories", agent_id), str(row.id), {"text": row.content} | attributes(row))
            for row in rows
        )

    def fetch(self, asked: Asked, limit: int) -> list[Candidate]:
        found = self._store.search(("memories", asked.agent_id), query=asked.text, limit=limit)
        return [Candidate.of(one.key, one.score or 0.0, one.value) for one in found]

    def index(self) -> Any:
        with self._connected("hnsw") as store:
            store.setup()

    def _connected(self, kind: Literal["flat", "hnsw"]) -> Any:
        index: PostgresIndexConfig = {
            "dims": DIMENSIONS,
            "embed": self._given,
            "fields": ["text"],
            "ann_index_config": {"kind": kind},
        }
        return PostgresStore.from_conn_string(self._url, index=index)
