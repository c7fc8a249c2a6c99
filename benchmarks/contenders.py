"""What is measured against each other: each answers a query in its own way."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from typing import Any

import psycopg
from sqlalchemy import Engine, create_engine

from benchmarks.bare import Bare, not_inlined, sent_by
from benchmarks.cosine import INNER_PRODUCT, Distance
from benchmarks.data import AGENT, ENTITIES, Floats
from benchmarks.fetching import Fetching
from benchmarks.narrow import Narrow
from pgrecall import MemoryRepository
from pgrecall.scoring.profiles import BUILT_IN

K = 10

Contender = Callable[[Floats], object]

COMPOSITE = "five_factor"
COSINE = "cosine distance, same filters"
COSINE_UNFILTERED = "cosine distance, agent_id alone"
INNER = "inner product, agent_id alone"
NARROW = "five_factor, over rows of nothing else"
FETCHING = "all rows fetched, ranked in NumPy"
FETCHING_NARROW = "same, only the columns ranked by"
BARE = "same SQL, bare psycopg"
COMPOSITE_TOUCH = "five_factor, touch"
BARE_TOUCH = "same SQL, bare psycopg, touch"

NOT_INLINED = "same SQL, ages by a function that is not inlined"
PROFILES = tuple(name for name in BUILT_IN if name != COMPOSITE)

BITMAPS_ONLY = "-c enable_indexscan=off"
"""HNSW cannot serve a bitmap scan: ordered by cosine distance, too, every row is looked at."""


@contextmanager
def contenders(url: str) -> Iterator[dict[str, Contender]]:
    """All of them, each on a connection that stays open."""
    with ExitStack() as stack:

        def engine(**arguments: Any) -> Engine:
            made = create_engine(url, pool_size=1, max_overflow=0, connect_args=arguments)
            stack.callback(made.dispose)
            return made

        def connection() -> psycopg.Connection:
            return stack.enter_context(psycopg.connect(url))

        ours = engine()
        repository = MemoryRepository(ours)
        search, touching = (
            sent_by(
                url,
                lambda repo, query, touch=touch: repo.search(  # type: ignore[misc]
                    AGENT, query, k=K, profile=COMPOSITE, touch=touch
                ),
            )
            for touch in (False, True)
        )
        exact = engine(options=BITMAPS_ONLY)
        yield {
            COMPOSITE: lambda query: repository.search(
                AGENT, query, k=K, profile=COMPOSITE, touch=False
            ),
            COSINE: Distance(exact, repository.memories, AGENT, K, filtered=True),
            COSINE_UNFILTERED: Distance(exact, repository.memories, AGENT, K),
            INNER: Distance(exact, repository.memories, AGENT, K, operator=INNER_PRODUCT),
            NARROW: Narrow(engine(), AGENT, K),
            FETCHING: Fetching(connection(), AGENT, K, whole=True),
            FETCHING_NARROW: Fetching(connection(), AGENT, K, whole=False),
            BARE: Bare(connection(), search),
            NOT_INLINED: Bare(connection(), not_inlined(connection(), search)),
            **_profiles(repository),
            COMPOSITE_TOUCH: lambda query: repository.search(AGENT, query, k=K, profile=COMPOSITE),
            BARE_TOUCH: Bare(connection(), touching),
        }


@contextmanager
def profile_contenders(url: str) -> Iterator[dict[str, Contender]]:
    """Every built-in profile, through the repository."""
    engine = create_engine(url, pool_size=1, max_overflow=0)
    repository = MemoryRepository(engine)
    try:
        yield {
            COMPOSITE: lambda query: repository.search(
                AGENT, query, k=K, profile=COMPOSITE, touch=False
            ),
            **_profiles(repository),
        }
    finally:
        engine.dispose()


def _profiles(repository: MemoryRepository) -> dict[str, Contender]:
    def searching(profile: str) -> Contender:
        return lambda query: repository.search(
            AGENT, query, k=K, profile=profile, query_entities=ENTITIES[:3], touch=False
        )

    return {name: searching(name) for name in PROFILES}
