"""Databases and arguments that cannot be used: a clear error, and nothing changed."""

from __future__ import annotations

import os
from collections.abc import Iterator
from functools import partial
from itertools import count

import pytest
from sqlalchemy import create_engine, make_url
from sqlalchemy.ext.asyncio import create_async_engine

from pgrecall import migrate
from pgrecall.cli.main import app
from pgrecall.errors import (
    DatabaseError,
    DatabaseUnavailable,
    InputError,
    MigrationFailed,
    PgvectorUnusable,
    SchemaError,
    SchemaMissing,
    SchemaOutdated,
    SchemaTooNew,
)
from pgrecall.execution.inspection import require_pgvector, too_old
from pgrecall.testing import new_database
from tests.migrations.asking import alembic, as_role, repository, run, value, values
from tests.migrations.schema_dump import dump

NOWHERE = "postgresql://127.0.0.1:1/nowhere"
"""What is checked before a connection is made is told here."""
_numbers = count()


def database_of(url: str) -> str:
    return str(make_url(url).database)


def refused(url: str, error: type[Exception], message: str, role: str | None = None) -> str:
    """What an upgrade says that is refused before it has made anything."""
    with pytest.raises(error, match=message) as refusal:
        migrate.upgrade(as_role(url, role) if role else url, dimensions=3)
    assert value(url, "SELECT to_regnamespace('pgrecall')") is None
    return str(refusal.value)


@pytest.fixture(scope="module")
def shared_url(server_url: str, template: str) -> Iterator[str]:
    """A migrated database, vector(8), for tests in which nothing may change."""
    with new_database(server_url, template) as url:
        run(url, "CREATE TABLE public.host AS SELECT 1 AS id")
        yield url


def test_embeddings_other_than_the_schema_has(migrated: str) -> None:
    before = migrate.status(migrated)

    for dimensions, embedding_type, named in [
        (4, None, "vector(4)"),
        (4, "vector", "vector(4)"),
        (3, "halfvec", "halfvec(3)"),
        (None, "halfvec", "halfvec(3)"),
    ]:
        with pytest.raises(SchemaError) as refusal:
            migrate.upgrade(migrated, dimensions=dimensions, embedding_type=embedding_type)
        assert "vector(3)" in str(refusal.value)
        assert named in str(refusal.value)

    assert migrate.status(migrated) == before


NO_SCHEMA = (
    *("", "Agents", "1st", "my-schema", "my schema", 'a"b', "a'b", "a.b", "schéma", "a" * 64),
    *("a; DROP TABLE host --", 'x"; DROP TABLE host; --', "x'; DROP TABLE host; --"),
    *("a\n", "a\x00", "pg_mine"),
)


def test_names_that_no_schema_has_and_words_of_sql_that_one_may_have() -> None:
    attempts = (partial(migrate.upgrade, NOWHERE), partial(migrate.downgrade, NOWHERE), migrate.sql)
    for schema in NO_SCHEMA:
        for attempt in attempts:
            with pytest.raises(InputError, match=r"schema name.*got"):
                attempt(schema=schema)
    for schema in ("user", "order", "_", "trailing_", "a" * 63, "agents2"):
        assert f'"{schema}"' in migrate.sql(schema=schema)


def test_an_unknown_embedding_type(shared_url: str) -> None:
    for name in ("sparsevec", "bit", "VECTOR", "", "vector(3)", "float4[]"):
        for attempt in (partial(migrate.upgrade, shared_url), migrate.sql):
            with pytest.raises(InputError) as refusal:
                attempt(embedding_type=name)
            message = f"unknown embedding type {name!r}; the types are vector, halfvec"
            assert str(refusal.value) == message


@pytest.mark.parametrize(
    "where",
    [
        {"host": None, "query": {"host": "/nowhere"}},
        {"host": None, "query": {"host": f"/{'n' * 80}"}},
        {"host": "127.0.0.1", "port": 1, "query": {}},
        {"database": "no_such_database"},
        {"username": "nobody_of_this_name"},
    ],
)
def test_a_database_out_of_reach(server_url: str, where: dict[str, object]) -> None:
    url = make_url(server_url).set(password="secret", **where)  # type: ignore[arg-type]
    written = url.render_as_string(hide_password=False)

    for attempt in (migrate.upgrade, migrate.downgrade, migrate.status):
        with pytest.raises(DatabaseUnavailable) as refusal:
            attempt(written)
        assert "PGRECALL_DATABASE_URL" in str(refusal.value)
        assert "secret" not in str(refusal.value)


@pytest.mark.parametrize(
    ("url", "message"),
    [
        ("", "cannot be parsed"),
        ("host=/tmp dbname=x", "cannot be parsed"),
        ("mysql://localhost/x", "mysql"),
        ("sqlite://", "sqlite"),
        ("postgresql:/u:secret@host", "cannot be parsed"),
        ("postgresql://u:secret@host:port/x", "port.*not a number"),
        ("postgresql://host:5432@u:secret/x", "port.*not a number"),
        ("postgresql://u:secret@host:/x?port=5432s", "port"),
        (f"postgresql://u:secret@host:{'9' * 5000}/x", "port.*not a number"),
        ("postgresql://u:secret@host:65536/x", "1 to 65535, got 65536"),
        ("postgresql://u:secret@host:0/x", "1 to 65535, got 0"),
        ("postgresql://u:very@secret@host/x", "more than one @.*%40"),
        ("postgresql://u:secret@host/x?sslmod=require", "sslmod"),
        ("postgresql://u:secret@host/x?prepare_threshold=0", "prepare_threshold"),
        ("postgresql://u:secret%00@host/x", "cannot be sent"),
        ("postgresql://u:secret\ud800@host/x", "cannot be sent"),
        (f"postgresql://u:secret@{'h' * 64}/x", "cannot be sent"),
    ],
)
def test_something_that_is_no_url_of_postgresql(
    url: str, message: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In Python and on the command line; what may hold a password is not repeated."""
    monkeypatch.setattr("sys.argv", ["pgrecall", "status", "--database-url", url])
    for attempt in (migrate.upgrade, migrate.downgrade, migrate.status):
        with pytest.raises(InputError, match=message) as refusal:
            attempt(url)
        assert "secret" not in str(refusal.value)
    if url:
        with pytest.raises(InputError, match=message) as refusal:
            app(standalone_mode=False)
        assert "secret" not in str(refusal.value)


def test_every_spelling_of_a_url(shared_url: str) -> None:
    before = migrate.status(make_url(shared_url))
    for scheme in ("postgresql", "postgres", "postgresql+psycopg"):
        assert migrate.status(shared_url.replace("postgresql", scheme, 1)) == before


def test_engines_of_other_kinds(shared_url: str) -> None:
    with pytest.raises(InputError, match="psycopg 3"):
        migrate.upgrade(create_engine("sqlite://"))
    asynchronous = create_async_engine(make_url(shared_url).set(drivername="postgresql+psycopg"))
    with pytest.raises(InputError):
        migrate.upgrade(asynchronous)  # type: ignore[arg-type]


def test_a_revision_that_does_not_exist(empty_url: str) -> None:
    with pytest.raises(InputError, match="nonsense"):
        migrate.upgrade(empty_url, dimensions=3, revision="nonsense")
    with pytest.raises(InputError, match="nonsense"):
        migrate.downgrade(empty_url, revision="nonsense")
    with pytest.raises(InputError, match="nonsense"):
        migrate.sql(start="nonsense")

    assert migrate.status(empty_url).revision is None


@pytest.fixture
def extensions(server_url: str, empty_url: str) -> Iterator[str]:
    """The folder where the server looks for extensions in this database; none are in it."""
    if value(server_url, "SELECT current_setting('server_version_num')::integer") < 180000:
        pytest.skip("extension_control_path came with PostgreSQL 18")
    folder = f"/tmp/pgrecall-extensions-{os.getpid()}-{next(_numbers)}"
    run(
        server_url,
        f"ALTER DATABASE {database_of(empty_url)} SET extension_control_path = '{folder}'",
        f"COPY (SELECT) TO PROGRAM 'cat >&2; mkdir -p {folder}/extension'",
    )
    yield f"{folder}/extension"
    run(server_url, f"COPY (SELECT) TO PROGRAM 'cat >&2; rm -r {folder}'")


def test_a_server_without_pgvector_or_with_an_old_one(empty_url: str, extensions: str) -> None:
    refused(empty_url, PgvectorUnusable, r"not installed on the database server.*0\.8")
    assert migrate.status(empty_url).pgvector is None

    control = "default_version = ''0.7.4''"
    run(empty_url, f"COPY (SELECT '{control}') TO '{extensions}/vector.control'")
    refused(empty_url, PgvectorUnusable, r"pgvector 0\.7\.4 .*0\.8 or newer")


def test_a_database_with_an_old_pgvector(empty_url: str) -> None:
    old = "UPDATE pg_extension SET extversion = '0.7.4' WHERE extname = 'vector'"
    run(empty_url, "CREATE EXTENSION vector", old)

    refused(empty_url, PgvectorUnusable, r"pgvector 0\.7\.4 .*ALTER EXTENSION vector UPDATE")
    assert migrate.status(empty_url).pgvector == "0.7.4"


def test_versions_that_are_too_old_or_new_enough() -> None:
    for old in ("0.7.4", "0.4", "0.7", None):
        with pytest.raises(PgvectorUnusable, match=r"0\.8"):
            require_pgvector(old)
    for version in ("0.8", "0.8.0", "0.8.5", "0.10.0", "1.0.0"):
        require_pgvector(version)
    assert too_old(160000, "16.0") is None
    assert too_old(150010, "15.10 (Debian 15.10-1)") == (
        "the server is PostgreSQL 15.10, but 16 or newer is needed: upgrade it, or use another "
        "server"
    )


@pytest.mark.parametrize("encoding", ["LATIN1", "SQL_ASCII"])
def test_a_database_that_is_not_utf8(server_url: str, encoding: str) -> None:
    name = f"pgrecall_encoding_{os.getpid()}_{next(_numbers)}"
    run(server_url, f"CREATE DATABASE {name} ENCODING '{encoding}' LOCALE 'C' TEMPLATE template0")
    url = make_url(server_url).set(database=name).render_as_string(hide_password=False)

    refused(url, MigrationFailed, f"encoding is {encoding}.*UTF8")

    run(server_url, f"DROP DATABASE {name} WITH (FORCE)")


def test_a_role_without_rights(empty_url: str, role: str) -> None:
    name = database_of(empty_url)
    run(empty_url, f"GRANT CREATE ON DATABASE {name} TO {role}")
    extension = r'create extension "vector".*`CREATE EXTENSION'
    refused(empty_url, MigrationFailed, extension, role)

    run(empty_url, "CREATE EXTENSION vector", f"REVOKE CREATE ON DATABASE {name} FROM {role}")
    refused(empty_url, MigrationFailed, r"denied for database.*GRANT CREATE ON DATABASE", role)

    run(empty_url, f"GRANT CREATE ON DATABASE {name} TO {role}")
    assert migrate.upgrade(as_role(empty_url, role), dimensions=3).pending == []


def test_a_role_without_rights_on_the_schema(migrated: str, role: str) -> None:
    before = migrate.status(migrated)

    for level in (None, "maintainer"):
        if level == "maintainer":
            migrate.grant(migrated, role, level)
        owner = value(migrated, "SELECT current_user")
        for attempt in (
            lambda: migrate.upgrade(as_role(migrated, role)),
            lambda: migrate.downgrade(as_role(migrated, role)),
            lambda: alembic(as_role(migrated, role), "upgrade", "head"),
        ):
            with pytest.raises(
                DatabaseError,
                match=f"permission denied for schema.*created by {owner}.*migrate as that role",
            ):
                attempt()

    assert migrate.status(migrated) == before


def test_a_role_that_may_use_a_schema_but_not_fill_it(empty_url: str, role: str) -> None:
    """Nor needs it more than that: a DBA made the extension, and grants nothing on the database.

    In a new session each time, which knows nothing of pgvector's parameters.
    """
    run(empty_url, "CREATE EXTENSION vector", "CREATE SCHEMA pgrecall")
    url = as_role(empty_url, role)

    for attempt in (lambda: migrate.upgrade(url), lambda: alembic(url, "upgrade", "head")):
        with pytest.raises(MigrationFailed) as refusal:
            attempt()
        assert f'`GRANT USAGE, CREATE ON SCHEMA "pgrecall" TO {role}`' in str(refusal.value)
    run(empty_url, f'GRANT USAGE, CREATE ON SCHEMA "pgrecall" TO {role}')
    assert migrate.upgrade(url, dimensions=3).pending == []
    assert migrate.upgrade(url, embedding_index=True).embedding_index
    assert not migrate.upgrade(url, embedding_index=False).embedding_index
    assert migrate.downgrade(url).revision is None


def test_a_schema_that_this_version_does_not_know(database_url: str) -> None:
    run(database_url, "DROP FUNCTION pgrecall.oldest_client")
    built = dump(database_url)
    for revision in ("9999", "0018"):
        run(database_url, f"UPDATE pgrecall.alembic_version SET version_num = '{revision}'")
        for attempt in (
            migrate.upgrade,
            migrate.downgrade,
            lambda url: repository(url).count("a"),
        ):
            with pytest.raises(SchemaTooNew) as refusal:
                attempt(database_url)
            assert f"schema 'pgrecall' is at revision {revision}" in str(refusal.value)
            assert "pip install --upgrade pgrecall" in str(refusal.value)

        status = migrate.status(database_url)
        assert (status.revision, status.pending) == (revision, [])
    assert dump(database_url) == built


@pytest.mark.parametrize("revision", ["0001", "0002", "0013", "embedding_index"])
def test_a_schema_from_before_the_first_release(migrated: str, revision: str) -> None:
    """Its revisions have numbers that this version knows, or does not."""
    run(
        migrated,
        f"UPDATE pgrecall.alembic_version SET version_num = '{revision}'",
        "CREATE TABLE pgrecall.memory_labels (agent_id text)",
    )
    built = dump(migrated)

    for attempt in (
        migrate.upgrade,
        migrate.downgrade,
        migrate.status,
        lambda url: alembic(url, "upgrade", "head"),
        lambda url: app(["migrate", "up", "--database-url", url], standalone_mode=False),
        lambda url: repository(url).count("a"),
    ):
        with pytest.raises(SchemaOutdated, match=r"older than the first release.*export.*import"):
            attempt(migrated)
    assert dump(migrated) == built


def test_a_read_only_database(server_url: str, empty_url: str) -> None:
    name = database_of(empty_url)
    run(server_url, f"ALTER DATABASE {name} SET default_transaction_read_only = on")

    told = refused(empty_url, MigrationFailed, "read-only.*default_transaction_read_only = off")
    assert "touch" not in told, "the advice for searches"
    with pytest.raises(MigrationFailed, match="read-only"):
        alembic(empty_url, "upgrade", "head")


def test_another_table_of_the_name_in_the_schema(empty_url: str) -> None:
    """Not ours, so it is neither dropped nor mistaken for ours."""
    run(empty_url, "CREATE SCHEMA pgrecall")
    for column in ("1 AS id", "'x'::text AS embedding"):
        run(empty_url, f"CREATE TABLE pgrecall.agent_memories AS SELECT {column}")
        with pytest.raises((SchemaError, MigrationFailed)):
            migrate.upgrade(empty_url, dimensions=3)
        assert len(values(empty_url, "SELECT * FROM pgrecall.agent_memories")) == 1
        run(empty_url, "DROP TABLE pgrecall.agent_memories")


def test_without_citus_nothing_is_distributed_and_after_an_upgrade_nothing_again(
    empty_url: str, database_url: str
) -> None:
    """With it, tests/integration/test_citus.py distributes a schema."""
    with pytest.raises(SchemaMissing, match="migrate up"):
        migrate.distribute(empty_url)
    with pytest.raises(MigrationFailed, match="no Citus: install it on each node"):
        migrate.distribute(database_url)

    assert not value(database_url, "SELECT pgrecall.is_distributed()")
    assert migrate.status(database_url).nodes == {}
    assert values(database_url, "SELECT name FROM pgrecall.distribute(again => true)") == []
