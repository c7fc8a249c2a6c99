"""What is known of a rank index, and how well it does."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from datetime import datetime, timedelta
from typing import Any

from pgrecall.rank_index.space import VERSION

AT_LEAST = 5_000
"""Memories of an owner from which on its index is faster than ranking all of them, as measured."""
M, EF_CONSTRUCTION = 24, 256
"""Of the HNSW graph, as measured: with fewer links, or links chosen from fewer, more questions find
nothing of their topic; with more links a walk takes longer than it gains."""

LEVELS = (64, 100, 150, 200, 300)
"""Candidates that a search may take from the graph at first: the fewest that do are measured when
it is built."""
MAX_BESIDE = 2_000
"""Memories scored beside the index: each costs some microseconds in every search."""
MAX_AGE = timedelta(days=28)
"""The graph leans on what was recent when it was built."""


LONGEST_TOUCH = timedelta(minutes=1)
"""How long before it writes a transaction that counts a retrieval may have begun."""


@dataclass(frozen=True, slots=True)
class RankIndex:
    """The rank index of one owner's memories."""

    agent_id: str
    """Whose: an agent, or team:<id>."""
    relation: str
    """The table that holds the positions."""
    space: int
    """The version of the space that they lie in."""
    as_of: datetime
    """The moment that the positions are of; questions about earlier ones are ranked exactly."""
    built_at: datetime
    memories: int
    """Memories in it."""
    at_least: int
    """Used by searches from so many on."""
    m: int
    ef_construction: int
    seconds: float
    """How long the build took."""
    candidates: int
    """How many a search takes from it at first."""

    @property
    def used_since(self) -> datetime:
        """From when on retrievals may be unknown to it: they bear the time at which their
        transaction began."""
        return min(self.as_of, self.built_at - LONGEST_TOUCH)

    @property
    def is_usable(self) -> bool:
        """Whether this version of pgrecall can search in it."""
        return self.space == VERSION

    def record(self) -> dict[str, Any]:
        """The fields as plain JSON values."""
        return asdict(self) | {
            "as_of": self.as_of.isoformat(),
            "built_at": self.built_at.isoformat(),
        }


@dataclass(frozen=True, slots=True)
class RankIndexStatus:
    """A rank index and what has happened since it was built; `index` is None where one is due."""

    agent_id: str
    index: RankIndex | None
    written: int
    """Memories written since."""
    changed: int
    used: int
    """Memories retrieved since."""
    bytes: int
    due: str | None
    """Why maintenance is wanted, or None."""
    shrunk: bool = False
    """Whether the agent has less than half as many memories as it is for: maintenance drops it."""
    memories: int | None = None
    """The owner's active memories, counted where there is no index."""

    @property
    def beside(self) -> int:
        """Memories scored beside the index, at most."""
        return self.written + self.changed + self.used

    def record(self) -> dict[str, Any]:
        """The status as plain JSON values."""
        return {
            "agent_id": self.agent_id,
            "due": self.due,
            "shrunk": self.shrunk,
            "written": self.written,
            "changed": self.changed,
            "used": self.used,
            "bytes": self.bytes,
            "memories": self.memories,
            "index": None if self.index is None else self.index.record(),
        }


@dataclass(frozen=True, slots=True)
class RankIndexCheck:
    """How much of the exact answer searches in a rank index find."""

    agent_id: str
    profile: str
    k: int
    queries: int
    recall: float
    """Share of the exact k best that were found, over all queries."""
    worst: float
    """The same of the worst query."""
    exact_ms: float
    """Median."""
    index_ms: float
    """Median."""
    in_index: int
    """Queries that were answered by the index; the others fell back to exact ranking."""

    def record(self) -> dict[str, Any]:
        """The fields as plain JSON values."""
        return asdict(self)
