"""Explains why a search returns a memory or not."""

from __future__ import annotations

import math
from dataclasses import replace
from functools import partial
from sys import float_info
from typing import Any, Unpack
from uuid import UUID

from pgrecall.core.memory import Memory
from pgrecall.core.metadata_path import path_of, value_at
from pgrecall.core.quoting import cut, listed, shortened
from pgrecall.core.steps import READS_TOGETHER, Operation, needs
from pgrecall.core.validation import require_id
from pgrecall.core.vectors import VectorLike
from pgrecall.errors import MemoryNotFound
from pgrecall.ranking.arguments import SearchArguments
from pgrecall.ranking.composing import condition_names, ranks
from pgrecall.ranking.filters import Comparison, Group, Part
from pgrecall.ranking.question import Question
from pgrecall.ranking.search_parameters import Search
from pgrecall.schema import Tables
from pgrecall.scoring.attribute import Attribute
from pgrecall.scoring.scored_memory import ScoredMemory
from pgrecall.scoring.signals import Keyword, Signal
from pgrecall.search.explanation import Explanation, SignalAccount, TermAccount
from pgrecall.search.rows import hit, in_effect
from pgrecall.search.scatter_gather import as_parameters, each_owner

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
    described = partial(_described, tables, search)
    rows = yield from described(memory_id)
    if not rows:
        whose = f" or of {listed(search.teams)}" if search.teams else ""
        raise MemoryNotFound(f"agent {shortened(str(agent_id))}{whose} has no memory {memory_id}")
    # Two owners may have a memory of one id: the agent's own comes first.
    row = min(rows, key=lambda row: row.agent_id != search.agent_id)
    scored = hit(search.profile, row)
    counts = yield from _standing(tables, search, scored)
    unmet = _unmet(row, search)
    is_hit = counts.before < search.k and scored.score >= (search.min_score or 0)
    if not is_hit or "min_relevance" in unmet:  # but it may be a turn that was added for one
        scored = replace(scored, attached_to=counts.attached_to)
    last: ScoredMemory | None = None
    if counts.last_id is not None:
        there = yield from described(counts.last_id)
        for candidate in there:  # none if it was deleted a moment ago
            if counts.last_owner == candidate.agent_id:
                last = hit(search.profile, candidate)
    terms = yield from _terms(tables, search, scored)
    search = replace(search, profile=in_effect(search.profile, row))
    return _explanation(search, scored, unmet, counts, last, terms)


def _described(tables: Tables, search: Search, memory_id: UUID) -> Operation[list[Any]]:
    """The memory of this id of each owner that has one."""
    alone = replace(search, surrounding_turns=0, min_score=None)
    rows: list[Any] = []
    for one in each_owner(alone):
        rows += yield ranks(tables, "explain", one, id=memory_id)
    return rows


def _standing(tables: Tables, search: Search, scored: ScoredMemory) -> Operation[Any]:
    """The memory's place among all that pass. On Citus, each owner's are scored on its node."""
    values: dict[str, Any] = {}
    if search.spans_nodes:
        rows: list[Any] = []
        for one in each_owner(search):
            rows += yield ranks(tables, "scores", one)
        values = as_parameters(rows)
    memory = scored.memory
    values |= {"id": memory.id, "whose": memory.owner_id, "own_score": scored.score}
    [counts] = yield ranks(tables, "standing", search, **values)
    return counts


def _terms(
    tables: Tables, search: Search, scored: ScoredMemory
) -> Operation[tuple[TermAccount, ...]]:
    """The query's terms, with counts and weights for the memory's owner."""
    if not search.ranks_by_words:
        return ()
    memory = scored.memory
    rows = yield ranks(tables, "matched", search, whose=memory.owner_id, id=memory.id)
    total = math.fsum(row.weight for row in rows) or 1.0
    terms = [
        TermAccount(
            row.term, row.matched, row.weight, row.weight / total, row.memories, row.weight == 0
        )
        for row in rows
    ]
    return tuple(sorted(terms, key=lambda term: (-term.weight, term.term)))


def _explanation(
    search: Search,
    scored: ScoredMemory,
    unmet: list[str],
    counts: Any,
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
    if not unmet and rank > search.k and not comes_along:
        reasons.append(
            f"outranked: it is number {rank}, and k is {search.k}; "
            f"the last memory returned scores {counts.last_score:.6f}, this one {scored.score:.6f}"
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
        needed_score=_needed(search, counts.last_score),
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


def _unmet(row: Any, search: Search) -> list[str]:
    """The conditions that the memory does not meet."""
    return [name for name in condition_names(search) if not row.meets[name]]


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
            part = search.filters.parts[int(name.removeprefix("where_")) - 1]
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
