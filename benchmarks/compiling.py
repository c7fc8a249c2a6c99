"""`python -m benchmarks.compiling URL`: calls on a server with JIT, beside the same without it."""

from __future__ import annotations

import random
import statistics
import time
from collections.abc import Callable
from itertools import count
from typing import Annotated
from uuid import UUID

import typer
from rich.console import Console
from sqlalchemy import create_engine

from benchmarks.measurement import Measurement, print_table
from pgrecall import GarbagePolicy, MemoryRepository, NewMemory, migrate
from pgrecall.migrate.connecting import database_url
from pgrecall.testing import new_database

AGENT, DIMENSIONS, GOAL, WARM_UP = "ann", 96, 1.1, 8
SETTINGS = {"as it is": None, "jit_above_cost = 0": "-c jit_above_cost=0"}
"""Options of a connection. With the second, PostgreSQL compiles every statement of a client."""
Call = Callable[[MemoryRepository], object]

dice = random.Random(0)
numbers = count()


def vector() -> list[float]:
    return [dice.gauss(0, 1) for _ in range(DIMENSIONS)]


def memory() -> NewMemory:
    return NewMemory(f"tea and milk {next(numbers)}", embedding=vector())


FIRST = UUID(int=7)
KNOWN = NewMemory("the same text", embedding=vector())


def _supersede(repo: MemoryRepository) -> object:
    return repo.supersede(AGENT, repo.add(AGENT, memory()), memory())


def _invalidate(repo: MemoryRepository) -> object:
    return repo.invalidate(AGENT, [repo.add(AGENT, memory())])


CALLS: dict[str, Call] = {
    "add": lambda repo: repo.add(AGENT, memory()),
    "add what is there": lambda repo: repo.add(AGENT, KNOWN),
    "add_many of 20": lambda repo: repo.add_many(AGENT, [memory() for _ in range(20)]),
    "upsert": lambda repo: repo.upsert(AGENT, NewMemory("tea", key="key", embedding=vector())),
    "supersede": _supersede,
    "invalidate": _invalidate,
    "explain": lambda repo: repo.explain(AGENT, FIRST, vector(), query_text="tea"),
    "collect": lambda repo: repo.upkeep.collect_garbage(
        GarbagePolicy(max_age_hours=10**6), agent_id=AGENT
    ),
    "search": lambda repo: repo.search(AGENT, vector(), query_text="tea"),
}


def main(
    url: Annotated[str, typer.Argument(help="A server; a database is created there and dropped.")],
    rounds: Annotated[int, typer.Option(min=5)] = 25,
    memories: Annotated[int, typer.Option(min=100)] = 1_000,
) -> None:
    """Prints the median of the ratios within a round for each call and setting."""
    with new_database(url) as own:
        migrate.upgrade(own, dimensions=DIMENSIONS)
        options = {"jit = off": "-c jit=off", **SETTINGS}
        engines = {
            name: create_engine(
                database_url(own), pool_size=1, connect_args={"options": said} if said else {}
            )
            for name, said in options.items()
        }
        off = MemoryRepository(engines["jit = off"])
        off.add(AGENT, NewMemory("tea", id=FIRST, embedding=vector()))
        off.add_many(AGENT, [memory() for _ in range(memories)])
        for name in SETTINGS:
            repo = MemoryRepository(engines[name])
            found = [
                Measurement(what, _ratio(call, off, repo, rounds), "×", GOAL)
                for what, call in CALLS.items()
            ]
            print_table(Console(), f"{name}, beside jit = off", found)
        for engine in engines.values():
            engine.dispose()


def _ratio(call: Call, off: MemoryRepository, on: MemoryRepository, rounds: int) -> float:
    ratios = []
    for number in range(-WARM_UP, rounds):
        seconds = {}
        for repo in (off, on) if number % 2 else (on, off):
            began = time.perf_counter()
            call(repo)
            seconds[repo is on] = time.perf_counter() - began
        if number >= 0:
            ratios.append(seconds[True] / seconds[False])
    return statistics.median(ratios)


if __name__ == "__main__":
    typer.run(main)
