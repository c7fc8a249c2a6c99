"""Repositories of every kind, each with the face of MemoryRepository."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from itertools import count
from typing import Any

import psycopg
import pytest
from sqlalchemy import Engine, NullPool, create_engine
from sqlalchemy.ext.asyncio import AsyncSession, create_async_engine
from sqlalchemy.orm import Session
from sqlalchemy.util import await_only

from pgrecall import AsyncMemoryRepository, MemoryRepository
from pgrecall.embedders import AsyncEmbedder, Embedder
from tests.conftest import new_database
from tests.integration.support import awaited

RepositoryOf = Callable[..., MemoryRepository]
Work = Callable[[MemoryRepository], Any]
Transaction = Callable[..., Any]

OWNED = (
    *("agent_memories", "memory_usage", "memory_events"),
    *("memory_labels", "memory_links", "gc_runs", "rank_indexes"),
)
"""Tables whose rows belong to an agent or a team; the tables of defaults belong to all."""
POSITIONS = r"SELECT oid::regclass::text FROM pg_class WHERE relkind = 'r' AND relname ~ '^ranks_'"
"""The tables that rank indexes leave."""

_agents = count()


def repository_on(
    kind: str, url: str, *, embedder: Embedder | AsyncEmbedder | None = None, **options: Any
) -> MemoryRepository:
    """A repository of this kind on an engine of its own."""
    schema = options.pop("schema", "pgrecall")
    if kind == "sync":
        engine = create_engine(url, poolclass=NullPool, **options)
        return MemoryRepository(engine, schema=schema, embedder=embedder)  # type: ignore[arg-type]
    async_engine = create_async_engine(url, poolclass=NullPool, **options)
    repository = AsyncMemoryRepository(async_engine, schema=schema, embedder=embedder)
    return awaited(repository, asyncio.run)


@pytest.fixture(params=["sync", "async"])
def repository_of(request: pytest.FixtureRequest) -> RepositoryOf:
    """Makes a repository from a URL, an embedder and engine options."""
    kind: str = request.param
    return lambda url, **options: repository_on(kind, url, **options)


@pytest.fixture
def either(repository_of: RepositoryOf, database_url: str) -> MemoryRepository:
    """A repository on an Engine or AsyncEngine."""
    return repository_of(database_url)


@pytest.fixture(params=["Connection", "Session", "AsyncConnection", "AsyncSession"])
def transaction(request: pytest.FixtureRequest, database_url: str) -> Transaction:
    """Calls work(repository) inside a transaction of the caller's own, which this ends."""
    kind: str = request.param

    def run(work: Work, *, commit: bool) -> Any:
        if kind.startswith("Async"):
            return asyncio.run(_in_async_transaction(kind, database_url, work, commit=commit))
        engine = create_engine(database_url, poolclass=NullPool)
        with engine.connect() if kind == "Connection" else Session(engine) as bind:
            result = work(MemoryRepository(bind))
            bind.commit() if commit else bind.rollback()
            return result

    return run


async def _in_async_transaction(kind: str, url: str, work: Work, *, commit: bool) -> Any:
    engine = create_async_engine(url, poolclass=NullPool)
    bind = engine.connect() if kind == "AsyncConnection" else AsyncSession(engine)
    async with bind:
        repository = awaited(AsyncMemoryRepository(bind), await_only)
        result = await bind.run_sync(lambda _: work(repository))
        await (bind.commit() if commit else bind.rollback())
        return result


@pytest.fixture(scope="session")
def shared_url(server_url: str, template: str) -> Iterator[str]:
    """A migrated database for tests that each use an agent of their own."""
    with new_database(server_url, template) as url:
        yield url


@pytest.fixture(scope="session")
def emptied_url(server_url: str, template: str) -> Iterator[str]:
    with new_database(server_url, template) as url:
        yield url


@pytest.fixture
def database_url(emptied_url: str) -> Iterator[str]:
    """A migrated database without a row; a clone for every test would cost a minute."""
    yield emptied_url
    with psycopg.connect(emptied_url, autocommit=True) as connection:
        for table in OWNED:
            connection.execute(f"DELETE FROM pgrecall.{table}")
        for (positions,) in connection.execute(POSITIONS).fetchall():
            connection.execute(f"DROP TABLE {positions}")


@pytest.fixture(scope="session")
def emptied_engine(emptied_url: str) -> Iterator[Engine]:
    made = create_engine(emptied_url)
    yield made
    made.dispose()


@pytest.fixture
def engine(emptied_engine: Engine, database_url: str) -> Engine:
    """An engine of the test's own, as the repository sees it, on connections that were there."""
    return emptied_engine.execution_options()


@pytest.fixture
def own_url(server_url: str, template: str) -> Iterator[str]:
    """A migrated database for a test that changes more than rows."""
    with new_database(server_url, template) as url:
        yield url


@pytest.fixture
def own_engine(own_url: str) -> Iterator[Engine]:
    made = create_engine(own_url)
    yield made
    made.dispose()


@pytest.fixture(scope="session")
def shared_engine(shared_url: str) -> Iterator[Engine]:
    engine = create_engine(shared_url)
    yield engine
    engine.dispose()


@pytest.fixture
def shared_repo(shared_engine: Engine) -> MemoryRepository:
    return MemoryRepository(shared_engine)


@pytest.fixture
def agent() -> str:
    """An agent that no other test uses."""
    return f"agent-{next(_agents)}"
