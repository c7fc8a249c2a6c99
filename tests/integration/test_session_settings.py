"""Sessions that print times, numbers and vectors in another way than psycopg reads."""

from __future__ import annotations

from datetime import UTC, datetime
from math import cos, radians
from typing import Any

import psycopg
import pytest
from pgvector.psycopg import register_vector
from sqlalchemy import NullPool, create_engine, select, text

from pgrecall import MemoryRepository, NewMemory
from tests.integration.conftest import repository_on
from tests.integration.support import NORTH, at

CREATED = datetime(2026, 3, 4, 5, 6, 7, 891011, UTC)
SETTINGS = {
    "DateStyle": "German,DMY",
    "IntervalStyle": "sql_standard",
    "TimeZone": "America/St_Johns",
    "bytea_output": "escape",
    "extra_float_digits": "-15",
}
ODD = {"options": " ".join(f"-c {name}={value}" for name, value in SETTINGS.items())}
"""Settings that a database or a role may have too."""


def work(repo: MemoryRepository) -> None:
    agent = "agent"
    repo.erase_owner(agent)
    memory = NewMemory("tea", embedding=at(30), created_at=CREATED, importance=1 / 3)
    other = NewMemory("milk", embedding=at(60), created_at=CREATED)
    [memory_id, _] = repo.add_many(agent, [memory, other])

    hit = repo.search(agent, NORTH, k=2)[0]
    repo.record_outcome(agent, memory_id, "success")
    repo.feedback(agent, memory_id, "useful")
    found = repo.get(agent, memory_id)
    assert found is not None

    assert hit.memory.created_at == found.created_at == CREATED
    assert found.importance == 1 / 3
    assert hit.signals["similarity"] == pytest.approx(cos(radians(30)), abs=1e-6)
    assert sum(hit.contributions.values()) == pytest.approx(hit.score, abs=1e-12)
    assert all(event.occurred_at.tzinfo for event in repo.history(agent, memory_id))
    assert repo.explain(agent, memory_id, NORTH).rank == 1
    assert len(repo.consolidate(agent, min_size=2, more_than=0, dry_run=True)) == 1


def test_an_engine_s_sessions(database_url: str) -> None:
    for kind in ("sync", "async"):
        work(repository_on(kind, database_url, connect_args=ODD))


class OwnCursor(psycopg.Cursor[Any]):
    """What a caller has made of psycopg's."""


def test_the_caller_s_connection_is_left_as_it_was(database_url: str) -> None:
    arguments = ODD | {"cursor_factory": OwnCursor}
    engine = create_engine(database_url, poolclass=NullPool, connect_args=arguments)
    with engine.connect() as connection:
        work(MemoryRepository(connection))

        driver: Any = connection.connection.driver_connection
        assert driver.cursor_factory is OwnCursor
        assert connection.scalar(text("SHOW extra_float_digits")) == "-15"
        with pytest.raises(NotImplementedError):  # the caller's own statements are the caller's
            connection.scalar(text("SELECT now()"))


@pytest.mark.parametrize("registered", [False, True])
def test_embeddings_are_lists_whether_pgvector_s_types_are_registered_or_not(
    database_url: str, registered: bool
) -> None:
    engine = create_engine(database_url, poolclass=NullPool, connect_args=ODD)
    with engine.connect() as connection:
        if registered:
            driver: Any = connection.connection.driver_connection
            register_vector(driver)
        repo = MemoryRepository(connection)
        memory_id = repo.add("agent", NewMemory("north", embedding=NORTH))
        repo.add_many("agent", [NewMemory(str(n), embedding=at(n)) for n in range(1, 90)])

        asked = select(repo.memories.c.embedding).where(repo.memories.c.id == memory_id)

        assert connection.scalars(asked).all() == [NORTH]
        repo.rank_indexes.build(agent_id="agent", at_least=1)
        exact, index = (repo.search("agent", NORTH, strategy=one) for one in ("exact", "index"))
        assert [hit.memory.id for hit in index] == [hit.memory.id for hit in exact]
        assert index.strategy == "index"
