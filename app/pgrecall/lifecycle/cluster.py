"""Cluster: similar memories; Consolidation: the memory that replaced a cluster."""

from __future__ import annotations

from dataclasses import dataclass
from uuid import UUID

from pgrecall.core.memory import Memory


@dataclass(frozen=True, slots=True)
class Cluster:
    """Similar memories; the first is the most central one."""

    memories: list[Memory]
    similarities: list[float]

    def replaced(self, memory_id: UUID | None, importance: float) -> Consolidation:
        return Consolidation(
            memory_id,
            [memory.id for memory in self.memories],
            [memory.content for memory in self.memories],
            self.similarities,
            importance,
        )


@dataclass(frozen=True, slots=True)
class Consolidation:
    """A memory that replaced several similar ones, or would."""

    memory_id: UUID | None
    """The new memory; None in a dry run."""
    source_ids: list[UUID]
    """The most central first."""
    contents: list[str]
    """The texts of the sources."""
    similarities: list[float]
    """The similarity of each source to the central one; 1 for itself."""
    importance: float
