"""Decides when a search uses rank indexes, with how many candidates, and when it falls back."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import partial
from typing import Any

from pgrecall.core.steps import Ask, Keep, Operation, Run
from pgrecall.core.vectors import StoredVector
from pgrecall.rank_index import space
from pgrecall.rank_index.index import MEASURED_HITS, RankIndex, Source, Sources
from pgrecall.ranking.hits import Strategy
from pgrecall.ranking.owner_facts import owner_facts, without_indexes
from pgrecall.ranking.search_parameters import Search
from pgrecall.schema import Layout, Tables
from pgrecall.schema.verbs import call
from pgrecall.scoring.score import shift_of
from pgrecall.scoring.signals import Keyword, Similarity

MAX_UNCOVERED = 0.1
"""`auto` uses the index up to this total weight of signals that it does not cover."""
MAX_CANDIDATES = 1_000
"""The most candidates of the graph: pgvector's limit of hnsw.ef_search."""
FEWEST, PER_HIT, MAX_K = 100, 6, 80
"""The fewest candidates with words, as many per hit are enough, and the greatest k for which an
index is used."""
FILTERED = 3
"""With filters, the number of candidates is multiplied by this, as measured: memories that pass are
further down in the order, where a search of the graph is less thorough."""
ENOUGH, FILTERED_ENOUGH = 3, 5
"""One in this many candidates must pass the filters; otherwise more are fetched."""
AT_LAST = 2
"""With filters and the most candidates, this many passing ones per hit are enough."""
PER_CANDIDATE = 3
"""How many memories a search of the graph compares by words, per candidate. With fewer, more
memories must be looked up by their words, which takes longer than it saves."""
MIN_USE = 0.02
"""Up to this total weight of signals that read use, candidates are chosen by the use before the
build; exact scores have the present one."""


Over = Callable[[Tables, Search, Sources, Mapping[str, Any]], Run]
"""Executes a statement over the candidates of these sources, with these values."""


@dataclass(frozen=True, slots=True)
class IndexPlan:
    """A search of candidates."""

    over: Callable[[Mapping[str, Any]], Run]
    search: Search
    sources: Sources
    usable: Sequence[RankIndex]

    @property
    def candidates(self) -> int:
        """The number of candidates to begin with."""
        return initial_candidates(self.search, self.usable)

    def run(self, candidates: int) -> Run:
        """The search of this number of candidates."""
        reach = scan_budget(self.search, candidates)
        return self.over(self.sources.parameters(candidates, reach))


@dataclass(frozen=True, slots=True)
class Found:
    """The rows of a search with indexes, and the number of memories scored."""

    rows: Sequence[Any]
    total: int


def search_with_index(
    tables: Tables,
    search: Search,
    strategy: Strategy,
    over: Over,
) -> Operation[Found | None]:
    """Executes the statement `over` the candidates of rank indexes.

    Returns None if all memories must be scored.
    If too few candidates pass the filters, it retries with as many as should suffice, judging by
    the share that passed. It gives up if that would be too many or if fewer than k were found.
    """
    attempt = yield from plan_index_use(tables, search, strategy, over)
    if attempt is None:
        return None
    is_filtered, candidates = _is_filtered(search), attempt.candidates
    most = min(candidates, *(index.memories for index in attempt.usable))
    enough = most // (FILTERED_ENOUGH if is_filtered else ENOUGH)
    while True:
        rows = yield attempt.run(candidates)
        if not rows and (yield from _fall_short(tables, search, attempt.usable)):
            yield from without_indexes(tables, [search.agent_id, *search.teams])
        if not rows or rows[0].total < search.most:
            return None
        fewest = rows[0].passed
        if fewest >= enough:
            break
        if is_filtered and candidates == MAX_CANDIDATES and fewest >= AT_LAST * search.most:
            break
        more = 2 * candidates * enough // max(fewest, 1)
        if candidates == MAX_CANDIDATES or more > 2 * MAX_CANDIDATES:
            return None
        candidates = min(more, MAX_CANDIDATES)
    floor = search.min_score
    passed = [row for row in rows if floor is None or row.score >= floor]
    return Found(passed, rows[0].total)


def plan_index_use(
    tables: Tables,
    search: Search,
    strategy: Strategy,
    over: Over,
) -> Operation[IndexPlan | None]:
    """The statement over the candidates of the owners' rank indexes; None if none is worth it."""
    if strategy == "exact" or search.spans_nodes:
        return None
    owners = [search.agent_id, *search.teams]
    rows = yield owner_facts(tables, owners, anew=strategy == "index")
    if rows[0].agent_id is None or not _is_applicable(search, strategy):
        return None
    moment = search.as_of or rows[0].now  # some seconds ago, which only affects candidates
    usable = [
        index
        for index in map(index_of, with_index(rows))
        if index.is_usable
        and index.as_of <= moment
        and (strategy == "index" or index.memories >= index.at_least)
    ]
    if not usable:
        return None
    layout: Layout = yield Ask("layout")
    means = {
        row.agent_id: row.mean
        for row in with_index(rows)
        if row.mean is not None and (row.mean_latest is None or row.mean_latest <= moment)
    }
    sources = _sources(search, owners, usable, means, moment, layout)
    run = partial(over, tables, search, sources)
    return IndexPlan(run, search, sources, usable)


def initial_candidates(search: Search, usable: Sequence[RankIndex]) -> int:
    """The number of candidates to begin with: as each build measured, more if one signal decides,
    fewer the more words count, since the graph's memories are compared by their words too."""
    number = max(index.candidates_for(search.profile) for index in usable)
    number = max(number, min(PER_HIT * MEASURED_HITS, number) * search.most // MEASURED_HITS)
    if one_sided := space.one_sided(search.profile):
        if not search.ranks_by_words:
            number *= 2
        alone = max(index.candidates_alone for index in usable)
        number += int(one_sided * max(alone - number, 0))
    if search.ranks_by_words:
        number = int(number * (1 - search.profile.weights[Keyword.name]) ** 2)
        number = max(number, PER_HIT * search.most, FEWEST)
    if space.is_rough(search.profile):
        number *= 2
    if _is_filtered(search):
        number *= FILTERED
    return min(number, MAX_CANDIDATES)


def _fall_short(tables: Tables, search: Search, indexes: Sequence[RankIndex]) -> Operation[bool]:
    """True if an index in which a search found nothing gives no candidates at all. With filters and
    floors, it may be that no candidate passed."""
    floors = search.min_relevance, search.min_score
    if search.filters.are_default and all(one is None for one in floors):
        return True
    for index in indexes:
        beside = call(
            tables,
            "beside_index",
            "beside_index IS NULL AS falls_short",
            agent=index.agent_id,
            relation=index.relation,
            since=index.written_until,
        )
        [row] = yield beside._replace(keep=Keep())
        if row.falls_short:
            return True
    return False


def _is_filtered(search: Search) -> bool:
    """True if filters require more candidates. With words, a search of the graph goes further
    anyway."""
    return not search.ranks_by_words and not search.filters.are_default


def scan_budget(search: Search, candidates: int) -> int:
    """How many memories a search of the graph compares to return the best."""
    if not search.ranks_by_words:
        return min(3 * candidates // 2, MAX_CANDIDATES)
    return min(PER_CANDIDATE * candidates, MAX_CANDIDATES)


def _follows_use(search: Search) -> bool:
    """True if a search looks for candidates by their present use."""
    weight = sum(weight for signal, weight in search.profile if signal.reads_usage)
    return weight > MIN_USE


def _is_applicable(search: Search, strategy: Strategy) -> bool:
    """True if an index could answer this search."""
    filters = search.filters
    if search.weighs_time or search.profile.decay is not None:
        return False  # positions do not contain it, and it may decide the order
    if filters.include_inactive:
        return False  # the index only contains active, valid memories
    if search.most > MAX_K:
        return False
    if strategy == "index":
        return True
    similarity = search.profile.find(Similarity)
    if search.query is None or similarity is None or not search.profile.signals[similarity]:
        return False  # without a vector, scoring everything is cheap
    beyond = space.uncovered(search.profile, with_entities=search.may_name)
    return beyond <= MAX_UNCOVERED


def _sources(
    search: Search,
    owners: Sequence[str],
    usable: Sequence[RankIndex],
    means: Mapping[str, Sequence[float]],
    moment: datetime,
    layout: Layout,
) -> Sources:
    known = {index.agent_id: index for index in usable}
    shift = shift_of(search.profile.signals)

    def source(index: RankIndex) -> Source:
        toward = partial(
            space.direction,
            search.profile,
            (moment - index.as_of) / timedelta(days=1),
            with_query=search.query is not None,
        )
        similarity, signals = toward()
        mean = means.get(index.agent_id) if shift else None
        meaning = _meaning(search.query, layout.dimensions, similarity, mean, shift)
        used = _direction(meaning, toward(used=True)[1]) if _follows_use(search) else None
        return Source(
            index.agent_id, index.relation, index.written_until, _direction(meaning, signals), used
        )

    keyword = search.profile.find(Keyword)
    return Sources(
        words=() if keyword is None else (keyword.b, keyword.pivot),
        indexes=[source(known[owner_id]) for owner_id in owners if owner_id in known],
        whole=[owner_id for owner_id in owners if owner_id not in known],
    )


def _meaning(
    query: StoredVector | None,
    dimensions: int,
    similarity: float,
    mean: Sequence[float] | None,
    shift: float,
) -> list[str]:
    """The components of the unit query, less a share of the mean, by the weight of similarity."""
    if query is None:
        return ["0"] * dimensions
    values = _unit(query.to_list())
    if mean is not None and len(mean) == len(values):
        values = _unit([one - shift * its for one, its in zip(values, mean, strict=True)])
    return [f"{similarity * value:.5g}" for value in values]


def _direction(meaning: Sequence[str], signals: Sequence[float]) -> str:
    """The direction of the query, as text; the axis that equalises lengths is 0."""
    return f"[{','.join([*meaning, *(f'{one:.5g}' for one in signals), '0'])}]"


def _unit(values: Sequence[float]) -> list[float]:
    length = math.hypot(*values)
    return [value / length for value in values]


def with_index(rows: Iterable[Any]) -> list[Any]:
    """The rows of `owner_facts` that are rank indexes."""
    return [row for row in rows if row.agent_id is not None]


def index_of(row: Any, **known: Any) -> RankIndex:
    """Converts a row of the list of rank indexes; `known` replaces or adds fields."""
    names = RankIndex.__dataclass_fields__.keys() - known.keys()
    return RankIndex(**{name: getattr(row, name) for name in names}, **known)
