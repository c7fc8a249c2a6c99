"""Databases of both supported ends of PostgreSQL."""

from __future__ import annotations

import os
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from itertools import count

import pytest
import sqlalchemy
from packaging.version import Version

from tests.conftest import new_database
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


@pytest.fixture
def background() -> Iterator[ThreadPoolExecutor]:
    with ThreadPoolExecutor(2) as executor:
        yield executor


@pytest.fixture
def role(server_url: str, empty_url: str) -> Iterator[str]:
    """A role that may do nothing but connect; its name."""
    name = f"pgrecall_role_{os.getpid()}_{next(_numbers)}"
    run(server_url, f"CREATE ROLE {name} LOGIN PASSWORD 'x'")
    yield name
    run(empty_url, f"DROP OWNED BY {name} CASCADE")
    run(server_url, f"DROP OWNED BY {name} CASCADE", f"DROP ROLE {name}")
