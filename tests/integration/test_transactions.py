from __future__ import annotations

from typing import Any

import pytest
from sqlalchemy import Engine, event
from sqlalchemy.orm import Session

from pgrecall import MemoryRepository, NewMemory
from pgrecall.errors import InvalidMemory, InvalidVector
from pgrecall.ids import new_id
from tests.integration.conftest import Transaction
from tests.integration.support import NORTH, contents, sql, stored


def _everything(repo: MemoryRepository) -> list[str]:
    """Uses every method; leaves "one", "two" and "three", retrieved once each."""
    one = repo.add("agent", NewMemory("first", embedding=NORTH))
    gone, *_ = repo.add_many(
        "agent", [NewMemory(text, embedding=NORTH) for text in ("gone", "two", "three")]
    )
    repo.update("agent", one, content="one", embedding=NORTH)
    repo.delete("agent", gone)
    assert repo.get("agent", gone) is None
    assert repo.count("agent") == 3
    return contents(repo.search("agent", NORTH))


def test_the_callers_rollback_leaves_nothing(transaction: Transaction, engine: Engine) -> None:
    found = transaction(_everything, commit=False)

    assert sorted(found) == ["one", "three", "two"]
    assert stored(engine, "agent") == 0
    assert sql(engine, "SELECT * FROM pgrecall.memory_usage") == []


def test_the_callers_commit_keeps_everything(transaction: Transaction, engine: Engine) -> None:
    transaction(_everything, commit=True)

    counts = sql(engine, "SELECT retrieval_count FROM pgrecall.memory_usage")
    assert stored(engine, "agent") == 3
    assert counts == [(1,)] * 3


def test_nothing_is_visible_to_others_before_the_callers_commit(
    transaction: Transaction, repo: MemoryRepository
) -> None:
    def work(mine: MemoryRepository) -> tuple[int, int]:
        mine.add_many("agent", [NewMemory("a", embedding=NORTH)])
        return mine.count("agent"), repo.count("agent")

    assert transaction(work, commit=True) == (1, 0)
    assert repo.count("agent") == 1


def test_two_batches_fit_in_one_transaction(transaction: Transaction, engine: Engine) -> None:
    def work(repo: MemoryRepository) -> None:
        repo.add_many("agent", [NewMemory("a", embedding=None), NewMemory("b", embedding=NORTH)])
        repo.add_many("agent", [NewMemory("c", embedding=None)])

    transaction(work, commit=True)

    assert stored(engine, "agent") == 3


@pytest.mark.parametrize(
    ("bad", "error"),
    [
        (NewMemory("", embedding=None), InvalidMemory),
        (NewMemory("a", embedding=[1.0, 2.0]), InvalidVector),
    ],
)
def test_refused_input_leaves_the_callers_transaction_usable(
    transaction: Transaction, engine: Engine, bad: NewMemory, error: type[Exception]
) -> None:
    def work(repo: MemoryRepository) -> None:
        repo.add("agent", NewMemory("before", embedding=None))
        with pytest.raises(error):
            repo.add_many("agent", [NewMemory("good", embedding=None), bad])
        with pytest.raises(error):
            repo.add("agent", bad)
        repo.add("agent", NewMemory("after", embedding=None))

    transaction(work, commit=True)

    assert stored(engine, "agent") == 2


def test_a_batch_undone_by_a_savepoint_can_be_added_again(engine: Engine) -> None:
    batch = [NewMemory("a", embedding=None)]
    with Session(engine) as session:
        repo = MemoryRepository(session)
        with session.begin_nested() as savepoint:
            repo.add_many("agent", batch)
            savepoint.rollback()
        repo.add_many("agent", batch)
        session.commit()

    assert stored(engine, "agent") == 1


def test_the_callers_own_statements_share_the_transaction(engine: Engine) -> None:
    with Session(engine) as session:
        repo = MemoryRepository(session)
        memory_id = repo.add("agent", NewMemory("a", embedding=NORTH, importance=0.1))
        session.execute(repo.memories.update().values(importance=0.9))
        memory = repo.get("agent", memory_id)
        session.rollback()

    assert memory is not None
    assert memory.importance == 0.9
    assert stored(engine, "agent") == 0


@pytest.mark.parametrize("bind", ["postgresql://localhost/x", None, object()])
def test_a_repository_works_on_nothing_else(bind: Any) -> None:
    from pgrecall import AsyncMemoryRepository
    from pgrecall.errors import InputError

    with pytest.raises(InputError, match=f"Engine.*Connection.*Session.*{type(bind).__name__}"):
        MemoryRepository(bind)
    with pytest.raises(InputError, match=f"AsyncEngine.*{type(bind).__name__}"):
        AsyncMemoryRepository(bind)


def test_an_async_engine_is_refused_by_the_synchronous_repository(database_url: str) -> None:
    from sqlalchemy.ext.asyncio import create_async_engine

    from pgrecall.errors import InputError

    with pytest.raises(InputError, match="AsyncEngine"):
        MemoryRepository(create_async_engine(database_url))  # type: ignore[arg-type]


def test_what_only_reads_needs_no_savepoint(engine: Engine) -> None:
    names: list[str] = []

    def note(_: object, name: str) -> None:
        names.append(name)

    with engine.connect() as connection:
        event.listen(connection, "savepoint", note)
        repo = MemoryRepository(connection)
        assert repo.near_duplicates("agent") == []
        assert repo.clusters("agent") == []
        assert names == []
        repo.invalidate("agent", [new_id()])
        assert len(names) == 1
