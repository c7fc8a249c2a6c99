from __future__ import annotations

from typing import Any

import pytest
from sqlalchemy import Engine, event
from sqlalchemy.ext.asyncio import AsyncEngine
from sqlalchemy.orm import Session

from pgrecall import AsyncMemoryRepository, MemoryRepository, NewMemory
from pgrecall.core.ids import new_id
from pgrecall.errors import InputError
from tests.integration.conftest import Transaction
from tests.integration.support import NORTH, read, stored


def test_two_batches_fit_in_one_transaction(transaction: Transaction, engine: Engine) -> None:
    def work(repo: MemoryRepository) -> None:
        for texts in ("ab", "c"):
            repo.add_many("agent", [NewMemory(text, embedding=None) for text in texts])

    transaction(work, commit=True)

    assert stored(engine, "agent") == 3


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
        assert read(repo, "agent", memory_id).importance == 0.9
        session.rollback()

    assert stored(engine, "agent") == 0


def test_a_repository_works_on_nothing_else(engine: Engine, async_engine: AsyncEngine) -> None:
    others: list[Any] = ["postgresql://localhost/x", None, object()]
    for bind in (*others, async_engine):
        with pytest.raises(InputError, match=f"Engine.*Connection.*Session.*{type(bind).__name__}"):
            MemoryRepository(bind)
    for bind in (*others, engine):
        with pytest.raises(InputError, match=f"AsyncEngine.*{type(bind).__name__}"):
            AsyncMemoryRepository(bind)


def test_what_only_reads_needs_no_savepoint(engine: Engine) -> None:
    names: list[str] = []

    def note(_: object, name: str) -> None:
        names.append(name)

    with engine.connect() as connection:
        event.listen(connection, "savepoint", note)
        repo = MemoryRepository(connection)
        assert repo.upkeep.near_duplicates("agent") == []
        assert repo.upkeep.clusters("agent") == []
        assert names == []
        repo.invalidate("agent", [new_id()])
        assert len(names) == 1
