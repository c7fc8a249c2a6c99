"""Searching in rank indexes: when it is worth it, with how many candidates, and when to give up."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from typing import Any

from pgrecall import rank_space, statements
from pgrecall.hits import Strategy
from pgrecall.rank_index import RankIndex, used_since
from pgrecall.schema import Layout, Tables
from pgrecall.signals import Similarity
from pgrecall.statements import Search, Source, Sources
from pgrecall.steps import Execute, Inspect, Lookup, Operation

MAX_UNCOVERED = 0.1
"""The weight of signals that the index knows nothing of, up to which auto takes it."""
CANDIDATES, MAX_CANDIDATES = 100, 1_000
"""How many the graph hands on at first, and at most: as many as pgvector's walk may keep."""
PER_HIT, MAX_K = 6, 80
"""At least so many candidates for each hit asked for, and the most hits an index is asked for."""


@dataclass(frozen=True, slots=True)
class Found:
    """The rows of a search through indexes, and how many memories were scored for them."""

    rows: Sequence[Any]
    total: int


def through_indexes(tables: Tables, wanted: Search, strategy: Strategy) -> Operation[Found | None]:
    """The k best by way of rank indexes; None where all memories have to be scored.

    With fewer than enough candidates that pass the filters it asks for more, as many as should do
    by what has passed so far; where that would be too many, or fewer than k were found, all.
    """
    if strategy == "exact" or not _suits(wanted, strategy):
        return None
    rows = yield look_up(tables, wanted.agent_id, wanted.teams, anew=strategy == "index")
    usable = [row for row in rows if _is_usable(row, wanted, strategy)]
    if not usable:
        return None
    layout: Layout = yield Inspect()
    sources = _sources(tables, wanted, usable, layout)
    candidates = _at_first(wanted)
    enough = candidates // 3
    without_floor = replace(wanted, min_score=None)
    statement = statements.search_candidates(tables, without_floor, sources)
    while True:
        found = yield Execute(
            statement,
            without_floor.parameters | sources.parameters(candidates),
        )
        if not found or found[0].total < wanted.k:
            return None
        fewest = min(found[0].passed)
        if fewest >= enough:
            break
        more = 2 * candidates * enough // max(fewest, 1)
        if candidates == MAX_CANDIDATES or more > 2 * MAX_CANDIDATES:
            return None
        candidates = min(more, MAX_CANDIDATES)
    floor = wanted.min_score
    return Found([row for row in found if floor is None or row.score >= floor], found[0].total)


def look_up(tables: Tables, owner_id: str, teams: Sequence[str], *, anew: bool) -> Lookup:
    """The rank indexes of these owners.

    One that has been replaced since hands on nothing, and then every memory is scored; the time it
    was built at stays true.
    """
    parameters = {"owner_id": owner_id, "teams": list(teams)}
    return Lookup(statements.rank_indexes(tables), parameters, anew)


def _at_first(wanted: Search) -> int:
    number = max(CANDIDATES, PER_HIT * wanted.k)
    return 2 * number if rank_space.is_hard(wanted.profile) else number


def _suits(wanted: Search, strategy: Strategy) -> bool:
    """Whether an index could answer at all, whichever there is."""
    filters = wanted.filters
    if filters.include_invalid or list(filters.statuses) != ["active"]:
        return False  # what is not recalled is not in it
    if wanted.k > MAX_K:
        return False
    if strategy == "index":
        return True
    leans = sum(weight for signal, weight in wanted.profile if isinstance(signal, Similarity))
    if wanted.query is None or not leans:
        return False  # without a vector, scoring everything is cheap
    beyond = rank_space.uncovered(wanted.profile, with_entities=bool(wanted.query_entities))
    return beyond <= MAX_UNCOVERED


def _is_usable(row: Any, wanted: Search, strategy: Strategy) -> bool:
    if row.space != rank_space.VERSION or _moment(wanted) < row.as_of:
        return False
    return strategy == "index" or bool(row.memories >= row.at_least)


def _sources(tables: Tables, wanted: Search, usable: Sequence[Any], layout: Layout) -> Sources:
    team_table = tables.team_memories.name
    of_teams = {row.agent_id for row in usable if row.table_name == team_table}
    own = [row for row in usable if row.table_name == tables.memories.name]
    if tables.memories is tables.team_memories:
        own = [row for row in own if row.agent_id == wanted.agent_id]
    theirs = [row for row in usable if row not in own and row.agent_id in of_teams]
    return Sources(
        indexes=[_source(row, row in theirs, wanted, layout) for row in (*own, *theirs)],
        whole_own=not own,
        whole_teams=[team for team in wanted.teams if team not in {r.agent_id for r in theirs}],
    )


def _source(row: Any, of_team: bool, wanted: Search, layout: Layout) -> Source:
    return Source(
        owner_id=row.agent_id,
        of_team=of_team,
        relation=row.relation,
        built_at=row.built_at,
        used_since=used_since(row.as_of, row.built_at),
        direction=_direction(wanted, (_moment(wanted) - row.as_of) / timedelta(days=1), layout),
    )


def _moment(wanted: Search) -> datetime:
    """By the client's clock where none is given: it only orders candidates."""
    return wanted.as_of or datetime.now(UTC)


def _direction(wanted: Search, elapsed: float, layout: Layout) -> str:
    """The query in the rank space; the axis that evens out lengths has nothing to say."""
    similarity, coordinates = rank_space.direction(
        wanted.profile, elapsed, with_query=wanted.query is not None
    )
    meaning = [0.0] * layout.dimensions
    if wanted.query is not None:
        values = wanted.query.to_list()
        scale = similarity / math.hypot(*values)
        meaning = [value * scale for value in values]
    numbers = (*meaning, *coordinates, 0.0)
    return f"[{','.join(['%.5g'] * len(numbers))}]" % numbers


def index_of(row: Any) -> RankIndex:
    """A row of the list of rank indexes as a record."""
    fields = RankIndex.__dataclass_fields__
    return RankIndex(**{name: getattr(row, name) for name in fields})
