"""Store: what each package does here, by its own methods alone."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from typing import Any, ClassVar

from benchmarks.data import Row
from benchmarks.peers.given import Asked, Candidate, reranked

LIMITS = (50, 100)
"""How many candidates are fetched, to be ranked again. mem0's Memory fetches 60 for 10."""

Search = Callable[[Asked], list[str]]
"""Returns the ids of the best memories."""


class Store(ABC):
    name: ClassVar[str]
    relations: ClassVar[str]
    """A condition on pg_class that only its tables fulfil."""

    @abstractmethod
    def write(self, agent_id: str, rows: Sequence[Row]) -> Any:
        """Stores new memories of one agent by the call for several."""

    def load(self, agent_id: str, rows: Sequence[Row]) -> Any:
        """The same, with how often they were retrieved."""
        return self.write(agent_id, rows)

    @abstractmethod
    def index(self) -> Any:
        """Makes the approximate index that the package's pages describe."""

    @abstractmethod
    def searches(self) -> dict[str, Search]:
        """Its ways to find the best memories."""


class Reranking(Store):
    """A store that knows distances alone: the application ranks what it fetches."""

    @abstractmethod
    def fetch(self, asked: Asked, limit: int) -> list[Candidate]:
        """The nearest memories of the agent that asks."""

    def searches(self) -> dict[str, Search]:
        return {f"{self.name}, {limit}": self._search(limit) for limit in LIMITS}

    def _search(self, limit: int) -> Search:
        return lambda asked: reranked(self.fetch(asked, limit))
