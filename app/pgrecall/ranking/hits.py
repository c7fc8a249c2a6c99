"""Hits: the result of a search."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Literal

from pgrecall.core.dates import Period
from pgrecall.scoring.scored_memory import ScoredMemory

Strategy = Literal["auto", "exact", "index"]
"""exact scores every memory. index scores the candidates of the rank index. auto uses the index if
that is faster and finds as much."""


class Hits(list[ScoredMemory]):
    """The hits of one search, best first."""

    __slots__ = ("candidates", "profile", "query_time", "strategy", "touched")

    strategy: Literal["exact", "index"]
    """The strategy that produced the result."""
    candidates: int | None
    """The number of memories scored, if the index was used."""
    query_time: Period | None
    """The query's period: the caller's, or that in its text."""
    profile: str
    """The name of the profile that ranked them."""
    touched: bool
    """True if their retrieval was counted. With `touch`, it is not if the database's disk is full
    or a lock was not free within lock_timeout; the hits are right all the same."""

    def __init__(
        self,
        hits: Iterable[ScoredMemory] = (),
        *,
        strategy: Literal["exact", "index"] = "exact",
        candidates: int | None = None,
        query_time: Period | None = None,
        profile: str = "",
    ) -> None:
        super().__init__(hits)
        self.strategy = strategy
        self.candidates = candidates
        self.query_time = query_time
        self.profile = profile
        self.touched = False
