"""Getting connections ready for searches."""

from __future__ import annotations

from functools import partial
from typing import Final, Unpack

from pgrecall.core.steps import Inspect, Job, OnConnections, Operation
from pgrecall.core.validation import require_count
from pgrecall.ranking.arguments import SearchArguments
from pgrecall.schema import Layout, Tables
from pgrecall.search.searching import search

CACHED_AFTER: Final = 7
"""Executions: by SQLAlchemy once, then five that PostgreSQL plans anew before it caches a plan."""
MAX_CONNECTIONS: Final = 1_000
NOBODY: Final = "pgrecall: no agent"


def prepare(*, connections: int = 1, **arguments: Unpack[SearchArguments]) -> Job[None]:
    """Gets so many connections of the engine's pool ready for searches with these arguments.

    Runs such a search on each until its plan is cached, for an agent without memories; without
    `query_text` also one with a text. A process that has just started then answers its first
    searches as fast as later ones. Arguments are those of `search`; of most it only matters whether
    they are given.

    Raises InputError for a repository that is not on an Engine, and what `search` raises.
    """
    require_count("connections", connections, at_least=1, at_most=MAX_CONNECTIONS)
    if arguments.get("teams"):
        arguments["teams"] = [NOBODY]
    variants = [arguments]
    if "query_text" not in arguments:
        variants.append({**arguments, "query_text": "text"})
    yield OnConnections(partial(_searched, variants=variants), connections)


def _searched(tables: Tables, variants: list[SearchArguments]) -> Operation[None]:
    layout: Layout = yield Inspect()
    for arguments in variants:
        for _ in range(CACHED_AFTER):
            yield from search(tables, NOBODY, [1.0] * layout.dimensions, **arguments)
