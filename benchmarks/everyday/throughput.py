"""Searches per second of several clients at once, beside psycopg doing the same statements."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import psycopg
from rich.progress import Progress
from sqlalchemy import create_engine
from sqlalchemy.ext.asyncio import create_async_engine

from benchmarks.bare import Bare, sent_by
from benchmarks.data import Floats
from benchmarks.everyday.agents import agents_of, queries
from benchmarks.measurement import Measurement
from pgrecall import AsyncMemoryRepository, MemoryRepository

SECONDS, TASKS = 3.0, 32
Asked = list[tuple[str, Floats]]
Work = Callable[[str, Floats], object]
Ready = Callable[[], object]


def measurements(url: str, scale: float, seed: int, progress: Progress) -> list[Measurement]:
    """Of agents of 1,000 memories, without touch; each pair measured one after the other, twice."""
    asked = [(agents_of(1_000, scale)[0], query) for query in queries(40, seed)]
    clients = (1, 2, 4, 8)
    task = progress.add_task("clients", total=2 * (2 * len(clients) + 1) + 1)
    found = []
    by_threads: dict[int, float] = {}
    for number in clients:
        ours, bare = 0.0, 0.0
        for _ in range(2):
            ours = max(ours, repository(url, asked, number))
            bare = max(bare, alone(url, asked, number))
            progress.advance(task, 2)
        by_threads[number] = ours
        found += [
            Measurement(f"{number} threads, searches a second", ours, "1/s"),
            Measurement(f"{number} threads / psycopg alone", ours / bare, "×", 0.9, at_least=True),
        ]
    tasks = max(asyncio.run(_tasks(url, asked)) for _ in range(2))
    found += [
        Measurement(f"{TASKS} tasks, searches a second", tasks, "1/s"),
        Measurement(f"{TASKS} tasks / 4 threads", tasks / by_threads[4], "×", 1.0, at_least=True),
        Measurement("client CPU of a search", 1e3 * _cpu(url, asked), "ms", 0.8),
    ]
    progress.remove_task(task)
    return found


def repository(
    url: str, asked: Asked, threads: int, prepares: bool = True, ready: Ready = lambda: None
) -> float:
    """How many searches a second as many threads make with one repository."""
    engine = create_engine(
        url,
        pool_size=threads,
        max_overflow=0,
        connect_args={} if prepares else {"prepare_threshold": None},
    )
    repo = MemoryRepository(engine)
    try:
        return _together(
            [lambda agent, query: repo.search(agent, query, profile="five_factor", touch=False)]
            * threads,
            asked,
            ready,
        )
    finally:
        engine.dispose()


def alone(
    url: str, asked: Asked, threads: int, prepares: bool = True, ready: Ready = lambda: None
) -> float:
    """The same for the repository's statement, sent by psycopg; rows as they come."""
    sent = sent_by(
        url, lambda repo, query: repo.search(asked[0][0], query, profile="five_factor", touch=False)
    )
    connections = [
        psycopg.connect(url, prepare_threshold=5 if prepares else None) for _ in range(threads)
    ]
    clients = [Bare(connection, sent) for connection in connections]
    try:
        return _together([_of_one_agent(client) for client in clients], asked, ready)
    finally:
        for connection in connections:
            connection.close()


def _of_one_agent(client: Bare) -> Work:
    return lambda _, query: client(query)


def _together(clients: list[Work], asked: Asked, ready: Ready) -> float:
    """How many searches a second they all make, after a warm-up of each and `ready`."""

    def run(work: Work) -> int:
        number = 0
        while time.perf_counter() < until:
            work(*asked[number % len(asked)])
            number += 1
        return number

    for work in clients:
        for one in asked[:12]:
            work(*one)
    ready()
    with ThreadPoolExecutor(len(clients)) as executor:
        until = time.perf_counter() + SECONDS
        return sum(executor.map(run, clients)) / SECONDS


async def _tasks(url: str, asked: Asked) -> float:
    engine = create_async_engine(url, pool_size=8, max_overflow=0)
    repo = AsyncMemoryRepository(engine)

    async def run(until: float) -> int:
        number = 0
        while time.perf_counter() < until:
            agent, query = asked[number % len(asked)]
            await repo.search(agent, query, profile="five_factor", touch=False)
            number += 1
        return number

    await asyncio.gather(*(run(time.perf_counter() + 0.5) for _ in range(TASKS)))
    until = time.perf_counter() + SECONDS
    counts = await asyncio.gather(*(run(until) for _ in range(TASKS)))
    await engine.dispose()
    return sum(counts) / SECONDS


def _cpu(url: str, asked: Asked) -> float:
    """Seconds of this process for each search of one client."""
    engine = create_engine(url)
    repo = MemoryRepository(engine)
    for agent, query in asked:
        repo.search(agent, query, profile="five_factor", touch=False)
    before = time.process_time()
    for agent, query in asked * 5:
        repo.search(agent, query, profile="five_factor", touch=False)
    spent = time.process_time() - before
    engine.dispose()
    return spent / (5 * len(asked))
