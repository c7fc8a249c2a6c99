"""HNSW in a pgvector that can corrupt it: refused, unless the schema's owner names the version.

The version in the catalogue is what is checked, so tests write it there.
"""

from __future__ import annotations

import psycopg
import pytest
from sqlalchemy import Connection, event

from pgrecall import MemoryRepository, NewMemory, migrate
from pgrecall.cli.main import app
from pgrecall.errors import DatabaseError, InputError, PgvectorUnusable
from tests.migrations.asking import alembic, as_role, engine_of, repository, rows, run, values
from tests.migrations.schema_dump import dump

REFUSED = r"pgvector {} .*0\.8\.3 or newer.*ALTER EXTENSION vector UPDATE.*accept-pgvector {}`"
QUERY = [1.0, 2.0, 3.0]


def set_version(url: str, version: str) -> None:
    run(url, f"UPDATE pg_extension SET extversion = '{version}' WHERE extname = 'vector'")


def filled(url: str) -> MemoryRepository:
    repo = repository(url)
    repo.add_many("a", [NewMemory(f"memory {n}", embedding=[n, 1, 1]) for n in range(1, 101)])
    return repo


def refused_everywhere(url: str, version: str) -> None:
    message = REFUSED.format(version, version)
    repo = repository(url)
    for attempt in (
        lambda: repo.rank_indexes.build(agent_id="a", at_least=1),
        lambda: repo.rank_indexes.maintain(at_least=1),
        lambda: migrate.embedding_index(url),
    ):
        with pytest.raises(PgvectorUnusable, match=message):
            attempt()
    for call in ("build_rank_index('a', 1)", "maintain_rank_indexes(at_least => 1)"):
        with pytest.raises(psycopg.Error, match=message) as refusal:
            run(url, f"CALL pgrecall.{call}")
        assert refusal.value.sqlstate == "PM008"
    with pytest.raises(Exception, match=message):
        alembic(url, "upgrade", "embedding_index@head")
    assert values(url, "SELECT relname FROM pg_class WHERE relname LIKE 'ranks\\_%%'") == []
    assert not migrate.status(url).embedding_index
    assert migrate.status(url).hnsw == "refused"


def test_each_old_version_is_refused_and_all_else_works(empty_url: str) -> None:
    run(empty_url, "CREATE EXTENSION vector")
    for version in ("0.8.0", "0.8.2"):
        set_version(empty_url, version)
        assert migrate.upgrade(empty_url, dimensions=3).hnsw == "refused"
        repo = filled(empty_url)
        assert repo.search("a", QUERY, k=3, strategy="index").strategy == "exact"
        refused_everywhere(empty_url, version)
    for version in ("0.8.3", "0.8.10", "0.10.0", "1.0"):
        set_version(empty_url, version)
        assert migrate.status(empty_url).hnsw == "allowed"


def test_an_accepted_version_is_used_until_another_old_one_comes(
    migrated: str, capsys: pytest.CaptureFixture[str]
) -> None:
    set_version(migrated, "0.8.1")
    repo = filled(migrated)
    refused_everywhere(migrated, "0.8.1")
    with pytest.raises(InputError, match=r"which is 0\.8\.1, got 0\.8\.0"):
        migrate.accept_pgvector(migrated, "0.8.0")

    app(["migrate", "accept-pgvector", "0.8.1", "--database-url", migrated], standalone_mode=False)
    assert "accepted" in capsys.readouterr().out
    repo.rank_indexes.build(agent_id="a", at_least=1)
    assert migrate.embedding_index(migrated).embedding_index
    migrate.embedding_index(migrated, drop=True)
    app(["status", "--database-url", migrated], standalone_mode=False)
    assert "0.8.1; its indexes are accepted" in capsys.readouterr().out
    assert repo.search("a", QUERY, k=3, strategy="index").strategy == "index"
    assert migrate.upgrade(migrated).hnsw == "accepted"

    set_version(migrated, "0.8.2")
    assert migrate.status(migrated).hnsw == "refused"
    assert repo.search("a", QUERY, k=3, strategy="index", touch=False).strategy == "exact"
    [state] = repo.rank_indexes.status(agent_id="a")
    assert state.due == "pgvector 0.8.2 is not accepted, not used"
    with pytest.raises(PgvectorUnusable, match=REFUSED.format(r"0\.8\.2", r"0\.8\.2")):
        repo.rank_indexes.maintain()
    run(migrated, "SELECT pgrecall.accept_pgvector('0.8.2')")
    assert migrate.status(migrated).hnsw == "accepted"
    assert migrate.accept_pgvector(migrated, None).hnsw == "refused"
    assert repo.rank_indexes.drop("a")
    assert migrate.downgrade(migrated).revision is None


def test_nothing_is_written_to_an_index_that_is_not_accepted(migrated: str) -> None:
    repo = filled(migrated)
    [index] = repo.rank_indexes.build(agent_id="a", at_least=1)
    used = f"SELECT memory_id FROM pgrecall.{index.relation[:18]}8{index.relation[19:]}"
    run(
        migrated,
        "SELECT pgrecall.touch('a', ARRAY(SELECT id FROM pgrecall.agent_memories LIMIT 3))",
    )
    before = values(migrated, used)
    assert len(before) == 3

    set_version(migrated, "0.8.1")
    counted = repo.search("a", QUERY, k=10, touch=True)
    for call in ("place_memories('a', pgrecall.memories_beside('a'))", "create_positions('a')"):
        with pytest.raises(psycopg.Error, match=REFUSED.format("0.8.1", "0.8.1")):
            run(migrated, f"SELECT pgrecall.{call}")
    assert repo.delete("a", [counted[0].memory.id]) == 1, "deleting writes to no graph"

    assert len(counted) == 10
    assert set(values(migrated, used)) <= set(before)


def test_only_the_owner_accepts_and_readers_see_it(migrated: str, role: str) -> None:
    set_version(migrated, "0.8.1")
    migrate.grant(migrated, role, "maintainer")
    theirs = as_role(migrated, role)

    for version in ("0.8.1", None):
        with pytest.raises(DatabaseError, match=r"permission denied.*migrate as that role"):
            migrate.accept_pgvector(theirs, version)
    with pytest.raises(psycopg.errors.InsufficientPrivilege):
        run(theirs, "SELECT pgrecall.accept_pgvector('0.8.1')")
    migrate.accept_pgvector(migrated, "0.8.1")
    assert migrate.status(theirs).hnsw == "accepted"
    before = dump(migrated)
    migrate.upgrade(migrated)
    assert dump(migrated) == before


def test_no_build_is_parallel_before_0_8_2(migrated: str) -> None:
    """As an event trigger sees it that runs when the index has been built."""
    filled(migrated)
    run(
        migrated,
        "CREATE TABLE public.seen (tag text, workers text)",
        "CREATE FUNCTION public.note() RETURNS event_trigger LANGUAGE plpgsql AS $$ BEGIN INSERT "
        "INTO public.seen SELECT DISTINCT o.object_identity ~ 'ranks_', "
        "current_setting('max_parallel_maintenance_workers') "
        "FROM pg_event_trigger_ddl_commands() o; END $$",
    )
    for version, workers in (("0.8.1", "0"), ("0.8.2", "2"), ("0.8.5", "2")):
        set_version(migrated, version)
        if version != "0.8.5":
            migrate.accept_pgvector(migrated, version)
        run(
            migrated,
            "CREATE EVENT TRIGGER note ON ddl_command_end WHEN TAG IN ('CREATE INDEX') "
            "EXECUTE FUNCTION public.note()",
        )
        repository(migrated).rank_indexes.build(agent_id="a", at_least=1)
        run(migrated, "DROP EVENT TRIGGER note")
        assert {found for _, found in rows(migrated, "SELECT * FROM public.seen")} == {workers}
        with engine_of(migrated).connect() as own:
            own.exec_driver_sql("SET max_parallel_maintenance_workers = 2")
            own.commit()
            assert watched(own) == workers
        run(migrated, "DELETE FROM public.seen")
        migrate.embedding_index(migrated, drop=True)
        assert repository(migrated).rank_indexes.drop("a")


def watched(connection: Connection) -> str:
    """The workers that the build of the index on embeddings may use."""
    seen: list[str] = []

    def look(_: object, cursor: psycopg.Cursor, statement: str, *__: object) -> None:
        if statement.lstrip().startswith("CREATE INDEX CONCURRENTLY"):
            shown = cursor.connection.execute("SHOW max_parallel_maintenance_workers")
            [(workers,)] = shown.fetchall()
            seen.append(workers)

    event.listen(connection, "before_cursor_execute", look)
    migrate.embedding_index(connection)
    shown = connection.exec_driver_sql("SHOW max_parallel_maintenance_workers").scalar()
    assert shown == "2", "the caller's setting"
    [workers] = seen
    return workers
