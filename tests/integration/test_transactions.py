"""Transactions of the caller's, and conflicts with those of others."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any
from uuid import UUID

import psycopg
import pytest
from sqlalchemy import Engine, NullPool, create_engine, event
from sqlalchemy.ext.asyncio import AsyncEngine
from sqlalchemy.orm import Session

from pgrecall import AsyncMemoryRepository, MemoryRepository, NewMemory
from pgrecall.core.ids import new_id
from pgrecall.errors import DatabaseConflict, InputError
from tests.integration.support import NORTH, stored
from tests.migrations.asking import wait_until_blocked


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


def test_a_repository_works_on_nothing_else(engine: Engine, async_engine: AsyncEngine) -> None:
    others: list[Any] = ["postgresql://localhost/x", None, object()]
    for bind in (*others, async_engine):
        with pytest.raises(InputError, match=f"Engine.*Connection.*Session.*{type(bind).__name__}"):
            MemoryRepository(bind)
    with pytest.raises(InputError, match=r"AsyncEngine.*Engine"):
        AsyncMemoryRepository(engine)  # type: ignore[arg-type]


def test_what_only_reads_needs_no_savepoint(engine: Engine) -> None:
    names: list[str] = []

    def note(_: object, name: str) -> None:
        names.append(name)

    with engine.connect() as connection:
        event.listen(connection, "savepoint", note)
        repo = MemoryRepository(connection)
        assert repo.count("agent") == 0
        assert repo.history("agent", new_id()) == []
        assert names == []
        repo.invalidate("agent", [new_id()])
        assert len(names) == 1


# Conflicts


REPEATABLE: Any = {"isolation_level": "REPEATABLE READ"}
LOCK = "UPDATE pgrecall.agent_memories SET importance = 0.9"


class CountingEmbedder:
    """Embeds everything as NORTH and counts how often it is asked."""

    def __init__(self) -> None:
        self.asked = 0

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        self.asked += 1
        return [NORTH for _ in texts]

    def embed_query(self, text: str) -> list[float]:
        return self.embed_documents([text])[0]


@pytest.fixture
def memory_id(repo: MemoryRepository) -> UUID:
    return repo.add("agent", NewMemory("old", embedding=NORTH))


@pytest.fixture
def strict(database_url: str) -> Engine:
    """Meets a serialization failure when a row it waited for has changed."""
    return create_engine(database_url, poolclass=NullPool).execution_options(**REPEATABLE)


Meet = Callable[[Callable[[], Any]], Any]


@pytest.fixture
def meet(engine: Engine, database_url: str, memory_id: UUID) -> Iterator[Meet]:
    """Has a call wait for a rival that changes the memory and commits."""

    def met(call: Callable[[], Any]) -> Any:
        with engine.begin() as rival:
            rival.exec_driver_sql(LOCK)
            waiting = thread.submit(call)
            wait_until_blocked(database_url)
        return waiting.result()

    with ThreadPoolExecutor(1) as thread:
        yield met


def test_a_call_on_an_engine_is_repeated_after_a_serialization_failure(
    strict: Engine, memory_id: UUID, meet: Meet
) -> None:
    embedder = CountingEmbedder()
    repo = MemoryRepository(strict, embedder=embedder)

    changed = meet(lambda: repo.update("agent", memory_id, content="new"))

    assert (changed.content, changed.importance) == ("new", 0.9)
    assert embedder.asked == 1


def test_a_repeated_call_has_all_that_an_iterator_gave(
    strict: Engine, memory_id: UUID, meet: Meet, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("DEBUG", "pgrecall")
    repo = MemoryRepository(strict)

    assert meet(lambda: repo.invalidate("agent", (one for one in [memory_id]))) == 1
    assert "retries=1" in caplog.text
    assert repo.count("agent") == 0


def test_a_conflict_in_the_callers_transaction_is_the_callers_to_repeat(
    strict: Engine, memory_id: UUID, meet: Meet
) -> None:
    def update() -> None:
        with strict.begin() as connection:
            MemoryRepository(connection).update("agent", memory_id, importance=0.1)

    with pytest.raises(DatabaseConflict, match="may succeed when repeated") as caught:
        meet(update)

    cause = caught.value.__cause__
    assert isinstance(getattr(cause, "orig", cause), psycopg.Error)


def test_near_duplicates_are_not_looked_for_where_rivals_cannot_be_seen(
    strict: Engine, memory_id: UUID
) -> None:
    repo = MemoryRepository(strict)

    with pytest.raises(InputError, match="REPEATABLE READ"):
        repo.add("agent", NewMemory("tea", embedding=NORTH), near_duplicates=0.92)

    assert repo.count("agent") == 1
