"""`python -m benchmarks.citus URL`: what a call costs on Citus, beside the same server without.

URL is that of a coordinator. The schemas `measured_here` and `measured_there` are created on it,
the second one is distributed, and both are dropped again.
"""

from __future__ import annotations

import statistics
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from itertools import count
from typing import Annotated, Any, Literal

import psycopg
import typer
from sqlalchemy import create_engine

from benchmarks.data import DIMENSIONS, Corpus
from benchmarks.measuring import measured, print_table, say
from pgrecall import Hits, MemoryRepository, NewMemory, migrate
from pgrecall.migrate.connecting import database_url

HERE, THERE = SCHEMAS = ("measured_here", "measured_there")
INDEXED = "indexed"
STRATEGIES: tuple[Literal["exact", "auto"], ...] = ("exact", "auto")
TEXT = "the budget of the next release"
Calls = dict[str, Callable[[list[float]], Any]]
Repositories = Mapping[str, MemoryRepository]


def main(
    url: str,
    rows: Annotated[int, typer.Option(min=100, help="Memories of each of four agents.")] = 2_000,
    indexed: Annotated[int, typer.Option(min=1_000, help="Of one with a rank index.")] = 20_000,
    rounds: Annotated[int, typer.Option(min=10)] = 60,
    seed: Annotated[int, typer.Option(help="Decides all the data.")] = 0,
) -> None:
    """Searches and changes of one owner's memories."""
    with schemas(url, DIMENSIONS) as repositories:
        print_table(
            f"one of four agents of {rows:,}|one server, ms|on Citus, ×",
            calls(url, repositories, rows, rounds, seed),
        )
        print_table(
            f"{indexed:,} memories of one agent|one server, exact, ms|with the index, × as fast"
            "|on Citus, exact, ms|with the index, × as fast|recall@10",
            searches(repositories, indexed, rounds, seed),
        )


def calls(
    url: str, repositories: Repositories, rows: int, rounds: int, seed: int
) -> Iterator[list[object]]:
    queries = [list(map(float, query)) for query in Corpus.of(rows, seed).queries(20)]
    new = [NewMemory(f"memory {n} of tea", embedding=queries[n % 20]) for n in range(rows)]
    for repo in repositories.values():
        for agent in range(4):
            repo.add_many(f"agent {agent}", new)
    with psycopg.connect(url, autocommit=True) as session:
        of = {
            where: calls_of(repo, new) | by_hand(session, where)
            for where, repo in repositories.items()
        }
        for name in of[HERE]:
            timings = measured({where: of[where][name] for where in SCHEMAS}, queries, rounds)
            yield [name, timings[HERE].ms, timings[THERE].over(timings[HERE])]


def searches(
    repositories: Repositories, rows: int, rounds: int, seed: int
) -> Iterator[list[object]]:
    """With and without the rank index, on one server and on Citus."""
    corpus = Corpus.of(rows, seed)
    new = [
        NewMemory(
            row.content,
            embedding=row.embedding,
            importance=row.importance,
            usefulness=row.usefulness,
            tags=["even"] * (place % 2),
            created_at=row.created_at,
        )
        for place, row in enumerate(corpus)
    ]
    for repo in repositories.values():
        repo.add_many(INDEXED, new)
        [index] = repo.rank_indexes.build(agent_id=INDEXED, at_least=1)
        say(f"built in {index.seconds:.1f} s")
    queries = [list(map(float, query)) for query in corpus.queries(100)]
    asked: dict[str, dict[str, Any]] = {
        "five_factor": {"profile": "five_factor"},
        "hybrid with words": {"profile": "hybrid", "keywords": TEXT},
        "five_factor, a filter that half pass": {
            "profile": "five_factor",
            "filter": {"tags": "even"},
        },
    }
    for name, options in asked.items():
        contenders: Calls = {
            f"{where} {strategy}": partial(
                repo.search, INDEXED, touch=False, strategy=strategy, **options
            )
            for where, repo in repositories.items()
            for strategy in STRATEGIES
        }
        timings = measured(contenders, queries, rounds)
        row: list[object] = [name]
        for where in SCHEMAS:
            every, through = (timings[f"{where} {how}"] for how in STRATEGIES)
            row += [every.ms, every.over(through)]
        shares = [
            share(*(contenders[f"{THERE} {strategy}"](query) for strategy in STRATEGIES))
            for query in queries
        ]
        yield [*row, statistics.mean(shares)]


def share(exact: Hits, index: Hits) -> float:
    """The share of the exact answer that the index has found."""
    assert index.strategy == "index"
    known = {hit.memory.id for hit in exact}
    return sum(hit.memory.id in known for hit in index) / len(exact)


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


def by_hand(session: psycopg.Connection, schema: str) -> Calls:
    """The least that a search and a change may take: a line of SQL each, prepared."""
    nearest = f"""
        SELECT id, content FROM {schema}.agent_memories
         WHERE agent_id = %s ORDER BY embedding <=> %s::vector LIMIT 10"""
    change = f"""
        UPDATE {schema}.memory_usage SET success_count = success_count + 1
         WHERE agent_id = %s"""  # those that were touched

    def search(query: list[float]) -> Any:
        return session.execute(nearest.encode(), ("agent 0", str(query)), prepare=True).fetchall()

    return {
        "ten nearest by a line of SQL": search,
        "ten counters changed by a line of SQL": lambda _: session.execute(
            change.encode(), ("agent 0",), prepare=True
        ),
    }


def calls_of(repo: MemoryRepository, new: list[NewMemory]) -> Calls:
    agent, number = "agent 0", count()
    ids = [memory.id for memory in repo.list(agent, limit=10)]
    words: dict[str, Any] = {"keywords": "memory of tea", "touch": False}

    def add(_: list[float]) -> None:
        at = next(number)
        repo.add("another", replace(new[at % len(new)], content=f"another memory {at}"))

    return {
        "search by `five_factor`": partial(repo.search, agent, profile="five_factor", touch=False),
        "search by words too": partial(repo.search, agent, **words),
        "context": partial(repo.context, agent, **words),
        "`add`": add,
        "`record_outcome`": lambda _: repo.record_outcome(agent, ids[0], "success"),
        "`touch`": lambda _: repo.touch(agent, ids),
        "`get`": lambda _: repo.get(agent, ids[0]),
        "`history`": lambda _: repo.history(agent, ids[1]),
    }


if __name__ == "__main__":
    typer.run(main)
