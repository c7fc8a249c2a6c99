"""Explains why a search returns a memory or not."""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import replace
from sys import float_info
from typing import Any, NamedTuple, Unpack
from uuid import UUID

from pgrecall.core.memory import Memory
from pgrecall.core.metadata_path import path_of, value_at
from pgrecall.core.quoting import cut, listed, shortened
from pgrecall.core.steps import READS_TOGETHER, Operation, needs
from pgrecall.core.validation import require_id
from pgrecall.core.vectors import VectorLike
from pgrecall.errors import MemoryNotFound
from pgrecall.ranking.arguments import SearchArguments
from pgrecall.ranking.filters import Comparison, Group, Part
from pgrecall.ranking.question import Question
from pgrecall.ranking.search_parameters import Search
from pgrecall.schema import Tables
from pgrecall.scoring.attribute import Attribute
from pgrecall.scoring.scored_memory import ScoredMemory
from pgrecall.scoring.signals import Keyword, Signal
from pgrecall.search.explain_statement import explained, scores
from pgrecall.search.explanation import Explanation, SignalAccount, TermAccount
from pgrecall.search.rows import hit, in_effect
from pgrecall.search.scatter_gather import each_owner

LARGEST = float_info.max


@needs(READS_TOGETHER)
def explain(
    tables: Tables,
    /,
    agent_id: str | UUID,
    memory_id: UUID | str,
    query: VectorLike | str | None = None,
    *,
    k: int = 10,
    **arguments: Unpack[SearchArguments],
) -> Operation[Explanation]:
    """Why a search with these arguments returns this memory, or why not.

    Takes the arguments of `search`. The explanation holds the memory's score and rank, and each
    signal's value, weight and share. If the memory is not among the k best, it says which
    conditions it fails, which threshold it misses, or what score it would have needed. No retrieval
    is counted. It explains the order by score: it knows no reranker and no `diversity`.

    Raises MemoryNotFound if neither the agent nor one of the teams has the memory.
    """
    memory_id = require_id(memory_id)
    question = Question.of(tables, agent_id, query, k=k, arguments=arguments, floor=lambda _: 0.0)
    search = yield from question.resolved(tables)
    if search.min_relevance == 0:  # which every memory reaches
        search = replace(search, min_relevance=None, shows_relevance=True)
    row, last, counts = yield from _placed(tables, search, memory_id)
    if row is None:
        whose = f" or of {listed(search.teams)}" if search.teams else ""
        raise MemoryNotFound(f"agent {shortened(str(agent_id))}{whose} has no memory {memory_id}")
    scored = hit(search.profile, row)
    is_hit = counts.before < search.k and scored.score >= (search.min_score or 0)
    if not is_hit or "min_relevance" in row.unmet:  # but it may be a turn that was added for one
        scored = replace(scored, attached_to=counts.attached_to)
    terms = _terms(getattr(row, "query_terms", None) or ())
    search = replace(search, profile=in_effect(search.profile, row))
    best = None if last is None else hit(search.profile, last)
    return _explanation(search, scored, row.unmet, counts, best, terms)


class _Counts(NamedTuple):
    """The place of a memory among all that pass."""

    ranked: int
    before: int
    attached_to: UUID | None
    """The best hit next to it."""


def _placed(tables: Tables, search: Search, memory_id: UUID) -> Operation[tuple[Any, Any, _Counts]]:
    """The memory, None if there is none, and the last of the k best, and its place."""
    if search.spans_nodes:
        return (yield from _placed_apart(tables, search, memory_id))
    rows = yield explained(tables, search, memory_id)
    asked = [row for row in rows if row.is_asked]
    # Two agents may have a memory of one id: the agent's own comes first.
    row = min(asked, key=lambda row: row.agent_id != search.agent_id, default=None)
    last = next((row for row in rows if not row.is_asked), None)
    if row is None:
        return None, None, _Counts(0, 0, None)
    return row, last, _Counts(row.ranked, row.before, getattr(row, "hit_beside", None))


def _placed_apart(
    tables: Tables, search: Search, memory_id: UUID
) -> Operation[tuple[Any, Any, _Counts]]:
    """The same on Citus, where each agent's memories are scored on its node."""
    several = {one.agent_id: one for one in each_owner(search)}
    row, found = None, []
    for one in several.values():
        if row is None:
            rows = yield explained(tables, one, memory_id)
            row = next((row for row in rows if row.is_asked), None)
        found += yield scores(tables, one)
    if row is None:
        return None, None, _Counts(0, 0, None)
    ranked = sorted((-one.score, one.id, one.agent_id) for one in found)
    last, hits = None, ranked[: search.k]
    if len(hits) == search.k:
        _, last_id, whose = hits[-1]
        rows = yield explained(tables, several[whose], last_id)
        last = next(row for row in rows if row.is_asked)
    attached = getattr(row, "hit_beside", None)
    if (attached, row.agent_id) not in ((id_, agent_id) for _, id_, agent_id in hits):
        attached = None
    before = bisect_left(ranked, (-row.score, row.id, ""))
    return row, last, _Counts(len(ranked), before, attached)


def _terms(found: Sequence[Any]) -> tuple[TermAccount, ...]:
    """The query's terms, with counts and weights for the memory's owner."""
    total = math.fsum(weight for _, _, weight, _ in found) or 1.0
    terms = [
        TermAccount(term, matched, float(weight), weight / total, memories, weight == 0)
        for term, matched, weight, memories in found
    ]
    return tuple(sorted(terms, key=lambda term: (-term.weight, term.term)))


def _explanation(
    search: Search,
    scored: ScoredMemory,
    unmet: list[str],
    counts: _Counts,
    last: ScoredMemory | None,
    terms: tuple[TermAccount, ...],
) -> Explanation:
    rank = counts.before + 1
    # Neither min_score nor min_relevance applies to added turns.
    comes_along = set(unmet) <= {"min_relevance"} and scored.attached_to is not None
    if comes_along:
        unmet = []
    reasons = [_reason(name, search, scored) for name in unmet]
    if search.min_score is not None and scored.score < search.min_score and not comes_along:
        reasons.append(f"its score {scored.score:.6f} is below min_score {search.min_score:g}")
    if not unmet and last is not None and rank > search.k and not comes_along:
        reasons.append(
            f"outranked: it is number {rank}, and k is {search.k}; "
            f"the last memory returned scores {last.score:.6f}, this one {scored.score:.6f}"
        )
    accounts = tuple(
        SignalAccount(
            name=name,
            value=scored.signals[name],
            weight=weight,
            contribution=scored.contributions[name],
            share=scored.contributions[name] / scored.score if scored.score else 0.0,
            behind=None if last is None else last.contributions[name] - scored.contributions[name],
            **_of_words(signal, search, scored),
            number=_number(signal, scored),
        )
        for signal, weight in search.profile
        for name in (signal.name,)
    )
    return Explanation(
        hit=scored,
        rank=rank,
        ranked=counts.ranked,
        k=search.k,
        passes=not unmet,
        returned=not reasons,
        reasons=tuple(reasons),
        needed_score=_needed(search, None if last is None else last.score),
        signals=accounts,
        terms=terms,
        period=search.period,
    )


def _of_words(signal: Signal, search: Search, scored: ScoredMemory) -> dict[str, float]:
    """The two factors of the keyword signal."""
    if not isinstance(signal, Keyword) or search.keywords is None:
        return {}
    size = len(scored.memory.content.encode())
    factor = 1 / signal.divisor(size)
    return {"of_terms": scored.signals[signal.name] / factor, "length_factor": factor}


def _number(signal: Signal, scored: ScoredMemory) -> float | None:
    """The number in metadata that an attribute is made of."""
    if not isinstance(signal, Attribute):
        return None
    found = value_at(scored.memory.metadata, signal.path)
    if isinstance(found, bool) or not isinstance(found, int | float):
        return None
    return float(min(max(found, -LARGEST), LARGEST))  # whole numbers may be beyond any float


def _needed(search: Search, last_score: float | None) -> float | None:
    if last_score is None or search.min_score is None:
        return last_score
    return max(last_score, search.min_score)


def _reason(name: str, search: Search, scored: ScoredMemory) -> str:
    """Says what the memory has and what the condition requires."""
    memory = scored.memory
    match name:
        case "valid":
            return f"not valid at {search.as_of or 'now'}: {_validity(memory)}"
        case "statuses":
            return f"its status is {memory.status}, which only include_inactive=True looks at"
        case "as_of":
            return f"created {memory.created_at}, after as_of {search.as_of}"
        case "embedding":
            return f"it has no embedding, which profile {search.profile.name} requires"
        case "min_relevance":
            return (
                f"its relevance {scored.relevance:.6f} is below "
                f"min_relevance {search.min_relevance:g}"
            )
        case _:
            part = search.filters.parts[int(name)]
            return _filtered(part, scored)


def _filtered(part: Part, scored: ScoredMemory) -> str:
    """Says what a part of the filter requires, and what the memory has."""
    if not isinstance(part.node, Comparison | Group):
        return f"it does not meet a condition of the filter: {cut(str(part.given))}"
    requires = f"filtered by {shortened(part.key)}, which requires {shortened(part.given, 100)}"
    match part.node:
        case Comparison("metadata"):
            found = value_at(scored.memory.metadata, path_of(part.key)[1:])
        case Comparison("similarity"):
            found = scored.cosine
        case Comparison("content" | "decayed_trust"):
            return requires
        case Comparison(column):
            found = getattr(scored.memory, column)
        case _:
            return requires
    return f"{requires}; it has {shortened(found, 100)}"


def _validity(memory: Memory) -> str:
    names = ("valid_from", "valid_until", "invalidated_at", "invalidation_reason", "expires_at")
    values = {name: getattr(memory, name) for name in names}
    return ", ".join(
        f"{name} {cut(str(value))}" for name, value in values.items() if value is not None
    )
