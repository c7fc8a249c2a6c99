"""Assembling a context: the memories for one prompt, ranked, packed and written down."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, Unpack

from pgrecall.context import styles
from pgrecall.context.assembled import Context, LeftOut, Packed
from pgrecall.context.packing import PACKED, Packing, pack, pack_candidates
from pgrecall.context.styles import category
from pgrecall.core.quoting import shortened
from pgrecall.core.steps import CountTokens, Execute, Operation
from pgrecall.core.tokens import MAX_TOKENS
from pgrecall.core.validation import (
    require_bool,
    require_count,
    require_given_share,
    require_name,
    require_share,
)
from pgrecall.core.vectors import VectorLike
from pgrecall.errors import InputError
from pgrecall.rank_index.strategy import MAX_K, through_indexes
from pgrecall.ranking.arguments import SearchArguments
from pgrecall.ranking.hits import Strategy
from pgrecall.ranking.question import Question
from pgrecall.schema import Tables
from pgrecall.scoring.profile import Profile
from pgrecall.search.searching import hit, require_strategy, touched

MAX_CONSIDERED = 500
"""Every two of them may have to be compared."""
MAX_RESERVES = 100


def context(
    tables: Tables,
    /,
    agent_id: str,
    embedding: VectorLike | str | None = None,
    *,
    max_tokens: int = 4000,
    k: int = 20,
    reserve: Mapping[str, float] | None = None,
    max_skips: int = 3,
    diversity: float = 0.0,
    max_similarity: float | None = None,
    consider: int | None = None,
    style: str = "plain",
    strategy: Strategy = "auto",
    touch: bool = True,
    **arguments: Unpack[SearchArguments],
) -> Operation[Context]:
    """The agent's best memories for a query as text for a prompt, within `max_tokens`.

    One statement ranks as `search` does (see there for the arguments of both), leaves out what
    is below `min_score` or `min_relevance`, by default the profile's, and packs: best first, at
    most k; a memory that does not fit into what is left of the budget is passed over, and after
    `max_skips` of them in a row it stops.
    Considered are the `consider` best, by default as many as packing can look at, max_skips · k,
    but no more than 80 unless k is; 80 too where reserve or max_similarity may pass over more.
    Where none of them is relevant enough, nothing is returned, and `emptied_by` says so;
    `min_relevance=0` turns the profile's floor off.

    `reserve` keeps shares of the budget for types of memory, {"fact": 0.5}: others cannot use them,
    except for what the considered memories of the type cannot fill; what was kept back for that
    goes in last if there is room. `max_similarity`, say 0.92, leaves out what is more similar than
    that to a memory that is in. With `diversity` d in [0, 1)
    the next memory is the one with the greatest (1 - d) · score - d · its similarity to the nearest
    that is in (maximal marginal relevance, Carbonell and Goldstein 1998).

    `style` is plain, markdown or xml. Memories stand in a fixed order of their types, within a type
    in the order in which they were packed. Each begins with a random marker, its date (20261122)
    and, where that is not the type of the one before, its type; the marker once more ends the
    text. A body cannot end its block or pose as another. Control characters and signs that turn
    the direction of writing around become U+FFFD, and what is invisible in U+E0000 to U+E0FFF is
    removed, from the flags of England, Scotland and Wales too.

    The text as a whole is counted by the repository's `token_counter` and by that never exceeds
    `max_tokens`. The default only estimates: it finds rather more tokens in ordinary text than a
    model's tokenizer, but fewer in emoji and base64 (`token_counting.estimated_tokens`). To keep
    to a limit whatever the text, give the repository the tokenizer of your model. What a memory
    takes up is what was counted when it was written, else what the default finds, and what its
    block adds; where parts were reckoned too small, it is packed again by what they were found to
    take up.
    With `expand_session` what fits of the turns beside a memory goes in after it, nearest first,
    and counts as none of the k; whatever is in, turns of one session stand together in their order.

    `touch` counts a retrieval of what is in the text, as `search` does.

    Raises InputError and its children.
    """
    require_bool("touch", touch)
    require_strategy(strategy)
    most = require_count("k", k, at_least=1, at_most=MAX_CONSIDERED)
    max_skips = require_count("max_skips", max_skips, at_least=1, at_most=MAX_CONSIDERED)
    max_tokens = require_count("max_tokens", max_tokens, at_least=1, at_most=MAX_TOKENS)
    shares = _reserve(reserve)
    max_similarity = require_share("max_similarity", max_similarity)
    if consider is None:
        passes_over = bool(shares) or max_similarity is not None
        consider = max(most, MAX_K if passes_over else min(most * max_skips, MAX_K))
    consider = require_count("consider", consider, at_least=most, at_most=MAX_CONSIDERED)
    chosen = styles.named(style)
    min_score = require_share("min_score", arguments.pop("min_score", None)) or 0.0
    asked = Question.of(
        tables,
        agent_id,
        embedding,
        k=consider,
        arguments=arguments,
        floor=lambda profile: profile.min_relevance,
    )
    floor = asked.search.min_relevance
    added = chosen.added((yield CountTokens(chosen.samples)))
    packing = Packing(
        budget=max(max_tokens - added.frame, 0),
        most=most,
        min_score=min_score,
        min_relevance=floor,
        max_skips=max_skips,
        style=chosen,
        added=added,
        reserve=shares,
        diversity=_diversity(diversity),
        max_similarity=max_similarity,
    )
    wanted = yield from asked.resolved(tables)
    # A verdict on what is considered, not a condition: a rank index then finds the same.
    wanted = replace(wanted, min_relevance=None, shows_relevance=floor is not None)
    while True:
        over = partial(pack_candidates, packing=packing)
        found = yield from through_indexes(tables, wanted, strategy, over, **packing.parameters)
        if found is None:
            statement = pack(tables, wanted, packing)
            rows = yield Execute(statement, wanted.parameters | packing.parameters)
        else:
            rows = found.rows
        packed, left_out = _taken_apart(wanted.profile, rows)
        text, marker = styles.marked(chosen, [one.hit.memory for one in packed])
        [tokens] = (yield CountTokens((text,))) if text else [0]
        if tokens <= max_tokens:
            break
        packing = yield from _less(packing, packed, marker, tokens, max_tokens)
    if touch:
        yield from touched(tables, [one.hit for one in packed], wanted.profile)
    return Context(
        text=text,
        packed=tuple(packed),
        left_out=tuple(left_out),
        tokens=tokens,
        max_tokens=max_tokens,
        marker=marker,
        strategy="exact" if found is None else "index",
        min_relevance=floor,
        query_time=wanted.query_time,
    )


def _less(
    packing: Packing, packed: Sequence[Packed], marker: str, tokens: int, max_tokens: int
) -> Operation[Packing]:
    """How to pack where the counter finds the text longer than was reckoned from its parts.

    By what each memory was found to take up, so that one that was reckoned too small does not take
    the place of the others; with less in proportion where that does not tell more.
    """
    memories = [one.hit.memory for one in packed]
    counts = yield CountTokens(
        tuple(packing.style.written(one, marker, category(one.memory_type)) for one in memories)
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


def _taken_apart(profile: Profile, rows: Sequence[Any]) -> tuple[list[Packed], list[LeftOut]]:
    """What is in, in the order of packing, and what is not, best first."""
    places = {row.place: row.id for row in rows}
    packed: list[tuple[int, bool, Packed]] = []
    left_out: list[LeftOut] = []
    for row in rows:
        found = hit(profile, row._mapping)
        if row.verdict == PACKED:
            found = replace(found, beside=places.get(row.near))
            packed.append((row.step, row.near is not None, Packed(found, row.cost)))
        else:
            left_out.append(LeftOut(found, row.cost, row.verdict, places.get(row.near)))
    return [one for *_, one in sorted(packed, key=lambda one: one[:2])], left_out


def _reserve(reserve: Mapping[str, float] | None) -> dict[str, float]:
    if reserve is None:
        return {}
    if not isinstance(reserve, Mapping):
        raise InputError(f"reserve maps types of memory to shares, got {type(reserve).__name__}")
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


def _diversity(diversity: float) -> float:
    share = require_given_share("diversity", diversity)
    if share == 1:
        raise InputError("diversity must be less than 1: it would pass over the score")
    return share
