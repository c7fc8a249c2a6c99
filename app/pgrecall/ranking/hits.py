"""Hits: what a search found, and how it looked."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Literal

from pgrecall.core.dates import Period
from pgrecall.scoring.scored_memory import ScoredMemory

Strategy = Literal["auto", "exact", "index"]
"""How a search is asked to look: exact scores every memory, index the candidates of the rank
index, auto takes the index where it answers as well and faster."""


class Hits(list[ScoredMemory]):
    """The hits of one search, best first."""

    __slots__ = ("candidates", "query_time", "strategy")

    strategy: Literal["exact", "index"]
    """How it was answered in the end."""
    candidates: int | None
    """How many memories were scored, where an index chose them."""
    query_time: Period | None
    """The period that was asked for, given or found in the text."""

    def __init__(
        self,
        hits: Iterable[ScoredMemory] = (),
        *,
        strategy: Literal["exact", "index"] = "exact",
        candidates: int | None = None,
        query_time: Period | None = None,
    ) -> None:
        super().__init__(hits)
        self.strategy = strategy
        self.candidates = candidates
        self.query_time = query_time
