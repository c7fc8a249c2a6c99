from __future__ import annotations

from uuid import uuid4

import pytest
from sqlalchemy import Engine

from pgrecall import MemoryRepository, NewMemory
from tests.integration.support import NORTH, before, sql


def test_get_of_an_id_that_is_not_there_is_none(either: MemoryRepository) -> None:
    assert either.get("agent", uuid4()) is None


def test_get_leaves_the_embedding_out_unless_asked(either: MemoryRepository) -> None:
    memory_id = either.add("agent", NewMemory("a", embedding=NORTH))

    bare = either.get("agent", memory_id)
    full = either.get("agent", memory_id, include_embedding=True)

    assert bare is not None
    assert full is not None
    assert (bare.embedding, full.embedding) == (None, NORTH)


def test_get_finds_what_is_no_longer_valid(either: MemoryRepository, engine: Engine) -> None:
    memory_id = either.add("agent", NewMemory("a", embedding=None, expires_at=before(1000)))
    sql(engine, "UPDATE pgrecall.agent_memories SET status = 'archived'")

    memory = either.get("agent", memory_id)

    assert memory is not None
    assert memory.status == "archived"


def test_get_does_not_count_as_a_retrieval(either: MemoryRepository, engine: Engine) -> None:
    memory_id = either.add("agent", NewMemory("a", embedding=None))

    either.get("agent", memory_id)

    assert sql(engine, "SELECT * FROM pgrecall.memory_usage") == []


def test_get_shows_the_counters(either: MemoryRepository, engine: Engine) -> None:
    memory_id = either.add("agent", NewMemory("a", embedding=None))
    sql(
        engine,
        "INSERT INTO pgrecall.memory_usage VALUES ('agent', :memory, 3, :accessed, 2, 1)",
        memory=memory_id,
        accessed=before(1),
    )

    memory = either.get("agent", memory_id)

    assert memory is not None
    assert (memory.retrieval_count, memory.success_count, memory.failure_count) == (3, 2, 1)
    assert memory.last_accessed_at == before(1)


def test_count_of_an_unknown_agent_is_zero(either: MemoryRepository) -> None:
    assert either.count("nobody") == 0


def test_count_is_of_what_a_search_would_look_at(either: MemoryRepository) -> None:
    either.add_many(
        "agent",
        [
            NewMemory("valid", embedding=NORTH),
            NewMemory("not embedded", embedding=None),
            NewMemory("expired", embedding=NORTH, expires_at=before(1000)),
        ],
    )

    assert either.count("agent") == len(either.search("agent", NORTH)) == 2
    assert either.count("agent", include_invalid=True) == 3


@pytest.mark.parametrize("days", [0, 10])
def test_count_takes_a_moment(either: MemoryRepository, days: float) -> None:
    either.add("agent", NewMemory("a", embedding=None, created_at=before(5)))

    assert either.count("agent", as_of=before(days)) == (1 if days < 5 else 0)


def test_existing_tells_the_ids_that_are_there(either: MemoryRepository) -> None:
    ids = either.add_many("agent", [NewMemory(str(i), embedding=None) for i in range(2)])
    hers = either.add("another", NewMemory("hers", embedding=None))

    assert either.existing("agent", [*ids, uuid4(), hers, ids[0]]) == set(ids)


def test_of_no_ids_none_exist(either: MemoryRepository) -> None:
    assert either.existing("agent", []) == set()
