"""Databases of both supported ends of PostgreSQL."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest

from tests.conftest import new_database

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
