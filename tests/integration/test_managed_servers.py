"""All works for a schema owner with no more rights than managed servers give; see also
tests/migrations/test_errors.py for what is said where pgvector is missing or old."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from contextlib import contextmanager, suppress

import psycopg
import pytest
from sqlalchemy import NullPool, create_engine, make_url

from pgrecall import MemoryRepository, migrate
from pgrecall.cli.main import app
from pgrecall.errors import InputError, MigrationFailed
from pgrecall.testing import new_database
from tests.calls import CALLS, GOOD, PROCEDURES, Things, selected, works
from tests.conftest import DIMENSIONS
from tests.integration.tenants import furnish, guard, outcome, things_of
from tests.migrations.asking import as_role, run

OWNER, WRITER = f"pgrecall_owner_{os.getpid()}", f"pgrecall_writer_{os.getpid()}"
PROFILE = '{"name": "own", "signals": {"similarity": {"weight": 1}}}'


@pytest.fixture(scope="module")
def managed(server_url: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The superuser's URL: what the owner needs was made by a superuser, all else by the owner."""
    with new_database(server_url) as url:
        run(url, "CREATE SCHEMA extensions", "CREATE EXTENSION vector SCHEMA extensions")
        for role in (OWNER, WRITER):
            run(url, f"CREATE ROLE {role} LOGIN PASSWORD 'x'")
        run(url, f"GRANT CREATE ON DATABASE {make_url(url).database} TO {OWNER}")
        owner = as_role(url, OWNER)
        with pytest.raises(MigrationFailed, match=r"schema extensions.*GRANT USAGE ON SCHEMA"):
            migrate.upgrade(owner, dimensions=DIMENSIONS)
        run(url, f"GRANT USAGE ON SCHEMA extensions TO {OWNER}")
        migrate.upgrade(owner, dimensions=DIMENSIONS)
        file = tmp_path_factory.mktemp("profile") / "own.json"
        file.write_text(PROFILE, encoding="utf-8")
        app(["profiles", "install", str(file), "--database-url", owner], standalone_mode=False)
        furnish(owner, "one")
        guard(owner)
        with pytest.raises(InputError, match=f"GRANT USAGE ON SCHEMA extensions TO {WRITER}"):
            migrate.grant(owner, WRITER, "writer")
        run(url, f"GRANT USAGE ON SCHEMA extensions TO {WRITER}")
        migrate.grant(owner, WRITER, "writer")
        yield url
        for role in (OWNER, WRITER):
            run(url, f"DROP OWNED BY {role} CASCADE", f"DROP ROLE {role}")


@contextmanager
def session(url: str) -> Iterator[psycopg.Connection]:
    with psycopg.connect(url) as connection:
        connection.execute("SET search_path = pgrecall, public")
        connection.execute("SET pgrecall.owners = '{one,team:one}'")
        connection.commit()
        yield connection


def refusal(connection: psycopg.Connection, statement: str) -> str | None:
    """How a statement is refused that is rolled back."""
    got = outcome(connection, statement)
    connection.rollback()
    return got if re.match(r"[0-9A-Z]{5} ", got) else None


def test_it_calls_every_function(managed: str) -> None:
    things = things_of(managed, "one")
    with session(as_role(managed, OWNER)) as owner, session(managed) as superuser:
        for call in (call for calls in CALLS.values() for call in calls):
            statement = selected(call.format(**things))
            refused = refusal(owner, statement)
            assert refused == refusal(superuser, statement), call
            assert "permission" not in str(refused), call


def test_it_calls_every_method(managed: str) -> None:
    things = Things.named(things_of(managed, "one"))
    engine = create_engine(
        make_url(as_role(managed, OWNER)).set(drivername="postgresql+psycopg"), poolclass=NullPool
    )
    for name in GOOD:
        for work in works(name, things):
            with engine.connect() as connection, suppress(InputError):  # too few queries to tune by
                work(MemoryRepository(connection))


def test_those_it_lets_in_search_behind_its_policies(managed: str) -> None:
    things = things_of(managed, "one")
    with session(as_role(managed, WRITER)) as writer:
        for call in (*CALLS["recall"], "recall('one', {vector}, profile => 'own')"):
            statement = f"SELECT 1 / count(*) FROM {call.format(**things)}"
            assert refusal(writer, statement) is None, call


def test_it_obeys_and_changes_what_a_superuser_has_set(managed: str) -> None:
    migrate.set_default_profile(managed, "trust")
    owner = as_role(managed, OWNER)
    assert migrate.default_profile(owner) == "trust"
    migrate.set_default_profile(owner, "tiered")
    assert migrate.default_profile(owner) == "tiered"
    migrate.set_default_profile(owner, None)


def test_it_runs_every_procedure_and_drops_what_it_built(managed: str) -> None:
    for calls in PROCEDURES.values():
        for call in calls:
            run(as_role(managed, OWNER), f"CALL pgrecall.{call}")
    run(as_role(managed, OWNER), "SELECT pgrecall.drop_rank_index('one')")
    assert migrate.downgrade(as_role(managed, OWNER)).revision is None
