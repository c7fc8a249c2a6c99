"""Searches."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import chain
from typing import Any, Unpack, get_args
from uuid import UUID

from pgrecall.core.limits import COMPARED_PER_HIT, MAX_CONSIDERED
from pgrecall.core.quoting import shortened
from pgrecall.core.rerankers import Rerank, Reranker
from pgrecall.core.steps import READS, READS_TOGETHER, Ask, Mode, Operation, Uncounted, needs
from pgrecall.core.validation import in_list, require_bool, require_count, require_diversity
from pgrecall.core.vectors import VectorLike
from pgrecall.errors import InputError
from pgrecall.rank_index.strategy import search_with_index
from pgrecall.ranking.arguments import SearchArguments
from pgrecall.ranking.hits import Hits, Strategy
from pgrecall.ranking.question import Question, embedded
from pgrecall.ranking.search_parameters import Search
from pgrecall.schema import Tables
from pgrecall.schema.verbs import call
from pgrecall.scoring.profile import Profile
from pgrecall.scoring.scored_memory import ScoredMemory
from pgrecall.search.additions import added_turns, in_passages, linked_memories
from pgrecall.search.hit_pairs import similarities
from pgrecall.search.packing import PACKED, Limits, pack
from pgrecall.search.reordering import Reordering, chosen, reordering
from pgrecall.search.rows import hits_of, place
from pgrecall.search.scatter_gather import each_owner
from pgrecall.search.statements import of_all, of_candidates, touches

MAX_HOPS = 2
"""The greatest `linked`."""


def _mode(*_: object, linked: int = 0, surrounding_turns: int = 0, **__: object) -> Mode:
    """What is added to hits is scored by a second statement, with the same now()."""
    return READS_TOGETHER if linked or surrounding_turns else READS


@needs(_mode)
def search(
    tables: Tables,
    /,
    agent_id: str | UUID,
    query: VectorLike | str | None = None,
    *,
    k: int = 10,
    linked: int = 0,
    strategy: Strategy = "auto",
    touch: bool | None = None,
    diversity: float = 0.0,
    rerank: Rerank | Reranker | bool | None = None,
    **arguments: Unpack[SearchArguments],
) -> Operation[Hits]:
    """The agent's k best memories for a query, best first; ties are ordered by id.

    There is no floor: the best k are returned even if none has to do with the query. Pass
    `min_relevance`, say 0.08, to leave out what is less relevant, as `context` does by default.

    `query` is a text, which the repository's embedder embeds, or a vector, or None to rank by the
    other signals alone. SearchArguments describes the arguments that are not named here.

    `linked`, 1 or 2, adds memories within so many links of the hits: at most k, by the same
    filters, thresholds and score. `diversity`, from 0 to less than 1, is that of `context`: the
    hits stand in the order in which they were chosen.

    `touch` counts a retrieval of each memory returned; None counts it if the profile reads counters
    or the last access. It also sets `last_accessed_at`, unless the profile is `accessed_by` use.

    `strategy` is "exact" (score every memory), "index" (score the candidates from the agent's rank
    index; score every memory if that would not answer as well), or "auto" (use the index if the
    agent has enough memories and signals unknown to the index weigh at most a tenth).

    `rerank` judges the best by score once more: a function from a query and texts to numbers, a
    `Rerank` with its `top` and its `timeout`, or True for the repository's. If it fails or
    takes too long, the order by score stands, and `rerank_note` of the result says why.

    Raises InputError and its children for a value that cannot be used, and DatabaseReadOnly if
    `touch` meets a database that cannot be written.
    """
    require_touch(touch)
    require_strategy(strategy)
    require_count("linked", linked, at_least=0, at_most=MAX_HOPS)
    if type(diversity) is not float or diversity:
        diversity = require_diverse(diversity, k, arguments, rerank)
    by: Reordering | None = None
    if rerank is not None and (one := (yield from chosen(rerank))):
        by = reordering(one, query, k, arguments)
        k = by.depth
    question = Question.of(tables, agent_id, query, k=k, arguments=arguments)
    on_replica = yield Ask("replica")
    request = yield from question.resolved(tables)
    if diversity:
        request = diverse(request, diversity)
    touch = counts_use(touch, request.profile)
    may_count = touch and not on_replica
    hits, counted = yield from hits_of_search(
        tables, request, linked, strategy, by, may_count=may_count
    )
    if touch and counted is None:
        counted = yield from touched(tables, hits, request)
    hits.touched = bool(counted)
    hits.keywords = question.search.keywords
    return hits


@needs(READS_TOGETHER)
def search_many(
    tables: Tables,
    /,
    agent_id: str | UUID | Sequence[str | UUID],
    queries: Iterable[VectorLike | str | None],
    *,
    k: int = 10,
    linked: int = 0,
    strategy: Strategy = "auto",
    touch: bool | None = None,
    diversity: float = 0.0,
    rerank: Rerank | Reranker | bool | None = None,
    **arguments: Unpack[SearchArguments],
) -> Operation[list[Hits]]:
    """The results of `search` for each query, in their order.

    `agent_id` is the owner for all queries, or a list with an owner for each. The other arguments
    are those of `search` and apply to all. Each text is embedded once, and all searches run in one
    transaction, with the same now(). `touch` counts one retrieval of each memory, even if several
    searches return it. `rerank` is called for each query, one after the other, in the transaction.

    Raises the errors of `search`, with the number of the query, before any search runs.
    """
    require_touch(touch)
    require_strategy(strategy)
    require_count("linked", linked, at_least=0, at_most=MAX_HOPS)
    diversity = require_diverse(diversity, k, arguments, rerank)
    one = yield from chosen(rerank)
    by: Reordering | None = None
    questions: list[tuple[Question, Reordering | None]] = []
    for number, (owner, query) in enumerate(_each(agent_id, queries)):
        try:
            by = None if one is None else reordering(one, query, k, arguments)
            depth = k if by is None else by.depth
            asked = Question.of(tables, owner, query, k=depth, arguments=arguments)
            questions.append((asked, by))
        except InputError as error:
            raise type(error)(f"query {number}: {error}") from None
    vectors = yield from embedded([question.query for question, _ in questions])
    several: list[Hits] = []
    for (question, by), vector in zip(questions, vectors, strict=True):
        request = yield from question.resolved(tables, vector)
        if diversity:
            request = diverse(request, diversity)
        hits, _ = yield from hits_of_search(tables, request, linked, strategy, by, may_count=False)
        hits.keywords = question.search.keywords
        several.append(hits)
    if several and counts_use(touch, request.profile):
        counted = yield from touched(tables, [*chain(*several)], request)
        for hits in several:
            hits.touched = counted
    return several


def hits_of_search(
    tables: Tables,
    request: Search,
    linked: int,
    strategy: Strategy,
    by: Reordering | None,
    *,
    may_count: bool,
) -> Operation[tuple[Hits, bool | None]]:
    """The hits of a search, and whether its statement counted them; None if it did not try."""
    rows: list[Any] = []
    parts, exact, total = each_owner(request), [], 0
    counted: bool | None = None
    for part in parts:
        indexed = yield from search_with_index(tables, part, strategy, of_candidates)
        exact.append(indexed is None)
        if indexed is not None:
            rows += indexed.rows
            total += indexed.total
            continue
        several = request.is_large or request.distributed or request.surrounding_turns
        found: Any = Uncounted
        if may_count and not (several or linked or request.diversity) and by is None:
            counting = of_all(tables, part, counts=True, **touch_parameters(request.profile))
            found = yield counting
            counted = found is not Uncounted
        if found is Uncounted:
            found = yield of_all(tables, part)
        rows += found
    if len(parts) > 1:
        rows = sorted(rows, key=lambda row: (-row.score, row.id))[: request.most]
    hits = Hits(
        hits_of(request.profile, rows),
        strategy="exact" if all(exact) else "index",
        candidates=None if all(exact) else total,
        period=request.period,
        profile=request.profile.name,
        floor=request.profile.min_relevance if request.shows_relevance else None,
    )
    if request.diversity:
        hits[:] = yield from _diversified(tables, request, hits)
    if by is not None:
        yield from by.applied(hits)
        request = replace(request, k=by.k)
    if request.surrounding_turns and hits:
        turns = yield from added_turns(tables, parts, exact, hits)
        hits[:] = in_passages([*hits, *turns])
    if linked and hits:
        near = yield from linked_memories(tables, request, hits, linked)
        in_two_parts = request.surrounding_turns or hits.reranked or request.diversity
        hits[:] = [*hits, *near] if in_two_parts else sorted([*hits, *near], key=place)
    return hits, counted


def _diversified(
    tables: Tables, request: Search, hits: Sequence[ScoredMemory]
) -> Operation[list[ScoredMemory]]:
    """The k that maximal marginal relevance chooses among the best, as a context does that has room
    for all, in the order in which they are chosen."""
    alike = yield from similarities(tables, request, hits)
    limits = Limits(most=request.k, diversity=request.diversity)
    types = [one.memory.memory_type for one in hits]
    outcomes = pack(limits, [one.score for one in hits], [0] * len(hits), types, alike=alike)
    chosen = [
        (one.step, hit)
        for one, hit in zip(outcomes, hits, strict=True)
        if one is not None and one.verdict == PACKED
    ]
    return [hit for _, hit in sorted(chosen, key=lambda one: one[0] or 0)]


def _each(agent_id: object, queries: object) -> Iterator[tuple[Any, Any]]:
    """Each query with its owner; raises InputError."""
    several = in_list(queries)
    if several is None:
        raise InputError(f"queries must be a list, got {type(queries).__name__}")
    owners = in_list(agent_id)
    if owners is None:
        owners = [agent_id] * len(several)
    elif len(owners) != len(several):
        raise InputError(
            f"agent_id must be one owner, or one for each query: got {len(owners)} owners for "
            f"{len(several)} queries"
        )
    return zip(owners, several, strict=True)


def require_touch(touch: object) -> None:
    """Raises InputError unless the value is True, False or None."""
    if touch is not None:
        require_bool("touch", touch)


def counts_use(touch: bool | None, profile: Profile) -> bool:
    """True if a retrieval is counted."""
    return profile.reads_usage if touch is None else touch


def require_strategy(strategy: object) -> None:
    """Raises InputError unless the value is a Strategy."""
    known = get_args(Strategy)
    if not isinstance(strategy, str) or strategy not in known:
        raise InputError(f"strategy must be one of {', '.join(known)}, got {shortened(strategy)}")


_MOST = MAX_CONSIDERED // COMPARED_PER_HIT


def require_diverse(
    diversity: float, k: object, arguments: Mapping[str, Any], rerank: object
) -> float:
    """The diversity of a search with these arguments; raises InputError."""
    share = require_diversity(diversity)
    if not share:
        return share
    if arguments.get("surrounding_turns"):
        raise InputError("diversity does not go with surrounding_turns: leave one out")
    if rerank:
        raise InputError("rerank does not go with diversity, which weighs scores: leave one out")
    if isinstance(k, int) and k > _MOST:
        raise InputError(f"with diversity, k may be at most {_MOST}, got {k}")
    return share


def diverse(search: Search, diversity: float) -> Search:
    """The search with this diversity; raises InputError."""
    if search.spans_nodes:
        raise InputError(
            "diversity does not go with teams on Citus, where each owner is ranked on its node: "
            "leave one out"
        )
    return replace(search, diversity=diversity)


def touched(tables: Tables, hits: Sequence[ScoredMemory], search: Search) -> Operation[bool]:
    """Counts a retrieval of each hit, in one statement; in one for each owner where these may be on
    different nodes. Returns whether they were counted."""
    owners: dict[str, list[UUID]] = defaultdict(list)
    for hit in hits:
        owners[hit.memory.owner_id].append(hit.memory.id)
    how = touch_parameters(search.profile)
    if len(owners) == 1 or search.distributed:
        for owner_id, ids in sorted(owners.items()):
            counting = call(tables, "touch", agent=owner_id, memory_ids=ids, **how)
            if (yield counting._replace(counts=True)) is Uncounted:
                return False
    elif owners:
        keys = [(hit.memory.owner_id, hit.memory.id) for hit in hits]
        if (yield touches(tables, keys, how)) is Uncounted:
            return False
    return True


def touch_parameters(profile: Profile) -> dict[str, bool]:
    """The parameters of a touch: whether it sets last_accessed_at, and whether the commit waits for
    the disk, which the repository may override."""
    return {"accessed": profile.accessed_by == "retrieval", "durable": True}
