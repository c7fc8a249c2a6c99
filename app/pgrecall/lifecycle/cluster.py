"""Cluster: memories that say much the same, and what became of one that was consolidated."""

from __future__ import annotations

from dataclasses import dataclass
from uuid import UUID

from pgrecall.core.memory import Memory


@dataclass(frozen=True, slots=True)
class Cluster:
    """Memories that are all at least so similar to the first, the most central one."""

    memories: list[Memory]
    similarities: list[float]
    """Of each to the central one, whose own is 1."""

    @property
    def central(self) -> Memory:
        """The one most similar to the others."""
        return self.memories[0]


@dataclass(frozen=True, slots=True)
class Consolidation:
    """One memory that now stands for several."""

    memory_id: UUID
    source_ids: list[UUID]
    importance: float
