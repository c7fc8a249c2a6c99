"""The pytest plugin, in runs of its own."""

from __future__ import annotations

import pytest

from tests.migrations.asking import values

pytest_plugins = ["pytester"]

CONFTEST = 'pytest_plugins = ["pgrecall.testing"]\n'
EACH_ALONE = """
import asyncio

import pytest
from pgrecall import NewMemory


@pytest.mark.parametrize("number", range(3))
def test_a_database_of_its_own(pgrecall_repository, number):
    assert pgrecall_repository.count("agent") == 0
    pgrecall_repository.add("agent", "the kettle is descaled on Mondays")
    [hit] = pgrecall_repository.search("agent", "when is the kettle descaled?")
    assert hit.similarity > 0.5


@pytest.mark.parametrize("number", range(2))
def test_async(pgrecall_async_repository, number):
    async def use():
        await pgrecall_async_repository.add("agent", "tea")
        return await pgrecall_async_repository.count("agent")

    assert asyncio.run(use()) == 1
    assert asyncio.run(use()) == 1, "in another event loop"


def test_both_are_one_database(pgrecall_repository, pgrecall_async_repository):
    pgrecall_repository.add("agent", "tea")
    assert asyncio.run(pgrecall_async_repository.count("agent")) == 1
"""
OTHERWISE = """
import pytest
from sqlalchemy import text


class Embedder:
    def embed_documents(self, texts):
        return [[1.0, 0.0, 0.0] for _ in texts]

    def embed_query(self, query):
        return [1.0, 0.0, 0.0]


@pytest.fixture(scope="session")
def pgrecall_dimensions():
    return 3


@pytest.fixture(scope="session")
def pgrecall_schema():
    return "memories"


@pytest.fixture(scope="session")
def pgrecall_embedder():
    return Embedder()


def test_settings(pgrecall_repository, pgrecall_engine, pgrecall_url):
    pgrecall_repository.add("agent", "tea")
    with pgrecall_engine.connect() as connection:
        query = "SELECT current_database(), embedding::text FROM memories.agent_memories"
        database, vector = connection.execute(text(query)).one()
    assert vector == "[1,0,0]"
    assert pgrecall_url.startswith("postgresql+psycopg://")
    assert database in pgrecall_url
"""


def test_workers_beside_each_other_leave_nothing_on_a_server(
    pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch, server_url: str
) -> None:
    monkeypatch.setenv("PGRECALL_TEST_DATABASE_URL", server_url)
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")
    pytester.makeconftest(CONFTEST)
    pytester.makepyfile(EACH_ALONE)
    there = "SELECT datname FROM pg_database ORDER BY 1"
    before = values(server_url, there)

    result = pytester.runpytest_subprocess("-p", "xdist", "-n", "2", "-W", "error")

    result.assert_outcomes(passed=6)
    assert values(server_url, there) == before


def test_settings_are_fixtures_and_without_a_server_there_is_an_embedded_one(
    pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("PGRECALL_TEST_DATABASE_URL", raising=False)
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")
    pytester.makeconftest(CONFTEST)
    pytester.makepyfile(OTHERWISE)

    result = pytester.runpytest_subprocess("-W", "error")

    result.assert_outcomes(passed=1)
