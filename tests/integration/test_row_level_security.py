"""With policies on every table, one tenant sees nothing of another: rows, counts or directions."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress

import psycopg
import pytest
from sqlalchemy import NullPool, create_engine, event, make_url

from pgrecall import MemoryRepository, NewMemory
from tests.conftest import new_database
from tests.integration.conftest import OWNED, repository_on
from tests.integration.support import at
from tests.migrations.asking import run, value, values

ROLE = "pgrecall_tenant"
TENANTS = ("one", "two")
TENANT = "current_setting('pgrecall.tenant', true)"
RECALLS = ("five_factor", "last_access", "half_life", "trust", "tiered", "hybrid")


@pytest.fixture(scope="module")
def shared(server_url: str, template: str) -> Iterator[str]:
    """Two tenants with everything a tenant may have, behind policies."""
    with new_database(server_url, template) as url:
        run(url, f"DROP ROLE IF EXISTS {ROLE}", f"CREATE ROLE {ROLE}")
        for table in OWNED:
            run(
                url,
                f"ALTER TABLE pgrecall.{table} ENABLE ROW LEVEL SECURITY",
                f"CREATE POLICY tenants ON pgrecall.{table} "
                f"USING (agent_id IN ({TENANT}, 'team:' || {TENANT}))",
            )
        run(
            url,
            f"GRANT USAGE ON SCHEMA pgrecall TO {ROLE}",
            f"GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA pgrecall TO {ROLE}",
        )
        repo = repository_on("sync", url)
        for tenant in TENANTS:
            for one in (repo, repo.teams):
                ids = one.add_many(
                    tenant,
                    [
                        NewMemory(f"{tenant}secret number {n}", embedding=at(n), tags=[tenant])
                        for n in range(40)
                    ],
                )
                one.touch(tenant, ids)
                one.label(tenant, ids[0], [f"{tenant}label"])
                one.link(tenant, ids[0], ids[1], tenant)
                one.record_outcome(tenant, ids[0], "success", reason=tenant)
                one.build_rank_indexes(agent_id=tenant, at_least=1)
            run(url, f"CALL pgrecall.collect_garbage('{tenant}', max_age_hours => NULL)")
        yield url
        run(url, f"DROP OWNED BY {ROLE}", f"DROP ROLE {ROLE}")


def as_tenant(url: str, tenant: str) -> MemoryRepository:
    """A repository whose connections act as this tenant."""
    engine = create_engine(make_url(url).set(drivername="postgresql+psycopg"), poolclass=NullPool)

    @event.listens_for(engine, "connect")
    def act(connection: psycopg.Connection, _: object) -> None:
        with connection.cursor() as cursor:
            cursor.execute(f"SET ROLE {ROLE}".encode())
            cursor.execute(f"SET pgrecall.tenant = '{tenant}'".encode())
        connection.commit()

    return MemoryRepository(engine)


def seen(url: str, tenant: str, query: str) -> str:
    """What a tenant gets from a query, as text."""
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute(f"SET ROLE {ROLE}".encode())
        connection.execute(f"SET pgrecall.tenant = '{tenant}'".encode())
        return str(connection.execute(query.encode()).fetchall())


def relations(url: str) -> list[str]:
    return values(
        url,
        "SELECT oid::regclass::text FROM pg_class WHERE relkind IN ('r', 'v') "
        "AND relnamespace = 'pgrecall'::regnamespace ORDER BY 1",
    )


def test_every_table_and_view_shows_a_tenant_what_is_its_own(shared: str) -> None:
    common = {"alembic_version", "component_reputations", "output_type_defaults", "tier_defaults"}
    for relation in relations(shared):
        if relation.removeprefix("pgrecall.") in common:
            continue
        every = value(shared, f"SELECT count(*) FROM {relation}")
        parts = []
        for tenant in TENANTS:
            own = seen(shared, tenant, f"SELECT * FROM {relation}")
            [other] = set(TENANTS) - {tenant}
            assert f"{other}secret" not in own
            assert f"'{other}'" not in own
            assert f"'team:{other}'" not in own
            parts.append(int(seen(shared, tenant, f"SELECT count(*) FROM {relation}")[2:-3]))
        assert sum(parts) == every, relation


def test_every_function_shows_a_tenant_nothing_of_another(shared: str) -> None:
    relation = value(shared, "SELECT relation FROM pgrecall.rank_indexes WHERE agent_id = 'one'")
    memory = value(shared, "SELECT id FROM pgrecall.agent_memories WHERE agent_id = 'one' LIMIT 1")
    vector = str(at(3))
    position = value(shared, f"SELECT position::text FROM pgrecall.{relation} LIMIT 1")
    calls = [
        *(
            f"recall_{name}(agent => 'one', query => '{vector}', teams => '{{one}}')"
            for name in RECALLS
        ),
        "recall_hybrid('one', 'onesecret')",
        f"history('one', '{memory}')",
        "keyword_shares('{one}', 'onesecret')",
        f"rank_candidates('one', '{relation}', '{position}', 10, now(), now())",
        f"near_positions('{relation}', '{position}', 10, 10, 0.5)",
        f"word_candidates('one', '{relation}', '{position}', 0.3, '{{onesecret}}', "
        "'{40}', '{0.1}', 10)",
        f"record_outcome('one', '{memory}', 'success')",
        f"adjust_trust('one', '{memory}', 0.1, 'why', 'who')",
        f"record_feedback('one', '{memory}', 'useful')",
        f"invalidate_memories('one', ARRAY['{memory}'::uuid])",
        f"revive_memories('one', ARRAY['{memory}'::uuid])",
    ]
    for call in calls:
        with suppress(psycopg.errors.NoDataFound):  # "one has no memory …"
            assert seen(shared, "two", f"SELECT * FROM pgrecall.{call}") == "[]", call
    for count in (
        "memories_of('one')",
        "(SELECT max(memories) FROM pgrecall.term_weights('one', 'onesecret'))",
        "(SELECT scanned FROM pgrecall.count_garbage('one'))",
        "clear_memories('one')",
        "(SELECT max(memories) FROM pgrecall.common_terms('one', 1))",
        "(SELECT count(*) FROM unnest(pgrecall.owners_of_memories()) o WHERE o = 'one')",
        f"forget_positions('one', ARRAY['{memory}'::uuid])",
        "forget_positions('one', NULL)",
    ):
        name = count if count.startswith("(") else f"pgrecall.{count}"
        assert seen(shared, "two", f"SELECT {name}") == "[(0,)]", count
    nearest = f"SELECT pgrecall.nearest_landmark('{relation}', '{position}')"
    assert seen(shared, "two", nearest) == "[(None,)]"
    assert value(shared, "SELECT count(*) FROM pgrecall.agent_memories WHERE agent_id = 'one'")
    assert value(shared, f"SELECT count(*) FROM pgrecall.{relation}") == 40


@pytest.mark.parametrize("strategy", ["exact", "index"])
def test_a_tenant_finds_its_own_through_the_repository(shared: str, strategy: str) -> None:
    own, other = (as_tenant(shared, tenant) for tenant in TENANTS)
    asked = {"k": 10, "strategy": strategy, "touch": False, "profile": "hybrid"}

    hits = own.search("one", at(3), query_text="onesecret", teams=["one"], **asked)  # type: ignore[arg-type]

    assert (hits.strategy, len(hits)) == (strategy, 10)
    assert other.search("one", at(3), query_text="onesecret", teams=["one"], **asked) == []  # type: ignore[arg-type]


def test_what_a_tenant_deletes_leaves_its_index(shared: str) -> None:
    repo = as_tenant(shared, "two")
    relation = value(shared, "SELECT relation FROM pgrecall.rank_indexes WHERE agent_id = 'two'")
    doomed = [hit.memory.id for hit in repo.search("two", at(3), k=2, touch=False)]

    assert repo.delete("two", doomed) == 2

    left = values(shared, f"SELECT memory_id FROM pgrecall.{relation}")
    assert len(left) == 38
    assert not set(doomed) & set(left)


def test_positions_are_kept_as_long_as_their_memories(shared: str) -> None:
    """Even from one who may delete them: what is there is not forgotten."""
    relation = value(
        shared, "SELECT relation FROM pgrecall.rank_indexes WHERE agent_id = 'team:one'"
    )
    for ids in ("NULL", "(SELECT array_agg(id) FROM pgrecall.team_memories WHERE team_id = 'one')"):
        call = f"SELECT pgrecall.forget_positions('team:one', {ids})"
        assert seen(shared, "one", call) == "[(0,)]"
    assert value(shared, f"SELECT count(*) FROM pgrecall.{relation}") == 40
    assert value(shared, "SELECT count(*) FROM pgrecall.rank_indexes WHERE relation = %s", relation)


def test_an_owner_who_is_subject_to_policies_is_told_so(server_url: str, template: str) -> None:
    role = f"{ROLE}_owner"
    with new_database(server_url, template) as url:
        run(url, f"DROP ROLE IF EXISTS {role}", f"CREATE ROLE {role}")
        try:
            run(
                url,
                f"ALTER TABLE pgrecall.agent_memories OWNER TO {role}",
                f"ALTER FUNCTION pgrecall.forget_positions OWNER TO {role}",
                f"GRANT USAGE ON SCHEMA pgrecall TO {role}",
                "ALTER TABLE pgrecall.agent_memories ENABLE ROW LEVEL SECURITY",
                "ALTER TABLE pgrecall.agent_memories FORCE ROW LEVEL SECURITY",
            )
            with pytest.raises(psycopg.errors.InsufficientPrivilege, match="which memories are"):
                run(url, "SELECT pgrecall.forget_positions('a', NULL)")
        finally:
            run(url, f"REASSIGN OWNED BY {role} TO CURRENT_USER", f"DROP OWNED BY {role}")
            run(url, f"DROP ROLE {role}")
