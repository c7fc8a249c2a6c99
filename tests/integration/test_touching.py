from __future__ import annotations

from collections.abc import Callable
from uuid import UUID, uuid4

import pytest
from sqlalchemy import Engine, func, select

from pgrecall import MemoryRepository, NewMemory
from pgrecall.errors import DatabaseReadOnly
from tests.integration.conftest import RepositoryOf
from tests.integration.support import NORTH, at, contents, sql


@pytest.mark.parametrize("times", [1, 3])
def test_touch_counts_each_retrieval(either: MemoryRepository, times: int) -> None:
    memory_id = either.add("agent", NewMemory("a", embedding=None))

    for _ in range(times):
        either.touch("agent", memory_id)

    memory = either.get("agent", memory_id)
    assert memory is not None
    assert memory.retrieval_count == times


def test_touch_stores_the_databases_now(engine: Engine) -> None:
    with engine.begin() as connection:
        repo = MemoryRepository(connection)
        memory_id = repo.add("agent", NewMemory("a", embedding=None))
        repo.touch("agent", memory_id)
        memory = repo.get("agent", memory_id)
        now = connection.scalar(select(func.now()))

    assert memory is not None
    assert memory.last_accessed_at == now


def test_last_accessed_at_never_goes_back(either: MemoryRepository, engine: Engine) -> None:
    memory_id = either.add("agent", NewMemory("a", embedding=None))
    sql(
        engine,
        "INSERT INTO pgrecall.memory_usage (agent_id, memory_id, last_accessed_at) "
        "VALUES ('agent', :memory, '2999-01-01')",
        memory=memory_id,
    )

    either.touch("agent", memory_id)

    memory = either.get("agent", memory_id)
    assert memory is not None
    assert memory.last_accessed_at is not None
    assert memory.last_accessed_at.year >= 2998


@pytest.mark.parametrize("ids", [lambda a, b: [a, b], lambda a, b: (x for x in (a, b, a))])
def test_touch_returns_how_many_memories_exist(
    either: MemoryRepository, ids: Callable[[UUID, UUID], list[UUID]]
) -> None:
    memory_id = either.add("agent", NewMemory("a", embedding=None))

    assert either.touch("agent", ids(memory_id, uuid4())) == 1


def test_an_id_named_twice_in_one_touch_counts_once(either: MemoryRepository) -> None:
    memory_id = either.add("agent", NewMemory("a", embedding=None))

    either.touch("agent", [memory_id, memory_id])

    memory = either.get("agent", memory_id)
    assert memory is not None
    assert memory.retrieval_count == 1


def test_touching_nothing_leaves_no_row(either: MemoryRepository, engine: Engine) -> None:
    assert either.touch("agent", []) == 0
    assert either.touch("agent", uuid4()) == 0
    assert sql(engine, "SELECT * FROM pgrecall.memory_usage") == []


def test_a_search_counts_its_hits_and_only_those(either: MemoryRepository, engine: Engine) -> None:
    near, _ = either.add_many(
        "agent", [NewMemory("near", embedding=NORTH), NewMemory("far", embedding=at(90))]
    )

    either.search("agent", NORTH, k=1)

    rows = sql(engine, "SELECT memory_id, retrieval_count FROM pgrecall.memory_usage")
    assert rows == [(near, 1)]


def test_the_next_search_sees_the_count(either: MemoryRepository) -> None:
    either.add("agent", NewMemory("a", embedding=NORTH))

    [first] = either.search("agent", NORTH)
    [second] = either.search("agent", NORTH)

    assert (first.memory.retrieval_count, second.memory.retrieval_count) == (0, 1)
    assert (first.signals["frequency"], second.signals["frequency"]) == (0, 1 / 50)


def test_a_search_without_touch_leaves_no_row(either: MemoryRepository, engine: Engine) -> None:
    either.add("agent", NewMemory("a", embedding=NORTH))

    either.search("agent", NORTH, touch=False)

    assert sql(engine, "SELECT * FROM pgrecall.memory_usage") == []


def test_touching_writes_no_memory_row_and_no_event(
    either: MemoryRepository, engine: Engine
) -> None:
    memory_id = either.add("agent", NewMemory("a", embedding=NORTH))
    version = "SELECT ctid::text, xmin::text, xmax::text, updated_at FROM pgrecall.agent_memories"
    events = "SELECT ctid::text, xmin::text, xmax::text, event_type FROM pgrecall.memory_events"
    first, told = sql(engine, version), sql(engine, events)
    assert [row[-1] for row in told] == ["initial"]

    either.touch("agent", memory_id)
    either.search("agent", NORTH)

    assert sql(engine, version) == first
    assert sql(engine, events) == told


def test_where_nothing_may_be_written_a_search_that_counts_says_so(
    repo: MemoryRepository, repository_of: RepositoryOf, database_url: str
) -> None:
    repo.add("agent", NewMemory("a", embedding=NORTH))
    reader = repository_of(database_url, execution_options={"postgresql_readonly": True})

    with pytest.raises(DatabaseReadOnly, match="touch=False"):
        reader.search("agent", NORTH)


def test_where_nothing_may_be_written_a_search_without_touch_works(
    repo: MemoryRepository, repository_of: RepositoryOf, database_url: str
) -> None:
    repo.add("agent", NewMemory("a", embedding=NORTH))
    reader = repository_of(database_url, execution_options={"postgresql_readonly": True})

    assert contents(reader.search("agent", NORTH, touch=False)) == ["a"]
    assert reader.count("agent") == 1


def test_where_nothing_may_be_written_a_search_without_hits_works(
    repository_of: RepositoryOf, database_url: str
) -> None:
    reader = repository_of(database_url, execution_options={"postgresql_readonly": True})

    assert reader.search("agent", NORTH) == []


def test_where_nothing_may_be_written_adding_says_so(
    repository_of: RepositoryOf, database_url: str
) -> None:
    reader = repository_of(database_url, execution_options={"postgresql_readonly": True})

    with pytest.raises(DatabaseReadOnly):
        reader.add("agent", NewMemory("a", embedding=None))
    with pytest.raises(DatabaseReadOnly):
        reader.add_many("agent", [NewMemory("a", embedding=None)])
