"""Added: the result of adding a memory."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Literal, Self
from uuid import UUID

from pgrecall.errors import InputError

Outcome = Literal["inserted", "known", "duplicate", "near_duplicate", "revived", "replaced"]


class Added(UUID):
    """The id of the stored memory, and whether it was new.

    It is a UUID, so it can be used wherever an id is needed, and equals any UUID of the same value.
    """

    __slots__ = ("outcome", "same_subject", "similarity", "trust")

    outcome: Outcome
    """inserted: a new row. known: this id or key was added before. duplicate: the same memory
    exists. near_duplicate: a very similar memory exists. revived: the same memory existed but was
    not recalled any more, and now is. replaced: the memory with this key has the new fields."""
    similarity: float | None
    """Similarity to the existing memory: that of a near duplicate, 1.0 for the same text, else
    None."""
    same_subject: tuple[UUID, ...]
    """Other active memories of the same subject that hold at the same time, the newest first, among
    the newest 20 of the subject (`most` of the SQL function `same_subject`). With
    `supersede_subject` all those that were superseded. Only `add` and `add_many` look for them."""
    trust: float | None
    """The trust of the stored memory, without decay; None if it was never assessed. Only `add` and
    `add_many` read it."""

    def __init__(
        self,
        memory_id: UUID,
        outcome: Outcome,
        similarity: float | None = None,
        same_subject: tuple[UUID, ...] = (),
        trust: float | None = None,
    ) -> None:
        super().__init__(int=memory_id.int)
        object.__setattr__(self, "outcome", outcome)
        object.__setattr__(self, "similarity", similarity)
        object.__setattr__(self, "same_subject", same_subject)
        object.__setattr__(self, "trust", trust)

    @property
    def inserted(self) -> bool:
        """True if a row was added."""
        return self.outcome == "inserted"

    def __reduce__(self) -> tuple[type[Self], tuple[Any, ...]]:
        fields = (self.outcome, self.similarity, self.same_subject, self.trust)
        return type(self), (UUID(int=self.int), *fields)

    def __repr__(self) -> str:
        how = self.outcome if self.similarity is None else f"{self.outcome} {self.similarity:.3f}"
        return f"Added('{self}', {how})"


class Batch(list[Added]):
    """The ids of the memories of a batch, in its order, without the refused ones."""

    __slots__ = ("refused",)

    refused: Mapping[int, InputError]
    """The error of each memory that was refused, by its position, counted from 0. Empty unless
    `on_error="report"`."""

    def __init__(
        self, added: Iterable[Added] = (), *, refused: Mapping[int, InputError] | None = None
    ) -> None:
        super().__init__(added)
        self.refused = {} if refused is None else refused
