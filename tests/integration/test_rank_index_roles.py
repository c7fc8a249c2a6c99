"""Who may search through rank indexes, build them, and read or delete positions."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack

import pytest
from psycopg import sql as psql
from sqlalchemy import Engine
from sqlalchemy.exc import DBAPIError, ProgrammingError

from pgrecall import MemoryRepository, migrate
from pgrecall.errors import DatabaseError
from tests.integration.rank_indexes import (
    SOME,
    A,
    Site,
    acting_as,
    assert_as_exact,
    build,
    fill,
    found,
    ids,
    maintain,
    new_role,
)
from tests.integration.support import NORTH
from tests.migrations.asking import run, value

pytestmark = pytest.mark.hnsw

READ = (
    *("agent_memories", "memory_usage", "memory_events", "rank_indexes", "alembic_version"),
    *("owner_vectors", "entity_names"),
)


@pytest.fixture
def site(site: Site) -> Site:
    fill(site.repo)
    return site


@pytest.fixture
def role(database_url: str) -> Iterator[str]:
    with new_role(database_url, "reader") as name:
        yield name


def grant(url: str, role: str, *tables: str, what: str = "SELECT") -> None:
    """By hand, and every function."""
    to = "PUBLIC" if role == "PUBLIC" else psql.Identifier(role).as_string(None)
    run(
        url,
        *(f"GRANT {what} ON pgrecall.{table} TO {to}" for table in tables),
        f"GRANT EXECUTE ON ALL FUNCTIONS IN SCHEMA pgrecall TO {to}",
    )


def assert_denied(engine: Engine, role: str, statement: str) -> None:
    with (
        acting_as(engine, role) as connection,
        pytest.raises(ProgrammingError, match="permission denied"),
    ):
        connection.exec_driver_sql(statement)


@pytest.mark.parametrize("built", ["before", "after"])
def test_who_may_read_may_search_through_the_index(site: Site, built: str) -> None:
    with ExitStack() as stack:
        roles = [
            stack.enter_context(new_role(site.url, name)) for name in ("reader", 'a:b "c" 5% d')
        ]
        if built == "before":
            index = site.build()
        for role in roles:
            migrate.grant(site.url, role, "reader")
        if built == "after":
            index = site.build()

        for role in roles:
            with acting_as(site.engine, role) as connection:
                within = MemoryRepository(connection)
                assert_as_exact(within)
                [status] = within.rank_indexes.status(agent_id=A)
                assert status.index == index
            assert_denied(site.engine, role, f"DELETE FROM pgrecall.{index.relation}")


def test_who_may_read_because_everybody_may_searches_through_the_index(
    own_engine: Engine, own_url: str
) -> None:
    repo = MemoryRepository(own_engine)
    fill(repo)
    grant(own_url, "PUBLIC", *READ, "rank_positions")
    build(repo)

    with new_role(own_url, "reader") as role, acting_as(own_engine, role) as connection:
        assert_as_exact(MemoryRepository(connection))


def test_positions_follow_what_is_granted_by_hand(site: Site, role: str) -> None:
    """Who may not read memories may not read where they lie. Since the build every hit is found by
    ranking every memory; after maintenance through the index."""
    grant(site.url, role, "rank_indexes")
    grant(site.url, role, "agent_memories", what="INSERT, UPDATE, DELETE")
    index = site.build()
    assert_denied(site.engine, role, f"SELECT * FROM pgrecall.{index.relation}")
    grant(site.url, role, *READ, "rank_positions")

    for used in ("exact", "index"):
        with acting_as(site.engine, role) as connection:
            within = MemoryRepository(connection)
            for strategy in ("index", "auto", "exact"):  # the first reads the index anew
                hits = within.search(A, NORTH, strategy=strategy, touch=False)
                assert ids(hits) == found(site.repo, NORTH, "exact")
                assert hits.strategy == ("exact" if strategy == "exact" else used)
        assert maintain(site.repo) == []

    site.run(f'REVOKE SELECT ON pgrecall.rank_positions FROM "{role}"')
    maintain(site.repo)
    assert_denied(site.engine, role, f"SELECT * FROM pgrecall.{index.relation}")


def test_who_may_delete_memories_since_the_build_deletes_their_positions_too(
    site: Site, role: str
) -> None:
    filled = ids(site.repo.search(A, k=2))
    index = site.build()
    migrate.grant(site.url, role, "writer")

    with acting_as(site.engine, role) as connection:
        assert MemoryRepository(connection).delete(A, filled) == 2
        connection.exec_driver_sql("RESET ROLE")
        left = connection.exec_driver_sql(f"SELECT count(*) FROM pgrecall.{index.relation}")
        assert left.scalar() == SOME - 2


def test_a_maintainer_who_owns_nothing_builds_maintains_and_drops(site: Site, role: str) -> None:
    """And nobody below."""
    for level in ("reader", "writer"):
        migrate.grant(site.url, role, level)
        with (
            acting_as(site.engine, role) as connection,
            pytest.raises(DatabaseError, match="permission denied for function"),
        ):
            build(MemoryRepository(connection))
    migrate.grant(site.url, role, "maintainer")
    with acting_as(site.engine, role) as connection:
        within = MemoryRepository(connection)
        first, index = build(within), build(within)
        assert_as_exact(within)
        connection.commit()

    assert site.tables() == [index.relation] != [first.relation]
    owner = "SELECT relowner FROM pg_class WHERE oid = 'pgrecall.{}'::regclass"
    assert value(site.url, owner.format(index.relation)) == value(
        site.url, owner.format("rank_positions")
    )
    assert_as_exact(site.repo)
    with acting_as(site.engine, role) as connection:
        within = MemoryRepository(connection)
        assert maintain(within) == []
        assert within.rank_indexes.drop(A)
        connection.commit()
    assert site.tables() == []


def test_what_runs_with_the_owner_s_rights_touches_new_tables_of_positions_alone(
    site: Site, role: str
) -> None:
    """Not one of another's making, whose triggers would run with these rights; none in use."""
    migrate.grant(site.url, role, "maintainer")
    index = site.build()
    mine = f"ranks_{'f' * 32}"
    site.run(
        f"CREATE TABLE pgrecall.{mine} (LIKE pgrecall.rank_positions)",
        f'ALTER TABLE pgrecall.{mine} OWNER TO "{role}"',
    )
    for call in (
        "index_positions('agent_memories', 30, 8, 64, 1024)",
        f"index_positions('{mine}', 30, 8, 64, 1024)",
        "attach_positions('agent_memories', 'agent')",
        f"attach_positions('{mine}', 'agent')",
        f"attach_positions('{index.relation}', 'agent')",
        "align_positions('agent_memories')",
        f"align_positions('{mine}')",
    ):
        with (
            acting_as(site.engine, role) as connection,
            pytest.raises(DBAPIError, match=r"must be the table of a rank index|is in use"),
        ):
            connection.exec_driver_sql(f"SELECT pgrecall.{call}")
    assert value(site.url, "SELECT pgrecall.drop_positions()") == 0
    assert site.tables() == sorted([index.relation, mine])
