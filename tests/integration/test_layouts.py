from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest
from sqlalchemy import Engine

from pgrecall import MemoryRepository, NewMemory, migrate
from pgrecall.errors import InvalidVector
from pgrecall.testing import new_database
from tests.conftest import DIMENSIONS
from tests.integration.conftest import repository_on
from tests.integration.owner import north, plain
from tests.integration.support import NORTH, at, contents, read, sql


def _uses_everything(repo: MemoryRepository, agent: str) -> None:
    memory_id = repo.add(agent, NewMemory("one", embedding=at(10)))
    ids = repo.add_many(agent, [NewMemory("two", embedding=at(50)), plain("x")])
    repo.update(agent, memory_id, importance=0.9)
    repo.delete(agent, ids[1])
    assert contents(repo.search(agent, NORTH, min_similarity=0.1)) == ["one", "two"]
    assert repo.count(agent) == 2
    memory = read(repo, agent, memory_id, include_embedding=True)
    assert memory.embedding == pytest.approx(at(10), abs=1e-3)
    assert memory.retrieval_count == 1


@pytest.fixture(scope="module")
def halfvec_url(server_url: str) -> Iterator[str]:
    with new_database(server_url) as url:
        migrate.upgrade(url, dimensions=DIMENSIONS, embedding_type="halfvec")
        yield url


def test_halfvec_components_come_back_in_half_precision(halfvec_url: str, agent: str) -> None:
    repo = repository_on("sync", halfvec_url)
    _uses_everything(repo, f"{agent} everything")
    vector = [0.1, -0.333, 65504.0, 6e-5, 0.0, 1.0, 2.0, 3.0]
    half = [float(np.float16(x)) for x in vector]

    ids = [
        repo.add(agent, NewMemory("a", embedding=vector)),
        *repo.add_many(agent, [NewMemory("b", embedding=vector)]),
    ]

    for memory_id in ids:
        assert read(repo, agent, memory_id, include_embedding=True).embedding == half


def test_what_half_precision_cannot_hold_is_refused(halfvec_url: str, agent: str) -> None:
    repo = repository_on("sync", halfvec_url)
    for component in (70_000.0, -65_520.0, 1e39):
        vector = [component, *[0.0] * 7]
        with pytest.raises(InvalidVector, match=f"{component:g}.*halfvec".replace("+", r"\+")):
            repo.add(agent, NewMemory("a", embedding=vector))
        with pytest.raises(InvalidVector, match="halfvec"):
            repo.search(agent, vector)
    with pytest.raises(InvalidVector, match=r"zero.*halfvec"):
        repo.add(agent, NewMemory("a", embedding=[1e-9] * 8))

    assert repo.count(agent) == 0


def test_two_schemas_in_one_database_keep_apart(own_url: str, own_engine: Engine) -> None:
    migrate.upgrade(own_url, dimensions=3, embedding_type="halfvec", schema="small")
    large, small = MemoryRepository(own_engine), MemoryRepository(own_engine, schema="small")
    short = [1.0, 0.0, 0.0]

    with own_engine.begin() as connection:
        within = MemoryRepository(connection), MemoryRepository(connection, schema="small")
        large_id = within[0].add("agent", north("large"))
        [small_id] = within[1].add_many("agent", [NewMemory("small", embedding=short)])
        within[0].add_many("agent", [NewMemory("large 2", embedding=at(50))])

    assert contents(large.search("agent", NORTH)) == ["large", "large 2"]
    assert contents(small.search("agent", short)) == ["small"]
    assert (large.get("agent", small_id), small.get("agent", large_id)) == (None, None)
    assert (large.delete("agent", small_id), small.touch("agent", large_id)) == (0, 0)


def test_the_callers_search_path_does_not_matter(own_url: str, own_engine: Engine) -> None:
    for name in ("agent_memories", "memory_usage", "pgrecall_staging"):
        sql(own_engine, f"CREATE TABLE public.{name} (n integer)")
    long = "a" * 63
    migrate.upgrade(own_url, dimensions=DIMENSIONS, schema=long)
    for path, schema in (("", "pgrecall"), ("pg_catalog", "pgrecall"), ("public", long)):
        options = {"options": f"-c search_path={path}"}
        repo = repository_on("sync", own_url, schema=schema, connect_args=options)

        _uses_everything(repo, f"agent {path}")
