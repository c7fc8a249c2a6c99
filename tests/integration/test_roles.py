"""What a reader, a writer and a maintainer may do, and what not."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta
from typing import Any

import psycopg
import pytest
from psycopg import sql
from sqlalchemy import Engine, NullPool, create_engine, event, make_url

from pgrecall import MemoryRepository, NewMemory, migrate
from pgrecall.errors import DatabaseError
from pgrecall.migrate.access import Level
from tests.integration.rank_indexes import new_role
from tests.integration.support import at
from tests.migrations.asking import run

AGENT = "agent"


@pytest.fixture(scope="module")
def filled(module_url: str) -> str:
    repo = MemoryRepository(engine_as(module_url, None))
    new = [NewMemory(f"walk number {n}", embedding=at(n)) for n in range(60)]
    ids = repo.add_many(AGENT, new)
    repo.record_outcome(AGENT, ids[0], "success", reason="it helped")
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


@pytest.fixture(scope="module")
def repo(filled: str, role: str) -> MemoryRepository:
    return MemoryRepository(engine_as(filled, role))


def engine_as(url: str, role: str | None) -> Engine:
    engine = create_engine(make_url(url).set(drivername="postgresql+psycopg"), poolclass=NullPool)
    if role:

        @event.listens_for(engine, "connect")
        def act(connection: psycopg.Connection, _: object) -> None:
            connection.execute(sql.SQL("SET ROLE {}").format(sql.Identifier(role)))
            connection.commit()

    return engine


def test_everyone_let_in_reads(repo: MemoryRepository) -> None:
    asked: dict[str, Any] = {"profile": "hybrid", "query_text": "walk number"}

    assert len(repo.search(AGENT, at(3), k=5, touch=False, profile="trust")) == 5
    hits = repo.search(AGENT, at(3), k=5, touch=False, **asked)

    assert len(hits) == 5
    first = hits[0].memory.id
    assert repo.explain(AGENT, first, at(3), **asked).rank == 1
    assert repo.context(AGENT, at(3), max_tokens=500, touch=False, **asked).packed
    assert repo.get(AGENT, first) is not None
    assert repo.history(AGENT, first)
    assert repo.count(AGENT) == 60
    assert repo.upkeep.near_duplicates(AGENT) is not None
    assert repo.rank_indexes.status() is not None


def test_who_only_reads_is_told_how_to(repo: MemoryRepository, level: Level) -> None:
    if level == "reader":
        with pytest.raises(DatabaseError, match="touch=False"):
            repo.search(AGENT, at(3))
        with pytest.raises(DatabaseError, match="migrate grant"):
            repo.add(AGENT, NewMemory("new", embedding=at(1)))
        assert repo.count(AGENT) == 60
    else:
        assert len(repo.search(AGENT, at(3))) == 10


def test_writers_change_memories(repo: MemoryRepository, level: Level) -> None:
    if level == "reader":
        pytest.skip("who reads does not write")
    one, other = repo.add_many(
        f"{AGENT} {level}",
        [NewMemory("one", embedding=at(1), tier="short"), NewMemory("other", embedding=at(2))],
    )
    owner = f"{AGENT} {level}"
    repo.update(owner, one, content="one at least", embedding=at(1))
    repo.feedback(owner, one, "useful")
    repo.record_outcome(owner, one, "failure")
    repo.labels.add(owner, one, ["word"])
    repo.links.add(owner, one, other, "before")
    assert repo.upkeep.promote(owner, one) == 1
    new = repo.supersede(owner, other, NewMemory("another", embedding=at(2)))
    assert repo.invalidate(owner, new) == 1
    assert repo.revive(owner, new) == 1
    assert repo.upkeep.prune(owner, older_than=timedelta(days=1)) == 0
    assert repo.delete(owner, one) == 1


def test_maintainers_collect_build_and_erase(repo: MemoryRepository, level: Level) -> None:
    owner = f"{AGENT} of {level}"
    if level != "maintainer":
        for work in (
            lambda: repo.upkeep.collect_garbage(agent_id=AGENT),
            lambda: repo.rank_indexes.build(agent_id=AGENT, at_least=1),
            lambda: repo.upkeep.erase_owner(AGENT),
        ):
            with pytest.raises(DatabaseError, match="permission denied"):
                work()
        assert repo.count(AGENT) == 60
        return
    repo.add_many(owner, [NewMemory(f"{n}", embedding=at(n)) for n in range(50)])
    assert len(repo.rank_indexes.build(agent_id=owner, at_least=1)) == 1
    assert repo.search(owner, at(3), strategy="index").strategy == "index"
    assert repo.upkeep.collect_garbage(agent_id=owner).scanned == 50
    assert repo.rank_indexes.drop(owner)
    assert repo.upkeep.erase_owner(owner).memories == 50


def test_a_temporary_table_does_not_run_its_triggers_as_the_owner(
    filled: str, role: str, level: Level
) -> None:
    if level != "maintainer":
        pytest.skip("only who maintains names the table of a rank index")
    table = f"ranks_{0:032x}"
    with psycopg.connect(filled, autocommit=True) as connection:
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
