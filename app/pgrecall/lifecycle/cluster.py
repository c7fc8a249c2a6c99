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
    """The similarity of each memory to the central one; 1 for itself."""

    @property
    def central(self) -> Memory:
        """The memory most similar to the others."""
        return self.memories[0]


@dataclass(frozen=True, slots=True)
class Consolidation:
    """A new memory that replaced several."""

    memory_id: UUID
    source_ids: list[UUID]
    importance: float
