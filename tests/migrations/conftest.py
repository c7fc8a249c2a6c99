"""Databases of both supported ends of PostgreSQL."""

from __future__ import annotations

import os
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from itertools import count

import pytest
import sqlalchemy
from packaging.version import Version
from sqlalchemy import make_url

from pgrecall import migrate
from pgrecall.testing import new_database
from tests.migrations.asking import run

_numbers = count()
SEES_OUR_SCHEMA = Version(sqlalchemy.__version__) >= Version("2.0.53")
"""Older ones leave out schemas LIKE 'pg_%', where the _ stands for any letter: ours too."""
compared = pytest.mark.skipif(not SEES_OUR_SCHEMA, reason="this SQLAlchemy does not see our schema")

SERVERS = {"16": "postgres_16", "18": "server_url"}


@pytest.fixture(params=SERVERS, ids=lambda version: f"postgres_{version}")
def server(request: pytest.FixtureRequest) -> str:
    """Both servers in turn."""
    url: str = request.getfixturevalue(SERVERS[request.param])
    return url


@pytest.fixture
def each_url(server: str) -> Iterator[str]:
    """An empty database on each server."""
    with new_database(server) as url:
        yield url


@pytest.fixture(scope="session")
def template_of_3(server_url: str) -> Iterator[str]:
    """A migrated database to clone: vector(3)."""
    with new_database(server_url) as url:
        migrate.upgrade(url, dimensions=3)
        yield str(make_url(url).database)


@pytest.fixture
def migrated(server_url: str, template_of_3: str) -> Iterator[str]:
    """A migrated database of the test's own: vector(3)."""
    with new_database(server_url, template_of_3) as url:
        yield url


@pytest.fixture
def background() -> Iterator[ThreadPoolExecutor]:
    with ThreadPoolExecutor(2) as executor:
        yield executor


@pytest.fixture
def its_url(request: pytest.FixtureRequest) -> str:
    """The database of the test, migrated or not."""
    among = "migrated" if "migrated" in request.fixturenames else "empty_url"
    url: str = request.getfixturevalue(among)
    return url


@pytest.fixture
def role(server_url: str, its_url: str) -> Iterator[str]:
    """A role that may do nothing but connect; its name."""
    name = f"pgrecall_role_{os.getpid()}_{next(_numbers)}"
    run(server_url, f"CREATE ROLE {name} LOGIN PASSWORD 'x'")
    yield name
    run(its_url, f"DROP OWNED BY {name} CASCADE")
    run(server_url, f"DROP OWNED BY {name} CASCADE", f"DROP ROLE {name}")
