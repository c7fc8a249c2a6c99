"""Records of a context: its text, the memories in it and those left out."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, Literal
from uuid import UUID

from pgrecall.core.dates import Period, period_record, period_text
from pgrecall.core.display import (
    LONGEST_TEXT,
    Cell,
    Column,
    Displayed,
    Grid,
    Part,
    Tone,
    Verbatim,
    line,
    numbers,
)
from pgrecall.core.memory import brief
from pgrecall.ranking.hits import off_subject, rerank_record, rerank_text
from pgrecall.scoring.scored_memory import RECORD_DECIMALS, ScoredMemory

Reason = Literal[
    "min_score", "min_relevance", "too_long", "reserved", "near_duplicate", "stopped", "limit"
]
"""Why a memory was left out. min_score, min_relevance: it is below this floor. too_long: it does
not fit in the rest of the budget. reserved: the rest is reserved for other types. near_duplicate:
it is too similar to a packed memory. stopped: too many memories in a row before it did not fit.
limit: k memories are packed already."""


REASONS: Final[Mapping[Reason, str]] = {
    "min_score": "score below min_score",
    "min_relevance": "not relevant enough",
    "too_long": "longer than what is left of the budget",
    "reserved": "rest reserved for other types",
    "near_duplicate": "nearly the same as one above",
    "stopped": "too many before it did not fit",
    "limit": "enough are included",
}
"""Reason → its text in a table."""
FIRST_LEFT_OUT = 5
"""Memories left out that a table shows."""


@dataclass(frozen=True, slots=True)
class Packed:
    """A memory in the context."""

    hit: ScoredMemory
    tokens: int
    """Its estimated tokens, including what the style adds around it."""

    def __repr__(self) -> str:
        return f"Packed({self.hit.score:.3f}, {self.tokens:,} tokens, {brief(self.hit.memory)})"


@dataclass(frozen=True, slots=True)
class LeftOut:
    """A memory that was considered but is not in the context."""

    hit: ScoredMemory
    tokens: int
    reason: Reason
    near: UUID | None = None
    """The packed memory that it is a near duplicate of."""

    def __repr__(self) -> str:
        return f"LeftOut({self.reason!r}, {self.hit.score:.3f}, {brief(self.hit.memory)})"


@dataclass(frozen=True, slots=True)
class Context(Displayed):
    """The memories for one prompt. `str` of it is its text, so f"{context}" is, too."""

    text: str
    """The text for the prompt; empty if no memory is packed."""
    packed: Sequence[Packed]
    """The memories in the text, in the order in which they were packed."""
    left_out: Sequence[LeftOut]
    """The memories that were considered but not packed, best first."""
    tokens: int
    """Tokens of the text by the repository's token counter, never more than `max_tokens`."""
    max_tokens: int
    marker: str
    """Begins each memory and ends the text. It is made from all that the text says, so the same
    memories give the same text. Empty if no memory is packed."""
    strategy: Literal["exact", "index"]
    """The strategy that found the memories."""
    min_relevance: float | None = None
    """The floor in use: the caller's, or the profile's; None: no floor."""

    @property
    def empty_because(self) -> Literal["min_score", "min_relevance"] | None:
        """The floor that no memory reached, if the context is empty for that reason."""
        reasons = {one.reason for one in self.left_out}
        if self.packed or not reasons <= {"min_score", "min_relevance"}:
            return None
        if "min_score" in reasons:
            return "min_score"
        return "min_relevance" if reasons else None

    @property
    def best_relevance(self) -> float | None:
        """The highest relevance of the memories considered; None if it was not measured."""
        hits = [one.hit for one in self.packed] + [one.hit for one in self.left_out]
        return max((hit.relevance for hit in hits if hit.relevance is not None), default=None)

    period: Period | None = None
    """The query's period: the caller's, or that in its text."""
    touched: bool = False
    """True if retrieval was counted, as `touched` of Hits."""
    reranked: bool | None = None
    """True if the memories are in the order of a reranker, as `reranked` of Hits."""
    rerank_note: str | None = None

    legend: str = field(default="", compare=False)
    """The meaning of the marks in the text, in the same words for every context of a style: put it
    into the system prompt."""

    def __str__(self) -> str:
        return self.text

    def __repr__(self) -> str:
        return f"Context({self.account}, {len(self.left_out):,} left out, {line(self.text, 60)!r})"

    def _parts(self) -> Iterable[Part]:
        return [Verbatim(self.text), account_grid(self), *self.notes]

    @property
    def notice(self) -> str:
        """Says that nothing on this subject was found, and what is nearest; else empty."""
        if self.empty_because != "min_relevance":
            return ""
        nearest = brief(self.left_out[0].hit.memory)
        said = off_subject(self.best_relevance, self.min_relevance)
        return f"{said}; the nearest: {nearest}"

    @property
    def account(self) -> str:
        """The number of memories and of tokens."""
        number = len(self.packed)
        memories = f"{number:,} {'memory' if number == 1 else 'memories'}"
        return f"{memories} in {self.tokens:,} of {self.max_tokens:,} tokens"

    @property
    def notes(self) -> list[str]:
        """Lines below the table of what is in the context and what is not."""
        notes = []
        if (more := len(self.left_out) - FIRST_LEFT_OUT) > 0:
            notes.append(f"and {more:,} more left out")
        if self.empty_because == "min_relevance":
            notes.append(self.notice)
        reranked = f", {rerank_text(self)}" if self.reranked is not None else ""
        return [*notes, f"{self.account}{period_text(self.period)}{reranked}"]

    def record(self) -> dict[str, Any]:
        """The context as plain JSON values."""
        return {
            "text": self.text,
            "legend": self.legend,
            "tokens": self.tokens,
            "max_tokens": self.max_tokens,
            "marker": self.marker,
            "strategy": self.strategy,
            "min_relevance": self.min_relevance,
            "empty_because": self.empty_because,
            **period_record(self.period),
            "touched": self.touched,
            **rerank_record(self),
            "packed": [
                one.hit.record() | {"memory_type": one.hit.memory.memory_type, "tokens": one.tokens}
                for one in self.packed
            ],
            "left_out": [
                {
                    "id": str(one.hit.memory.id),
                    "score": round(one.hit.score, RECORD_DECIMALS),
                    "memory_type": one.hit.memory.memory_type,
                    "tokens": one.tokens,
                    "reason": one.reason,
                }
                | _relevance(one.hit)
                | ({} if one.near is None else {"near": str(one.near)})
                for one in self.left_out
            ],
        }


def account_grid(context: Context) -> Grid:
    """A table of the memories in a context, and of the first ones left out, with the reasons."""
    judged = bool(context.reranked)
    rows: list[Sequence[Cell]] = [
        (*_row(one, "", judged=judged), Cell("")) for one in context.packed
    ]
    rows += [
        (*_row(out, "dim", judged=judged), Cell(REASONS[out.reason], "dim"))
        for out in context.left_out[:FIRST_LEFT_OUT]
    ]
    memory = Column("memory", wide=True, cut=True)
    shown = numbers("score", *(["reranked"] if judged else []), "tokens")
    return Grid([*shown, Column("type"), memory, Column("left out")], rows)


def _row(one: Packed | LeftOut, tone: Tone, *, judged: bool) -> Iterator[Cell]:
    memory = one.hit.memory
    yield Cell(f"{one.hit.score:.3f}", tone)
    if judged:
        yield Cell(one.hit.reranking, tone)
    yield Cell(f"{one.tokens:,}", tone)
    yield Cell(line(memory.memory_type, 16), tone)
    yield Cell(line(memory.content, LONGEST_TEXT), tone)


def _relevance(hit: ScoredMemory) -> dict[str, float]:
    relevance = hit.relevance
    return {} if relevance is None else {"relevance": round(relevance, RECORD_DECIMALS)}
