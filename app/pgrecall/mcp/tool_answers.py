"""Results of the tools: records with a schema that a client gets beforehand."""

from __future__ import annotations

import json
from collections.abc import Sequence
from datetime import datetime
from typing import Any, Self
from uuid import UUID

from pydantic import BaseModel, Field

from pgrecall.context.assembled import Context
from pgrecall.context.styles import plain
from pgrecall.core.limits import MAX_DEPTH
from pgrecall.core.memory import Memory
from pgrecall.memories.added import Added
from pgrecall.memories.listing import Page
from pgrecall.ranking.hits import Hits


def _shallow(value: Any, levels: int = MAX_DEPTH) -> Any:
    """The value; what is nested deeper is JSON in a text, since Pydantic writes no deeper one."""
    if not isinstance(value, dict | list):
        return value
    if not levels:
        return json.dumps(value, ensure_ascii=False)
    if isinstance(value, list):
        return [_shallow(one, levels - 1) for one in value]
    return {name: _shallow(one, levels - 1) for name, one in value.items()}


class Remembered(BaseModel):
    """A memory that was stored, or was there already."""

    id: UUID
    outcome: str = Field(
        description="inserted: it is new. duplicate or known: it was there already. revived: it "
        "was no longer recalled and is again."
    )

    @classmethod
    def of(cls, added: Added) -> Self:
        return cls(id=UUID(int=added.int), outcome=added.outcome)


class StoredMemory(BaseModel):
    """A memory."""

    id: UUID
    content: str
    memory_type: str
    tags: list[str]
    entities: list[str]
    importance: float = Field(description="0 to 1.")
    created_at: datetime | None
    status: str
    needs_review: bool = Field(description="Feedback called it outdated.")
    metadata: dict[str, Any]

    @classmethod
    def of(cls, memory: Memory, **more: Any) -> Self:
        fields = {name: getattr(memory, name) for name in StoredMemory.model_fields}
        return cls(**fields | {"metadata": _shallow(memory.metadata)}, **more)


class ScoredMemory(StoredMemory):
    """A memory that was recalled."""

    score: float = Field(description="How well it fits, 0 to 1: the weighted mean of its signals.")
    rerank_score: float | None = Field(
        description="What a second model says of it, by which the best are ordered; the more, the "
        "better. null: it was not asked."
    )
    moved: int | None = Field(description="Places that this moved it up, or down if negative.")


class Recalled(BaseModel):
    """Memories that were recalled, the best first."""

    memories: list[ScoredMemory]
    notice: str | None = Field(
        description="Says that nothing on this subject was found, and the memories are only the "
        "nearest; else null."
    )

    @classmethod
    def of(cls, hits: Hits) -> Self:
        beside = ("score", "rerank_score", "moved")
        of_hits = ({name: getattr(hit, name) for name in beside} for hit in hits)
        return cls(
            notice=hits.notice or None,
            memories=[
                ScoredMemory.of(hit.memory, **more) for hit, more in zip(hits, of_hits, strict=True)
            ],
        )


class Prompt(BaseModel):
    """Memories as a text to put into a prompt."""

    text: str = Field(description=f"Empty if no memory is relevant enough. {plain.legend}")
    notice: str | None = Field(
        description="Says that nothing on this subject was found, and what is nearest; else null."
    )
    tokens: int
    memory_ids: list[UUID] = Field(description="Of the memories in the text, in their order.")

    @classmethod
    def of(cls, context: Context) -> Self:
        ids = [packed.hit.memory.id for packed in context.packed]
        return cls(
            text=context.text, notice=context.notice or None, tokens=context.tokens, memory_ids=ids
        )


class Listed(BaseModel):
    """A page of memories."""

    memories: Sequence[StoredMemory]
    next: str | None = Field(description="Pass it as `after` to get the next page.")

    @classmethod
    def of(cls, page: Page[Memory]) -> Self:
        return cls(memories=[StoredMemory.of(memory) for memory in page], next=page.next)


class Forgotten(BaseModel):
    """The result of a deletion."""

    deleted: bool = Field(description="False if there was none with this id.")
