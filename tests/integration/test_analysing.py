"""Statistics are taken after many memories at once, which autovacuum would do a minute later."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import psycopg
import pytest
from sqlalchemy import Engine, create_engine, make_url

from pgrecall import MemoryRepository, import_file, migrate
from pgrecall.memories.analysing import MANY
from tests.integration.conftest import Transaction
from tests.integration.owner import north, plain
from tests.integration.rank_indexes import new_role
from tests.integration.support import sql

Taken = Callable[[], dict[str, Any]]
KNOWN = """
SELECT s.relname, s.last_analyze FROM pg_stat_all_tables s
 WHERE s.schemaname = 'pgrecall' AND s.relname IN ('agent_memories', 'memory_events')
"""


@pytest.fixture
def taken(database_url: str) -> Iterator[Taken]:
    """When the statistics of tables were taken, of those where that was in this test."""
    with psycopg.connect(database_url, autocommit=True) as connection:
        connection.execute("VACUUM pgrecall.agent_memories, pgrecall.memory_events")
        before: dict[str, Any] = dict(connection.execute(KNOWN).fetchall())

        def taken() -> dict[str, Any]:
            now: dict[str, Any] = dict(connection.execute(KNOWN).fetchall())
            return {name: at for name, at in now.items() if at != before[name]}

        yield taken


def test_after_many_memories_of_one_call(
    either: MemoryRepository, engine: Engine, taken: Taken
) -> None:
    either.add_many("ann", [plain(f"number {n}") for n in range(MANY - 1)])
    assert taken() == {}

    either.add_many("bob", [plain(f"number {n}") for n in range(MANY)])

    assert taken().keys() == {"agent_memories", "memory_events"}
    assert sql(engine, "SELECT name FROM pgrecall.health() WHERE problem = 'statistics'") == []
    [[rows]] = sql(
        engine, "SELECT reltuples FROM pg_class WHERE oid = 'pgrecall.agent_memories'::regclass"
    )
    assert rows == 2 * MANY - 1


def test_not_of_tables_that_have_not_grown(engine: Engine, taken: Taken) -> None:
    MemoryRepository(engine).add_many("ann", [plain(f"number {n}") for n in range(MANY)])
    before = taken()

    sql(engine, "SELECT pgrecall._analyse_grown()")

    assert taken() == before != {}


def test_not_in_the_transaction_of_a_caller(transaction: Transaction, taken: Taken) -> None:
    many = [plain(f"number {n}") for n in range(MANY)]

    transaction(lambda repo: repo.add_many("ann", many), commit=True)

    assert taken() == {}


def test_after_an_import(engine: Engine, taken: Taken, tmp_path: Path) -> None:
    file = tmp_path / "memories.jsonl"
    lines = ({"content": f"number {n}", "embedding": None} for n in range(MANY))
    file.write_text("\n".join(map(json.dumps, lines)))
    import_file(MemoryRepository(engine), "ann", file, dry_run=True)
    assert taken() == {}

    import_file(MemoryRepository(engine), "ann", file)

    assert taken().keys() == {"agent_memories", "memory_events"}


def test_by_a_writer_who_owns_no_table(database_url: str, taken: Taken) -> None:
    with new_role(database_url, "writer") as role:
        migrate.grant(database_url, role, "writer")
        engine = create_engine(
            make_url(database_url).set(drivername="postgresql+psycopg"),
            connect_args={"options": "-c role=" + role.replace(" ", r"\ ")},
        )
        MemoryRepository(engine).add_many("ann", [plain(f"number {n}") for n in range(MANY)])
        engine.dispose()

    assert taken().keys() == {"agent_memories", "memory_events"}


def test_what_keeps_it_from_doing_so_is_no_error_and_no_notice(
    engine: Engine, taken: Taken, database_url: str
) -> None:
    told: list[Any] = []
    limited = create_engine(
        make_url(database_url).set(drivername="postgresql+psycopg"),
        connect_args={"options": "-c lock_timeout=1"},
    )
    with limited.connect() as connection:
        driver: Any = connection.connection.driver_connection
        driver.add_notice_handler(told.append)
    with psycopg.connect(database_url) as locking:
        locking.execute("LOCK TABLE pgrecall.agent_memories IN SHARE UPDATE EXCLUSIVE MODE")
        many = [north(f"number {n}") for n in range(MANY)]
        added = MemoryRepository(limited).add_many("ann", many)
    limited.dispose()

    assert len(added) == MANY
    assert taken().keys() == {"memory_events"}
    assert told == []
