"""`python -m benchmarks.citus URL`: what a call costs on Citus, beside the same server without.

URL is that of a coordinator. The schemas `measured_here` and `measured_there` are created on it,
the second one is distributed, and both are dropped again.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from itertools import count
from typing import Annotated, Any

import psycopg
import typer
from rich.console import Console
from sqlalchemy import create_engine

from benchmarks.data import Corpus
from benchmarks.measurement import Measurement, print_table
from benchmarks.measuring import measured
from benchmarks.progress import progress_bar
from pgrecall import MemoryRepository, NewMemory, migrate
from pgrecall.migrate.connecting import database_url

HERE, THERE = SCHEMAS = ("measured_here", "measured_there")
SEARCH_GOAL, ADD_GOAL = 1.2, 1.5
Calls = dict[str, Callable[[list[float]], Any]]


def main(
    url: str,
    rows: Annotated[int, typer.Option(min=100, help="Memories of each of four agents.")] = 2_000,
    rounds: Annotated[int, typer.Option(min=10)] = 60,
    seed: Annotated[int, typer.Option(help="Decides all the data.")] = 0,
) -> None:
    """Searches and changes of one owner's memories."""
    corpus = Corpus.of(rows, seed)
    queries = [list(map(float, query)) for query in corpus.queries(20)]
    new = [NewMemory(f"memory {n} of tea", embedding=queries[n % 20]) for n in range(rows)]
    found = []
    with progress_bar() as progress, schemas(url, len(queries[0])) as repositories:
        for repo in repositories.values():
            for agent in range(4):
                repo.add_many(f"agent {agent}", new)
        calls = {where: calls_of(repo, new) for where, repo in repositories.items()}
        for name in calls[HERE]:
            contenders = {where: calls[where][name] for where in SCHEMAS}
            timings = measured(contenders, queries, rounds, progress, what=name)
            goals = {"search": SEARCH_GOAL, "add": ADD_GOAL}
            found += [
                Measurement(f"{name}, one server", timings[HERE].median * 1000, "ms"),
                Measurement("  on Citus", timings[THERE].over(timings[HERE]), "×", goals.get(name)),
            ]
    print_table(Console(), f"calls about one of four agents of {rows:,} memories", found)


@contextmanager
def schemas(url: str, dimensions: int) -> Iterator[dict[str, MemoryRepository]]:
    """A repository on each schema."""
    engine = create_engine(database_url(url))
    with psycopg.connect(url, autocommit=True) as session:
        for schema in SCHEMAS:
            session.execute(f"DROP SCHEMA IF EXISTS {schema} CASCADE".encode())
            migrate.upgrade(url, dimensions=dimensions, schema=schema)
        migrate.distribute(url, schema=THERE)
        yield {schema: MemoryRepository(engine, schema=schema) for schema in SCHEMAS}
        for schema in SCHEMAS:
            session.execute(f"DROP SCHEMA {schema} CASCADE".encode())
    engine.dispose()


def calls_of(repo: MemoryRepository, new: list[NewMemory]) -> Calls:
    agent, number = "agent 0", count()
    ids = [memory.id for memory in repo.list(agent, limit=10)]
    words: dict[str, Any] = {"query_text": "memory of tea", "touch": False}

    def add(_: list[float]) -> None:
        at = next(number)
        repo.add("another", replace(new[at % len(new)], content=f"another memory {at}"))

    return {
        "search": partial(repo.search, agent, profile="five_factor", touch=False),
        "search by words too": partial(repo.search, agent, **words),
        "context": partial(repo.context, agent, **words),
        "add": add,
        "record_outcome": lambda _: repo.record_outcome(agent, ids[0], "success"),
        "touch": lambda _: repo.touch(agent, ids),
        "get": lambda _: repo.get(agent, ids[0]),
        "history": lambda _: repo.history(agent, ids[1]),
    }


if __name__ == "__main__":
    typer.run(main)
