"""The revisions of the rank indexes on a database that holds memories already."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from datetime import UTC, datetime
from random import Random
from typing import Any
from uuid import UUID

import psycopg
import pytest
from sqlalchemy import NullPool, create_engine, make_url

from pgrecall import MemoryRepository, NewMemory, migrate
from pgrecall.embedding import EmbeddingType
from pgrecall.errors import DatabaseUnavailable
from tests.migrations.asking import rows, run, value, values, wait_until, wait_until_blocked

DIMENSIONS = 3
STORES = ("agent_memories", "team_memories")
OWNERS = {"agent_memories": "agent_id", "team_memories": "team_id"}
FILES = (
    "SELECT relname, relfilenode FROM pg_class WHERE relname LIKE '%%_memories' "
    "AND relkind = 'r' ORDER BY 1"
)
TABLES = (
    "SELECT relname FROM pg_class WHERE relnamespace = %s::regnamespace AND relkind = 'r' "
    "AND relname LIKE 'ranks%%' ORDER BY 1"
)
NEW_INDEXES = (
    "ix_agent_memories_agent_id_inserted_at",
    "ix_team_memories_team_id_inserted_at",
    "ix_memory_events_agent_id_occurred_at",
)
INDEXES = """
    SELECT c.relname, i.indisvalid, c.oid FROM pg_index i JOIN pg_class c ON c.oid = i.indexrelid
     WHERE c.relname = ANY (%s) ORDER BY 1
"""


def repository(url: str, schema: str = "pgrecall") -> MemoryRepository:
    engine = create_engine(make_url(url).set(drivername="postgresql+psycopg"), poolclass=NullPool)
    return MemoryRepository(engine, schema=schema)


def fill(repo: MemoryRepository, agent_id: str = "agent", number: int = 60) -> list[UUID]:
    random = Random(agent_id)
    return list(
        repo.add_many(
            agent_id,
            [
                NewMemory(f"memory {n}", embedding=[random.gauss() for _ in range(DIMENSIONS)])
                for n in range(number)
            ],
        )
    )


def insert(url: str, store: str, content: str, *, schema: str = "pgrecall") -> None:
    run(
        url,
        f"INSERT INTO {schema}.{store} ({OWNERS[store]}, id, content) "
        f"VALUES ('agent', gen_random_uuid(), '{content}')",
    )


def inserted_at(url: str, store: str) -> dict[str, datetime | None]:
    return dict(rows(url, f"SELECT content, inserted_at FROM pgrecall.{store}"))


@pytest.fixture
def background() -> Iterator[ThreadPoolExecutor]:
    with ThreadPoolExecutor(2) as executor:
        yield executor


@contextmanager
def open_transaction(url: str, *statements: str) -> Iterator[psycopg.Connection]:
    with psycopg.connect(url) as connection:
        for statement in statements:
            connection.execute(statement.encode())
        yield connection
        connection.rollback()


# 0007


@pytest.mark.parametrize("embedding_type", list(EmbeddingType))
def test_the_new_column_rewrites_no_table_and_is_null_in_old_rows(
    each_url: str, embedding_type: EmbeddingType
) -> None:
    migrate.upgrade(each_url, dimensions=DIMENSIONS, embedding_type=embedding_type, revision="0006")
    for store in STORES:
        insert(each_url, store, "old")
    before = rows(each_url, FILES)
    ids = values(each_url, "SELECT id FROM pgrecall.agent_memories")

    migrate.upgrade(each_url, revision="0007")

    assert rows(each_url, FILES) == before
    assert [name for name, _ in before] == list(STORES)
    for store in STORES:
        assert inserted_at(each_url, store) == {"old": None}
    assert values(each_url, "SELECT id FROM pgrecall.agent_memories") == ids


def test_the_upgrade_rewrites_no_table(each_url: str) -> None:
    migrate.upgrade(each_url, dimensions=DIMENSIONS, revision="0006")
    for store in STORES:
        insert(each_url, store, "old")
    before = rows(each_url, FILES)

    migrate.upgrade(each_url, revision="0009")

    assert rows(each_url, FILES) == before


@pytest.mark.parametrize("store", STORES)
def test_rows_written_afterwards_bear_the_moment_they_were_written(
    each_url: str, store: str
) -> None:
    """The server's clock, not the moment at which the transaction began."""
    migrate.upgrade(each_url, dimensions=DIMENSIONS, revision="0006")
    insert(each_url, store, "old")
    migrate.upgrade(each_url)
    columns = f"pgrecall.{store} ({OWNERS[store]}, id, content)"

    with psycopg.connect(each_url) as connection:

        def clock() -> datetime:
            row = connection.execute("SELECT clock_timestamp()").fetchone()
            assert row is not None
            moment: datetime = row[0]
            return moment

        clock()  # the transaction begins
        start = clock()
        connection.execute(
            f"INSERT INTO {columns} VALUES ('agent', gen_random_uuid(), 'by INSERT')".encode()
        )
        between = clock()
        with connection.cursor().copy(f"COPY {columns} FROM STDIN".encode()) as copy:
            copy.write_row(("agent", UUID(int=1), "by COPY"))
        end = clock()

    found = inserted_at(each_url, store)
    assert found["old"] is None
    by_insert, by_copy = found["by INSERT"], found["by COPY"]
    assert by_insert is not None
    assert by_copy is not None
    assert start < by_insert < between < by_copy < end


def test_what_the_repository_writes_bears_the_moment_it_was_written(each_url: str) -> None:
    migrate.upgrade(each_url, dimensions=DIMENSIONS)
    repo = repository(each_url)
    long_ago = datetime(2020, 1, 1, tzinfo=UTC)

    start = value(each_url, "SELECT clock_timestamp()")
    repo.add("agent", NewMemory("one", embedding=None, created_at=long_ago))
    repo.add_many("agent", [NewMemory("two", embedding=None, created_at=long_ago)])
    repo.teams.add("agent", NewMemory("three", embedding=None))
    end = value(each_url, "SELECT clock_timestamp()")

    found = inserted_at(each_url, "agent_memories") | inserted_at(each_url, "team_memories")
    assert sorted(found) == ["one", "three", "two"]
    assert all(moment is not None and start < moment < end for moment in found.values())


def test_memories_from_before_the_revision_are_indexed_and_not_scored_beside(
    each_url: str,
) -> None:
    migrate.upgrade(each_url, dimensions=DIMENSIONS, revision="0006")
    run(
        each_url,
        "INSERT INTO pgrecall.agent_memories (agent_id, id, content, embedding) "
        "SELECT 'agent', gen_random_uuid(), 'memory ' || n, "
        "ARRAY[sin(n), cos(n), 0.5]::vector(3) FROM generate_series(1, 60) AS n",
    )
    migrate.upgrade(each_url)
    repo = repository(each_url)

    [index] = repo.build_rank_indexes(agent_id="agent", at_least=1)

    [status] = repo.rank_indexes(agent_id="agent")
    assert (index.memories, status.written) == (60, 0)
    exact, found = (
        repo.search("agent", [1.0, 0.0, 0.0], strategy=strategy, touch=False)
        for strategy in ("exact", "index")
    )
    assert found.strategy == "index"
    assert [hit.memory.id for hit in found] == [hit.memory.id for hit in exact]


def test_the_defaults_of_other_columns_stay(each_url: str) -> None:
    migrate.upgrade(each_url, dimensions=DIMENSIONS)

    found = rows(
        each_url,
        "SELECT table_name, column_default, is_nullable FROM information_schema.columns "
        "WHERE column_name = 'inserted_at' ORDER BY 1",
    )

    assert found == [(store, "clock_timestamp()", "YES") for store in STORES]


# Down


OTHERS = ("ranks_of_mine", "ranks_" + "f" * 31, "ranks_" + "f" * 33, "ranks_" + "F" * 32)


@pytest.mark.parametrize("schema", ["pgrecall", "select"])
def test_down_drops_the_tables_of_positions_and_keeps_the_memories(
    each_url: str, schema: str
) -> None:
    migrate.upgrade(each_url, dimensions=DIMENSIONS, schema=schema)
    repo = repository(each_url, schema)
    ids = fill(repo)
    fill(repo.teams, "team")
    repo.build_rank_indexes(agent_id="agent", at_least=1)
    repo.teams.build_rank_indexes(agent_id="team", at_least=1)
    left = f'"{schema}".ranks_{"0" * 32}'
    run(each_url, f"CREATE TABLE {left} ()")
    run(each_url, *(f'CREATE TABLE "{schema}"."{name}" ()' for name in OTHERS))
    assert len(values(each_url, TABLES, f'"{schema}"')) == 3 + len(OTHERS)

    status = migrate.downgrade(each_url, schema=schema, revision="0006")

    assert status.revision == "0006"
    assert values(each_url, TABLES, f'"{schema}"') == sorted(OTHERS)
    assert value(each_url, "SELECT count(*) FROM pg_proc WHERE proname = 'rank_candidates'") == 0
    assert value(each_url, f'SELECT count(*) FROM "{schema}".agent_memories') == len(ids)
    assert migrate.upgrade(each_url, schema=schema).pending == []
    again = repository(each_url, schema)
    assert again.rank_indexes(agent_id="agent") == []
    assert len(again.search("agent", [1.0, 0.0, 0.0])) == 10
    [index] = again.build_rank_indexes(agent_id="agent", at_least=1)
    assert index.memories == len(ids)


def test_down_in_one_schema_leaves_the_indexes_of_another(each_url: str) -> None:
    for schema in ("one", "two"):
        migrate.upgrade(each_url, dimensions=DIMENSIONS, schema=schema)
        fill(repository(each_url, schema))
        repository(each_url, schema).build_rank_indexes(agent_id="agent", at_least=1)

    migrate.downgrade(each_url, schema="one")

    assert len(values(each_url, TABLES, "two")) == 1
    found = repository(each_url, "two").search("agent", [1.0, 0.0, 0.0], strategy="index")
    assert (found.strategy, len(found)) == ("index", 10)


def test_down_by_one_revision_keeps_the_indexes(each_url: str) -> None:
    migrate.upgrade(each_url, dimensions=DIMENSIONS)
    fill(repository(each_url))
    repository(each_url).build_rank_indexes(agent_id="agent", at_least=1)
    relation = values(each_url, TABLES, "pgrecall")

    migrate.downgrade(each_url, revision="0007")
    migrate.upgrade(each_url)

    assert values(each_url, TABLES, "pgrecall") == relation
    found = repository(each_url).search("agent", [1.0, 0.0, 0.0], strategy="index")
    assert found.strategy == "index"


def test_down_to_nothing_with_indexes_there_leaves_nothing(each_url: str) -> None:
    migrate.upgrade(each_url, dimensions=DIMENSIONS)
    fill(repository(each_url))
    repository(each_url).build_rank_indexes(agent_id="agent", at_least=1)

    migrate.downgrade(each_url)

    assert values(
        each_url,
        "SELECT relname FROM pg_class WHERE relnamespace = 'pgrecall'::regnamespace ORDER BY 1",
    ) == ["alembic_version", "alembic_version_pkc"]


# 0008


def found_indexes(url: str) -> dict[str, tuple[bool, int]]:
    return {name: (valid, oid) for name, valid, oid in rows(url, INDEXES, list(NEW_INDEXES))}


@pytest.mark.parametrize(
    ("table", "done"), [("agent_memories", 0), ("team_memories", 1), ("memory_events", 2)]
)
def test_an_interrupted_build_of_the_indexes_is_repeated(
    each_url: str, background: ThreadPoolExecutor, table: str, done: int
) -> None:
    """What was finished is kept, what was cut off is built again."""
    migrate.upgrade(each_url, dimensions=DIMENSIONS, revision="0007")
    insert(each_url, "agent_memories", "one")
    with open_transaction(each_url, f"LOCK TABLE pgrecall.{table} IN ROW EXCLUSIVE MODE"):
        running = background.submit(migrate.upgrade, each_url)
        name = NEW_INDEXES[done]
        wait_until(f"{name} is there, not valid", lambda: name in found_indexes(each_url))
        pid = wait_until_blocked(each_url, f"CREATE INDEX CONCURRENTLY {name}")
        assert value(each_url, "SELECT pg_terminate_backend(%s, 10000)", pid)
        with pytest.raises(DatabaseUnavailable):
            running.result()
    cut_off = migrate.status(each_url)
    left = found_indexes(each_url)

    repeated = migrate.upgrade(each_url)

    now = found_indexes(each_url)
    assert (cut_off.revision, cut_off.invalid_indexes) == ("0007", [NEW_INDEXES[done]])
    assert [left[name][0] for name in NEW_INDEXES[: done + 1]] == [True] * done + [False]
    assert (repeated.revision, repeated.pending, repeated.invalid_indexes) == (
        repeated.head,
        [],
        [],
    )
    assert {name: valid for name, (valid, _) in now.items()} == dict.fromkeys(NEW_INDEXES, True)
    assert [now[name] for name in NEW_INDEXES[:done]] == [left[name] for name in NEW_INDEXES[:done]]
    assert now[NEW_INDEXES[done]][1] != left[NEW_INDEXES[done]][1]


def test_an_interrupted_way_down_is_repeated(each_url: str, background: ThreadPoolExecutor) -> None:
    migrate.upgrade(each_url, dimensions=DIMENSIONS, revision="0008")
    with open_transaction(each_url, "LOCK TABLE pgrecall.team_memories IN ROW EXCLUSIVE MODE"):
        running = background.submit(migrate.downgrade, each_url, revision="0007")
        pid = wait_until_blocked(each_url, "DROP INDEX CONCURRENTLY")
        assert value(each_url, "SELECT pg_terminate_backend(%s, 10000)", pid)
        with pytest.raises(DatabaseUnavailable):
            running.result()
    assert migrate.status(each_url).revision == "0008"

    status = migrate.downgrade(each_url, revision="0007")

    assert (status.revision, status.invalid_indexes) == ("0007", [])
    assert found_indexes(each_url) == {}


def test_the_indexes_are_built_while_others_write(
    each_url: str, background: ThreadPoolExecutor
) -> None:
    migrate.upgrade(each_url, dimensions=DIMENSIONS, revision="0007")
    with open_transaction(each_url, "LOCK TABLE pgrecall.agent_memories IN ROW EXCLUSIVE MODE"):
        running = background.submit(migrate.upgrade, each_url)
        wait_until_blocked(each_url, "CREATE INDEX CONCURRENTLY")
        with psycopg.connect(each_url, autocommit=True, options="-c lock_timeout=100ms") as other:
            for statement in (
                "INSERT INTO pgrecall.agent_memories (agent_id, id, content) "
                "VALUES ('agent', gen_random_uuid(), 'meanwhile')",
                "UPDATE pgrecall.agent_memories SET importance = 0.7",
                "SELECT * FROM pgrecall.agent_memories",
                "DELETE FROM pgrecall.agent_memories",
            ):
                other.execute(statement.encode())

    assert running.result().pending == []


LOOKED_UP: dict[str, tuple[str, str]] = {
    "agent_memories": (
        "SELECT id FROM pgrecall.agent_memories WHERE agent_id = 'a 3' "
        "AND inserted_at >= now() + interval '1 hour'",
        NEW_INDEXES[0],
    ),
    "team_memories": (
        "SELECT id FROM pgrecall.team_memories WHERE team_id = 'a 3' "
        "AND inserted_at >= now() + interval '1 hour'",
        NEW_INDEXES[1],
    ),
    "memory_events": (
        "SELECT memory_id FROM pgrecall.memory_events WHERE agent_id = 'a 3' "
        "AND occurred_at >= now() + interval '1 hour' AND event_type <> 'initial'",
        NEW_INDEXES[2],
    ),
}


@pytest.mark.parametrize("table", LOOKED_UP)
def test_what_is_new_is_looked_up_in_these_indexes(each_url: str, table: str) -> None:
    migrate.upgrade(each_url, dimensions=DIMENSIONS)
    for store in STORES:
        run(
            each_url,
            f"INSERT INTO pgrecall.{store} ({OWNERS[store]}, id, content) "
            "SELECT 'a ' || n % 10, gen_random_uuid(), 'memory ' || n "
            "FROM generate_series(1, 5000) AS n",
        )
    run(
        each_url,
        "INSERT INTO pgrecall.memory_events (agent_id, memory_id, id, event_type, occurred_at) "
        "SELECT agent_id, id, pgrecall.event_id(), 'updated', now() FROM pgrecall.agent_memories",
        "ANALYZE",
    )
    query, index = LOOKED_UP[table]

    plan: list[Any] = values(each_url, f"EXPLAIN {query}")

    assert any(index in line for line in plan), plan
