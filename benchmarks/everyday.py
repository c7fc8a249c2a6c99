"""`python -m benchmarks.everyday`: searches of agents of 100, 1,000 and 10,000 memories.

Beside what people write by hand, sent by psycopg alone and prepared: the ten nearest by cosine in
a transaction of its own, and the score of five_factor without counters, filters and signals.
"""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from functools import partial
from typing import Annotated, Any

import psycopg
import typer
from pgvector.psycopg import register_vector
from sqlalchemy import create_engine

from benchmarks.data import Corpus, Floats, Row
from benchmarks.loading import load_rows
from benchmarks.measuring import Timing, measured, print_machine, print_table, say
from benchmarks.server import server
from pgrecall import MemoryRepository

SIZES = {100: [f"agent of 100, {number}" for number in range(1_000)]} | {
    size: [f"agent of {size:,}"] for size in (1_000, 10_000)
}
"""Memories → the agents that have so many."""
COSINE = """
SELECT id, content, embedding <=> %s AS distance
  FROM pgrecall.agent_memories WHERE agent_id = %s ORDER BY distance LIMIT 10
"""
SCORE = """
SELECT id, content,
       0.40::float8 * greatest(0, 1 - (embedding <=> %s))
     + 0.25::float8 * exp(-0.05::float8 * greatest(0,
         (date_part('epoch', now()) - date_part('epoch', created_at)) / 86400::float8))
     + 0.20::float8 * usefulness + 0.10::float8 * confidence AS score
  FROM pgrecall.agent_memories WHERE agent_id = %s ORDER BY score DESC, id LIMIT 10
"""
TEXT = "the budget of the next release"
SECONDS = 3.0
"""How long clients search together."""
Asked = tuple[str, Floats]
Search = Callable[[str, Floats], Any]


def agents_of(size: int, scale: float) -> list[str]:
    """The agents that have so many memories."""
    return SIZES[size][: max(1, int(scale * len(SIZES[size])))]


def rows(scale: float, seed: int) -> Iterator[Row]:
    """All memories, those of one agent together; `scale` of the agents of 100."""
    owners = [owner for size in SIZES for owner in agents_of(size, scale) for _ in range(size)]
    for row, owner in zip(Corpus.of(len(owners), seed), owners, strict=True):
        yield replace(row, agent_id=owner)


def questions(count: int, seed: int) -> list[Floats]:
    return Corpus.of(1_000, seed).queries(count)


@contextmanager
def searches(url: str) -> Iterator[dict[str, Search]]:
    """Each on a connection that stays open."""
    with ExitStack() as stack:

        def by_hand(statement: str, *, alone: bool) -> Search:
            connection = stack.enter_context(psycopg.connect(url, autocommit=True))
            register_vector(connection)

            def search(agent_id: str, query: Floats) -> Any:
                if alone:
                    return connection.execute(statement, (query, agent_id), prepare=True).fetchall()
                with connection.transaction():
                    return connection.execute(statement, (query, agent_id), prepare=True).fetchall()

            return search

        def ours(**options: Any) -> Search:
            engine = create_engine(url, pool_size=1, max_overflow=0)
            stack.callback(engine.dispose)
            durable = options.pop("durable_touch", True)
            repo = MemoryRepository(engine, durable_touch=durable)
            return partial(repo.search, **options)

        yield {
            "cosine": by_hand(COSINE, alone=False),
            "score": by_hand(SCORE, alone=True),
            "search": ours(profile="five_factor"),
            "search, `durable_touch=False`": ours(profile="five_factor", durable_touch=False),
            "search, `touch=False`": ours(profile="five_factor", touch=False),
            "search by `hybrid` with a text, `touch=False`": ours(keywords=TEXT, touch=False),
        }


def timings(url: str, rounds: int, scale: float, seed: int) -> dict[int, dict[str, Timing]]:
    """Size → how long each took, by agents of that size in turn."""
    chosen = random.Random(seed)
    found = {}
    with searches(url) as every:
        asking = {name: _asking(search) for name, search in every.items()}
        for size in SIZES:
            say(f"agents of {size:,}")
            asked = [(chosen.choice(agents_of(size, scale)), one) for one in questions(40, seed)]
            some = max(rounds if size < 10_000 else rounds // 4, 2)
            found[size] = measured(asking, asked, some, seed=seed)
    return found


def _asking(search: Search) -> Callable[[Asked], Any]:
    return lambda asked: search(*asked)


def ratios(timed: dict[int, dict[str, Timing]]) -> Iterator[list[object]]:
    """Rows of a table with a column for each size."""
    first = next(iter(timed.values()))
    for name in list(first)[2:]:
        yield [f"{name} / cosine", *(one[name].over(one["cosine"]) for one in timed.values())]
    plain = "search, `touch=False`"
    yield [f"{plain} / score", *(one[plain].over(one["score"]) for one in timed.values())]
    for name in ("cosine", "search"):
        yield [f"{name}, ms", *(one[name].ms for one in timed.values())]


def clients(url: str, scale: float, seed: int) -> Iterator[list[object]]:
    """Searches a second of agents of 1,000, without touch, by several threads; beside psycopg alone
    with the score by hand."""
    asked = [(agents_of(1_000, scale)[0], query) for query in questions(40, seed)]
    for threads in (1, 2, 4, 8):
        say(f"{threads} threads")
        with ExitStack() as stack:
            engine = create_engine(url, pool_size=threads, max_overflow=0)
            stack.callback(engine.dispose)
            ours: Search = partial(
                MemoryRepository(engine).search, profile="five_factor", touch=False
            )
            by_hand = [stack.enter_context(searches(url))["score"] for _ in range(threads)]
            rates = [_together(each, asked) for each in ([ours] * threads, by_hand)]
        yield [threads, rates[0], rates[0] / rates[1]]


def _together(each: list[Search], asked: list[Asked]) -> float:
    """How many searches a second they all make."""

    def run(search: Search) -> int:
        number = 0
        while time.perf_counter() < until:
            search(*asked[number % len(asked)])
            number += 1
        return number

    for search in each:
        for one in asked[:12]:
            search(*one)
    with ThreadPoolExecutor(len(each)) as executor:
        until = time.perf_counter() + SECONDS
        return sum(executor.map(run, each)) / SECONDS


def main(
    rounds: Annotated[int, typer.Option(min=2, help="Of agents up to 1,000 memories.")] = 200,
    scale: Annotated[float, typer.Option(min=0.001, max=1, help="Of 1,000 agents of 100.")] = 1.0,
    seed: Annotated[int, typer.Option(help="Decides all the data.")] = 0,
) -> None:
    """Medians of the ratios within a round."""
    print_machine()
    with server() as url:
        load_rows(url, rows(scale, seed))
        timed = timings(url, rounds, scale, seed)
        print_table(
            f"memories of the agent|{'|'.join(f'{size:,}' for size in SIZES)}", ratios(timed)
        )
        print_table("threads|searches a second|/ score by hand", clients(url, scale, seed))


if __name__ == "__main__":
    typer.run(main)
