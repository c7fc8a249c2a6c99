"""One search at a time, by agents of each size."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from typing import Any

import psycopg
from rich.progress import Progress
from sqlalchemy import create_engine

from benchmarks.data import Floats
from benchmarks.everyday.agents import SIZES, agents_of, queries
from benchmarks.everyday.by_hand import Cosine, Score
from benchmarks.measurement import Measurement
from benchmarks.measuring import Timing, measured
from pgrecall import MemoryRepository

COSINE, SCORE = "cosine by hand, BEGIN and COMMIT", "score by hand"
TOUCH, PLAIN = "search", "search, touch=False"
RELAXED, HYBRID = "search, durable_touch=False", "search, hybrid with text, touch=False"
SESSION = "search in a caller's transaction"
TEXT = "the budget of the next release"
Search = Callable[[str, Floats], Any]
Asked = tuple[str, Floats]

GOALS = {  # size → search over cosine, search without touch over the score
    100: (2.0, 1.5),
    1_000: (2.2, 1.3),
    10_000: (1.4, 1.15),
}


@contextmanager
def searches(url: str) -> Iterator[dict[str, Search]]:
    """Each on a connection that stays open."""
    with ExitStack() as stack:

        def connection() -> psycopg.Connection:
            return stack.enter_context(psycopg.connect(url))

        def repository(**options: Any) -> MemoryRepository:
            engine = create_engine(url, pool_size=1, max_overflow=0)
            stack.callback(engine.dispose)
            return MemoryRepository(engine, **options)

        touching, relaxed, plain, hybrid = (
            repository(),
            repository(durable_touch=False),
            repository(),
            repository(),
        )
        engine = create_engine(url, pool_size=1, max_overflow=0)
        stack.callback(engine.dispose)

        def in_transaction(agent_id: str, query: Floats) -> Any:
            with engine.begin() as theirs:
                return MemoryRepository(theirs).search(agent_id, query, profile="five_factor")

        yield {
            COSINE: Cosine(connection()),
            SCORE: Score(connection()),
            TOUCH: lambda agent, query: touching.search(agent, query, profile="five_factor"),
            RELAXED: lambda agent, query: relaxed.search(agent, query, profile="five_factor"),
            SESSION: in_transaction,
            PLAIN: lambda agent, query: plain.search(
                agent, query, profile="five_factor", touch=False
            ),
            HYBRID: lambda agent, query: hybrid.search(agent, query, query_text=TEXT, touch=False),
        }


def timings(
    url: str, rounds: int, scale: float, seed: int, progress: Progress
) -> dict[int, dict[str, Timing]]:
    """Size → how long each took, by agents of that size in turn."""
    chosen = random.Random(seed)
    with searches(url) as every:
        asking = {name: _asking(search) for name, search in every.items()}
        return {
            size: measured(
                asking,
                [(chosen.choice(agents_of(size, scale)), query) for query in queries(40, seed)],
                max(rounds if size < 10_000 else rounds // 4, 2),
                progress,
                seed=seed,
                what=f"agents of {size:,}",
            )
            for size in SIZES
        }


def _asking(search: Search) -> Callable[[Asked], Any]:
    return lambda asked: search(*asked)


def measurements(size: int, timed: dict[str, Timing]) -> list[Measurement]:
    """The ratios that are goals, and the others beside them."""
    over_cosine, over_score = GOALS[size]
    return [
        Measurement(f"{TOUCH} / {COSINE}", timed[TOUCH].over(timed[COSINE]), "×", over_cosine),
        Measurement(f"{PLAIN} / {SCORE}", timed[PLAIN].over(timed[SCORE]), "×", over_score),
        *(
            Measurement(f"{name} / {COSINE}", timed[name].over(timed[COSINE]), "×")
            for name in (RELAXED, SESSION, PLAIN, HYBRID)
        ),
        Measurement(COSINE, 1e3 * timed[COSINE].median, "ms"),
        Measurement(TOUCH, 1e3 * timed[TOUCH].median, "ms"),
    ]
