"""A hit: a memory with its score and how the score was computed."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any
from uuid import UUID

from pgrecall.core.display import (
    LONGEST_TEXT,
    Bar,
    Cell,
    Column,
    Displayed,
    Grid,
    Part,
    age,
    line,
    numbers,
)
from pgrecall.core.memory import Memory, brief

RECORD_DECIMALS = 6


@dataclass(frozen=True, slots=True)
class Breakdown:
    """A score with its parts; the contributions sum to the score."""

    score: float
    signals: dict[str, float]
    """The value of each signal by its name, in [0, 1]; and `decay`, the factor of all
    contributions, if the profile has one."""
    contributions: dict[str, float]
    """weight · value of each signal by its name, after the decay."""


@dataclass(frozen=True, slots=True)
class ScoredValues(Breakdown):
    """A memory that was scored without a database."""

    values: Mapping[str, Any]
    """The mapping that was scored, with all its keys."""


@dataclass(frozen=True, slots=True)
class ScoredMemory(Displayed):
    """One hit of a search.

    `similarity` is the cosine similarity in [0, 1], or None if the memory has no embedding: a
    negative cosine counts as 0. `cosine` is the cosine itself, in [-1, 1]. If the profile has a
    decay, `signals` has its factor, `decay`, by which all contributions are multiplied.
    """

    memory: Memory
    score: float
    similarity: float | None
    signals: dict[str, float]
    contributions: dict[str, float]
    hops: int = 0
    """Distance from a hit in links; 0 for a hit."""
    relevance: float | None = field(default=None, compare=False)
    """Relevance to the query in [0, 1]; None if there is no `min_relevance`. Ignored by `==`."""
    attached_to: UUID | None = None
    """The hit that this turn of the same session was added for; None for a hit."""
    cosine: float | None = field(default=None, compare=False)
    """The cosine of embedding and query, in [-1, 1]; None as for `similarity`. Ignored by `==`."""

    rerank_score: float | None = field(default=None, compare=False)
    """The reranker's number for its text, in a unit of the reranker's own; None if it was not
    judged. The score does not contain it. Ignored by `==`."""
    moved: int | None = field(default=None, compare=False)
    """How many places the reranker moved it up, or down if negative. Ignored by `==`."""

    def __repr__(self) -> str:
        return f"ScoredMemory({self.score:.3f}, {brief(self.memory)})"

    def __str__(self) -> str:
        reranked = f"[{self.reranking}] " if self.reranking else ""
        return f"{self.score:.3f} {reranked}{line(self.memory.content)}"

    @property
    def reranking(self) -> str:
        """The reranker's number and the change of place, as they are shown; empty if it was not
        judged."""
        return "" if self.rerank_score is None else f"{self.rerank_score:.4g} {self.moved:+}"

    def _parts(self) -> Iterable[Part]:
        return [hit_grid([self])]

    def record(self) -> dict[str, Any]:
        """The hit as plain JSON values, numbers rounded to six decimals.

        Keys: id, content, score, similarity, signals, contributions and created_at. Optional keys:
        cosine if it is negative, hops for a linked memory, attached_to for an added turn,
        relevance if it was measured, and rerank_score and moved if a reranker judged it.
        """
        record: dict[str, Any] = {
            "id": str(self.memory.id),
            "content": self.memory.content,
            "score": round(self.score, RECORD_DECIMALS),
            "similarity": (
                None if self.similarity is None else round(self.similarity, RECORD_DECIMALS)
            ),
            "signals": _rounded(self.signals),
            "contributions": _rounded(self.contributions),
            "created_at": (
                None if self.memory.created_at is None else self.memory.created_at.isoformat()
            ),
        }
        if self.cosine is not None and self.cosine < 0:
            record["cosine"] = round(self.cosine, RECORD_DECIMALS)
        if self.hops:
            record["hops"] = self.hops
        if self.relevance is not None:
            record["relevance"] = round(self.relevance, RECORD_DECIMALS)
        if self.attached_to is not None:
            record["attached_to"] = str(self.attached_to)
        if self.rerank_score is not None:
            record["rerank_score"] = round(self.rerank_score, RECORD_DECIMALS)
            record["moved"] = self.moved
        return record


def _rounded(values: Mapping[str, float]) -> dict[str, float]:
    return {name: round(value, RECORD_DECIMALS) for name, value in values.items()}


def hit_grid(
    hits: Sequence[ScoredMemory],
    *,
    title: str = "",
    ids: Mapping[UUID, str] | None = None,
    as_of: datetime | None = None,
) -> Grid:
    """A table of hits, with the parts of each score below the text."""
    as_of = as_of or datetime.now(UTC)
    is_judged = any(hit.reranking for hit in hits)
    columns = [
        Column("#", right=True, tone="dim"),
        Column("score", right=True, tone="bold"),
        *(numbers("reranked") if is_judged else ()),
        Column("made of"),
        *numbers("age"),
        Column("id", tone="dim"),
        Column("memory", wide=True),
    ]
    rows: list[Sequence[str | Cell | Bar]] = []
    for rank, hit in enumerate(hits, start=1):
        memory = hit.memory
        rows.append(
            (
                str(rank),
                f"{hit.score:.3f}",
                *([hit.reranking] if is_judged else []),
                Bar(hit.contributions),
                age(memory.created_at, as_of),
                ids[memory.id] if ids else str(memory.id),
                Cell(line(memory.content, LONGEST_TEXT), "dim" if hit.attached_to else ""),
            )
        )
        rows.append((*[""] * (len(columns) - 1), Bar(hit.contributions, named=True)))
    return Grid(columns, rows, title)
