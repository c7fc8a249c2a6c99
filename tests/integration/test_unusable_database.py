from __future__ import annotations

import socket

import psycopg
import pytest
from sqlalchemy import Engine, NullPool, create_engine, func, text

from pgrecall import MemoryRepository, NewMemory, migrate
from pgrecall.core.ids import id_of_key
from pgrecall.errors import (
    DatabaseError,
    DatabaseTimeout,
    DatabaseUnavailable,
    InputError,
    SchemaError,
    SchemaMissing,
    SchemaOutdated,
    SchemaTooNew,
)
from pgrecall.execution.error_mapping import mapped_error
from tests.conftest import DIMENSIONS
from tests.integration.conftest import repository_on
from tests.integration.support import NORTH, contents, sql


def _free_port() -> int:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        port: int = listener.getsockname()[1]
        return port


def test_a_server_that_is_not_there_is_named_and_bad_input_found_without_it() -> None:
    port = _free_port()
    repo = repository_on("sync", f"postgresql+psycopg://user:secret@127.0.0.1:{port}/memories")

    with pytest.raises(DatabaseUnavailable, match=rf"{port}.*PGRECALL_DATABASE_URL") as caught:
        repo.count("agent")

    assert "secret" not in str(caught.value)
    with pytest.raises(InputError, match="k must"):
        repo.search("agent", NORTH, k=0)


def test_a_pool_without_a_free_connection_says_so(database_url: str) -> None:
    engine = create_engine(database_url, pool_size=1, max_overflow=0, pool_timeout=0.01)

    with engine.connect(), pytest.raises(DatabaseUnavailable, match="pool"):
        MemoryRepository(engine).count("agent")

    engine.dispose()


def test_a_missing_schema_is_named_with_the_command_and_looked_for_again(empty_url: str) -> None:
    repo = repository_on("sync", empty_url)
    with pytest.raises(SchemaMissing, match=r"'pgrecall'.*`pgrecall migrate up`"):
        repo.count("agent")
    with create_engine(empty_url, poolclass=NullPool).connect() as connection:
        with pytest.raises(SchemaMissing):
            MemoryRepository(connection).count("agent")
        assert connection.scalar(text("SELECT 1")) == 1

    migrate.upgrade(empty_url, dimensions=DIMENSIONS)

    repo.add_many("agent", [NewMemory("a", embedding=NORTH)])
    assert contents(repo.search("agent", NORTH)) == ["a"]
    with pytest.raises(SchemaMissing, match="'elsewhere'"):
        repository_on("sync", empty_url, schema="elsewhere").search("agent", NORTH)


@pytest.mark.parametrize(
    ("change", "error", "message"),
    [
        ("UPDATE {} SET version_num = '0000'", SchemaOutdated, r"0000.*`pgrecall migrate up`"),
        ("DROP TABLE {}", SchemaMissing, r"`pgrecall migrate up`"),
        (
            "UPDATE {} SET version_num = '0013'; CREATE TABLE pgrecall.memory_labels (id uuid)",
            SchemaOutdated,
            r"older than the first release of pgrecall: export .*import",
        ),
        (
            "UPDATE {} SET version_num = '9999'; DROP FUNCTION pgrecall.oldest_client",
            SchemaTooNew,
            r"9999.*`pip install --upgrade",
        ),
        (
            "UPDATE {} SET version_num = '0042'; CREATE OR REPLACE FUNCTION "
            "pgrecall.oldest_client() RETURNS text LANGUAGE sql RETURN '0041'::text",
            SchemaTooNew,
            r"0042.*`pip install --upgrade",
        ),
    ],
)
def test_a_schema_of_another_version_names_both_and_the_command(
    own_url: str, own_engine: Engine, change: str, error: type[SchemaError], message: str
) -> None:
    sql(own_engine, change.format("pgrecall.alembic_version"))
    repo = repository_on("sync", own_url)

    with pytest.raises(error, match=message) as caught:
        repo.add_many("agent", [NewMemory("a", embedding=NORTH)])
    with pytest.raises(error):
        repo.search("agent", NORTH)

    assert type(caught.value) is error
    assert sql(own_engine, "SELECT * FROM pgrecall.agent_memories") == []


def test_a_newer_schema_that_names_our_revision_is_used(own_url: str, own_engine: Engine) -> None:
    sql(own_engine, "UPDATE pgrecall.alembic_version SET version_num = '0042'")
    repo = repository_on("sync", own_url)

    repo.add_many("agent", [NewMemory("a", embedding=NORTH)])

    assert contents(repo.search("agent", NORTH)) == ["a"]


def test_another_database_is_refused() -> None:
    engine = create_engine("sqlite://")
    with engine.connect() as connection:
        for bind in (engine, connection):
            with pytest.raises(InputError, match=r"psycopg.*sqlite.*postgresql\+psycopg://"):
                MemoryRepository(bind).count("agent")
    engine.dispose()


def test_what_the_server_says_stays_as_the_cause(repo: MemoryRepository) -> None:
    repo.add("agent", NewMemory("a", embedding=NORTH))
    broken = repo.memories.c.content.op("~")("(")

    with pytest.raises(DatabaseError, match="regular expression") as caught:
        repo.count("agent", filter=broken)

    assert caught.value.__cause__ is not None


def test_a_transaction_that_lasted_too_long_for_the_server(
    database_url: str, engine: Engine
) -> None:
    if not sql(engine, "SELECT FROM pg_settings WHERE name = 'transaction_timeout'"):
        pytest.skip("transaction_timeout came with PostgreSQL 17")
    with create_engine(database_url, poolclass=NullPool).connect() as connection:
        repo = MemoryRepository(connection)
        repo.add("agent", NewMemory("a", embedding=NORTH))
        connection.execute(text("SET LOCAL transaction_timeout = 100"))

        with pytest.raises(DatabaseTimeout, match="transaction_timeout"):
            repo.count("agent", filter=func.pg_sleep(60).is_not(None))


def test_a_timeout_that_ends_an_idle_session_names_the_setting() -> None:
    error = mapped_error(psycopg.errors.lookup("25P03")("terminating connection due to a timeout"))

    assert isinstance(error, DatabaseTimeout)
    assert "idle_in_transaction_session_timeout" in str(error)


def test_a_prepared_statement_that_is_not_there_names_the_remedy(database_url: str) -> None:
    """As a pooler between transactions has it; here another client has cleared the session."""
    engine = create_engine(database_url, poolclass=NullPool)
    with engine.connect() as connection:
        repo = MemoryRepository(connection)
        driver = connection.connection.driver_connection
        assert driver is not None
        driver.prepare_threshold = 0
        repo.count("agent")
        driver.pgconn.exec_(b"DEALLOCATE ALL")

        with pytest.raises(DatabaseError, match="prepare_threshold"):
            repo.count("agent")


def test_a_role_without_rights_is_told_what_it_may_not(database_url: str, engine: Engine) -> None:
    options = {"options": "-c role=pg_read_all_data"}
    repo = repository_on("sync", database_url, connect_args=options)

    with pytest.raises(DatabaseError, match="permission denied"):
        repo.add("agent", NewMemory("a", embedding=NORTH))

    assert sql(engine, "SELECT * FROM pgrecall.agent_memories") == []


@pytest.mark.parametrize(
    ("setting", "message"),
    [
        ("client_encoding=latin1", "client_encoding is LATIN1.*client_encoding=utf8"),
        ("gin_fuzzy_search_limit=1", "gin_fuzzy_search_limit is 1.*set it to 0"),
    ],
)
def test_a_session_that_loses_characters_or_memories_is_refused_with_the_remedy(
    database_url: str, setting: str, message: str
) -> None:
    for kind in ("sync", "async"):
        repo = repository_on(kind, database_url, connect_args={"options": f"-c {setting}"})
        with pytest.raises(DatabaseError, match=message):
            repo.search("agent", NORTH, keywords="naïve")
        with pytest.raises(DatabaseError, match=message):
            repo.add("agent", NewMemory("naïve", embedding=NORTH))


def test_a_limit_of_the_search_by_words_is_refused_in_psql_too(database_url: str) -> None:
    said = r"gin_fuzzy_search_limit is 1.*set it to 0"
    with (
        psycopg.connect(database_url, options="-c gin_fuzzy_search_limit=1") as connection,
        pytest.raises(psycopg.Error, match=said),
    ):
        connection.execute("SELECT pgrecall.recall('agent', keywords => 'tea')")


def test_settings_that_end_a_statement_are_named(database_url: str, engine: Engine) -> None:
    MemoryRepository(engine).add("agent", NewMemory("a", key="k", embedding=NORTH))
    options = {"options": "-c restrict_nonsystem_relation_kind=view"}
    repo = repository_on("sync", database_url, connect_args=options)
    with pytest.raises(DatabaseError, match="restrict_nonsystem_relation_kind"):
        repo.update("agent", id_of_key("agent", "k"), importance=0.1)

    error = mapped_error(
        psycopg.errors.ConfigurationLimitExceeded('exceeds "temp_file_limit" (1kB)')
    )
    assert not isinstance(error, DatabaseUnavailable)
    assert "temp_file_limit" in str(error)
