"""Link: a directed relation between two memories of the same owner."""

from __future__ import annotations

from dataclasses import dataclass
from uuid import UUID


@dataclass(frozen=True, slots=True, kw_only=True)
class Link:
    """A link from one memory to another; `weight`, in [0, 1], is its strength."""

    source_id: UUID
    target_id: UUID
    kind: str
    weight: float
