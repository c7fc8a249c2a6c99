"""Added: what became of a memory handed in."""

from __future__ import annotations

from typing import Any, Literal, Self
from uuid import UUID

Outcome = Literal["inserted", "known", "duplicate", "near_duplicate", "revived"]


class Added(UUID):
    """The id of the memory that now holds what was added, and how that came about.

    A UUID, so that it serves wherever an id does; equal to any UUID of the same value.
    """

    __slots__ = ("outcome", "similarity")

    outcome: Outcome
    """inserted: a new row. known: this id or key was added before. duplicate: the same text was
    there. near_duplicate: something as good as the same was there. revived: the same text was
    there but no longer recalled, and is now."""
    similarity: float | None
    """Of a near duplicate, to the memory that is there; 1.0 for the same text, None otherwise."""

    def __init__(self, memory_id: UUID, outcome: Outcome, similarity: float | None = None) -> None:
        super().__init__(int=memory_id.int)
        object.__setattr__(self, "outcome", outcome)
        object.__setattr__(self, "similarity", similarity)

    @property
    def inserted(self) -> bool:
        """Whether a row was added."""
        return self.outcome == "inserted"

    def __reduce__(self) -> tuple[type[Self], tuple[Any, ...]]:
        return type(self), (UUID(int=self.int), self.outcome, self.similarity)

    def __repr__(self) -> str:
        how = self.outcome if self.similarity is None else f"{self.outcome} {self.similarity:.3f}"
        return f"Added('{self}', {how})"
