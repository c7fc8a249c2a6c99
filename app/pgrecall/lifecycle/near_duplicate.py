"""NearDuplicate: a pair of very similar memories."""

from __future__ import annotations

from dataclasses import dataclass
from uuid import UUID


@dataclass(frozen=True, slots=True, kw_only=True)
class NearDuplicate:
    """Two memories and the cosine similarity of their embeddings."""

    older_id: UUID
    newer_id: UUID
    older_content: str
    newer_content: str
    similarity: float
