"""The last step of a search: a reranker judges the best hits by the query."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from pgrecall.core.checks import K
from pgrecall.core.rerankers import Rerank, Reranker, Verdict, judged_text, require_rerank
from pgrecall.core.steps import Ask, Operation
from pgrecall.errors import InputError
from pgrecall.ranking.hits import Hits
from pgrecall.scoring.scored_memory import ScoredMemory


@dataclass(frozen=True, slots=True)
class Reordering:
    """How a search is reranked, and how many of its hits are returned."""

    rerank: Rerank
    text: str
    """The text that hits are judged by."""
    k: int

    @property
    def depth(self) -> int:
        """How many memories are ranked by score."""
        return max(self.k, self.rerank.top)

    def applied(self, hits: Hits) -> Operation[None]:
        """Reorders the hits, the k best of which remain."""
        done = yield from judge(self.rerank, self.text, [hit.memory.content for hit in hits])
        hits[:] = reordered(hits, done)[: self.k]
        hits.reranked, hits.rerank_note = done.values is not None, done.note


def chosen(value: Rerank | Reranker | bool | None) -> Operation[Rerank | None]:
    """The reranker for a caller's value; None if there is none. Raises InputError."""
    wanted = require_rerank(value)
    if wanted is False:
        return None
    rerank: Rerank = yield Ask("reranker", (wanted,))
    return rerank


def reordering(rerank: Rerank, query: object, k: int, arguments: Mapping[str, Any]) -> Reordering:
    """How a search with these arguments is reranked; raises InputError."""
    if arguments.get("surrounding_turns"):
        raise InputError(
            "a search with rerank adds no turns: leave out surrounding_turns, or write a context"
        )
    return Reordering(rerank, judged_text(query, arguments), K("k", k))


def judge(rerank: Rerank, text: str, contents: Sequence[str]) -> Operation[Verdict]:
    """The reranker's verdict on the first `top` of these texts."""
    if not contents:
        return Verdict([])
    done: Verdict = yield Ask("rerank", (rerank, text, tuple(contents[: rerank.top])))
    return done


def order_by(done: Verdict) -> list[int]:
    """The former places of what was judged, in its new order; equals stay in theirs."""
    values = done.values or []
    return sorted(range(len(values)), key=lambda place: -values[place])


def reordered(hits: Sequence[ScoredMemory], done: Verdict) -> list[ScoredMemory]:
    """The hits in the order of the verdict, those that it is not about at last."""
    values = done.values or []
    moved = [
        replace(hits[former], rerank_score=values[former], moved=former - place)
        for place, former in enumerate(order_by(done))
    ]
    return [*moved, *hits[len(moved) :]]
