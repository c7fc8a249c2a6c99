"""With the recipe of policies, one tenant sees nothing of another: rows, counts or directions."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from functools import cache
from itertools import product
from typing import Any

import psycopg
import pytest
from psycopg.pq import TransactionStatus
from sqlalchemy import (
    Connection,
    Engine,
    FromClause,
    NullPool,
    create_engine,
    event,
    make_url,
    select,
    text,
)

from pgrecall import MaintenanceRun, MemoryRepository, NewMemory, QueryPlan, migrate
from pgrecall.errors import PgRecallError
from pgrecall.testing import new_database
from tests.calls import CALLS, GOOD, MAINTAINING, PROCEDURES, Things, Work, selected, works
from tests.integration.conftest import repository_on
from tests.integration.support import at, in_full
from tests.integration.tenants import (
    MAINTAINER,
    MEMORIES,
    OWN,
    ROLES,
    WRITER,
    empty,
    furnish,
    guard,
    indexes_of,
    name_owners,
    outcome,
    owned_tables,
    snapshot,
    things_of,
)
from tests.migrations.asking import rows, run, value, values

NAMED = {"another": OWN["two"], "nobody yet": "-", "nobody any more": None, "nobody": ""}
TOLD = {who: NAMED[who] for who in ("another", "nobody any more")}
"""For every function and method; that all of NAMED are the same to a table is a test."""
NAME = text("SELECT set_config('pgrecall.owners', :owners, true)")
COMMON = {
    *("alembic_version", "component_reputations", "output_type_defaults", "tier_defaults"),
    *("installed_sql", "granted_roles", "profiles", "embedding_model"),
}
"""Tables of what belongs to all."""
OF_NO_OWNER = {
    *("align_positions", "embedding_dimensions", "expiry_of_tier", "meaning", "positions_table"),
    *("await_writers_here", "is_distributed", "require_parent", "shard_here"),
    *("hnsw_state", "pgvector_version", "require_hnsw"),
    *(
        "default_profile",
        "rank_direction",
        "rank_index_progress",
    ),
    *(
        "require_note",
        "require_owner",
        "require_search",
        "require_vector",
        "settable_fields",
        "lift_limits",
        "restore_limits",
        "table_states",
        "_require_policy",
        "_take_statistics",
        "_analyse_grown",
    ),
}
"""They read the catalogue or settings of all, or no table."""
SAME_FOR_ALL = {
    *("attach_positions", "create_positions", "drop_positions", "index_positions"),
    *("forget_positions", "lock_memories", "lock_same", "mark_superseded", "write_memory"),
    *("with_defaults", "require_incoming", "_sweep_orphans_batch", "supersede_in_turn"),
    "wait_for_writers",
    *("supersede_successors", "with_learned"),
    *("_events_expire_before", "_expire_events_batch", "claim_embedding_model"),
    *("copy_used_positions", "note_placed", "log_usage", "place_memories"),
    *("forget_positions_here", "gone_memories", "note_use_here", "place_memories_here"),
    *("drop_former_positions", "give_up_positions", "on_every_node", "positions_size"),
    "placed_positions",
    *("await_writers", "share_timeout", "_orphaned", "is_repeated"),
    *("note_written", "add_to_mean", "is_mean_due", "health"),
    *("_end_maintenance", "last_maintenance", "_log_all_usage", "_delete_old_runs"),
}
"""What they return does not depend on what the owner has."""
REFUSALS = ("PM003", "42501", "22023", "PM004", "42P16")
"""What a session may be told: that the other has no such memory, or that it may not write."""
WRITES = re.compile("row-level security policy|permission denied")
MAY_TELL = """
SELECT DISTINCT p.proname::text FROM pg_proc p
 WHERE p.pronamespace = 'pgrecall'::regnamespace AND p.provolatile <> 'i'
   AND has_function_privilege(%s, p.oid, 'EXECUTE')
   AND (p.prosqlbody IS NULL OR EXISTS (
       SELECT FROM pg_depend d LEFT JOIN pg_proc made_of
           ON d.refclassid = 'pg_proc'::regclass AND made_of.oid = d.refobjid
        WHERE d.classid = 'pg_proc'::regclass AND d.objid = p.oid
          AND (d.refclassid = 'pg_class'::regclass
               OR made_of.pronamespace = p.pronamespace AND made_of.provolatile <> 'i')))
 ORDER BY 1
"""
"""All that are not computed from their arguments alone."""

Answer = tuple[str, list[Any]]
Sessions = Callable[[str, str, str | None], psycopg.Connection]
Applications = Callable[[str, str, str | None], Connection]


@pytest.fixture(scope="module")
def furnished(server_url: str, template: str) -> Iterator[str]:
    """The name of a database to clone: two tenants behind the recipe."""
    with new_database(server_url, template) as url:
        for role in ROLES:
            run(url, f"DROP ROLE IF EXISTS {role}", f"CREATE ROLE {role}")
        migrate.grant(url, WRITER, "writer")
        migrate.grant(url, MAINTAINER, "maintainer")
        guard(url)
        for tenant in OWN:
            furnish(url, tenant)
        run(url, "SELECT pgrecall.align_positions()")
        yield str(make_url(url).database)
        for role in ROLES:
            run(url, f"DROP OWNED BY {role}", f"DROP ROLE {role}")


@pytest.fixture(scope="module")
def shared(server_url: str, furnished: str) -> Iterator[str]:
    """The two tenants, for tests that change nothing."""
    with new_database(server_url, furnished) as url:
        yield url


@pytest.fixture(scope="module")
def alone(server_url: str, furnished: str) -> Iterator[str]:
    """The same where the tenant one has nothing any more."""
    with new_database(server_url, furnished) as url:
        empty(url, "one")
        yield url


@pytest.fixture
def own(server_url: str, furnished: str) -> Iterator[str]:
    """The two tenants, for a test that changes them."""
    with new_database(server_url, furnished) as url:
        yield url


@contextmanager
def session(url: str, role: str, named: str | None) -> Iterator[psycopg.Connection]:
    """A session of this role that names these owners."""
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute("SET search_path = pgrecall, public")
        connection.execute(f"SET SESSION AUTHORIZATION {role}".encode())
        name_owners(connection, named)
        yield connection


@pytest.fixture(scope="module")
def sessions(shared: str, alone: str) -> Iterator[Sessions]:
    """Sessions that serve many calls, each in a transaction that is rolled back."""
    with ExitStack() as opened:
        yield cache(lambda *about: opened.enter_context(session(*about)))


@pytest.fixture(scope="module")
def applications(shared: str, alone: str) -> Iterator[Applications]:
    """The same through SQLAlchemy."""
    with ExitStack() as opened:

        def begun(url: str, role: str, named: str | None) -> Connection:
            connection = opened.enter_context(acting(url, role).connect())
            if named is None:
                connection.execute(NAME, {"owners": OWN["one"]})
                connection.commit()
            return connection

        yield cache(begun)


@pytest.fixture(scope="module")
def before(shared: str) -> list[Any]:
    """All that the tenant one has."""
    return value_snapshot(shared)


def answer(connection: psycopg.Connection, call: str, url: str | None = None) -> Answer:
    """What a session gets from a function, and all that one has there when it has returned."""
    with connection.transaction(force_rollback=True):
        connection.execute("SAVEPOINT before")
        got = outcome(connection, selected(call))
        if connection.info.transaction_status is TransactionStatus.INERROR:
            connection.execute("ROLLBACK TO before")
        connection.execute("RESET SESSION AUTHORIZATION")
        return got, snapshot(connection, url, "one") if url else []


TEXTS = {"context_text", "filtering_text", "recall_text", "statement_file"}
"""They only write statements, which are data to them."""


def test_every_function_that_may_tell_of_an_owner_is_called_here(shared: str) -> None:
    called = [*CALLS, *PROCEDURES, *OF_NO_OWNER]

    assert set(called) ^ set(values(shared, MAY_TELL, MAINTAINER)) == set()

    tables = "|".join(owned_tables(shared))
    read = rf"\y(FROM|JOIN|INTO|UPDATE)\s+(ONLY\s+)?({tables})\y"
    for name in OF_NO_OWNER - TEXTS:
        body = "SELECT pg_get_functiondef(oid) ~* %s FROM pg_proc WHERE proname = %s"
        assert values(shared, body, read, name) == [False], name


DROPPING = ("drop_positions", "drop_former_positions", "on_every_node")
"""They drop tables that no index uses any more, and say how many."""


@pytest.mark.parametrize("name", CALLS)
def test_a_function_tells_a_tenant_nothing_of_another(
    shared: str, alone: str, before: list[Any], sessions: Sessions, name: str
) -> None:
    """It answers as if the other had nothing, whoever is named, and changes nothing."""
    things = _things_of(shared, "one")
    tells = []
    for call in (one.format(**things) for one in CALLS[name]):
        for who, named in TOLD.items():
            got, after = answer(sessions(shared, MAINTAINER, named), call, shared)
            if name in DROPPING:
                assert got == "[(0,)]"
            else:
                without = answer(sessions(alone, MAINTAINER, named), call)[0]
                assert got == without, (call, who)
            assert after == before, (call, who)
            assert got[:5] in REFUSALS or not re.match(r"[0-9A-Z]{5} ", got), (call, got)
        if name not in SAME_FOR_ALL:
            seen, after = answer(sessions(shared, MAINTAINER, OWN["one"]), call, shared)
            without = answer(sessions(alone, MAINTAINER, OWN["one"]), call)[0]
            tells.append(seen != without or after != before)
    assert any(tells) or name in SAME_FOR_ALL


_things_of = cache(things_of)


def value_snapshot(url: str) -> list[Any]:
    with psycopg.connect(url) as connection:
        return snapshot(connection, url, "one")


@pytest.mark.parametrize("call", [call for calls in PROCEDURES.values() for call in calls])
def test_a_procedure_leaves_another_alone(own: str, call: str) -> None:
    before = value_snapshot(own)
    for named in TOLD.values():
        with session(own, MAINTAINER, named) as connection:
            got = outcome(connection, f"CALL {call}")

        assert value_snapshot(own) == before
        if call == "maintain('one')":
            assert "'archived': 0" in got
        elif call.startswith("maintain"):  # it would be noted under an owner not named
            assert got.startswith("42501")
        else:
            assert got == ("[(0, 0, 0, 0, 0, 0)]" if "erase" in call else "CALL")


@pytest.mark.parametrize("role", ROLES)
def test_every_table_and_view_shows_a_tenant_what_is_its_own(shared: str, role: str) -> None:
    relations = values(
        shared,
        "SELECT oid::regclass::text FROM pg_class WHERE relkind IN ('r', 'p', 'v') "
        "AND relnamespace = 'pgrecall'::regnamespace ORDER BY 1",
    )
    assert len([name for name in relations if "ranks_" in name]) == 8
    for relation in relations:
        if relation.removeprefix("pgrecall.") in COMMON:
            continue
        if relation == "pgrecall.service_keys":
            with session(shared, role, OWN["one"]) as connection:
                seen = outcome(connection, f"SELECT * FROM {relation}")
            assert seen.startswith("42501") == (role == WRITER)
            continue
        counts = []
        for named in (*OWN.values(), *NAMED.values()):
            with session(shared, role, named) as connection:
                count = connection.execute(f"SELECT count(*) FROM {relation}".encode()).fetchone()
                seen = outcome(connection, f"SELECT * FROM {relation}")
            assert count is not None
            counts.append(count[0])
            for tenant, its in OWN.items():
                if named != its:
                    assert f"{tenant}secret" not in seen
                    assert f"'{tenant}'" not in seen
                    assert f"'team:{tenant}'" not in seen
        every = value(shared, f"SELECT count(*) FROM {relation}")
        if relation == "pgrecall.rank_positions":  # read by the names of its partitions alone
            assert not any(counts)
        else:
            has_rows = relation != "pgrecall._ranked"  # a view for its columns alone
            assert (sum(counts[:2]), every > 0) == (every, has_rows), relation
        assert counts[2:] == [counts[1], 0, 0, 0], relation


def acting(url: str, role: str = WRITER) -> Engine:
    """Connections of an application, which names owners in each of its transactions."""
    engine = create_engine(make_url(url).set(drivername="postgresql+psycopg"), poolclass=NullPool)

    @event.listens_for(engine, "connect")
    def act(connection: psycopg.Connection, _: object) -> None:
        connection.execute(f"SET ROLE {role}".encode())
        connection.commit()

    return engine


def told(result: Any) -> str:
    """Plans and the ids of runs differ."""
    if isinstance(result, QueryPlan):
        return str("secret" in in_full(result))
    return str(result.scanned) if isinstance(result, MaintenanceRun) else in_full(result)


def in_python(connection: Connection, named: str | None, work: Work) -> str:
    """What work gets in a transaction that names these owners, in words that can be compared."""
    if named not in (None, "-"):
        connection.execute(NAME, {"owners": named})
    try:
        result = work(MemoryRepository(connection))
        if isinstance(result, FromClause):
            of_each = select(result.c.agent_id, result.c.id, result.c.content)
            result = sorted(map(str, connection.execute(of_each)))
        got = told(result)
    except PgRecallError as refused:
        got = f"{type(refused).__name__}: {refused}"
    connection.rollback()
    return re.sub(r"\(cost=\S+ rows=\S+ width=\S+\)|took_ms=\S+", "", got)


@pytest.mark.parametrize("name", GOOD)
def test_a_method_tells_a_tenant_nothing_of_another(
    shared: str, alone: str, before: list[Any], applications: Applications, name: str
) -> None:
    role = MAINTAINER if name in MAINTAINING else WRITER
    things = Things.named(_things_of(shared, "one"))
    for named, work in product(TOLD.values(), works(name, things)):
        got = in_python(applications(shared, role, named), named, work)
        assert got == in_python(applications(alone, role, named), named, work)
        assert "DatabaseError" not in got or WRITES.search(got), got
    assert value_snapshot(shared) == before


@pytest.mark.parametrize("strategy", ["exact", "index"])
@pytest.mark.parametrize("words", [{}, {"keywords": "onesecret", "profile": "hybrid"}])
def test_a_tenant_finds_its_own_through_the_repository(
    shared: str, strategy: str, words: dict[str, Any]
) -> None:
    """Where words count, not through the index: behind a policy that takes longer."""
    asked = {"k": 10, "touch": False, "teams": ["one"], "profile": "five_factor", **words}
    wanted = repository_on("sync", shared).search("one", at(3), strategy="exact", **asked)
    with acting(shared).begin() as connection:
        connection.execute(NAME, {"owners": OWN["one"]})
        hits = MemoryRepository(connection).search("one", at(3), strategy=strategy, **asked)  # type: ignore[arg-type]

    assert hits.strategy == ("exact" if words else strategy)
    assert [hit.memory.id for hit in hits] == [hit.memory.id for hit in wanted]


def test_what_a_tenant_deletes_leaves_its_index(own: str) -> None:
    relation = value(own, "SELECT relation FROM pgrecall.rank_indexes WHERE agent_id = 'two'")
    with acting(own).begin() as connection:
        connection.execute(NAME, {"owners": OWN["two"]})
        repo = MemoryRepository(connection)
        doomed = [hit.memory.id for hit in repo.search("two", at(3), k=2, touch=False)]
        assert repo.delete("two", doomed) == 2

    left = values(own, f"SELECT memory_id FROM pgrecall.{relation}")
    assert len(left) == MEMORIES - 3
    assert not set(doomed) & set(left)


@pytest.fixture
def unguarded(own_url: str, shared: str) -> Iterator[str]:
    """Two tenants and their indexes, and no policy and nobody let in yet."""
    for tenant in OWN:
        furnish(own_url, tenant)
    yield own_url
    for role in ROLES:
        run(own_url, f"DROP OWNED BY {role}")


def test_policies_and_grants_given_after_a_build_reach_its_positions(unguarded: str) -> None:
    relation = value(unguarded, "SELECT relation FROM pgrecall.rank_indexes WHERE agent_id = 'two'")
    run(
        unguarded,
        f"GRANT USAGE ON SCHEMA pgrecall TO {WRITER}",
        f"GRANT SELECT ON ALL TABLES IN SCHEMA pgrecall TO {WRITER}",
        f"REVOKE ALL ON pgrecall.{relation} FROM {WRITER}",
    )

    assert "aligned" in guard(unguarded)

    for named, count in ((OWN["two"], MEMORIES - 1), (OWN["one"], 0), ("-", 0), (None, 0)):
        with session(unguarded, WRITER, named) as connection:
            assert outcome(connection, f"SELECT count(*) FROM {relation}") == f"[({count},)]"


def test_until_they_do_a_search_ranks_every_memory(unguarded: str) -> None:
    migrate.grant(unguarded, MAINTAINER, "maintainer")
    guard(unguarded)
    relation = value(unguarded, "SELECT relation FROM pgrecall.rank_indexes WHERE agent_id = 'two'")
    run(unguarded, f"ALTER TABLE pgrecall.{relation} DISABLE ROW LEVEL SECURITY")

    def search() -> Any:
        with acting(unguarded, MAINTAINER).begin() as connection:
            connection.execute(NAME, {"owners": OWN["two"]})
            repo = MemoryRepository(connection)
            return repo.search("two", at(3), profile="five_factor", strategy="index", touch=False)

    before = search()
    assert (before.strategy, len(before)) == ("exact", 10)
    repository_on("sync", unguarded).maintenance.run(at_least=1)
    after = search()
    assert after.strategy == "index"
    assert [hit.memory.id for hit in after] == [hit.memory.id for hit in before]


def test_the_recipe_can_be_run_again_and_be_undone(own: str) -> None:
    policies = "SELECT schemaname, tablename, policyname, qual FROM pg_policies ORDER BY 1, 2, 3"
    before = rows(own, policies)

    guard(own)

    assert rows(own, policies) == before
    assert [name for _, name, policy, _ in before if policy == "owners"] == sorted(
        {*owned_tables(own)} - {name for _, name, policy, _ in before if policy == "of_their_owner"}
    )
    for table in owned_tables(own):
        run(own, f"ALTER TABLE pgrecall.{table} DISABLE ROW LEVEL SECURITY")
    run(own, "SELECT pgrecall.align_positions()")
    with session(own, WRITER, "-") as connection:
        assert (
            outcome(connection, "SELECT count(DISTINCT agent_id) FROM agent_memories") == "[(4,)]"
        )
        for relation in (*indexes_of(own, "one"), *indexes_of(own, "two")):
            assert outcome(connection, f"SELECT count(*) > 30 FROM {relation}") == "[(True,)]"


def test_the_recipe_serves_a_schema_of_another_name(empty_url: str, shared: str) -> None:
    schema = "other"
    migrate.upgrade(empty_url, dimensions=8, schema=schema)
    migrate.grant(empty_url, WRITER, "writer", schema=schema)
    repo = repository_on("sync", empty_url, schema=schema)
    for tenant in OWN:
        repo.add(tenant, NewMemory("secret", embedding=at(1)))
        repo.rank_indexes.build(agent_id=tenant, at_least=1)

    for _ in range(2):
        guard(empty_url, schema=schema)

    for named, count in ((OWN["one"], 1), ("{one,two}", 2), ("", 0)):
        with acting(empty_url).begin() as connection:
            connection.execute(NAME, {"owners": named})
            repo = MemoryRepository(connection, schema=schema)
            assert sum(repo.count(tenant) for tenant in OWN) == count
            hits = repo.search("one", at(1), strategy="index", touch=False)
            assert len(hits) == min(count, 1)
    run(empty_url, f"DROP OWNED BY {WRITER}")
