"""Searches of several agents who may be on different nodes: agent by agent, and then merged.

The statement of one agent runs on that agent's node, which knows the words of the others.
"""

from __future__ import annotations

from dataclasses import replace

from pgrecall.ranking.search_parameters import Search


def each_owner(search: Search) -> list[Search]:
    """The same search of each owner alone, if they may be on different nodes; else the search."""
    if not search.spans_nodes:
        return [search]
    owners = (search.agent_id, *search.teams)
    return [replace(search, agent_id=one, teams=(), others=owners) for one in owners]
