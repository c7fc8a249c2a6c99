from __future__ import annotations

from datetime import UTC, datetime
from uuid import UUID, uuid4

from sqlalchemy import Engine, func, select

from pgrecall import MemoryRepository, NewMemory
from tests.integration.support import NORTH, at, contents, stored


def test_add_returns_the_id_under_which_the_memory_is_found(either: MemoryRepository) -> None:
    memory_id = either.add("agent", NewMemory("seen", embedding=NORTH))

    memory = either.get("agent", memory_id)

    assert memory is not None
    assert (memory.id, memory.agent_id, memory.content) == (memory_id, "agent", "seen")


def test_an_id_made_by_the_repository_is_of_version_7(either: MemoryRepository) -> None:
    assert either.add("agent", NewMemory("seen", embedding=None)).version == 7


def test_the_id_that_the_caller_gives_is_kept(either: MemoryRepository) -> None:
    mine = uuid4()

    assert either.add("agent", NewMemory("seen", id=mine, embedding=None)) == mine
    assert either.get("agent", mine) is not None


def test_a_retried_add_stores_once_and_changes_nothing(
    either: MemoryRepository, engine: Engine
) -> None:
    mine = uuid4()

    either.add("agent", NewMemory("first", id=mine, embedding=NORTH))
    again = either.add("agent", NewMemory("second", id=mine, embedding=at(90)))

    assert again == mine
    assert contents(either.search("agent", NORTH)) == ["first"]
    assert stored(engine, "agent") == 1


def test_created_at_left_out_is_the_databases_now(engine: Engine) -> None:
    with engine.begin() as connection:
        repo = MemoryRepository(connection)
        ids = [
            repo.add("agent", NewMemory("one", embedding=None)),
            *repo.add_many("agent", [NewMemory("two", embedding=None)]),
        ]
        moments = {_created_at(repo, memory_id) for memory_id in ids}
        now = connection.scalar(select(func.now()))

    assert moments == {now}


def test_created_at_of_a_batch_may_be_given_unknown_or_left_out_row_by_row(
    either: MemoryRepository,
) -> None:
    given = datetime(2020, 2, 29, 12, 30, 0, 123456, tzinfo=UTC)

    now_id, unknown_id, given_id = either.add_many(
        "agent",
        [
            NewMemory("now", embedding=None),
            NewMemory("unknown", embedding=None, created_at=None),
            NewMemory("given", embedding=None, created_at=given),
        ],
    )

    assert _created_at(either, now_id) is not None
    assert _created_at(either, unknown_id) is None
    assert _created_at(either, given_id) == given


def test_an_unknown_created_at_is_stored_as_unknown(either: MemoryRepository) -> None:
    memory_id = either.add("agent", NewMemory("old", embedding=None, created_at=None))

    assert _created_at(either, memory_id) is None


def _created_at(repo: MemoryRepository, memory_id: UUID) -> datetime | None:
    memory = repo.get("agent", memory_id)
    assert memory is not None
    return memory.created_at
