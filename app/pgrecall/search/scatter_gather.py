"""Ranks several owners who may be on different nodes: owner by owner, and then merged.

The statement of one owner runs on the node of that owner, which knows the words of the others. A
statement that continues with the best of all takes them as parameters.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from pgrecall.ranking.search_parameters import Search


def each_owner(search: Search) -> list[Search]:
    """The same search of each owner alone, if they may be on different nodes; else the search."""
    if not search.spans_nodes:
        return [search]
    owners = (search.agent_id, *search.teams)
    return [replace(search, agent_id=one, teams=(), others=owners) for one in owners]


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
