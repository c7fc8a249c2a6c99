"""Prepares connections for searches."""

from __future__ import annotations

from functools import partial
from typing import Final, Unpack

from pgrecall.core.steps import READS, Ask, Job, Operation, Part, needs
from pgrecall.core.validation import require_count
from pgrecall.ranking.arguments import SearchArguments
from pgrecall.schema import Layout, Tables
from pgrecall.search.searching import search

CACHED_AFTER: Final = 7
"""Executions until the plan is cached: one by SQLAlchemy, five that PostgreSQL plans each time,
and the one that caches it."""
MAX_CONNECTIONS: Final = 1_000
NOBODY: Final = "pgrecall: no agent"


def prepare(*, connections: int = 1, **arguments: Unpack[SearchArguments]) -> Job[None]:
    """Prepares this many connections of the engine's pool for searches with these arguments.

    On each connection it runs such a search, for an agent without memories, until its plan is
    cached; without `query_text` also a search with a text. The first searches of a new process are
    then as fast as later ones. The arguments are those of `search`; for most it only matters
    whether they are given.

    Raises InputError for a repository that is not on an Engine, and the errors of `search`.
    """
    require_count("connections", connections, at_least=1, at_most=MAX_CONNECTIONS)
    if arguments.get("teams"):
        arguments["teams"] = [NOBODY]
    variants = [arguments]
    if "query_text" not in arguments:
        variants.append({**arguments, "query_text": "text"})
    yield Part(partial(_searched, variants=variants), connections)


@needs(READS)
def _searched(tables: Tables, variants: list[SearchArguments]) -> Operation[None]:
    layout: Layout = yield Ask("layout")
    for arguments in variants:
        for _ in range(CACHED_AFTER):
            yield from search(tables, NOBODY, [1.0] * layout.dimensions, **arguments)
