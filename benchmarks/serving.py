"""`python -m benchmarks.serving`: the HTTP service beside the repository alone.

Searches by text among 1,000 memories, without touch, 32 at a time. The clients are a process of
their own that writes prepared bytes to sockets, so that they cost little.
"""

from __future__ import annotations

import asyncio
import json
import multiprocessing
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from contextlib import closing, contextmanager
from pathlib import Path
from statistics import median, quantiles
from typing import Annotated, Any

import typer
from rich.console import Console
from sqlalchemy import NullPool, create_engine
from sqlalchemy.ext.asyncio import create_async_engine

from benchmarks.data import VOCABULARY
from benchmarks.measurement import Measurement, print_table
from benchmarks.server import server
from pgrecall import AsyncMemoryRepository, LocalEmbedder, MemoryRepository, NewMemory, migrate
from pgrecall.core.ids import new_id
from pgrecall.migrate.connecting import database_url
from pgrecall.migrate.service_keys import create_key

MEMORIES, AGENTS, CONNECTIONS, CONCURRENCY = 1_000, 10, 32, 8
ROLE = "pgrecall_service"
QUERIES = [" ".join(VOCABULARY[n : n + 4]) for n in range(0, 80, 4)]
PROGRAM = Path(sys.executable).parent / "pgrecall"

Answer = tuple[int, float]
"""Status and seconds."""


def main(
    seconds: Annotated[float, typer.Option(min=1, help="Of each measurement.")] = 8.0,
    rounds: Annotated[int, typer.Option(min=1, help="The best of so many.")] = 3,
) -> None:
    """Measures throughput, times below saturation, overload, and a stop under load."""
    found: list[Measurement] = []
    with server() as url:
        token = prepare(url)
        for workers in (1, 2):
            alone = max(repositories(url, workers, seconds) for _ in range(rounds))
            found.append(Measurement(f"repository, {workers} process(es)", alone, "1/s"))
            for keyed, header in ((False, ""), (True, f"Authorization: Bearer {token}\r\n")):
                with_keys(url, keyed)
                with service(url, workers, role=keyed) as port:
                    load(port, header, CONNECTIONS, seconds / 2)  # warms up
                    rates = [
                        rate(load(port, header, CONNECTIONS, seconds), seconds)
                        for _ in range(rounds)
                    ]
                    what = f"service, {workers} worker(s){', keys' if keyed else ''}"
                    found += [
                        Measurement(what, max(rates), "1/s"),
                        Measurement("  / repository", max(rates) / alone, "×", 0.6, at_least=True),
                    ]
                    calm = load(port, header, CONNECTIONS, seconds, pace=max(rates) / 2)
                    found += _times(calm)
        found += overload(url, seconds)
        found += stop_under_load(url, seconds)
    print_table(Console(), f"searches among {MEMORIES:,} memories, {CONNECTIONS} at a time", found)


def prepare(url: str) -> str:
    """Fills the database; returns the token of a key for all agents."""
    migrate.upgrade(url)
    engine = create_engine(database_url(url))
    repo = MemoryRepository(engine, embedder=LocalEmbedder())
    for agent in range(AGENTS):
        texts = [_text(agent, number) for number in range(MEMORIES)]
        repo.add_many(f"agent {agent}", [NewMemory(text) for text in texts], duplicates="allow")
    migrate.protect(url, ROLE)
    agents = [f"agent {number}" for number in range(AGENTS)] + ["load"]
    _, token = create_key(engine, owners=agents, scope="write")
    engine.dispose()
    return token


def _text(agent: int, number: int) -> str:
    places = (number * 7 + agent + step * step for step in range(20))
    return " ".join(VOCABULARY[place % len(VOCABULARY)] for place in places) + f" {number}"


def with_keys(url: str, keyed: bool) -> None:
    """Lets the service start with its keys, or as if there were none."""
    engine = create_engine(database_url(url))
    with engine.begin() as connection:
        state = "NULL" if keyed else "now()"
        connection.exec_driver_sql(f"UPDATE pgrecall.service_keys SET revoked_at = {state}")
    engine.dispose()


def repositories(url: str, processes: int, seconds: float) -> float:
    """Searches a second of repositories in as many processes."""
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(processes, context) as executor:
        begin = time.time() + 4.0
        running = [executor.submit(_alone, url, begin, seconds) for _ in range(processes)]
        return sum(one.result() for one in running)


def _alone(url: str, begin: float, seconds: float) -> float:
    async def run() -> int:
        engine = create_async_engine(
            database_url(url), pool_size=CONCURRENCY, max_overflow=0, pool_timeout=60
        )
        repo = AsyncMemoryRepository(engine, embedder=LocalEmbedder())

        async def search(until: float, number: int) -> int:
            done = 0
            while time.time() < until:
                agent = f"agent {(number + done) % AGENTS}"
                query = QUERIES[(number + done) % len(QUERIES)]
                await repo.search(agent, query, k=10, touch=False)
                done += 1
            return done

        await asyncio.gather(*(search(begin, n) for n in range(CONNECTIONS)))
        counts = await asyncio.gather(*(search(begin + seconds, n) for n in range(CONNECTIONS)))
        await engine.dispose()
        return sum(counts)

    return asyncio.run(run()) / seconds


@contextmanager
def service(url: str, workers: int, *, role: bool) -> Iterator[int]:
    """The service as a process; yields its port."""
    with closing(socket.create_server(("127.0.0.1", 0))) as free:
        port = int(free.getsockname()[1])
    options = ["--workers", workers, "--concurrency", CONCURRENCY]
    options += ["--role", ROLE] if role else []
    command = [str(PROGRAM), "serve", "--port", str(port), *map(str, options)]
    process = subprocess.Popen(
        command, env=os.environ | {"PGRECALL_DATABASE_URL": url}, stderr=subprocess.DEVNULL
    )
    try:
        while not _answers(port):
            time.sleep(0.1)
        yield port
    finally:
        process.send_signal(signal.SIGTERM)
        process.wait(60)


def _answers(port: int) -> bool:
    try:
        with socket.create_connection(("127.0.0.1", port), timeout=1):
            return True
    except OSError:
        return False


def load(
    port: int, header: str, connections: int, seconds: float, pace: float | None = None
) -> list[Answer]:
    """The answers to clients in a process of their own."""
    answers: list[Answer] = _elsewhere(_clients, port, header, connections, seconds, pace)
    return answers


def _elsewhere(function: Callable[..., Any], *arguments: Any) -> Any:
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(1, context) as executor:
        return executor.submit(function, *arguments).result()


def _clients(
    port: int, header: str, connections: int, seconds: float, pace: float | None
) -> list[Answer]:
    async def run() -> list[Answer]:
        answers: list[Answer] = []
        until = time.perf_counter() + seconds
        each = None if pace is None else connections / pace
        await asyncio.gather(
            *(_client(port, header, number, until, each, answers) for number in range(connections))
        )
        return answers

    return asyncio.run(run())


async def _client(
    port: int, header: str, number: int, until: float, each: float | None, answers: list[Answer]
) -> None:
    """Sends one request after the other; with `each`, one in so many seconds."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    due = time.perf_counter() + (each or 0) * (number / CONNECTIONS)
    turn = number
    try:
        while time.perf_counter() < until:
            if each is not None:
                await asyncio.sleep(max(0.0, due - time.perf_counter()))
                due += each
            began = time.perf_counter()
            writer.write(_request(header, turn))
            status = await _status(reader)
            answers.append((status, time.perf_counter() - began))
            turn += 1
    except (OSError, asyncio.IncompleteReadError):
        answers.append((0, 0.0))
    writer.close()


def _request(header: str, turn: int) -> bytes:
    body = json.dumps({"query": QUERIES[turn % len(QUERIES)], "k": 10, "touch": False})
    return (
        f"POST /search?owner=agent%20{turn % AGENTS} HTTP/1.1\r\nHost: localhost\r\n{header}"
        f"Content-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n{body}"
    ).encode()


async def _status(reader: asyncio.StreamReader) -> int:
    """Reads one answer."""
    head = (await reader.readuntil(b"\r\n\r\n")).lower()
    length = int(head.partition(b"content-length:")[2].partition(b"\r\n")[0])
    await reader.readexactly(length)
    return int(head.split(b" ", 2)[1])


def rate(answers: list[Answer], seconds: float) -> float:
    """Successful answers a second; raises if there were others."""
    assert {status for status, _ in answers} == {200}, {status for status, _ in answers}
    return len(answers) / seconds


def _times(answers: list[Answer]) -> list[Measurement]:
    times = [taken for status, taken in answers if status == 200]
    middle, late = median(times), quantiles(times, n=100)[98]
    return [
        Measurement("  median at half the rate", middle * 1000, "ms"),
        Measurement("  99 % / median", late / middle, "×", 5.0),
    ]


def overload(url: str, seconds: float) -> list[Measurement]:
    """300 clients where 8 requests run at a time; readiness is asked for meanwhile."""
    with_keys(url, False)
    with service(url, 1, role=False) as port:
        context = multiprocessing.get_context("spawn")
        with ProcessPoolExecutor(1, context) as executor:
            running = executor.submit(_clients, port, "", 300, seconds, None)
            time.sleep(seconds / 4)
            ready = _elsewhere(_readiness, port, seconds / 2)
            answers = running.result()
    statuses = [status for status, _ in answers]
    good = statuses.count(200)
    return [
        Measurement("overload: answered 200", good / seconds, "1/s"),
        Measurement("  answered anything else", len(answers) - good, "", 0),
        Measurement("  slowest readiness", max(taken for _, taken in ready) * 1000, "ms", 1000),
        Measurement("  readiness refused", sum(status != 200 for status, _ in ready), "", 0),
    ]


def _readiness(port: int, seconds: float) -> list[Answer]:
    async def run() -> list[Answer]:
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        answers: list[Answer] = []
        until = time.perf_counter() + seconds
        while time.perf_counter() < until:
            began = time.perf_counter()
            writer.write(b"GET /ready HTTP/1.1\r\nHost: localhost\r\n\r\n")
            answers.append((await _status(reader), time.perf_counter() - began))
            await asyncio.sleep(0.05)
        writer.close()
        return answers

    return asyncio.run(run())


def stop_under_load(url: str, seconds: float) -> list[Measurement]:
    """SIGTERM while 32 clients store memories: what was answered 201 is there, and nothing else."""
    with_keys(url, False)
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(1, context) as executor:
        with service(url, 2, role=False) as port:
            running = executor.submit(_storing, port)
            while len(_stored(url)) < 50:
                time.sleep(0.1)
            time.sleep(seconds / 2)
        answered = running.result()
    stored = _stored(url)
    return [
        Measurement("stop: answered 201", len(answered), ""),
        Measurement("  answered, but not stored", len(answered - stored), "", 0),
        Measurement("  stored, but not answered", len(stored - answered), "", 0),
    ]


def _stored(url: str) -> set[str]:
    engine = create_engine(database_url(url), poolclass=NullPool)
    with engine.connect() as connection:
        query = "SELECT id::text FROM pgrecall.agent_memories WHERE agent_id = 'load'"
        return set(connection.exec_driver_sql(query).scalars())


def _storing(port: int) -> set[str]:
    answered: set[str] = set()

    async def client(number: int) -> None:
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        try:
            for turn in range(1_000_000):
                own = str(new_id())
                body = json.dumps({"id": own, "content": f"memory {number} {turn}"})
                writer.write(
                    b"POST /memories?owner=load HTTP/1.1\r\nHost: localhost\r\n"
                    b"Content-Type: application/json\r\nContent-Length: "
                    + f"{len(body)}\r\n\r\n{body}".encode()
                )
                if await _status(reader) == 201:
                    answered.add(own)
        except (OSError, asyncio.IncompleteReadError):
            writer.close()

    async def run() -> None:
        await asyncio.gather(*(client(number) for number in range(CONNECTIONS)))

    asyncio.run(run())
    return answered


if __name__ == "__main__":
    typer.run(main)
