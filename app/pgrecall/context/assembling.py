"""Assembles a context: ranks memories, packs them and renders the text."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import UTC
from functools import partial
from operator import attrgetter
from typing import Any, Unpack
from uuid import UUID

from pgrecall.context import styles
from pgrecall.context.assembled import Context, LeftOut, Packed
from pgrecall.context.packing import MAX_SKIPS, PACKED, Packing, pack, pack_candidates
from pgrecall.context.styles import Style, category
from pgrecall.core.limits import MAX_CONSIDERED
from pgrecall.core.quoting import shortened
from pgrecall.core.rerankers import Rerank, Reranker, Verdict, judged_text
from pgrecall.core.steps import READS, Ask, Operation, needs
from pgrecall.core.tokens import MAX_TOKENS
from pgrecall.core.validation import (
    require_bool,
    require_count,
    require_diversity,
    require_given_share,
    require_name,
    require_share,
)
from pgrecall.core.vectors import VectorLike
from pgrecall.errors import InputError
from pgrecall.rank_index.strategy import MAX_K, search_with_index
from pgrecall.ranking.arguments import SearchArguments
from pgrecall.ranking.hits import Strategy
from pgrecall.ranking.question import Question
from pgrecall.ranking.search_parameters import Search
from pgrecall.schema import Tables
from pgrecall.scoring.profile import Profile
from pgrecall.scoring.scored_memory import ScoredMemory
from pgrecall.search.reordering import chosen as chosen_reranker
from pgrecall.search.reordering import judge, reordered
from pgrecall.search.scatter_gather import ALL_AT_ONCE, scatter_gather
from pgrecall.search.searching import hit, hits_of_search, require_strategy, touched

MAX_RESERVES = 100


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
    touch: bool = True,
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

    `touch` counts a retrieval of each memory in the text. `rerank` is that of `search`, and packs
    in the reranker's order; it does not go with `diversity`.

    Raises InputError and its children.
    """
    require_bool("touch", touch)
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
    packing = Packing(
        budget=max(max_tokens - added.frame, 0),
        most=most,
        min_score=search.min_score or 0.0,
        min_relevance=floor,
        style=chosen,
        added=added,
        reserve=shares,
        diversity=diversity,
        max_similarity=max_similarity,
    )
    # Memories below a floor are ranked and then left out, so that a rank index finds the same.
    search = replace(search, min_score=None, min_relevance=None, shows_relevance=floor is not None)
    apart = ALL_AT_ONCE
    if search.spans_nodes:
        apart = yield from scatter_gather(tables, search, strategy)
    done: Verdict | None = None
    if judge_by is not None:
        packing, done = yield from _reranked(tables, search, packing, strategy, *judge_by)
    while True:
        over = partial(pack_candidates, packing=packing)
        indexed = yield from search_with_index(tables, search, strategy, over)
        if indexed is None:
            rows = yield pack(tables, search, packing, **apart.parameters)
        else:
            rows = indexed.rows
        packed, left_out = _split_rows(search.profile, rows, packing.reranked)
        text, marker = styles.marked(chosen, [one.hit.memory for one in packed])
        [tokens] = (yield Ask("count_tokens", (text,))) if text else [0]
        if tokens <= max_tokens:
            break
        packing = yield from _packed_smaller(packing, packed, marker, tokens, max_tokens)
    counted = touch and (yield from touched(tables, [one.hit for one in packed], search))
    return Context(
        text=text,
        packed=tuple(packed),
        left_out=tuple(left_out),
        tokens=tokens,
        max_tokens=max_tokens,
        marker=marker,
        strategy="exact" if indexed is None and apart.candidates is None else "index",
        min_relevance=floor,
        period=search.period,
        touched=counted,
        legend=chosen.legend,
        reranked=None if done is None else done.values is not None,
        rerank_note=None if done is None else done.note,
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


def _reranked(
    tables: Tables,
    search: Search,
    packing: Packing,
    strategy: Strategy,
    rerank: Rerank,
    text: str,
) -> Operation[tuple[Packing, Verdict]]:
    """How to pack in the order of the reranker, and its verdict."""
    alone = replace(search, k=min(search.k, rerank.top), surrounding_turns=0)
    hits, _ = yield from hits_of_search(tables, alone, 0, strategy, None, may_count=False)
    floor = packing.min_relevance
    hits[:] = [
        hit
        for hit in hits
        if hit.score >= packing.min_score and (floor is None or (hit.relevance or 0.0) >= floor)
    ]
    done = yield from judge(rerank, text, [hit.memory.content for hit in hits])
    order = {(hit.memory.owner_id, hit.memory.id): hit for hit in reordered(hits, done)}
    return (packing if done.values is None else replace(packing, reranked=order)), done


def _packed_smaller(
    packing: Packing, packed: Sequence[Packed], marker: str, tokens: int, max_tokens: int
) -> Operation[Packing]:
    """How to pack again if the text has more tokens than were estimated from its parts.

    Uses the counted tokens of each memory, so that one that was underestimated does not displace
    others. If these do not exceed the estimates, the budget is reduced in proportion.
    """
    memories = [one.hit.memory for one in packed]
    counts = yield Ask(
        "count_tokens",
        tuple(packing.style.written(one, marker, category(one.memory_type)) for one in memories),
    )
    measured = {
        one.hit.memory.id: count
        for one, count in zip(packed, counts, strict=True)
        if count > one.tokens
    }
    if measured:
        return replace(packing, measured={**packing.measured, **measured})
    spent = sum(one.tokens for one in packed)
    return replace(packing, budget=min(spent - 1, spent * max_tokens // tokens))


def _split_rows(
    profile: Profile, rows: Sequence[Any], reranked: Mapping[tuple[str, UUID], ScoredMemory]
) -> tuple[list[Packed], list[LeftOut]]:
    """The packed memories in the order of packing, and those left out, best first."""
    places = {row.place: row.id for row in rows}
    if reranked:
        rows = sorted(rows, key=attrgetter("place"))
    packed: list[tuple[int, bool, Packed]] = []
    left_out: list[LeftOut] = []
    for row in rows:
        scored = hit(profile, row)
        if judged := reranked.get((scored.memory.owner_id, scored.memory.id)):
            scored = replace(scored, rerank_score=judged.rerank_score, moved=judged.moved)
        if row.verdict == PACKED:
            scored = replace(scored, attached_to=places.get(row.near))
            packed.append((row.step, row.near is not None, Packed(scored, row.cost)))
        else:
            left_out.append(LeftOut(scored, row.cost, row.verdict, places.get(row.near)))
    return [one for *_, one in sorted(packed, key=lambda one: one[:2])], left_out


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
