"""pgrecall: the same score by the profile `five_factor`, in one statement."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import ExitStack
from typing import Any, Literal

import psycopg
from sqlalchemy import create_engine

from benchmarks.data import DIMENSIONS, Row
from benchmarks.loading import copy_usage
from benchmarks.peers.given import Asked, K
from benchmarks.peers.store import Search, Store
from pgrecall import MemoryRepository, NewMemory, migrate


class Ours(Store):
    """Searches here count no retrieval: the others cannot."""

    name = "pgrecall"
    relations = "relnamespace = 'pgrecall'::regnamespace"

    def __init__(self, url: str, stack: ExitStack) -> None:
        self._url = url
        migrate.upgrade(url, dimensions=DIMENSIONS)
        engine = create_engine(url, pool_size=1, max_overflow=0)
        stack.callback(engine.dispose)
        self._repository = MemoryRepository(engine)

    def write(self, agent_id: str, rows: Sequence[Row]) -> Any:
        self._repository.add_many(
            agent_id,
            [
                NewMemory(
                    row.content,
                    id=row.id,
                    embedding=row.embedding,
                    created_at=row.created_at,
                    usefulness=row.usefulness,
                    confidence=row.confidence,
                )
                for row in rows
            ],
        )

    def load(self, agent_id: str, rows: Sequence[Row]) -> Any:
        self.write(agent_id, rows)
        with psycopg.connect(self._url) as connection:
            copy_usage(
                connection,
                [
                    (agent_id, row.id, row.retrieval_count, row.created_at)
                    for row in rows
                    if row.retrieval_count is not None
                ],
            )

    def index(self) -> Any:
        """A rank index, for the agent of 10,000: docs/rank-indexes.md keeps small ones exact."""
        self._repository.rank_indexes.build()

    def searches(self) -> dict[str, Search]:
        return {self.name: self._search("auto"), f"{self.name}, exact": self._search("exact")}

    def _search(self, strategy: Literal["auto", "exact"]) -> Search:
        def search(asked: Asked) -> list[str]:
            found = self._repository.search(
                asked.agent_id,
                asked.vector,
                k=K,
                profile="five_factor",
                strategy=strategy,
                touch=False,
            )
            return [str(hit.memory.id) for hit in found]

        return search
