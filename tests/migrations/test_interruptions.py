"""Migrations that are cut off, held up or run twice at once; each moment is reached for certain."""

from __future__ import annotations

from concurrent.futures import Future, ThreadPoolExecutor
from threading import Barrier

import psycopg
import pytest
from sqlalchemy import create_engine, make_url, text
from sqlalchemy.engine.interfaces import IsolationLevel

from pgrecall import MemoryRepository, NewMemory, migrate
from pgrecall.errors import DatabaseUnavailable, MigrationFailed, PgRecallError
from pgrecall.migrate import Status
from pgrecall.schema import REVISION
from tests.migrations.asking import (
    as_role,
    engine_of,
    open_transaction,
    run,
    terminate,
    value,
    values,
    wait_until,
    wait_until_blocked,
)


def test_a_backend_that_dies_while_tables_are_made(
    migrated: str, background: ThreadPoolExecutor
) -> None:
    migrate.downgrade(migrated)  # what stays is the version table, to hold the run up with
    with open_transaction(migrated, "INSERT INTO pgrecall.alembic_version VALUES ('0001')"):
        running = background.submit(migrate.upgrade, migrated, dimensions=3)
        terminate(migrated, wait_until_blocked(migrated, "INSERT INTO pgrecall.alembic_version"))
        with pytest.raises(DatabaseUnavailable):
            running.result()

    assert migrate.status(migrated).revision is None
    assert values(migrated, "SELECT tablename FROM pg_tables WHERE schemaname = 'pgrecall'") == [
        "alembic_version"
    ]
    assert migrate.upgrade(migrated, dimensions=4).dimensions == 4


@pytest.mark.parametrize("level", ["READ COMMITTED", "AUTOCOMMIT", "SERIALIZABLE"])
def test_a_failing_migration_leaves_nothing_half_done(
    empty_url: str, level: IsolationLevel
) -> None:
    """Whatever the isolation level of an engine, and the next one succeeds."""
    engine = engine_of(empty_url, isolation_level=level)
    run(empty_url, "CREATE SCHEMA pgrecall", "CREATE TABLE pgrecall.memory_events (mine integer)")

    with pytest.raises(MigrationFailed, match=r"memory_events.*already exists"):
        migrate.upgrade(engine, dimensions=3)

    assert migrate.status(empty_url).revision is None
    tables = "SELECT tablename FROM pg_tables WHERE schemaname = 'pgrecall'"
    assert {*values(empty_url, tables)} <= {"memory_events", "alembic_version"}
    routines = "SELECT proname FROM pg_proc WHERE pronamespace = 'pgrecall'::regnamespace"
    assert values(empty_url, routines) == []
    run(empty_url, "DROP TABLE pgrecall.memory_events")
    assert migrate.upgrade(engine, dimensions=3).pending == []
    assert migrate.upgrade(engine, embedding_index=True).embedding_index
    assert migrate.downgrade(engine).revision is None


def test_two_at_once_both_succeed(empty_url: str, background: ThreadPoolExecutor) -> None:
    together = Barrier(2)

    def upgrade() -> Status:
        together.wait(timeout=30)
        return migrate.upgrade(empty_url, dimensions=3)

    one, two = [running.result() for running in [background.submit(upgrade) for _ in range(2)]]

    assert one == two == migrate.status(empty_url)
    assert one.pending == one.invalid_indexes == []


@pytest.mark.parametrize("statement", ["CREATE EXTENSION vector", "CREATE SCHEMA pgrecall"])
def test_somebody_else_creates_the_same_at_the_same_moment(
    empty_url: str, background: ThreadPoolExecutor, statement: str
) -> None:
    """The host's own migration, or one of another schema of ours."""
    with open_transaction(empty_url, statement) as other:
        running = background.submit(migrate.upgrade, empty_url, dimensions=3)
        wait_until_blocked(empty_url)
        other.commit()

    assert running.result().pending == []


LOCK = "LOCK TABLE pgrecall.alembic_version IN SHARE UPDATE EXCLUSIVE MODE"
"""What a run holds."""


def test_the_second_waits_and_says_for_whom(
    migrated: str, background: ThreadPoolExecutor, caplog: pytest.LogCaptureFixture
) -> None:
    with psycopg.connect(migrated, application_name="deploy") as first:
        first.execute(LOCK)
        holder, user = first.info.backend_pid, first.info.user
        second: Future[Status] = background.submit(migrate.upgrade, migrated)
        wait_until("the second says so", lambda: bool(caplog.messages) or second.done())
        assert migrate.status(migrated).revision == REVISION
        assert not second.done()

    assert second.result().pending == []
    [message] = caplog.messages
    assert f"backend {holder} ({user}, application deploy)" in message


def test_waiting_for_another_migration_ends_with_its_reason(
    migrated: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("pgrecall.migrate.locking.LOCK_WAIT_SECONDS", 0.0)
    with psycopg.connect(migrated) as other:
        other.execute(LOCK)

        with pytest.raises(
            MigrationFailed,
            match=rf"another migration of schema 'pgrecall'.*backend {other.info.backend_pid} ",
        ):
            migrate.upgrade(migrated)

    assert migrate.upgrade(migrated).pending == []


def test_who_may_only_read_keeps_no_migration_waiting(migrated: str, role: str) -> None:
    """Nor who knows how runs once kept each other out."""
    run(
        migrated,
        f"GRANT USAGE ON SCHEMA pgrecall TO {role}",
        f"GRANT SELECT ON ALL TABLES IN SCHEMA pgrecall TO {role}",
    )
    with psycopg.connect(as_role(migrated, role)) as reader:
        reader.execute("SELECT version_num FROM pgrecall.alembic_version")
        with pytest.raises(psycopg.errors.InsufficientPrivilege), reader.transaction():
            reader.execute(LOCK)

        assert migrate.upgrade(migrated, embedding_index=True).embedding_index


@pytest.mark.hnsw
def test_a_run_that_loses_its_lock_goes_no_further(
    migrated: str, background: ThreadPoolExecutor
) -> None:
    holders = (
        "SELECT pid FROM pg_locks WHERE relation = 'pgrecall.alembic_version'::regclass "
        "AND mode = 'ShareUpdateExclusiveLock'"
    )
    run(migrated, "UPDATE pgrecall.installed_sql SET hash = NULL WHERE file = 'verbs/touch.sql'")
    with open_transaction(migrated, "LOCK TABLE pgrecall.agent_memories IN ROW EXCLUSIVE MODE"):
        running = background.submit(migrate.upgrade, migrated, embedding_index=True)
        wait_until_blocked(migrated, "CREATE INDEX CONCURRENTLY")
        terminate(migrated, value(migrated, holders))

    with pytest.raises(DatabaseUnavailable):
        running.result()
    assert migrate.status(migrated).pending == ["sql/verbs/touch.sql"]
    assert migrate.upgrade(migrated).pending == []


def test_a_table_locked_by_others_gives_up_soon(
    database_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Rather than queue in front of everybody else's statements."""
    monkeypatch.setattr("pgrecall.migrate.environment.LOCK_TIMEOUT", "50ms")
    with (
        open_transaction(database_url, "SELECT FROM pgrecall.agent_memories"),
        pytest.raises(MigrationFailed, match="lock timeout"),
    ):
        migrate.downgrade(database_url)

    assert migrate.status(database_url).revision is not None
    assert migrate.downgrade(database_url).revision is None


def test_an_engine_is_left_as_it_was_and_so_is_an_open_transaction(empty_url: str) -> None:
    run(empty_url, "CREATE TABLE public.host (id integer)")
    engine = create_engine(
        make_url(empty_url).set(drivername="postgresql+psycopg"), pool_size=1, max_overflow=1
    )
    settings = text(
        "SELECT name, setting FROM pg_settings WHERE name IN ('search_path', 'lock_timeout', "
        "'default_transaction_isolation', 'role') ORDER BY name"
    )
    with engine.begin() as host:
        before = host.execute(settings).all()
        host.execute(text("INSERT INTO host VALUES (1)"))
        migrate.upgrade(engine, dimensions=3)
        memory_id = MemoryRepository(host).add("agent", NewMemory("text", embedding=[1, 2, 3]))
        host.rollback()

    assert values(empty_url, "SELECT id FROM host") == []
    assert migrate.status(engine).pending == []
    assert MemoryRepository(engine).get("agent", memory_id) is None
    migrate.upgrade(engine)
    with pytest.raises(PgRecallError):
        migrate.upgrade(engine, dimensions=4)
    migrate.upgrade(engine, embedding_index=True)
    with engine.connect() as one, engine.connect() as two:
        assert [one.execute(settings).all(), two.execute(settings).all()] == [before, before]
        assert one.get_isolation_level() == "READ COMMITTED"
        assert not one.connection.driver_connection.autocommit  # type: ignore[union-attr]
    assert value(empty_url, "SELECT count(*) FROM pg_locks WHERE locktype = 'advisory'") == 0
    engine.dispose()
