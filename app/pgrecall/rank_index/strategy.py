"""Searching in rank indexes: when it is worth it, with how many candidates, and when to give up."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from typing import Any

from sqlalchemy import Executable

from pgrecall.core.steps import Execute, Inspect, Operation
from pgrecall.core.vectors import StoredVector, as_text
from pgrecall.rank_index import space
from pgrecall.rank_index.candidates import Source, Sources, search_candidates
from pgrecall.rank_index.index import LEVELS, RankIndex
from pgrecall.ranking.hits import Strategy
from pgrecall.ranking.known_owners import known_owners
from pgrecall.ranking.wanted import Search
from pgrecall.schema import Layout, Tables
from pgrecall.scoring.profile import Profile
from pgrecall.scoring.signals import Similarity

MAX_UNCOVERED = 0.1
"""The weight of signals that the index knows nothing of, up to which auto takes it."""
MAX_CANDIDATES = 1_000
"""How many the graph hands on at most: as many as pgvector's walk may keep."""
PER_HIT, MAX_K = 6, 80
"""At least so many candidates for each hit asked for, and the most hits an index is asked for."""
FILTERED = 3
"""So many times as many where there are filters, as measured: what passes them lies further down,
where a walk is less thorough."""
ENOUGH, FILTERED_ENOUGH = 3, 5
"""One in so many has to pass."""
AT_LAST = 2
"""So many for each hit do where there are filters and no more can be asked for."""
PER_CANDIDATE = 4
"""So many are compared by words for each candidate handed on: with fewer, more memories have to be
looked up by their words, which takes longer than it saves."""


Over = Callable[[Tables, Search, Sources], Executable]
"""The statement over the candidates of these sources."""


@dataclass(frozen=True, slots=True)
class Attempt:
    """A statement over candidates, and how many it takes at first."""

    statement: Executable
    given: Mapping[str, Any]
    sources: Sources
    usable: Sequence[RankIndex]
    candidates: int

    def parameters(self, candidates: int) -> dict[str, Any]:
        """All of them, with so many candidates."""
        reach = how_far(self.usable, candidates)
        return {**self.given, **self.sources.parameters(candidates, reach)}


@dataclass(frozen=True, slots=True)
class Found:
    """The rows of a search through indexes, and how many memories were scored for them."""

    rows: Sequence[Any]
    total: int


def through_indexes(
    tables: Tables,
    wanted: Search,
    strategy: Strategy,
    over: Over = search_candidates,
    **given: Any,
) -> Operation[Found | None]:
    """The k best by way of rank indexes, or what a statement `over` their candidates makes of them,
    with the parameters `given`; None where all memories have to be scored.

    With fewer than enough candidates that pass the filters it asks for more, as many as should do
    by what has passed so far; where that would be too many, or fewer than k were found, all.
    """
    attempt = yield from first_attempt(tables, wanted, strategy, over, **given)
    if attempt is None:
        return None
    is_filtered, candidates = _is_filtered(wanted), attempt.candidates
    enough = candidates // (FILTERED_ENOUGH if is_filtered else ENOUGH)
    while True:
        found = yield Execute(attempt.statement, attempt.parameters(candidates))
        if not found or found[0].total < wanted.most:
            return None
        fewest = min(found[0].passed)
        if fewest >= enough:
            break
        if is_filtered and candidates == MAX_CANDIDATES and fewest >= AT_LAST * wanted.most:
            break
        more = 2 * candidates * enough // max(fewest, 1)
        if candidates == MAX_CANDIDATES or more > 2 * MAX_CANDIDATES:
            return None
        candidates = min(more, MAX_CANDIDATES)
    floor = None if wanted.shape.brings_along else wanted.min_score
    passed = [row for row in found if floor is None or row.score >= floor]
    return Found(passed, found[0].total)


def first_attempt(
    tables: Tables,
    wanted: Search,
    strategy: Strategy,
    over: Over = search_candidates,
    **given: Any,
) -> Operation[Attempt | None]:
    """The statement that looks through the rank indexes there are; None where none is worth it."""
    if strategy == "exact" or not _suits(wanted, strategy):
        return None
    # By the client's clock where no moment is given: it only orders candidates.
    moment = wanted.as_of or datetime.now(UTC)
    owners = [wanted.agent_id, *wanted.teams]
    rows = yield known_owners(tables, owners, anew=strategy == "index")
    usable = [
        index
        for index in map(index_of, with_index(rows))
        if index.is_usable
        and index.as_of <= moment
        and (strategy == "index" or index.memories >= index.at_least)
    ]
    if not usable:
        return None
    layout: Layout = yield Inspect()
    sources = _sources(wanted, owners, usable, moment, layout)
    if not wanted.shape.brings_along:  # what comes along depends on it
        wanted = replace(wanted, min_score=None)
    statement = over(tables, wanted, sources)
    parameters = wanted.parameters | given
    return Attempt(statement, parameters, sources, usable, at_first(wanted, usable))


def at_first(wanted: Search, usable: Sequence[RankIndex]) -> int:
    """How many an index hands on: by words too they come nearly in order, so that few do."""
    if wanted.ranks_by_words:
        number = max(PER_HIT * wanted.most, LEVELS[0])
        return 2 * number if space.is_rough(wanted.profile) else number
    number = max(PER_HIT * wanted.most, *(index.candidates for index in usable))
    if space.is_hard(wanted.profile):
        number *= 2
    if _is_filtered(wanted):
        number *= FILTERED
    return min(number, MAX_CANDIDATES)


def _is_filtered(wanted: Search) -> bool:
    """Whether filters ask for more candidates; where words count, a walk looks further anyway."""
    return not wanted.ranks_by_words and not wanted.filters.are_default


def how_far(usable: Sequence[RankIndex], candidates: int) -> int:
    """How many a walk looks at that hands on the best of them by position and words."""
    number = max(PER_CANDIDATE * candidates, *(3 * index.candidates // 2 for index in usable))
    return min(number, MAX_CANDIDATES)


def _suits(wanted: Search, strategy: Strategy) -> bool:
    """Whether an index could answer at all, whichever there is."""
    filters = wanted.filters
    if wanted.weighs_time:
        return False  # positions say nothing of it, and it may well decide
    if filters.include_invalid or list(filters.statuses) != ["active"]:
        return False  # what is not recalled is not in it
    if wanted.most > MAX_K:
        return False
    if strategy == "index":
        return True
    leans = sum(weight for signal, weight in wanted.profile if isinstance(signal, Similarity))
    if wanted.query is None or not leans:
        return False  # without a vector, scoring everything is cheap
    beyond = space.uncovered(wanted.profile, with_entities=bool(wanted.query_entities))
    return beyond <= MAX_UNCOVERED


def _sources(
    wanted: Search,
    owners: Sequence[str],
    usable: Sequence[RankIndex],
    moment: datetime,
    layout: Layout,
) -> Sources:
    known = {index.agent_id: index for index in usable}
    return Sources(
        indexes=[
            Source(
                owner_id=index.agent_id,
                relation=index.relation,
                built_at=index.built_at,
                used_since=index.used_since,
                direction=direction(
                    wanted.profile, wanted.query, (moment - index.as_of) / timedelta(days=1), layout
                ),
            )
            for index in (known[owner_id] for owner_id in owners if owner_id in known)
        ],
        whole=[owner_id for owner_id in owners if owner_id not in known],
    )


def direction(profile: Profile, query: StoredVector | None, elapsed: float, layout: Layout) -> str:
    """The query in the rank space; the axis that evens out lengths has nothing to say."""
    similarity, coordinates = space.direction(profile, elapsed, with_query=query is not None)
    meaning = [0.0] * layout.dimensions
    if query is not None:
        values = query.to_list()
        scale = similarity / math.hypot(*values)
        meaning = [value * scale for value in values]
    return as_text([*meaning, *coordinates, 0.0], digits=5)


def with_index(rows: Iterable[Any]) -> list[Any]:
    """The rows of `known_owners` that are rank indexes."""
    return [row for row in rows if row.agent_id is not None]


def index_of(row: Any, **known: Any) -> RankIndex:
    """A row of the list of rank indexes as a record, but for what is known."""
    names = RankIndex.__dataclass_fields__.keys() - known.keys()
    return RankIndex(**{name: getattr(row, name) for name in names}, **known)
