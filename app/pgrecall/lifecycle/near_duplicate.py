"""NearDuplicate: two memories that say nearly the same."""

from __future__ import annotations

from dataclasses import dataclass
from uuid import UUID


@dataclass(frozen=True, slots=True, kw_only=True)
class NearDuplicate:
    """`similarity` is that of the two vectors."""

    older_id: UUID
    newer_id: UUID
    older_content: str
    newer_content: str
    similarity: float
