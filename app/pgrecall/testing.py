"""A plugin for pytest: databases with pgrecall's schema for your tests, on real PostgreSQL.

    pytest_plugins = ["pgrecall.testing"]  # in the conftest.py of your top folder

The plugin is loaded by name. It is not an entry point, since pytest loads entry points in every
run, used or not, and rewrites all modules of their packages on import.

Each test that uses one of these fixtures gets a database of its own: `pgrecall_url`,
`pgrecall_engine`, `pgrecall_repository`, `pgrecall_async_engine`, `pgrecall_async_repository`.
The other fixtures are settings. To change one, override it with scope="session".
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from typing import Any
from uuid import uuid4

import psycopg
import pytest
from psycopg import sql
from sqlalchemy import Engine, NullPool, create_engine, make_url
from sqlalchemy.ext.asyncio import AsyncEngine, create_async_engine

from pgrecall import embedded, migrate
from pgrecall.core.embedders import LocalEmbedder
from pgrecall.execution import AsyncMemoryRepository, MemoryRepository
from pgrecall.schema import DEFAULT_SCHEMA


@pytest.fixture(scope="session")
def pgrecall_server() -> Iterator[str]:
    """URL of the server: PGRECALL_TEST_DATABASE_URL, or an embedded server if that is not set.

    The role in the URL must be allowed to create databases.
    """
    if url := os.environ.get("PGRECALL_TEST_DATABASE_URL"):
        yield url
    else:
        with embedded.database() as url:
            hurry(url)
            yield url


@pytest.fixture(scope="session")
def pgrecall_dimensions() -> int:
    """The number of dimensions of embeddings; by default that of the local embedder."""
    return migrate.DEFAULT_DIMENSIONS


@pytest.fixture(scope="session")
def pgrecall_schema() -> str:
    """The schema of the tables."""
    return DEFAULT_SCHEMA


@pytest.fixture(scope="session")
def pgrecall_embedder() -> Any:
    """The embedder of both repositories: the local one, or None if it is not installed."""
    return LocalEmbedder() if find_spec("wordllama") else None


@pytest.fixture(scope="session")
def pgrecall_template(
    pgrecall_server: str, pgrecall_dimensions: int, pgrecall_schema: str
) -> Iterator[str]:
    """The name of a migrated database to clone; nothing may be connected to it."""
    with new_database(pgrecall_server) as url:
        migrate.upgrade(url, dimensions=pgrecall_dimensions, schema=pgrecall_schema)
        yield str(make_url(url).database)


@pytest.fixture
def pgrecall_url(pgrecall_server: str, pgrecall_template: str) -> Iterator[str]:
    """SQLAlchemy URL of a migrated database that belongs to this test."""
    with new_database(pgrecall_server, pgrecall_template) as url:
        yield url.replace("postgresql:", "postgresql+psycopg:", 1)


@pytest.fixture
def pgrecall_engine(pgrecall_url: str) -> Iterator[Engine]:
    """An engine on the test's database."""
    engine = create_engine(pgrecall_url)
    yield engine
    engine.dispose()


@pytest.fixture
def pgrecall_repository(
    pgrecall_engine: Engine, pgrecall_schema: str, pgrecall_embedder: Any
) -> MemoryRepository:
    """A repository on the test's database."""
    return MemoryRepository(pgrecall_engine, schema=pgrecall_schema, embedder=pgrecall_embedder)


@pytest.fixture
def pgrecall_async_engine(pgrecall_url: str) -> AsyncEngine:
    """An async engine without a pool, so no connection outlives the event loop of the test."""
    return create_async_engine(pgrecall_url, poolclass=NullPool)


@pytest.fixture
def pgrecall_async_repository(
    pgrecall_async_engine: AsyncEngine, pgrecall_schema: str, pgrecall_embedder: Any
) -> AsyncMemoryRepository:
    """An async repository on the test's database."""
    return AsyncMemoryRepository(
        pgrecall_async_engine, schema=pgrecall_schema, embedder=pgrecall_embedder
    )


@contextmanager
def new_database(server: str, template: str = "template1") -> Iterator[str]:
    """Creates a database and drops it afterwards. Yields its URL, without a driver name."""
    url = make_url(server).set(drivername="postgresql")
    name = f"pgrecall_test_{uuid4().hex}"
    quoted = sql.Identifier(name)
    plain = url.render_as_string(hide_password=False)
    with psycopg.connect(plain, autocommit=True) as connection:
        clone = sql.SQL("CREATE DATABASE {} TEMPLATE {} STRATEGY file_copy")
        connection.execute(clone.format(quoted, sql.Identifier(template)))
        try:
            yield url.set(database=name).render_as_string(hide_password=False)
        finally:
            connection.execute(sql.SQL("DROP DATABASE {} WITH (FORCE)").format(quoted))


def hurry(server: str) -> None:
    """Turns off waiting for the disk, which tests do not need."""
    with psycopg.connect(server, autocommit=True) as connection:
        for setting in ("fsync", "full_page_writes", "synchronous_commit"):
            connection.execute(f"ALTER SYSTEM SET {setting} = off")
        connection.execute("SELECT pg_reload_conf()")
