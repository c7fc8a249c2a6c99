"""Real PostgreSQL for every test: one server and one migrated template a session, a clone a test.

PGRECALL_TEST_DATABASE_URL: that server (databases are created and dropped there).
PGRECALL_TEST_CONTAINER=1: the image pgvector/pgvector:pg18, through testcontainers.
Neither: the embedded server.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Generator, Iterator
from pathlib import Path

import pytest
from packaging.version import Version
from sqlalchemy import Engine, NullPool, create_engine, make_url
from sqlalchemy.dialects import registry

from pgrecall import MemoryRepository, embedded, migrate
from pgrecall.migrate.connecting import engine_of
from pgrecall.testing import hurry, new_database

# What postgresql:// means from SQLAlchemy 2.1 on; before, it is psycopg2.
registry.register("postgresql", "sqlalchemy.dialects.postgresql.psycopg", "PGDialect_psycopg")

os.environ.pop("COLUMNS", None)  # workers of pytest-xdist have it: commands would wrap their tables

TESTS = Path(__file__).parent
LONGEST = [
    TESTS / f"{name}.py"
    for name in (
        *("integration/test_pages", "integration/test_statistics", "unit/test_embedded"),
        *("integration/test_replica", "integration/test_row_level_security"),
        *("browser/test_studio_accessible", "browser/test_studio_hostile"),
        *("integration/test_backups", "integration/test_example", "integration/test_races"),
        *("integration/test_killed_clients", "packaging/test_upgrade", "packaging/test_site"),
        *("integration/test_testing", "integration/test_serve"),
        *("migrations/test_words", "migrations/test_interruptions", "migrations/test_offline"),
        *("migrations/test_errors", "integration/test_service_database"),
        *("integration/test_rank_index_maintenance", "integration/test_statements"),
        *("integration/test_filter_oracle", "integration/test_kept_searches"),
        *("integration/test_service_document", "migrations/test_embedding_index"),
        *("migrations/test_up_and_down", "packaging/test_wheel", "packaging/test_release"),
        *("integration/test_moving_from", "packaging/test_editors"),
    )
]
"""Files that take more than five seconds, the longest first."""
DIMENSIONS = 8
NO_HNSW = "can corrupt HNSW indexes"


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """The longest files first: pytest-xdist hands them out in this order, and one that comes last
    would leave the other processes with nothing to do."""
    items.sort(key=lambda item: LONGEST.index(item.path) if item.path in LONGEST else len(LONGEST))


@pytest.fixture(autouse=True)
def needs_hnsw(request: pytest.FixtureRequest) -> None:
    """Skips tests with the mark `hnsw` where pgvector is too old for such indexes, as Debian's."""
    if request.node.get_closest_marker("hnsw"):
        with engine_of(request.getfixturevalue("server_url")).connect() as own:
            query = "SELECT default_version FROM pg_available_extensions WHERE name = 'vector'"
            version = str(own.exec_driver_sql(query).scalar_one())
        if Version(version) < Version("0.8.3"):
            pytest.skip(f"needs an HNSW index: pgvector {version} is too old for it")


@pytest.hookimpl(wrapper=True)
def pytest_runtest_setup() -> Generator[None, object, object]:
    return (yield from _skipped_without_hnsw())


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call() -> Generator[None, object, object]:
    return (yield from _skipped_without_hnsw())


def _skipped_without_hnsw() -> Generator[None, object, object]:
    """Skips other tests that build such an index there, as many of them do beside other things."""
    try:
        return (yield)
    except Exception as error:
        if NO_HNSW in str(error):
            pytest.skip(f"needs an HNSW index: {str(error).splitlines()[0]}")
        raise


@pytest.fixture(scope="session")
def server_url() -> Iterator[str]:
    """A server on which databases may be created, as a URL of its maintenance database."""
    if url := os.environ.get("PGRECALL_TEST_DATABASE_URL"):
        yield url
    elif os.environ.get("PGRECALL_TEST_CONTAINER"):
        from testcontainers.community.postgres import PostgresContainer

        with PostgresContainer("pgvector/pgvector:pg18", driver=None) as container:
            yield container.get_connection_url()
    else:
        with embedded.database() as url:
            hurry(url)
            yield url


@pytest.fixture(scope="session")
def postgres_16() -> Iterator[str]:
    """An embedded server of the oldest PostgreSQL supported."""
    with embedded.database(postgres_version=16) as url:
        hurry(url)
        yield url


@pytest.fixture(scope="session")
def pgrecall_server(server_url: str) -> str:
    """For the fixtures of pgrecall.testing."""
    return server_url


@pytest.fixture(scope="session")
def pgrecall_dimensions() -> int:
    return DIMENSIONS


@pytest.fixture(scope="session")
def template(pgrecall_template: str) -> str:
    """The name of a migrated database to clone: vector(8)."""
    return pgrecall_template


@pytest.fixture(scope="session")
def local_template(server_url: str) -> Iterator[str]:
    """The name of a migrated database to clone, for vectors of the local embedder."""
    with new_database(server_url) as url:
        migrate.upgrade(url)
        yield str(make_url(url).database)


@pytest.fixture
def empty_url(server_url: str) -> Iterator[str]:
    """A database with nothing in it."""
    with new_database(server_url) as url:
        yield url


@pytest.fixture
def database_url(server_url: str, template: str) -> Iterator[str]:
    """A migrated database of the test's own."""
    with new_database(server_url, template) as url:
        yield url


@pytest.fixture
def engine(database_url: str) -> Iterator[Engine]:
    made = create_engine(database_url, poolclass=NullPool)
    yield made
    made.dispose()


@pytest.fixture
def repo(engine: Engine) -> MemoryRepository:
    return MemoryRepository(engine)


Direction = Callable[..., list[float]]


@pytest.fixture
def direction() -> Direction:
    """Unit vectors by their angle to the first axis, in the plane of the first two."""
    from math import cos, radians, sin

    def at(degrees: float) -> list[float]:
        return [cos(radians(degrees)), sin(radians(degrees)), *[0.0] * (DIMENSIONS - 2)]

    return at
