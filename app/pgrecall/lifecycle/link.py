"""Link: two memories of the same owner that belong together."""

from __future__ import annotations

from dataclasses import dataclass
from uuid import UUID


@dataclass(frozen=True, slots=True, kw_only=True)
class Link:
    """From one memory to another; `weight` in [0, 1] says how strong it is."""

    source_id: UUID
    target_id: UUID
    kind: str
    weight: float
