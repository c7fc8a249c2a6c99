"""Stores of LangGraph to compare: theirs in memory, theirs in PostgreSQL, ours."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import psycopg
import pytest
from langgraph.store.base import BaseStore, IndexConfig
from langgraph.store.memory import InMemoryStore
from psycopg.rows import dict_row
from sqlalchemy import create_engine
from sqlalchemy.ext.asyncio import create_async_engine

from pgrecall import AsyncMemoryRepository, MemoryRepository
from pgrecall.langgraph import RecallStore
from tests.conftest import DIMENSIONS
from tests.left.libraries import Bags

FIELDS = ["text"]
INDEX: IndexConfig = {"dims": DIMENSIONS, "embed": Bags(), "fields": FIELDS}


class Store:
    """The synchronous methods of a store; those of an asynchronous one are awaited."""

    def __init__(
        self,
        make: Callable[[], BaseStore],
        wait: Callable[[Any], Any] | None = None,
        execute: Callable[[Any], Any] | None = None,
        table: str = "",
    ) -> None:
        self._make, self._wait = make, wait
        self._execute, self._table = execute, table
        self.store = make()

    def empty(self) -> None:
        if self._execute is None:
            self.store = self._make()
        else:
            self._execute(f"TRUNCATE {self._table} CASCADE")

    def pass_time(self, minutes: int) -> None:
        """Lets all items be so many minutes older."""
        assert self._execute is not None
        earlier = f"expires_at - interval '{minutes} minutes'"
        self._execute(f"UPDATE {self._table} SET expires_at = {earlier}")

    def __getattr__(self, name: str) -> Any:
        if self._wait is None:
            return getattr(self.store, name)
        wait = self._wait
        method = getattr(self.store, f"a{name}", None) or getattr(self.store, name)
        return lambda *arguments, **named: wait(_later(method, arguments, named))


async def _later(method: Callable[..., Any], arguments: Any, named: Any) -> Any:
    return await method(*arguments, **named)


def in_memory(wait: Callable[[Any], Any] | None) -> Store:
    return Store(lambda: InMemoryStore(index=INDEX), wait)


@contextmanager
def theirs(url: str, runner: asyncio.Runner | None) -> Iterator[Store]:
    """LangGraph's own store in PostgreSQL."""
    postgres = pytest.importorskip("langgraph.store.postgres")
    options: dict[str, Any] = {"autocommit": True, "prepare_threshold": 0, "row_factory": dict_row}
    dsn = url.replace("+psycopg", "")
    given: dict[str, Any] = {"index": INDEX, "ttl": {"omit_expired": True}}
    with psycopg.connect(dsn, autocommit=True) as own:
        if runner is None:
            with psycopg.connect(dsn, **options) as connection:
                store = postgres.PostgresStore(connection, **given)
                store.setup()
                yield Store(lambda: store, None, own.execute, "store")
        else:
            later = runner.run(psycopg.AsyncConnection.connect(dsn, **options))
            store = runner.run(_made(postgres, later, given))
            yield Store(lambda: store, runner.run, own.execute, "store")
            runner.run(_closed(store, later))
        own.execute("TRUNCATE store CASCADE")


async def _made(postgres: Any, connection: Any, given: Any) -> Any:
    store = postgres.AsyncPostgresStore(connection, **given)
    await store.setup()
    return store


async def _closed(store: Any, connection: psycopg.AsyncConnection[Any]) -> None:
    store._task.cancel()
    await asyncio.gather(store._task, return_exceptions=True)
    await connection.close()


MEMORIES = "pgrecall.agent_memories"


@contextmanager
def ours(url: str, runner: asyncio.Runner | None, **options: Any) -> Iterator[Store]:
    """Ours on the repository of this kind, and nothing but it."""
    options = {"fields": FIELDS} | options
    with psycopg.connect(url.replace("+psycopg", ""), autocommit=True) as own:
        if runner is None:
            engine = create_engine(url)
            store = RecallStore(MemoryRepository(engine, embedder=Bags()), **options)
            yield Store(lambda: store, None, own.execute, MEMORIES)
            engine.dispose()
        else:
            later = create_async_engine(url)
            store = RecallStore(AsyncMemoryRepository(later, embedder=Bags()), **options)
            yield Store(lambda: store, runner.run, own.execute, MEMORIES)
            runner.run(later.dispose())
