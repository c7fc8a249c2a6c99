"""`python -m benchmarks.replacing`: how long clients wait while all functions are replaced."""

from __future__ import annotations

import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from threading import Event
from unittest.mock import patch
from uuid import UUID

from rich.console import Console
from sqlalchemy import create_engine

from benchmarks.server import server
from pgrecall import MemoryRepository, NewMemory, migrate
from pgrecall.migrate import repeatable

CLIENTS, TIMES = 4, 5


def main() -> None:
    """Four clients search and write meanwhile; their longest call is what they waited at most."""
    stopped = Event()

    def client(number: int) -> list[float]:
        engine = create_engine(url)
        repo, owner, calls = MemoryRepository(engine), f"agent {number}", list[float]()
        memory_id: UUID | None = None

        def add() -> None:
            nonlocal memory_id
            new = NewMemory(f"memory {len(calls)}", embedding=[1, number, 1])
            memory_id = UUID(int=repo.add(owner, new).int)

        def search() -> None:
            repo.search(owner, [1, 1, 1], profile="hybrid", query_text="memory")

        def record() -> None:
            assert memory_id is not None
            repo.record_outcome(owner, memory_id, "success")

        while not stopped.is_set():
            for call in (add, search, record):
                began = time.perf_counter()
                call()
                calls.append(time.perf_counter() - began)
        engine.dispose()
        return calls

    files, took = repeatable.files(), []
    with server() as url, ThreadPoolExecutor(CLIENTS) as executor:
        migrate.upgrade(url, dimensions=3)
        clients = [executor.submit(client, number) for number in range(CLIENTS)]
        try:
            for edition in range(TIMES):
                time.sleep(1)
                edited = tuple(replace(one, text=f"{one.text}\n-- {edition}\n") for one in files)
                with patch.object(repeatable, "files", lambda edited=edited: edited):
                    began = time.perf_counter()
                    migrate.upgrade(url)
                took.append(time.perf_counter() - began)
        finally:
            stopped.set()
        calls = [call for done in clients for call in done.result()]
    Console().print(
        f"{len(files)} files replaced {TIMES} times in {max(took):.1f} s at most, beside "
        f"{CLIENTS} clients with {len(calls):,} calls: longest {max(calls):.2f} s, median "
        f"{sorted(calls)[len(calls) // 2] * 1000:.1f} ms"
    )


if __name__ == "__main__":
    main()
