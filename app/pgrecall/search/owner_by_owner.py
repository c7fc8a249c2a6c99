"""A search of several owners who may be on different nodes: owner by owner, and then merged.

The statement of one owner runs on the node of that owner, which knows the words of the others. What
several owners share is the number of hits: where it decides which turns come along or lend, each
owner's hits are counted first.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from itertools import chain, groupby
from typing import Any
from uuid import UUID

from pgrecall.core.steps import Execute, Operation
from pgrecall.rank_index.candidates import search_candidates
from pgrecall.rank_index.strategy import through_indexes
from pgrecall.ranking.exact import search_statement
from pgrecall.ranking.hits import Hits, Strategy
from pgrecall.ranking.search_parameters import Search
from pgrecall.schema import Tables
from pgrecall.scoring.scored_memory import ScoredMemory

Read = Callable[[Any], ScoredMemory]
"""Converts a row of the search statement."""


def each_owner(wanted: Search) -> list[Search]:
    """The same search of each owner alone, if they may be on different nodes; else the search."""
    if not wanted.is_divided:
        return [wanted]
    owners = (wanted.agent_id, *wanted.teams)
    return [replace(wanted, agent_id=one, teams=(), others=owners) for one in owners]


def place(found: ScoredMemory) -> tuple[float, UUID]:
    """Sorts hits: best first, ties by id."""
    return -found.score, found.memory.id


def owner_by_owner(
    tables: Tables, wanted: Search, strategy: Strategy, read: Read
) -> Operation[Hits]:
    """The hits that one statement would find for all these owners, in the same order.

    Each owner is searched through its rank index, or all its memories are scored.
    """
    alone = wanted
    if wanted.expand_session:
        floor = None if wanted.lend is not None else wanted.min_score
        alone = replace(wanted, k=wanted.most, expand_session=0, lend=None, min_score=floor)
    found: list[Hits] = []
    for one in each_owner(alone):
        found.append((yield from _found(tables, one, strategy, {}, read)))
    best = sorted(chain.from_iterable(found), key=place)[: alone.k]
    hits = Hits(
        best,
        strategy="index" if any(one.strategy == "index" for one in found) else "exact",
        candidates=sum(one.candidates or 0 for one in found) or None,
        query_time=wanted.query_time,
    )
    if not wanted.expand_session:
        return hits
    numbers = Counter(hit.memory.owner_id for hit in best)
    with_turns: list[Hits] = []
    for one in each_owner(wanted):
        if number := numbers[one.agent_id]:
            counted = {"k": number} if wanted.lend is None else {"ranked": number}
            with_turns.append((yield from _found(tables, one, strategy, counted, read)))
    if wanted.lend is not None:
        hits[:] = sorted(chain.from_iterable(with_turns), key=place)[: wanted.k]
    else:
        passages = sorted(chain.from_iterable(map(_passages, with_turns)), key=_best_place)
        hits[:] = chain.from_iterable(passages)
    return hits


def _found(
    tables: Tables, one: Search, strategy: Strategy, counted: Mapping[str, int], read: Read
) -> Operation[Hits]:
    """The hits of one owner. `counted` says how many of them are among the best of all owners."""
    if "k" in counted:
        counted = {**counted, "ranked": counted["k"]}
    found = yield from through_indexes(tables, one, strategy, search_candidates, **counted)
    if found is not None:
        return Hits(map(read, found.rows), strategy="index", candidates=found.total)
    statement, parameters = search_statement(tables, one), {**one.parameters, **counted}
    rows = yield Execute(statement, parameters, may_prepare=one.may_prepare)
    return Hits(map(read, rows))


def _passages(rows: Iterable[ScoredMemory]) -> list[list[ScoredMemory]]:
    """One owner's rows by the session that they belong to; each of the others is alone."""
    return [list(turns) for _, turns in groupby(rows, key=_passage)]


def _passage(row: ScoredMemory) -> str | UUID:
    return row.memory.id if row.memory.session is None else row.memory.session


def _best_place(passage: list[ScoredMemory]) -> tuple[float, UUID]:
    return min(place(row) for row in passage if row.beside is None)
