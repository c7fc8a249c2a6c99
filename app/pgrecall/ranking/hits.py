"""Hits: the result of a search."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Literal, Protocol

from pgrecall.core.dates import Period
from pgrecall.core.display import LONGEST_TEXT, Displayed, Part, brief_list, line
from pgrecall.scoring.scored_memory import ScoredMemory, hit_grid

Strategy = Literal["auto", "exact", "index"]
"""exact scores every memory. index scores the candidates of the rank index. auto uses the index if
that is faster and finds as much."""


class Hits(list[ScoredMemory], Displayed):
    """The hits of one search, best first."""

    __slots__ = (
        *("candidates", "floor", "profile", "keywords", "period"),
        *("rerank_note", "reranked", "strategy", "touched"),
    )

    strategy: Literal["exact", "index"]
    """The strategy that produced the result."""
    candidates: int | None
    """The number of memories scored, if the index was used."""
    floor: float | None
    """The least relevance of a hit that is on the subject, by the profile; None: it names none."""
    period: Period | None
    """The query's period: the caller's, or that in its text."""
    profile: str
    """The name of the profile that ranked them."""
    keywords: str | None
    """The text of the query, or that of the argument `keywords`."""
    touched: bool
    """True if their retrieval was counted. With `touch`, it is not if the database's disk is full
    or a lock was not free within lock_timeout; the hits are right all the same."""
    reranked: bool | None
    """True: in the order of the reranker. False: it failed or took too long, and the order by score
    stands; `rerank_note` says why. None: no reranker was asked for."""
    rerank_note: str | None

    def __init__(
        self,
        hits: Iterable[ScoredMemory] = (),
        *,
        strategy: Literal["exact", "index"] = "exact",
        candidates: int | None = None,
        floor: float | None = None,
        period: Period | None = None,
        profile: str = "",
        keywords: str | None = None,
    ) -> None:
        super().__init__(hits)
        self.strategy = strategy
        self.candidates = candidates
        self.floor = floor
        self.period = period
        self.profile = profile
        self.keywords = keywords
        self.touched = False
        self.reranked, self.rerank_note = None, None

    @property
    def relevance(self) -> float | None:
        """The highest relevance of the hits; None if it was not measured."""
        return max((hit.relevance for hit in self if hit.relevance is not None), default=None)

    @property
    def is_relevant(self) -> bool | None:
        """False: nothing on this subject was found, and the hits are only the nearest. None: the
        profile has no floor, or the query neither text nor vector."""
        best = self.relevance
        return None if self.floor is None or best is None else best >= self.floor

    @property
    def notice(self) -> str:
        """A sentence if nothing is on the subject; else empty."""
        if self.is_relevant is not False:
            return ""
        return f"{off_subject(self.relevance, self.floor)}; the nearest:"

    def __repr__(self) -> str:
        reranked = "" if self.reranked is None else f", {rerank_text(self)}"
        return brief_list(self, f"Hits by {line(self.profile, 40)}, {self.strategy}{reranked}")

    def __str__(self) -> str:
        lines = [self.notice, *map(str, self)] if self.notice else map(str, self)
        return "\n".join(lines) if self else "[]"

    def _parts(self) -> Iterable[Part]:
        reranked = f", {rerank_text(self)}" if self.reranked is not None else ""
        shown = hit_grid(self, title=f"by {self.profile}{reranked}")
        return [self.notice, shown] if self.notice else [shown]


def off_subject(relevance: float | None, floor: float | None) -> str:
    """Says that nothing reached the floor. It may be known by other words all the same."""
    return (
        f"nothing on this subject: the best relevance is {relevance or 0.0:.3f}, "
        f"the limit {floor or 0.0:g}"
    )


class Rerankable(Protocol):
    """A result that a reranker may have ordered."""

    @property
    def reranked(self) -> bool | None: ...

    @property
    def rerank_note(self) -> str | None: ...


def rerank_text(result: Rerankable) -> str:
    """The words "reranked", or why it is not; empty if no reranker was asked for."""
    if result.reranked is None:
        return ""
    note = line(result.rerank_note or "", LONGEST_TEXT)
    return "reranked" if result.reranked else f"not reranked: {note}"


def rerank_record(result: Rerankable) -> dict[str, Any]:
    """The same as plain JSON values."""
    if result.reranked is None:
        return {}
    note = {} if result.rerank_note is None else {"rerank_note": result.rerank_note}
    return {"reranked": result.reranked} | note
