"""The optional index over embeddings: a setting, which revision 0002 obeys."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import psycopg
import pytest

from pgrecall import NewMemory, migrate
from pgrecall.errors import DatabaseUnavailable, InputError, SchemaError
from pgrecall.migrate import Status
from pgrecall.schema import REVISION
from tests.migrations.asking import (
    alembic,
    open_transaction,
    psql,
    repository,
    rows,
    terminate,
    value,
    values,
    wait_until,
    wait_until_blocked,
)
from tests.migrations.schema_dump import dump

pytestmark = pytest.mark.hnsw

INDEX = "ix_agent_memories_embedding"
BUILD, DROP = "CREATE INDEX CONCURRENTLY", "DROP INDEX CONCURRENTLY"
VERSIONS = "SELECT version_num FROM pgrecall.alembic_version"


def built(url: str) -> dict[str, tuple[bool, int]]:
    """The index, where there is one: whether it is valid, and its OID."""
    query = (
        "SELECT c.relname, i.indisvalid, c.oid FROM pg_index i JOIN pg_class c "
        "ON c.oid = i.indexrelid WHERE c.relnamespace = 'pgrecall'::regnamespace "
        "AND c.relname = ANY (%s)"
    )
    return {name: (valid, oid) for name, valid, oid in rows(url, query, [INDEX])}


def build(url: str) -> Status:
    return migrate.upgrade(url, embedding_index=True)


def drop(url: str) -> Status:
    return migrate.upgrade(url, embedding_index=False)


def test_it_is_built_once_and_dropped_without_a_trace(empty_url: str) -> None:
    migrate.upgrade(empty_url, dimensions=3, embedding_type="halfvec")
    before = migrate.status(empty_url)
    without = dump(empty_url)

    status = build(empty_url)

    assert not before.embedding_index
    assert status == replace(before, embedding_index=True)
    found = built(empty_url)
    assert values(
        empty_url, "SELECT pg_get_indexdef(oid) FROM pg_class WHERE relname = %s", INDEX
    ) == [
        f"CREATE INDEX {INDEX} ON pgrecall.agent_memories USING hnsw "
        "(embedding halfvec_cosine_ops) WITH (m='16', ef_construction='64')"
    ]
    assert build(empty_url) == status == migrate.upgrade(empty_url)
    assert built(empty_url) == found
    assert drop(empty_url) == before == drop(empty_url)
    assert dump(empty_url) == without


def test_the_repository_works_beside_it_and_statements_of_one_s_own_use_it(migrated: str) -> None:
    build(migrated)
    repo = repository(migrated)

    for among in (repo, repo.teams):
        added = among.add_many("a", [NewMemory(f"{n}", embedding=[n, 1, 1]) for n in range(1, 21)])
        among.rank_indexes.build(agent_id="a", at_least=1)
        for strategy in ("exact", "index"):
            found = among.search("a", [100, 1, 1], k=1, strategy=strategy, touch=False)
            assert [hit.memory.id for hit in found] == [added[-1]]
    plan = values(
        f"{migrated}{'&' if '?' in migrated else '?'}options=-cenable_seqscan%3Doff",
        "EXPLAIN SELECT id FROM pgrecall.agent_memories ORDER BY embedding <=> '[1,1,1]' LIMIT 3",
    )
    assert any(INDEX in line for line in plan), plan


def test_a_new_schema_has_it_at_once_and_going_below_its_revision_drops_it(empty_url: str) -> None:
    assert migrate.upgrade(empty_url, dimensions=3, embedding_index=True).embedding_index

    below = migrate.downgrade(empty_url, revision="0001")

    assert (below.revision, below.embedding_index, built(empty_url)) == ("0001", False, {})
    assert len(below.pending) == 1
    assert not migrate.upgrade(empty_url).embedding_index
    assert build(empty_url).embedding_index
    assert migrate.downgrade(empty_url).revision is None


@pytest.mark.parametrize("asked", [True, False])
def test_the_text_through_psql_builds_and_drops_it(empty_url: str, asked: bool) -> None:
    psql(empty_url, migrate.sql(dimensions=3, embedding_index=asked))
    assert migrate.status(empty_url).embedding_index == asked
    first = dump(empty_url)

    psql(empty_url, migrate.sql(dimensions=3, start=REVISION, embedding_index=not asked))
    assert migrate.status(empty_url).embedding_index != asked
    psql(empty_url, migrate.sql(dimensions=3, start=REVISION))
    assert migrate.status(empty_url).embedding_index != asked
    psql(empty_url, migrate.sql(dimensions=3, start=REVISION, embedding_index=asked))
    assert dump(empty_url) == first


def test_plain_alembic_builds_and_drops_the_same(empty_url: str, migrated: str) -> None:
    alembic(empty_url, "-x", "dimensions=3", "upgrade", "head")
    assert (values(empty_url, VERSIONS), built(empty_url)) == ([REVISION], {})
    assert dump(empty_url) == dump(migrated)
    with pytest.raises(SchemaError, match=r"vector\(3\).*vector\(6\)"):
        alembic(empty_url, "-x", "dimensions=6", "upgrade", "head")
    with pytest.raises(InputError, match="embedding_index must be on or off, got 'yes'"):
        alembic(empty_url, "-x", "embedding_index=yes", "upgrade", "head")

    alembic(empty_url, "-x", "embedding_index=on", "upgrade", "head")
    alembic(empty_url, "upgrade", "head")
    assert [valid for valid, _ in built(empty_url).values()] == [True]
    assert migrate.status(empty_url) == build(migrated)
    assert dump(empty_url) == dump(migrated)

    alembic(empty_url, "-x", "embedding_index=off", "upgrade", "head")
    assert (values(empty_url, VERSIONS), built(empty_url)) == ([REVISION], {})
    alembic(empty_url, "-x", "embedding_index=on", "upgrade", "heads")
    alembic(empty_url, "downgrade", "base")
    assert values(empty_url, VERSIONS) == []
    routines = "SELECT proname FROM pg_proc WHERE pronamespace = 'pgrecall'::regnamespace"
    assert values(empty_url, routines) == []


CHANGES = pytest.mark.parametrize(
    ("change", "statement"), [(build, BUILD), (drop, DROP)], ids=[BUILD, DROP]
)


@pytest.mark.parametrize(
    ("change", "statement", "repeat"),
    [
        (build, BUILD, build),
        (build, BUILD, migrate.upgrade),
        (build, BUILD, drop),
        (drop, DROP, drop),
    ],
    ids=["build", "build, any upgrade", "build, drop", "drop"],
)
def test_a_change_that_was_cut_off_is_repeated(
    migrated: str,
    background: ThreadPoolExecutor,
    change: Callable[[str], Status],
    statement: str,
    repeat: Callable[[str], Status],
) -> None:
    if change is drop:
        build(migrated)
    with open_transaction(migrated, "LOCK TABLE pgrecall.agent_memories IN ROW EXCLUSIVE MODE"):
        running = background.submit(change, migrated)
        terminate(migrated, wait_until_blocked(migrated, statement))
        with pytest.raises(DatabaseUnavailable):
            running.result()
    cut_off = migrate.status(migrated)
    assert cut_off.invalid_indexes == [INDEX]
    assert not cut_off.embedding_index

    repeated = repeat(migrated)

    assert (repeated.embedding_index, repeated.invalid_indexes) == (repeat is not drop, [])
    assert [valid for valid, _ in built(migrated).values()] == [True] * (repeat is not drop)


@CHANGES
def test_it_waits_for_older_transactions_and_holds_up_nobody(
    migrated: str,
    background: ThreadPoolExecutor,
    monkeypatch: pytest.MonkeyPatch,
    change: Callable[[str], Status],
    statement: str,
) -> None:
    """Giving up would leave an invalid index."""
    if change is drop:
        build(migrated)
    monkeypatch.setattr("pgrecall.migrate.environment.LOCK_TIMEOUT", "50ms")
    waiting = (
        "SELECT pid FROM pg_stat_activity WHERE wait_event_type = 'Lock' "
        f"AND starts_with(ltrim(query, chr(10)), '{statement}') AND datname = current_database() "
        "AND clock_timestamp() - query_start > '200 ms'"
    )
    write = (
        "INSERT INTO pgrecall.agent_memories (agent_id, id, content) "
        "VALUES ('a', gen_random_uuid(), '{}')"
    )
    with open_transaction(migrated, write.format("before")):
        running = background.submit(change, migrated)
        wait_until(
            "it has waited for longer than the lock timeout",
            lambda: bool(values(migrated, waiting)) or running.done(),
        )
        with psycopg.connect(migrated, autocommit=True, options="-c lock_timeout=100ms") as other:
            for one in (
                write.format("meanwhile"),
                "UPDATE pgrecall.agent_memories SET importance = 0.7",
                "SELECT * FROM pgrecall.agent_memories",
                "DELETE FROM pgrecall.agent_memories",
            ):
                other.execute(one.encode())

    assert running.result().embedding_index == (change is not drop)
    assert running.result().invalid_indexes == []
    assert value(migrated, "SELECT count(*) FROM pgrecall.agent_memories") == 0
