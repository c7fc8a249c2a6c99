"""The result of an erasure."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any
from uuid import UUID


@dataclass(frozen=True, slots=True, kw_only=True)
class Erased:
    """How many rows of each table an erasure removed or, with dry_run, would remove."""

    dry_run: bool = False
    memories: int = 0
    counters: int = 0
    """Rows of memory_usage."""
    links: int = 0
    events: int = 0
    """Rows of the history."""
    positions: int = 0
    """Positions in the rank index."""
    mentions: int = 0
    """Where other memories and their history named an erased one: as successor or end of a link."""
    runs: int = 0
    """Rows of maintenance_runs; only an owner's erasure removes them."""
    derived: tuple[UUID, ...] = ()
    """Memories that consolidate erased ones. They may contain the same text, and are not erased."""

    def record(self) -> dict[str, Any]:
        """The numbers as plain JSON values."""
        return asdict(self) | {"derived": [str(one) for one in self.derived]}
