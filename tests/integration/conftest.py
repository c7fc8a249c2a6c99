"""Repositories of every kind, each with the face of MemoryRepository."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Callable, Iterator
from itertools import count
from typing import Any

import psycopg
import pytest
from psycopg.rows import dict_row
from sqlalchemy import Engine, NullPool, create_engine
from sqlalchemy.ext.asyncio import AsyncEngine, AsyncSession, create_async_engine
from sqlalchemy.orm import Session
from sqlalchemy.util import await_only

from pgrecall import AsyncMemoryRepository, MemoryRepository
from pgrecall.core.embedders import AsyncEmbedder, Embedder, LocalEmbedder
from pgrecall.execution.inspection import LAYOUTS
from pgrecall.schema import Layout
from pgrecall.testing import new_database
from tests.integration.commands import Run, fast_runner
from tests.integration.owner import Owner
from tests.integration.planting import planted
from tests.integration.rank_indexes import Site, site_of
from tests.integration.serving import Service, service_on
from tests.integration.support import awaited, sql

Work = Callable[[MemoryRepository], Any]
Transaction = Callable[..., Any]

OWNED = (
    *("agent_memories", "memory_usage", "memory_events"),
    *("memory_links", "maintenance_runs", "rank_indexes"),
    *("owner_vectors", "entity_names"),
)
"""Tables whose rows belong to an agent or a team; the tables of defaults belong to all."""
POSITIONS = r"SELECT oid::regclass::text FROM pg_class WHERE relkind = 'r' AND relname ~ '^ranks_'"
"""The tables that rank indexes leave."""

_agents = count()


@pytest.hookimpl(tryfirst=True)
def pytest_pyfunc_call(pyfuncitem: pytest.Function) -> bool | None:
    """Runs tests that are coroutines: those that LangChain brings."""
    if not inspect.iscoroutinefunction(pyfuncitem.obj):
        return None
    names = pyfuncitem._fixtureinfo.argnames
    asyncio.run(pyfuncitem.obj(**{name: pyfuncitem.funcargs[name] for name in names}))
    return True


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
def either(
    request: pytest.FixtureRequest, engine: Engine, async_engine: AsyncEngine, loop: asyncio.Runner
) -> MemoryRepository:
    """Both repositories: for what each reports of itself, apart from what operations do."""
    if request.param == "sync":
        return MemoryRepository(engine)
    return awaited(AsyncMemoryRepository(async_engine), loop.run)


@pytest.fixture(params=["Connection", "AsyncSession"])
def transaction(
    request: pytest.FixtureRequest, engine: Engine, async_engine: AsyncEngine, loop: asyncio.Runner
) -> Transaction:
    """Calls work(repository) inside a transaction of the caller's own, which this ends."""
    kind: str = request.param
    return lambda work, *, commit: in_transaction(
        kind, engine, async_engine, loop, work, commit=commit
    )


def in_transaction(
    kind: str,
    engine: Engine,
    async_engine: AsyncEngine,
    loop: asyncio.Runner,
    work: Work,
    *,
    commit: bool,
) -> Any:
    """Calls work(repository) on one of the four kinds of what a caller may have, and ends it."""
    if not kind.startswith("Async"):
        with engine.connect() if kind == "Connection" else Session(engine) as own:
            result = work(MemoryRepository(own))
            own.commit() if commit else own.rollback()
            return result

    async def run() -> Any:
        connected = kind == "AsyncConnection"
        own: Any = async_engine.connect() if connected else AsyncSession(async_engine)
        async with own:
            repository = awaited(AsyncMemoryRepository(own), await_only)
            result = await own.run_sync(lambda _: work(repository))
            await (own.commit() if commit else own.rollback())
            return result

    return loop.run(run())


@pytest.fixture(scope="session")
def shared_url(server_url: str, template: str) -> Iterator[str]:
    """A migrated database for tests that each use an agent of their own."""
    with new_database(server_url, template) as url:
        yield url


@pytest.fixture(scope="session")
def emptied_url(server_url: str, template: str) -> Iterator[str]:
    with new_database(server_url, template) as url:
        yield url


@pytest.fixture(scope="session")
def emptying(emptied_url: str) -> Iterator[psycopg.Connection[Any]]:
    with psycopg.connect(emptied_url, autocommit=True) as connection:
        yield connection


@pytest.fixture
def database_url(emptied_url: str, emptying: psycopg.Connection[Any]) -> Iterator[str]:
    """A migrated database without a row; a clone for every test would cost minutes."""
    yield emptied_url
    empty(emptying)


@pytest.fixture(scope="session")
def emptied_local_url(server_url: str, local_template: str) -> Iterator[str]:
    with new_database(server_url, local_template) as url:
        yield url


@pytest.fixture
def local_url(emptied_local_url: str) -> Iterator[str]:
    """The same for vectors of the local embedder."""
    yield emptied_local_url
    with psycopg.connect(emptied_local_url, autocommit=True) as connection:
        empty(connection)


def empty(connection: psycopg.Connection[Any]) -> None:
    connection.execute("SET lock_timeout = '20s'")  # of a test that left a transaction open
    for table in (*OWNED, "embedding_model"):
        connection.execute(f"DELETE FROM pgrecall.{table}")
    for (positions,) in connection.execute(POSITIONS).fetchall():
        connection.execute(f"DROP TABLE {positions}")


@pytest.fixture(scope="session")
def loop() -> Iterator[asyncio.Runner]:
    """An event loop that connections can stay in."""
    with asyncio.Runner() as runner:
        yield runner


@pytest.fixture(scope="session")
def emptied_async_engine(emptied_url: str, loop: asyncio.Runner) -> Iterator[AsyncEngine]:
    made = create_async_engine(emptied_url)
    yield made
    loop.run(made.dispose())


@pytest.fixture(scope="session")
def emptied_engine(emptied_url: str) -> Iterator[Engine]:
    made = create_engine(emptied_url)
    yield made
    made.dispose()


@pytest.fixture(scope="session")
def layout(emptied_engine: Engine) -> Layout:
    """What a repository would look up first."""
    MemoryRepository(emptied_engine).count("agent")
    found = LAYOUTS[emptied_engine]["pgrecall"]
    assert found is not None
    return found


@pytest.fixture
def engine(emptied_engine: Engine, layout: Layout, database_url: str) -> Engine:
    """An engine of the test's own, as the repository sees it, on connections that were there."""
    made = emptied_engine.execution_options()
    LAYOUTS[made] = {"pgrecall": layout}
    return made


@pytest.fixture
def async_engine(
    emptied_async_engine: AsyncEngine, layout: Layout, database_url: str
) -> AsyncEngine:
    """The same, asynchronous; for the loop of that fixture alone."""
    made = emptied_async_engine.execution_options()
    LAYOUTS[made.sync_engine] = {"pgrecall": layout}
    return made


@pytest.fixture
def site(database_url: str, engine: Engine) -> Iterator[Site]:
    """The same, for work beside a build of a rank index."""
    with site_of(database_url, engine) as made:
        yield made


@pytest.fixture
def impatient_drops(site: Site) -> Iterator[None]:
    """Who drops a rank index waits a tenth of a second for those who read it, not two seconds."""
    [drop] = site.values("SELECT pg_get_functiondef('pgrecall.drop_positions()'::regprocedure)")
    site.run(drop.replace("'2s'", "'100ms'"))
    yield
    site.run(drop)


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


@pytest.fixture
def own_repo(own_engine: Engine) -> MemoryRepository:
    return MemoryRepository(own_engine)


@pytest.fixture
def theirs(own_url: str) -> Iterator[psycopg.Connection[Any]]:
    """A connection of another system, on which names without a schema are its own."""
    with psycopg.connect(own_url, autocommit=True) as connection:
        connection.execute("CREATE SCHEMA theirs")
        connection.execute("SET search_path = theirs, public")
        yield connection


@pytest.fixture(scope="session")
def shared_engine(shared_url: str) -> Iterator[Engine]:
    engine = create_engine(shared_url)
    yield engine
    engine.dispose()


@pytest.fixture(scope="session")
def connection(shared_url: str) -> Iterator[psycopg.Connection[dict[str, Any]]]:
    """A session on the same database, whose rows are dictionaries."""
    with psycopg.connect(shared_url, autocommit=True, row_factory=dict_row) as made:
        yield made


@pytest.fixture(scope="module")
def module_url(server_url: str, template: str) -> Iterator[str]:
    """A migrated database for the tests of one file."""
    with new_database(server_url, template) as url:
        yield url


@pytest.fixture(scope="module")
def module_engine(module_url: str) -> Iterator[Engine]:
    made = create_engine(module_url)
    yield made
    made.dispose()


@pytest.fixture
def shared_repo(shared_engine: Engine) -> MemoryRepository:
    return MemoryRepository(shared_engine)


@pytest.fixture
def agent() -> str:
    """An agent that no other test uses."""
    return f"agent-{next(_agents)}"


@pytest.fixture
def mine(shared_engine: Engine, agent: str) -> Owner:
    """The same, as its owner sees it."""
    return Owner(shared_engine, agent)


@pytest.fixture(scope="session")
def local_embedder() -> LocalEmbedder:
    return LocalEmbedder()


@pytest.fixture(scope="module")
def commands_url(server_url: str, local_template: str) -> Iterator[str]:
    """A database for the commands of one file, for vectors of the local embedder."""
    with new_database(server_url, local_template) as url:
        yield url


@pytest.fixture
def analysed(engine: Engine) -> None:
    """Other tests have changed the tables, and no statistics are to be due."""
    sql(engine, "SELECT pgrecall._take_statistics(t) FROM unnest(pgrecall.analysed_tables()) t")


@pytest.fixture
def runs_on(local_url: str) -> str:
    """The database of `run`; some files have one of their own."""
    return local_url


@pytest.fixture
def run(
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    runs_on: str,
    local_embedder: LocalEmbedder,
) -> Run:
    """Runs commands."""
    return fast_runner(monkeypatch, capsys, runs_on, local_embedder)


@pytest.fixture(scope="session")
def service(
    server_url: str, local_template: str, local_embedder: LocalEmbedder
) -> Iterator[Service]:
    """The HTTP service with keys, on a database of its own; each test has owners of its own.

    Whatever a request does, it calls nothing that others have planted: that would be an error.
    """
    with (
        new_database(server_url, local_template) as url,
        psycopg.connect(url, autocommit=True) as connection,
    ):
        for statement in planted():
            connection.execute(statement.encode())
        with service_on(url, local_embedder) as found:
            yield found
