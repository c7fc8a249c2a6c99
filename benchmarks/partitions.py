"""Rank indexes of this checkout beside those of another: `python -m benchmarks.partitions OTHER`.

Each checkout works in a process and a database of its own on one server, in turns, so that what
else the machine does weighs on both: searching, building, replacing an index while four clients
search, and the same beside many other indexes in one schema.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from random import Random
from statistics import median
from threading import Event
from typing import Any

HERE = Path(__file__).parents[1]
DIMENSIONS, AGENT, CLIENTS = 256, "agent", 4
Numbers = dict[str, float]


class Worker:
    """What is measured, in a process of its own."""

    def __init__(self, url: str, memories: int) -> None:
        from sqlalchemy import create_engine

        from pgrecall import MemoryRepository, migrate
        from pgrecall.migrate.connecting import database_url

        migrate.upgrade(url, dimensions=DIMENSIONS)
        self.engine = create_engine(database_url(url), pool_size=CLIENTS + 2)
        self.repo = MemoryRepository(self.engine)
        self.random = Random(1)
        self.topics = [self._around([0.0] * DIMENSIONS) for _ in range(50)]
        self.add(AGENT, memories)
        self.build()

    def add(self, agent: str, number: int) -> None:
        from pgrecall import NewMemory

        for start in range(0, number, 5_000):
            self.repo.add_many(
                agent,
                [
                    NewMemory(f"memory {n}", embedding=self.question(), importance=n % 10 / 10)
                    for n in range(start, min(start + 5_000, number))
                ],
            )

    def question(self) -> list[float]:
        return self._around(self.random.choice(self.topics))

    def _around(self, place: list[float]) -> list[float]:
        return [x + self.random.gauss() for x in place]

    def build(self) -> Numbers:
        start = time.perf_counter()
        self.repo.rank_indexes.build(agent_id=AGENT, at_least=1)
        return {"seconds": time.perf_counter() - start}

    def search(self, number: int = 100) -> Numbers:
        return {"ms": median(self._timed(self.question()) for _ in range(number))}

    def _timed(self, question: list[float]) -> float:
        start = time.perf_counter()
        hits = self.repo.search(AGENT, question, strategy="index", touch=False)
        assert len(hits) == 10
        return 1e3 * (time.perf_counter() - start)

    def replace(self, times: int = 2) -> Numbers:
        """Searches by four clients while nothing happens, and while the index is replaced."""
        over = Event()
        questions = [self.question() for _ in range(64)]

        def client(number: int) -> list[tuple[float, float]]:
            found = []
            while not over.is_set():
                for question in questions[number::CLIENTS]:
                    found.append((time.perf_counter(), self._timed(question)))
            return found

        with ThreadPoolExecutor(CLIENTS) as threads:
            running = [threads.submit(client, n) for n in range(CLIENTS)]
            ended = []
            for _ in range(times):
                self.build()
                ended.append(time.perf_counter())
            over.set()
            took = [one for each in running for one in each.result()]
        near = [ms for at, ms in took if any(abs(at - moment) < 0.25 for moment in ended)]
        every = [ms for _, ms in took]
        return {"ms": median(every), "ms when swapped": median(near), "longest": max(every)}

    def many(self, number: int) -> Numbers:
        """So many small indexes more; what the first and the last of them take to build."""
        took = []
        for n in range(number):
            self.add(f"small {n}", 20)
            start = time.perf_counter()
            self.repo.rank_indexes.build(agent_id=f"small {n}", at_least=1)
            took.append(1e3 * (time.perf_counter() - start))
        return {"first ms": median(took[:50]), "last ms": median(took[-50:])}

    def plan(self, number: int = 50) -> Numbers:
        """Planning a walk, as PostgreSQL says."""
        [status] = self.repo.rank_indexes.status(agent_id=AGENT)
        assert status.index is not None
        table = f"pgrecall.{status.index.relation}"
        walk = (
            f"EXPLAIN (SUMMARY, FORMAT JSON) SELECT memory_id FROM {table} ORDER BY position "
            f"<#> (SELECT position FROM {table} LIMIT 1) LIMIT 64"
        )
        with self.engine.connect() as connection:
            plans = [connection.exec_driver_sql(walk).scalar_one() for _ in range(number)]
        return {"ms": median(plan[0]["Planning Time"] for plan in plans)}


def work(url: str, memories: int) -> None:
    worker = Worker(url, memories)
    print("{}", flush=True)
    for line in sys.stdin:
        name, arguments = json.loads(line)
        print(json.dumps(getattr(worker, name)(*arguments)), flush=True)


class Checkout:
    def __init__(self, folder: Path, url: str, memories: int) -> None:
        self._process = subprocess.Popen(
            [sys.executable, __file__, str(folder), "--work", url, "--memories", str(memories)],
            env=os.environ | {"PYTHONPATH": str(folder / "app")},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            encoding="utf-8",
        )
        self._read()

    def __call__(self, name: str, *arguments: Any) -> Numbers:
        assert self._process.stdin is not None
        print(json.dumps([name, arguments]), file=self._process.stdin, flush=True)
        return self._read()

    def _read(self) -> Numbers:
        assert self._process.stdout is not None
        numbers: Numbers = json.loads(self._process.stdout.readline())
        return numbers


def compared(
    name: str, checkouts: list[Checkout], call: Callable[[Checkout], Numbers], rounds: int = 1
) -> None:
    """Prints the median of each number for both, and their ratio: this one to the other."""
    found: list[list[Numbers]] = [[], []]
    for turn in range(rounds):
        for place in (0, 1) if turn % 2 else (1, 0):
            found[place].append(call(checkouts[place]))
    for key in found[0][0]:
        this, other = (median(numbers[key] for numbers in each) for each in found)
        print(f"{name}, {key}: {this:.2f}, other {other:.2f}, ratio {this / other:.3f}", flush=True)


def databases(names: tuple[str, ...]) -> Iterator[list[str]]:
    import psycopg
    from sqlalchemy import make_url

    from pgrecall import embedded

    with embedded.database() as url, psycopg.connect(url, autocommit=True) as connection:
        for name in names:
            connection.execute(f"CREATE DATABASE {name}".encode())
        yield [
            make_url(url).set(database=name).render_as_string(hide_password=False) for name in names
        ]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("other", type=Path)
    parser.add_argument("--memories", type=int, default=20_000)
    parser.add_argument("--many", type=int, default=2_000)
    parser.add_argument("--work")
    given = parser.parse_args()
    if given.work:
        work(given.work, given.memories)
        return
    for urls in databases(("this", "other")):
        checkouts = [
            Checkout(folder, url, given.memories)
            for folder, url in zip((HERE, given.other), urls, strict=True)
        ]
        compared("search", checkouts, lambda one: one("search"), 10)
        compared("build", checkouts, lambda one: one("build"), 2)
        compared("replace", checkouts, lambda one: one("replace"), 2)
        compared("plan", checkouts, lambda one: one("plan"), 4)
        compared(f"{given.many} more", checkouts, lambda one: one("many", given.many))
        compared("search beside them", checkouts, lambda one: one("search"), 10)
        compared("replace beside them", checkouts, lambda one: one("replace"), 2)
        compared("plan beside them", checkouts, lambda one: one("plan"), 4)


if __name__ == "__main__":
    main()
