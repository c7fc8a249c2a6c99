from __future__ import annotations

from uuid import UUID, uuid4

from sqlalchemy import Engine

from pgrecall import MemoryRepository, NewMemory
from tests.integration.conftest import RepositoryOf
from tests.integration.support import NORTH, at, sql, stored


def test_the_ids_of_a_batch_come_back_in_input_order(either: MemoryRepository) -> None:
    batch = [NewMemory(f"memory {i}", embedding=at(i)) for i in range(30)]

    ids = either.add_many("agent", batch)

    found = [either.get("agent", memory_id) for memory_id in ids]
    assert [memory.content for memory in found if memory] == [memory.content for memory in batch]


def test_the_callers_ids_and_the_repositorys_mix_in_a_batch(either: MemoryRepository) -> None:
    mine = uuid4()

    made, kept = either.add_many(
        "agent", [NewMemory("a", embedding=None), NewMemory("b", id=mine, embedding=None)]
    )

    assert kept == mine
    assert made.version == 7


def test_an_empty_batch_stores_nothing(either: MemoryRepository, engine: Engine) -> None:
    assert either.add_many("agent", []) == []
    assert stored(engine, "agent") == 0


def test_a_batch_may_come_from_a_generator(either: MemoryRepository, engine: Engine) -> None:
    either.add_many("agent", (NewMemory(str(i), embedding=None) for i in range(3)))

    assert stored(engine, "agent") == 3


def test_of_two_rows_with_one_id_the_first_is_stored(
    either: MemoryRepository, engine: Engine
) -> None:
    same = uuid4()

    ids = either.add_many(
        "agent",
        [
            NewMemory("first", id=same, embedding=None),
            NewMemory("between", embedding=None),
            NewMemory("second", id=same, embedding=None),
        ],
    )

    memory = either.get("agent", same)
    assert [ids[0], ids[2]] == [same, same]
    assert memory is not None
    assert memory.content == "first"
    assert stored(engine, "agent") == 2


def test_a_retried_batch_stores_once(either: MemoryRepository, engine: Engine) -> None:
    batch = [NewMemory(f"memory {i}", id=uuid4(), embedding=at(i)) for i in range(5)]

    assert either.add_many("agent", batch) == either.add_many("agent", batch)
    assert stored(engine, "agent") == 5


def test_a_retried_batch_stores_what_is_new_and_leaves_the_rest(
    either: MemoryRepository, engine: Engine
) -> None:
    [old] = either.add_many("agent", [NewMemory("old", embedding=NORTH)])

    either.add_many(
        "agent", [NewMemory("other", id=old, embedding=at(90)), NewMemory("new", embedding=None)]
    )

    memory = either.get("agent", old, include_embedding=True)
    assert memory is not None
    assert (memory.content, memory.embedding) == ("old", NORTH)
    assert stored(engine, "agent") == 2


def test_a_batch_of_5000_rows_is_stored_whole(
    repository_of: RepositoryOf, database_url: str
) -> None:
    repo = repository_of(database_url)
    batch = [NewMemory(f"memory {i}", embedding=at(i % 360)) for i in range(5_000)]

    ids = repo.add_many("agent", batch)

    last = repo.get("agent", ids[-1])
    assert len(set(ids)) == repo.count("agent") == 5_000
    assert last is not None
    assert last.content == "memory 4999"


def test_rows_of_a_batch_lie_by_content_hash_and_ids_come_in_input_order(
    repository_of: RepositoryOf, own_url: str, own_engine: Engine
) -> None:
    """So that two batches that share texts wait for each other and form no circle."""
    batch = [NewMemory(str(i), embedding=None) for i in range(100)]

    ids = repository_of(own_url).add_many("agent", batch)

    rows = sql(
        own_engine, "SELECT id, content, content_hash FROM pgrecall.agent_memories ORDER BY ctid"
    )
    hashes = [bytes(content_hash) for _, _, content_hash in rows]
    by_id = {UUID(str(memory_id)): content for memory_id, content, _ in rows}
    assert hashes == sorted(hashes)
    assert [by_id[memory_id] for memory_id in ids] == [memory.content for memory in batch]


def test_a_batch_leaves_no_table_behind(either: MemoryRepository, engine: Engine) -> None:
    either.add_many("agent", [NewMemory("a", embedding=None)])

    assert sql(engine, "SELECT relname FROM pg_class WHERE relname LIKE '%staging%'") == []


def test_a_batch_works_on_an_engine_in_autocommit(
    repository_of: RepositoryOf, database_url: str, engine: Engine
) -> None:
    repo = repository_of(database_url, isolation_level="AUTOCOMMIT")

    repo.add_many("agent", [NewMemory("a", embedding=NORTH), NewMemory("b", embedding=None)])

    assert stored(engine, "agent") == 2
