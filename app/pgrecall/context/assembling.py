"""Assembles a context: ranks memories, packs them and renders the text."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC
from typing import Self, Unpack, cast
from uuid import UUID

from pgrecall.context import styles
from pgrecall.context.assembled import Context, LeftOut, Packed, Reason
from pgrecall.context.styles import (
    CATEGORY,
    LINE_BREAK,
    MAX_CATEGORY_LENGTH,
    Added,
    Style,
    category,
)
from pgrecall.core.limits import MAX_CONSIDERED
from pgrecall.core.memory import Memory
from pgrecall.core.quoting import shortened
from pgrecall.core.rerankers import Rerank, Reranker, Verdict, judged_text
from pgrecall.core.steps import READS, Ask, Operation, needs
from pgrecall.core.tokens import MAX_TOKENS, estimated_tokens
from pgrecall.core.validation import (
    require_count,
    require_diversity,
    require_given_share,
    require_name,
    require_share,
)
from pgrecall.core.vectors import VectorLike
from pgrecall.errors import InputError
from pgrecall.rank_index.strategy import MAX_K
from pgrecall.ranking.arguments import SearchArguments
from pgrecall.ranking.hits import Strategy
from pgrecall.ranking.question import Question
from pgrecall.schema import Tables
from pgrecall.scoring.scored_memory import ScoredMemory
from pgrecall.search.hit_pairs import similarities, turns_beside
from pgrecall.search.packing import MAX_SKIPS, PACKED, Limits, Outcome, pack
from pgrecall.search.reordering import chosen as chosen_reranker
from pgrecall.search.reordering import judge, reordered
from pgrecall.search.searching import (
    counts_use,
    hits_of_search,
    require_strategy,
    require_touch,
    touched,
)

MAX_RESERVES = 100
MOST = 2_000_000_000
"""Greatest estimate of one memory's tokens."""


@needs(READS)
def context(
    tables: Tables,
    /,
    agent_id: str | UUID,
    query: VectorLike | str | None = None,
    *,
    max_tokens: int = 4000,
    k: int = 20,
    reserve: Mapping[str, float] | None = None,
    diversity: float = 0.0,
    max_similarity: float | None = None,
    fetch_k: int | None = None,
    style: Style | str = "plain",
    strategy: Strategy = "auto",
    touch: bool | None = None,
    rerank: Rerank | Reranker | bool | None = None,
    **arguments: Unpack[SearchArguments],
) -> Operation[Context]:
    """The agent's best memories for a query, as text for a prompt of at most `max_tokens`.

    Ranks as `search` does, with the same arguments, and packs the best first, at most k. A memory
    that does not fit into the rest is skipped; after three in a row, packing stops. `fetch_k` is
    how many ranked memories are looked at: by default 3 · k but at most 80 (or k), and 80 where
    `reserve` or `max_similarity` may skip more.

    The default of `min_relevance` is the profile's floor; 0 turns it off. If no memory reaches it,
    the context is empty, and `empty_because` says why.

    `reserve` keeps shares of the budget for types of memory, such as {"fact": 0.5}.
    `max_similarity`, say 0.92, leaves out what is more similar than that to a memory already
    packed. `diversity` d in [0, 1) chooses next what has the greatest (1 - d) · score -
    d · similarity to the nearest one packed (maximal marginal relevance, Carbonell and Goldstein
    1998). Turns that `surrounding_turns` adds follow their memory and do not count towards k.

    `style` is plain, markdown, xml or a Style of your own. The same memories give the same text,
    and none of them can end its block or imitate another. `legend` of the result explains the marks
    to a model. The text is counted by the repository's `token_counter`.

    `touch` counts a retrieval of each memory in the text, as that of `search`. `rerank` is that of
    `search`, and packs in the reranker's order; it does not go with `diversity`.

    Raises InputError and its children.
    """
    require_touch(touch)
    require_strategy(strategy)
    judge_by = yield from _judge(rerank, query, diversity, arguments)
    most = require_count("k", k, at_least=1, at_most=MAX_CONSIDERED)
    max_tokens = require_count("max_tokens", max_tokens, at_least=1, at_most=MAX_TOKENS)
    shares = _reserve(reserve)
    max_similarity = require_share("max_similarity", max_similarity)
    if fetch_k is None:
        passes_over = bool(shares) or max_similarity is not None
        fetch_k = max(most, MAX_K if passes_over else min(most * MAX_SKIPS, MAX_K))
        if judge_by is not None:
            fetch_k = min(max(fetch_k, judge_by[0].top), MAX_CONSIDERED)
    fetch_k = require_count("fetch_k", fetch_k, at_least=most, at_most=MAX_CONSIDERED)
    zone = tables.in_zone(arguments.get("timezone")).zone
    chosen = styles.chosen(style, zone or UTC)
    question = Question.of(
        tables,
        agent_id,
        query,
        k=fetch_k,
        arguments=arguments,
        floor=lambda profile: profile.min_relevance,
    )
    diversity = require_diversity(diversity)
    added = chosen.added((yield Ask("count_tokens", chosen.samples)))
    search = yield from question.resolved(tables)
    floor = search.min_relevance
    limits = Limits(
        most=most,
        budget=max(max_tokens - added.frame, 0),
        min_score=search.min_score or 0.0,
        reserve=shares,
        diversity=diversity,
        max_similarity=max_similarity,
    )
    # Memories below a floor are ranked and then left out, so that a rank index finds the same.
    ranked = replace(search, min_score=None, min_relevance=None, shows_relevance=floor is not None)
    hits, _ = yield from hits_of_search(tables, ranked, 0, strategy, None, may_count=False)
    done: Verdict | None = None
    considered = _Considered.of(hits, limits.min_score, floor)
    if judge_by is not None:
        rerank_by, text = judge_by
        first = considered.hits[: min(considered.passing, rerank_by.top)]
        done = yield from judge(rerank_by, text, [hit.memory.content for hit in first])
        considered.hits[: len(first)] = reordered(first, done)
    costs = [estimated_cost(hit.memory, chosen, added) for hit in considered.hits]
    alike = turns = None
    if diversity or max_similarity is not None:
        alike = yield from similarities(tables, ranked, considered.hits[: considered.relevant])
    if ranked.surrounding_turns:
        turns = yield from turns_beside(tables, considered.hits, ranked.surrounding_turns)
    while True:
        types = [hit.memory.memory_type for hit in considered.hits]
        outcomes = pack(limits, considered.scores, costs, types, alike=alike, turns=turns)
        packed, left_out = _split(considered.hits, costs, outcomes)
        text, marker = styles.marked(chosen, [one.hit.memory for one in packed])
        [tokens] = (yield Ask("count_tokens", (text,))) if text else [0]
        if tokens <= max_tokens:
            break
        limits = yield from _packed_smaller(
            limits, considered.hits, costs, packed, chosen, marker, tokens, max_tokens
        )
    counts = counts_use(touch, search.profile)
    counted = counts and (yield from touched(tables, [one.hit for one in packed], search))
    return Context(
        text=text,
        packed=tuple(packed),
        left_out=tuple(left_out),
        tokens=tokens,
        max_tokens=max_tokens,
        marker=marker,
        strategy=hits.strategy,
        min_relevance=floor,
        period=search.period,
        touched=counted,
        legend=chosen.legend,
        reranked=None if done is None else done.values is not None,
        rerank_note=None if done is None else done.note,
    )


@dataclass(slots=True)
class _Considered:
    """The hits of a search in the order of packing: first those that are relevant enough, best
    first, then the others, and at last turns that only come along."""

    hits: list[ScoredMemory]
    scores: list[float | None]
    """Of those that are no such turns; None if they are not relevant enough."""
    relevant: int
    """How many are relevant enough."""
    passing: int
    """How many of these reach the least score, too."""

    @classmethod
    def of(cls, hits: Sequence[ScoredMemory], min_score: float, floor: float | None) -> Self:
        def is_relevant(hit: ScoredMemory) -> bool:
            return floor is None or (hit.relevance or 0.0) >= floor

        def place(hit: ScoredMemory) -> tuple[bool, bool, float, UUID]:
            along = hit.attached_to is not None
            return along, not (along or is_relevant(hit)), -hit.score, hit.memory.id

        ordered = sorted(hits, key=place)
        found = [hit for hit in ordered if hit.attached_to is None]
        relevant = [hit.score for hit in found if is_relevant(hit)]
        return cls(
            hits=ordered,
            scores=[*relevant, *[None] * (len(found) - len(relevant))],
            relevant=len(relevant),
            passing=sum(score >= min_score for score in relevant),
        )


def _judge(
    value: Rerank | Reranker | bool | None,
    query: object,
    diversity: float,
    arguments: SearchArguments,
) -> Operation[tuple[Rerank, str] | None]:
    """The reranker and the text that it judges by; None if there is none. Raises InputError."""
    rerank = yield from chosen_reranker(value)
    if rerank is None:
        return None
    if diversity:
        raise InputError("rerank does not go with diversity, which weighs scores: leave one out")
    return rerank, judged_text(query, arguments)


def _packed_smaller(
    limits: Limits,
    hits: Sequence[ScoredMemory],
    costs: list[int],
    packed: Sequence[Packed],
    style: Style,
    marker: str,
    tokens: int,
    max_tokens: int,
) -> Operation[Limits]:
    """How to pack again if the text has more tokens than were estimated from its parts.

    Raises `costs` to the counted tokens of each memory, so that one that was underestimated does
    not displace others. If these do not exceed the estimates, the budget is reduced in proportion.
    """
    memories = [one.hit.memory for one in packed]
    written = (style.written(one, marker, category(one.memory_type)) for one in memories)
    counts = yield Ask("count_tokens", tuple(written))
    keys = [(one.owner_id, one.id) for one in memories]
    counted = dict(zip(keys, counts, strict=True))
    raised = [
        max(cost, counted.get((hit.memory.owner_id, hit.memory.id), 0))
        for hit, cost in zip(hits, costs, strict=True)
    ]
    if raised != costs:
        costs[:] = raised
        return limits
    spent = sum(one.tokens for one in packed)
    return replace(limits, budget=min(spent - 1, spent * max_tokens // tokens))


def _split(
    hits: Sequence[ScoredMemory], costs: Sequence[int], outcomes: Sequence[Outcome | None]
) -> tuple[list[Packed], list[LeftOut]]:
    """The packed memories in the order of packing, and those left out, best first."""
    packed: list[tuple[int, bool, Packed]] = []
    left_out: list[LeftOut] = []
    for hit, cost, outcome in zip(hits, costs, outcomes, strict=True):
        if outcome is None:
            continue
        near = None if outcome.near is None else hits[outcome.near].memory.id
        if outcome.verdict == PACKED:
            one = Packed(replace(hit, attached_to=near), cost)
            packed.append((outcome.step or 0, near is not None, one))
        else:
            alone = replace(hit, attached_to=None)
            left_out.append(LeftOut(alone, cost, cast(Reason, outcome.verdict), near))
    return [one for *_, one in sorted(packed, key=lambda one: one[:2])], left_out


def estimated_cost(memory: Memory, style: Style, added: Added) -> int:
    """The estimated tokens of a memory and its block."""
    counted = estimated_tokens(memory.content) if memory.tokens is None else memory.tokens
    cost = min(counted, MOST) + added.per_block
    cost += min(len(CATEGORY.findall(memory.memory_type)), MAX_CATEGORY_LENGTH)
    if style.indent:
        cost += added.per_line * len(LINE_BREAK.findall(memory.content))
    if style.escapes:
        cost += added.per_escape * sum(map(memory.content.count, style.escapes))
    return cost


def _reserve(reserve: Mapping[str, float] | None) -> dict[str, float]:
    if reserve is None:
        return {}
    if not isinstance(reserve, Mapping):
        raise InputError(f"reserve must map memory types to shares, got {type(reserve).__name__}")
    if len(reserve) > MAX_RESERVES:
        raise InputError(f"reserve may name at most {MAX_RESERVES} types, got {len(reserve)}")
    shares = {}
    for name, share in reserve.items():
        require_name("reserve", name)
        shares[name] = require_given_share(f"reserve[{shortened(name)}]", share)
    if sum(shares.values()) > 1 + 1e-9:
        raise InputError(
            f"the shares of reserve must not exceed 1, they sum to {sum(shares.values()):g}"
        )
    return shares
