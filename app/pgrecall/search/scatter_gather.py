"""Ranks several owners who may be on different nodes: owner by owner, and then merged.

The statement of one owner runs on the node of that owner, which knows the words of the others. A
statement that continues with the best of all takes them as parameters.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import chain
from typing import Any

from pgrecall.core.steps import Operation
from pgrecall.rank_index.strategy import over_candidates, search_with_index
from pgrecall.ranking.composing import ranks
from pgrecall.ranking.hits import Strategy
from pgrecall.ranking.search_parameters import Search
from pgrecall.schema import Tables


@dataclass(frozen=True, slots=True)
class Ranked:
    """The best memories of all owners, or nothing if one statement ranks them."""

    parameters: Mapping[str, Any]
    """The rows, as the file ranked_apart takes them, and `exact`: true if no index was used."""
    candidates: int | None = None
    """The number of memories scored, if an index was used."""


ALL_AT_ONCE = Ranked({"exact": True})
"""Of a search whose owners are not divided."""


def each_owner(search: Search) -> list[Search]:
    """The same search of each owner alone, if they may be on different nodes; else the search."""
    if not search.spans_nodes:
        return [search]
    owners = (search.agent_id, *search.teams)
    return [replace(search, agent_id=one, teams=(), others=owners) for one in owners]


def scatter_gather(tables: Tables, search: Search, strategy: Strategy) -> Operation[Ranked]:
    """The memories that one statement would rank first among those of all these owners, who may be
    on different nodes.

    Each owner is ranked through its rank index, or all its memories are scored.
    """
    alone = replace(search, k=search.most, surrounding_turns=0, min_score=None)
    rows: list[Sequence[Any]] = []
    candidates: list[int] = []
    over = partial(over_candidates, name="best")
    for one in each_owner(alone):
        indexed = yield from search_with_index(tables, one, strategy, over)
        if indexed is None:
            rows.append((yield ranks(tables, "best", one)))
        else:
            rows.append(indexed.rows)
            candidates.append(indexed.total)
    best = sorted(chain.from_iterable(rows), key=lambda row: (-row.score, row.id))[: alone.k]
    scored = sum(candidates) or None
    return Ranked({"exact": scored is None, **as_parameters(best)}, scored)


def as_parameters(rows: Sequence[Any]) -> dict[str, Any]:
    """Rows of several owners as columns, which a statement about all of them takes."""
    return {
        f"ranked_{name}": [getattr(row, column, None) for row in rows]
        for name, column in _COLUMNS.items()
    }


_COLUMNS = {
    "owners": "agent_id",
    "ids": "id",
    "scores": "score",
    "shares": "share",
    "coverages": "coverage",
}
