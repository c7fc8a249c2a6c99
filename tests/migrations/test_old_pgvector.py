"""HNSW in a pgvector that can corrupt it: refused, and all else works.

The version in the catalogue is what is checked, so tests write it there.
"""

from __future__ import annotations

import psycopg
import pytest

from pgrecall import MemoryRepository, NewMemory, migrate
from pgrecall.cli.main import app
from pgrecall.errors import PgvectorUnusable
from tests.migrations.asking import alembic, repository, run, values

REFUSED = r"pgvector {} can corrupt HNSW .*0\.8\.3 or newer.*`ALTER EXTENSION vector UPDATE`"
QUERY = [1.0, 2.0, 3.0]


def set_version(url: str, version: str) -> None:
    run(url, f"UPDATE pg_extension SET extversion = '{version}' WHERE extname = 'vector'")


def filled(url: str) -> MemoryRepository:
    repo = repository(url)
    repo.add_many("a", [NewMemory(f"memory {n}", embedding=[n, 1, 1]) for n in range(1, 101)])
    return repo


def refused_everywhere(url: str, version: str) -> None:
    message = REFUSED.format(version)
    repo = repository(url)
    for attempt in (
        lambda: repo.rank_indexes.build(agent_id="a", at_least=1),
        lambda: migrate.upgrade(url, embedding_index=True),
    ):
        with pytest.raises(PgvectorUnusable, match=message):
            attempt()
    with pytest.raises(psycopg.Error, match=message) as refusal:
        run(url, "CALL pgrecall.build_rank_index('a', 1)")
    assert refusal.value.sqlstate == "PM008"
    assert repo.maintenance.run(at_least=1).done == []
    with pytest.raises(Exception, match=message):
        alembic(url, "-x", "embedding_index=on", "upgrade", "head")
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


def test_indexes_that_are_there_are_not_used_and_can_be_dropped(
    migrated: str, capsys: pytest.CaptureFixture[str]
) -> None:
    repo = filled(migrated)
    repo.rank_indexes.build(agent_id="a", at_least=1)
    assert migrate.upgrade(migrated, embedding_index=True).embedding_index
    assert repo.search("a", QUERY, k=3, strategy="index").strategy == "index"

    set_version(migrated, "0.8.2")

    assert migrate.upgrade(migrated).hnsw == "refused"
    assert migrate.status(migrated).embedding_index, "what is valid is left alone"
    app(["status", "--database-url", migrated], standalone_mode=False)
    assert "0.8.2; its indexes are refused" in capsys.readouterr().out
    assert repo.search("a", QUERY, k=3, strategy="index", touch=False).strategy == "exact"
    [state] = repo.rank_indexes.status(agent_id="a")
    assert state.due == "pgvector 0.8.2 is too old for it, not used"
    assert repo.maintenance.run(at_least=1).done == []
    assert not migrate.upgrade(migrated, embedding_index=False).embedding_index
    assert repo.rank_indexes.drop("a")
    assert migrate.downgrade(migrated).revision is None


def test_nothing_is_written_to_an_index_that_is_refused(migrated: str) -> None:
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
        with pytest.raises(psycopg.Error, match=REFUSED.format("0.8.1")):
            run(migrated, f"SELECT pgrecall.{call}")
    assert repo.delete("a", [counted[0].memory.id]) == 1, "deleting writes to no graph"

    assert len(counted) == 10
    assert set(values(migrated, used)) <= set(before)
