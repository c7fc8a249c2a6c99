"""`python -m benchmarks.citus URL`: what a call costs on Citus, beside the same server without.

Also what a rank index saves there, and how statements are spread over the nodes.

URL is that of a coordinator. The schemas `measured_here` and `measured_there` are created on it,
the second one is distributed, and both are dropped again.
"""

from __future__ import annotations

import re
import statistics
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from itertools import count
from typing import Annotated, Any, Literal

import psycopg
import typer
from psycopg.errors import Diagnostic
from rich.console import Console
from rich.progress import Progress
from sqlalchemy import create_engine, event

from benchmarks.data import DIMENSIONS, Corpus
from benchmarks.measurement import Measurement, print_table
from benchmarks.measuring import measured
from benchmarks.progress import progress_bar
from pgrecall import Hits, MemoryRepository, NewMemory, migrate
from pgrecall.migrate.connecting import database_url

HERE, THERE = SCHEMAS = ("measured_here", "measured_there")
NAMES = {HERE: "one server", THERE: "on Citus"}
SEARCH_GOAL, ADD_GOAL, SPREAD_GOAL, RECALL_GOAL = 1.2, 1.5, 10.0, 0.98
INDEXED, OWNERS = "indexed", 400
TEAM, OF_THE_TEAM = "red", 2_000
STRATEGIES: tuple[Literal["exact", "auto"], ...] = ("exact", "auto")
Calls = dict[str, Callable[[list[float]], Any]]


def main(
    url: str,
    rows: Annotated[int, typer.Option(min=100, help="Memories of each of four agents.")] = 2_000,
    indexed: Annotated[int, typer.Option(min=1_000, help="Of one with a rank index.")] = 20_000,
    rounds: Annotated[int, typer.Option(min=10)] = 60,
    seed: Annotated[int, typer.Option(help="Decides all the data.")] = 0,
) -> None:
    """Searches and changes of one owner's memories."""
    console = Console()
    with progress_bar() as progress, schemas(url, DIMENSIONS) as repositories:
        found = calls(url, repositories, rows, rounds, seed, progress)
        print_table(console, f"calls about one of four agents of {rows:,} memories", found)
        found = searches(repositories, indexed, rounds, seed, progress)
        print_table(console, f"searches of one agent of {indexed:,} memories", found)
        found = spread(url, progress)
        print_table(console, f"each node's statements about {OWNERS} agents", found)


def calls(
    url: str,
    repositories: Mapping[str, MemoryRepository],
    rows: int,
    rounds: int,
    seed: int,
    progress: Progress,
) -> list[Measurement]:
    queries = [list(map(float, query)) for query in Corpus.of(rows, seed).queries(20)]
    new = [NewMemory(f"memory {n} of tea", embedding=queries[n % 20]) for n in range(rows)]
    for repo in repositories.values():
        for agent in range(4):
            repo.add_many(f"agent {agent}", new)
    found = []
    goals = {"search": SEARCH_GOAL, "add": ADD_GOAL}
    with psycopg.connect(url, autocommit=True) as session:
        of = {
            where: calls_of(repo, new) | by_hand(session, where)
            for where, repo in repositories.items()
        }
        for name in of[HERE]:
            contenders = {where: of[where][name] for where in SCHEMAS}
            timings = measured(contenders, queries, rounds, progress, what=name)
            found += [
                Measurement(f"{name}, one server", timings[HERE].median * 1000, "ms"),
                Measurement("  on Citus", timings[THERE].over(timings[HERE]), "×", goals.get(name)),
            ]
    return found


def searches(
    repositories: Mapping[str, MemoryRepository],
    rows: int,
    rounds: int,
    seed: int,
    progress: Progress,
) -> list[Measurement]:
    """With and without the rank index, on one server and on Citus."""
    corpus = Corpus.of(rows, seed)
    new = [
        NewMemory(
            row.content,
            embedding=row.embedding,
            importance=row.importance,
            usefulness=row.usefulness,
            created_at=row.created_at,
        )
        for row in corpus
    ]
    found = []
    for where, repo in repositories.items():
        repo.add_many(INDEXED, new)
        repo.teams.add_many(TEAM, new[:OF_THE_TEAM])
        [index] = repo.rank_indexes.build(agent_id=INDEXED, at_least=1)
        found.append(Measurement(f"building, {NAMES[where]}", index.seconds, "s"))
    queries = [list(map(float, query)) for query in corpus.queries(100)]
    asked: dict[str, dict[str, Any]] = {
        "five_factor": {"profile": "five_factor"},
        "hybrid, with words": {"profile": "hybrid", "query_text": "the budget of the next release"},
        "five_factor, filtered": {"profile": "five_factor", "where": None},
    }
    for name, options in asked.items():
        contenders: Calls = {
            f"{where} {strategy}": partial(
                repo.search, INDEXED, touch=False, strategy=strategy, **filtered(repo, options)
            )
            for where, repo in repositories.items()
            for strategy in STRATEGIES
        }
        timings = measured(contenders, queries, rounds, progress, what=name)
        for where in SCHEMAS:
            every, through = (timings[f"{where} {how}"] for how in STRATEGIES)
            found += [
                Measurement(f"{name}, exact, {NAMES[where]}", every.median * 1000, "ms"),
                Measurement("  times as fast with the index", every.over(through), "×"),
            ]
        over = timings[f"{THERE} exact"].over(timings[f"{HERE} exact"])
        found.append(Measurement("  exact on Citus, over one server", over, "×", SEARCH_GOAL))
        shares = [
            share(*(contenders[f"{THERE} {strategy}"](query) for strategy in STRATEGIES))
            for query in queries
        ]
        found.append(
            Measurement("  recall@10", statistics.mean(shares), "", RECALL_GOAL, at_least=True)
        )
    with_team: Calls = {
        where: partial(
            repo.context, INDEXED, teams=[TEAM], touch=False, **asked["hybrid, with words"]
        )
        for where, repo in repositories.items()
    }
    timings = measured(with_team, queries, rounds, progress, what="context")
    found += [
        Measurement("context of it and a team, one server", timings[HERE].median * 1000, "ms"),
        Measurement("  on Citus", timings[THERE].over(timings[HERE]), "×"),
    ]
    return found


def filtered(repo: MemoryRepository, options: Mapping[str, Any]) -> dict[str, Any]:
    """The options, with a condition that half of the memories meet, if they name one."""
    if "where" not in options:
        return dict(options)
    return {**options, "where": repo.memories.c.importance > 0.5}


def share(exact: Hits, index: Hits) -> float:
    """The share of the exact answer that the index has found."""
    assert index.strategy == "index"
    known = {hit.memory.id for hit in exact}
    return sum(hit.memory.id in known for hit in index) / len(exact)


def spread(url: str, progress: Progress) -> list[Measurement]:
    """Each agent is added to, searched and read as often."""
    statements: Counter[str] = Counter()

    def note(notice: Diagnostic) -> None:
        if (notice.message_primary or "").startswith("issuing"):
            statements[re.findall(r"on server \S*@(\S+)", notice.message_detail or "")[0]] += 1

    logged = create_engine(
        database_url(url).update_query_dict({"options": "-c citus.log_remote_commands=on"})
    )
    event.listen(logged, "connect", lambda driver, _: driver.add_notice_handler(note))
    noting = MemoryRepository(logged, schema=THERE)
    noting.count("nobody")  # connects to the nodes
    statements.clear()
    task = progress.add_task("spread", total=OWNERS)
    for number in range(OWNERS):
        agent = f"one of many {number}"
        memory = noting.add(agent, NewMemory("tea", embedding=[1.0] * DIMENSIONS))
        noting.search(agent, [1.0] * DIMENSIONS)
        noting.get(agent, memory)
        progress.advance(task)
    logged.dispose()
    agents: Counter[str] = Counter()
    with psycopg.connect(url, autocommit=True) as session:
        for node, number in session.execute(PLACES.format(THERE).encode()):
            agents[node] = number
    found = []
    for node, number in sorted(agents.items()):
        of_agents, of_statements = number / agents.total(), statements[node] / statements.total()
        found += [
            Measurement(f"{node}, of the agents", 100 * of_agents, "%"),
            Measurement("  of the statements", 100 * of_statements, "%"),
            Measurement("  apart by", 100 * abs(of_statements / of_agents - 1), "%", SPREAD_GOAL),
        ]
    return found


PLACES = """
    SELECT s.nodename || ':' || s.nodeport, count(*)
      FROM (SELECT DISTINCT agent_id FROM {0}.agent_memories WHERE agent_id LIKE 'one of many%') a
      JOIN citus_shards s
        ON s.shardid = get_shard_id_for_distribution_column('{0}.agent_memories', a.agent_id)
     GROUP BY 1
"""


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
        "ten nearest by hand": search,
        "ten counters by hand": lambda _: session.execute(
            change.encode(), ("agent 0",), prepare=True
        ),
    }


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
