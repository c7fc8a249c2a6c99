"""What a reader, a writer and a maintainer may do, and what not."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import psycopg
import pytest
from psycopg import sql
from sqlalchemy import Engine, NullPool, create_engine, event, make_url

from pgrecall import MemoryRepository, migrate
from pgrecall.errors import DatabaseError
from pgrecall.migrate.access import Level
from tests.calls import GOOD, MAINTAINING, READING
from tests.integration.rank_indexes import new_role
from tests.integration.support import NORTH
from tests.integration.test_both_repositories import A, case_of, check, furnish
from tests.migrations.asking import run

COUNTING = ("search", "search_many", "context")
ELSEWHERE = {"rank_indexes.status", "maintenance.health"}
"""What readers may call as well, though no replica answers it."""


@pytest.fixture(scope="module")
def filled(module_url: str) -> str:
    furnish(MemoryRepository(engine_as(module_url, None)))
    return module_url


@pytest.fixture(scope="module", params=migrate.LEVELS)
def level(request: pytest.FixtureRequest) -> Level:
    found: Level = request.param
    return found


@pytest.fixture(scope="module")
def role(filled: str, level: Level) -> Iterator[str]:
    """That was let in at this level."""
    with new_role(filled, level) as name:
        migrate.grant(filled, name, level)
        yield name


def engine_as(url: str, role: str | None) -> Engine:
    engine = create_engine(make_url(url).set(drivername="postgresql+psycopg"), poolclass=NullPool)
    if role:

        @event.listens_for(engine, "connect")
        def act(connection: psycopg.Connection, _: object) -> None:
            connection.execute(sql.SQL("SET ROLE {}").format(sql.Identifier(role)))
            connection.commit()

    return engine


def test_each_may_do_what_its_level_says_and_no_more(filled: str, role: str, level: Level) -> None:
    writing = {*GOOD} - MAINTAINING
    may = {"reader": READING | ELSEWHERE, "writer": writing, "maintainer": {*GOOD}}[level]
    engine = engine_as(filled, role)
    for name in GOOD:
        case = case_of(name)
        with engine.connect() as connection:  # nothing is committed
            repo = MemoryRepository(connection)
            if name in may and (level != "reader" or name not in COUNTING):
                check(repo, case)
            else:
                with pytest.raises(DatabaseError, match="permission denied") as refused:
                    check(repo, case)
                advice = "touch=False" if name in COUNTING else "migrate grant"
                assert re.search(advice, str(refused.value))
    found = MemoryRepository(engine).search(A, NORTH, touch=False, profile="trust")
    assert len(found) == 5


def test_a_temporary_table_does_not_run_its_triggers_as_the_owner(filled: str) -> None:
    """Only who maintains names the table of a rank index."""
    table = f"ranks_{0:032x}"
    with new_role(filled, "trap") as role, psycopg.connect(filled, autocommit=True) as connection:
        migrate.grant(filled, role, "maintainer")
        connection.execute(sql.SQL("SET ROLE {}").format(sql.Identifier(role)))
        connection.execute(f"CREATE TEMP TABLE {table} (memory_id uuid)")
        connection.execute("CREATE TEMP TABLE ran (role text)")
        connection.execute(
            "CREATE FUNCTION pg_temp.run() RETURNS trigger LANGUAGE plpgsql AS "
            "$$ BEGIN INSERT INTO ran VALUES (current_user); RETURN OLD; END $$"
        )
        connection.execute(
            f"CREATE TRIGGER run BEFORE DELETE ON {table} FOR EACH ROW "
            "EXECUTE FUNCTION pg_temp.run()"
        )
        connection.execute(f"GRANT ALL ON {table}, ran TO PUBLIC")
        connection.execute(f"INSERT INTO {table} VALUES (gen_random_uuid())")
        connection.execute(
            "INSERT INTO pgrecall.rank_indexes (agent_id, relation, space, as_of, built_at, "
            "written_until, memories, at_least, m, ef_construction, seconds, candidates) "
            "VALUES ('trap', %s, 1, now(), now(), now(), 1, 1, 2, 4, 1, 64)",
            [table],
        )
        connection.execute("SELECT pgrecall.forget_positions('trap', NULL)")
        assert connection.execute("SELECT * FROM ran").fetchall() == []


def test_what_is_not_ours_is_neither_granted_nor_taken_away(own_url: str) -> None:
    def found(query: str, *names: str) -> list[tuple[Any, ...]]:
        with psycopg.connect(own_url, options="-c search_path=pgrecall") as connection:
            return connection.execute(query.encode(), names).fetchall()

    assert not found(
        "SELECT c.oid::regclass::text FROM pg_class c "
        "WHERE c.relnamespace = 'pgrecall'::regnamespace AND c.relkind IN ('r', 'p', 'v') "
        "UNION ALL SELECT p.oid::regprocedure::text FROM pg_proc p "
        "WHERE p.pronamespace = 'pgrecall'::regnamespace "
        "EXCEPT SELECT identity FROM objects_of_ours() EXCEPT SELECT 'accepted_pgvector()'"
    )
    table = "SELECT has_table_privilege(%s, 'pgrecall.' || %s, %s)"
    with new_role(own_url, "beside") as role:
        run(
            own_url,
            *(f"CREATE TABLE pgrecall.{name} ()" for name in ("payroll", "orders")),
            "CREATE FUNCTION pgrecall.pay() RETURNS integer LANGUAGE sql RETURN 1",
            "REVOKE ALL ON FUNCTION pgrecall.pay() FROM PUBLIC",
            f'GRANT INSERT ON pgrecall.orders TO "{role}"',
        )
        migrate.grant(own_url, role, "maintainer")
        assert found(table, role, "agent_memories", "INSERT") == [(True,)]
        assert found(table, role, "payroll", "SELECT") == [(False,)]
        may_call = "SELECT has_function_privilege(%s, 'pgrecall.pay()', 'EXECUTE')"
        assert found(may_call, role) == [(False,)]
        migrate.revoke(own_url, role)
        assert found(table, role, "agent_memories", "SELECT") == [(False,)]
        assert found(table, role, "orders", "INSERT") == [(True,)]
