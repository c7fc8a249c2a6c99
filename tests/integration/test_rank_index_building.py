"""Building a rank index: what it leaves alone, what it waits for, and what is left when it fails.

A build is held where it has made its graph, by its own client; or at its very end, where it has
every lock that it ever takes: there another session keeps it from entering the index in the list.
"""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import ExitStack, contextmanager, suppress
from datetime import UTC, datetime, timedelta
from pathlib import Path
from random import Random
from threading import Barrier
from typing import Any
from uuid import UUID

import psycopg
import pytest
from psycopg import sql as psql
from sqlalchemy import Connection, Engine, NullPool, create_engine, event
from sqlalchemy.exc import DBAPIError, ProgrammingError
from sqlalchemy.ext.asyncio import create_async_engine
from sqlalchemy.util import await_only

from pgrecall import (
    AsyncMemoryRepository,
    Hits,
    MemoryRepository,
    NewMemory,
    RankIndex,
    ScoredMemory,
    migrate,
)
from pgrecall.embedding import EmbeddingType
from pgrecall.errors import DatabaseConflict, DatabaseError, DatabaseUnavailable, InputError
from tests.conftest import DIMENSIONS
from tests.integration.conftest import RepositoryOf, Transaction
from tests.integration.support import NORTH, at, awaited, contents, sql
from tests.migrations.asking import rows, run, value, values, wait_until, wait_until_blocked

A = "agent"
SOME = 100
IMPATIENT = "-c lock_timeout=100ms -c statement_timeout=20s"
BUILDING = 'SELECT * FROM "pgrecall".make_rank_index('
PAUSE = """
    CREATE FUNCTION public.pause() RETURNS event_trigger LANGUAGE plpgsql AS $$
    BEGIN PERFORM pg_catalog.pg_advisory_xact_lock_shared(4711); END $$
"""
AWAITING = (
    "SELECT pid FROM pg_stat_activity WHERE datname = current_database() "
    "AND query LIKE '%%await_writers%%' AND wait_event = 'PgSleep'"
)
TABLES = (
    "SELECT relname FROM pg_class WHERE relnamespace = %s::regnamespace AND relkind = 'r' "
    "AND relname LIKE 'ranks\\_%%' ORDER BY 1"
)
INDEX = """
    SELECT c.oid, c.reloptions FROM pg_index i JOIN pg_class c ON c.oid = i.indexrelid
      JOIN pg_am a ON a.oid = c.relam
     WHERE i.indrelid = %s::regclass AND a.amname = 'hnsw'
"""
SETTINGS = (
    *("maintenance_work_mem", "max_parallel_maintenance_workers", "statement_timeout"),
    *("lock_timeout", "work_mem", "enable_seqscan", "search_path", "hnsw.ef_search"),
    *("hnsw.iterative_scan", "hnsw.max_scan_tuples"),
)


def vector(random: Random) -> list[float]:
    return [random.gauss() for _ in range(DIMENSIONS)]


def fill(
    repo: MemoryRepository, agent_id: str = A, number: int = SOME, start: int = 0
) -> list[UUID]:
    random = Random(start)
    return list(
        repo.add_many(
            agent_id,
            [
                NewMemory(
                    f"memory {n}",
                    embedding=vector(random),
                    importance=random.random(),
                    created_at=datetime(2026, 1, 1, tzinfo=UTC) + timedelta(hours=n),
                )
                for n in range(start, start + number)
            ],
        )
    )


def build(repo: MemoryRepository, agent_id: str | None = A, **options: Any) -> list[RankIndex]:
    return repo.build_rank_indexes(
        agent_id=agent_id, at_least=options.pop("at_least", 1), **options
    )


def another(url: str) -> MemoryRepository:
    """A client that knows nothing yet: which indexes there are is remembered for some seconds."""
    return MemoryRepository(create_engine(url, poolclass=NullPool))


def tables_of(url: str, schema: str = "pgrecall") -> list[str]:
    return values(url, TABLES, f'"{schema}"')


def listed(url: str) -> list[tuple[Any, ...]]:
    return rows(url, "SELECT agent_id, relation, built_at FROM pgrecall.rank_indexes ORDER BY 1")


def through_index(
    repo: MemoryRepository, query: list[float], agent_id: str = A, k: int = 10
) -> Hits:
    hits = repo.search(agent_id, query, k=k, strategy="index", touch=False)
    assert hits.strategy == "index"
    return hits


def ids(hits: list[ScoredMemory]) -> list[UUID]:
    return [hit.memory.id for hit in hits]


def assert_as_exact(repo: MemoryRepository, agent_id: str = A, schema_dimensions: int = 8) -> None:
    """Few enough memories that the candidates are most of them: nothing may be missing."""
    random = Random(7)
    for _ in range(5):
        query = [random.gauss() for _ in range(schema_dimensions)]
        found = through_index(repo, query, agent_id)
        assert ids(found) == ids(repo.search(agent_id, query, strategy="exact", touch=False))
        assert len(found) == 10


@pytest.fixture
def filled(repo: MemoryRepository) -> list[UUID]:
    return fill(repo)


@pytest.fixture
def own_repo(own_engine: Engine) -> MemoryRepository:
    return MemoryRepository(own_engine)


@pytest.fixture
def background() -> Iterator[ThreadPoolExecutor]:
    with ThreadPoolExecutor(3) as executor:
        yield executor


@pytest.fixture
def impatient(database_url: str) -> MemoryRepository:
    """A client that waits for no lock longer than a tenth of a second."""
    return MemoryRepository(
        create_engine(database_url, poolclass=NullPool, connect_args={"options": IMPATIENT}),
    )


@contextmanager
def held(
    url: str, background: ThreadPoolExecutor, work: Callable[[], Any]
) -> Iterator[tuple[int, Future[Any]]]:
    """The process id and the future of a build that has done all but enter its index."""
    with psycopg.connect(url) as other:
        other.execute("LOCK TABLE pgrecall.rank_indexes IN SHARE MODE")
        running = background.submit(work)
        try:
            yield wait_until_blocked(url, BUILDING, "relation"), running
        finally:
            other.rollback()


@contextmanager
def pausing(url: str, command: str) -> Iterator[None]:
    """Whoever builds waits after the first command of this kind, until this ends."""
    run(
        url,
        PAUSE,
        "CREATE EVENT TRIGGER pause ON ddl_command_end "
        f"WHEN TAG IN ('{command}') EXECUTE FUNCTION public.pause()",
    )
    with psycopg.connect(url) as other:
        other.execute("SELECT pg_advisory_xact_lock(4711)")
        yield
        other.rollback()
    run(url, "DROP EVENT TRIGGER pause", "DROP FUNCTION public.pause")


@contextmanager
def paused(url: str, background: ThreadPoolExecutor) -> Iterator[Future[list[RankIndex]]]:
    """The future of a build that has made its graph."""
    with pausing(url, "CREATE INDEX"):
        running = background.submit(build, another(url))
        wait_until_blocked(url, BUILDING, "advisory")
        yield running


@contextmanager
def open_transaction(url: str) -> Iterator[psycopg.Connection]:
    with psycopg.connect(url) as connection:
        yield connection
        connection.rollback()


def insert(connection: psycopg.Connection, content: str, agent_id: str = A) -> UUID:
    row = connection.execute(
        "INSERT INTO pgrecall.agent_memories (agent_id, id, content, embedding, created_at) "
        "VALUES (%s, gen_random_uuid(), %s, %s, '2026-01-02') RETURNING id",
        (agent_id, content, str(NORTH)),
    ).fetchone()
    assert row is not None
    memory_id: UUID = row[0]
    return memory_id


# What it finds


def test_a_search_finds_through_the_index_what_exact_ranking_finds(
    repository_of: RepositoryOf, database_url: str
) -> None:
    repo = repository_of(database_url)
    fill(repo)

    [index] = build(repo)

    assert_as_exact(repo)
    assert tables_of(database_url) == [index.relation]
    assert listed(database_url) == [(A, index.relation, index.built_at)]
    assert value(database_url, f"SELECT count(*) FROM pgrecall.{index.relation}") == SOME
    assert (index.agent_id, index.memories) == (A, SOME)
    assert index.as_of == datetime(2026, 1, 1, tzinfo=UTC) + timedelta(hours=SOME - 1)
    assert index.seconds > 0


def test_the_record_of_a_build_is_what_the_list_says(
    repo: MemoryRepository, filled: list[UUID]
) -> None:
    [built] = build(repo, m=8, ef_construction=40, at_least=7)

    [status] = repo.rank_indexes(agent_id=A)

    assert status.index == built
    assert (built.m, built.ef_construction, built.at_least) == (8, 40, 7)
    assert (status.written, status.changed, status.used, status.due) == (0, 0, 0, None)
    assert status.bytes > 0


def test_a_build_without_an_agent_takes_all_that_are_large_enough(
    repository_of: RepositoryOf, database_url: str
) -> None:
    repo = repository_of(database_url)
    for agent_id, number in (("b", 30), ("a", 20), ("c", 19)):
        fill(repo, agent_id, number)
    told: list[tuple[str, int, int]] = []

    built = build(repo, None, at_least=20, on_progress=lambda *about: told.append(about))

    assert [index.agent_id for index in built] == ["a", "b"]
    assert [row[0] for row in listed(database_url)] == ["a", "b"]
    assert told == [("a", 0, 2), ("b", 1, 2), ("", 2, 2)]


def test_a_second_build_takes_the_place_of_the_first(
    repo: MemoryRepository, database_url: str
) -> None:
    fill(repo)
    [first] = build(repo)
    fill(repo, number=50, start=SOME)

    [second] = build(repo)

    assert second.built_at > first.built_at
    assert second.memories == SOME + 50
    assert tables_of(database_url) == [second.relation] != [first.relation]
    assert_as_exact(repo)


def test_an_index_of_a_team_is_apart_from_that_of_an_agent_of_the_same_name(
    repo: MemoryRepository, database_url: str
) -> None:
    fill(repo, "same", 80)
    fill(repo.teams, "same", 90)

    [own] = build(repo, "same")
    [theirs] = build(repo.teams, "same")

    assert (own.memories, theirs.memories) == (80, 90)
    assert (own.agent_id, theirs.agent_id) == ("same", "team:same")
    assert tables_of(database_url) == sorted([own.relation, theirs.relation])
    assert [s.index for s in repo.rank_indexes()] == [own]
    assert [s.index for s in repo.teams.rank_indexes()] == [theirs]
    assert_as_exact(repo, "same")
    assert_as_exact(repo.teams, "same")


@pytest.mark.parametrize("kind", ["nobody", "nothing active"])
def test_nothing_is_built_for_an_agent_without_memories(
    repo: MemoryRepository, database_url: str, kind: str
) -> None:
    if kind == "nothing active":
        repo.add(A, NewMemory("old", embedding=NORTH, created_at=datetime(2020, 1, 1, tzinfo=UTC)))
        assert repo.prune(A, older_than=timedelta(days=1)) == 1

    assert build(repo) == []

    assert (tables_of(database_url), listed(database_url)) == ([], [])
    assert repo.search(A, NORTH, strategy="index") == []


@pytest.mark.parametrize(
    "embeddings", [[None, None, None], [None, NORTH, None], [NORTH], [None]], ids=repr
)
def test_agents_of_few_memories_or_without_embeddings_are_searched_rightly(
    repo: MemoryRepository, embeddings: list[list[float] | None]
) -> None:
    repo.add_many(A, [NewMemory(f"memory {n}", embedding=e) for n, e in enumerate(embeddings)])

    [index] = build(repo)

    assert index.memories == len(embeddings)
    for k in (1, 10):
        for profile in ("five_factor", "last_access"):
            exact, found = (
                repo.search(A, at(30), k=k, profile=profile, strategy=strategy, touch=False)
                for strategy in ("exact", "index")
            )
            assert ids(found) == ids(exact)


def test_what_becomes_valid_after_the_build_is_found_from_then_on(repo: MemoryRepository) -> None:
    start = datetime.now(UTC) + timedelta(hours=1)
    fill(repo)
    repo.add(A, NewMemory("in an hour", embedding=NORTH, valid_from=start))
    build(repo)

    def found(as_of: datetime) -> list[str]:
        return contents(repo.search(A, NORTH, k=1, as_of=as_of, strategy="index", touch=False))

    assert found(start - timedelta(minutes=1)) != ["in an hour"]
    assert found(start + timedelta(minutes=1)) == ["in an hour"]


def test_what_is_retrieved_after_the_build_is_known_though_its_moment_lies_ahead(
    repo: MemoryRepository, filled: list[UUID]
) -> None:
    build(repo, as_of=datetime.now(UTC) + timedelta(hours=1))

    repo.touch(A, filled[:3])

    [status] = repo.rank_indexes(agent_id=A)
    assert status.used == 3


# What it leaves alone


def _new(repo: MemoryRepository, ids: list[UUID]) -> None:
    repo.add(A, NewMemory("written meanwhile", embedding=NORTH))
    repo.add_many(A, [NewMemory("one more", embedding=at(3)), NewMemory("other", embedding=None)])
    assert "written meanwhile" in contents(repo.search(A, NORTH, min_similarity=0.9999))


def _changed(repo: MemoryRepository, ids: list[UUID]) -> None:
    repo.update(A, ids[0], content="changed meanwhile", embedding=NORTH)
    assert "changed meanwhile" in contents(repo.search(A, NORTH, min_similarity=0.9999))


def _deleted(repo: MemoryRepository, ids: list[UUID]) -> None:
    [best] = repo.search(A, NORTH, k=1)
    assert repo.delete(A, best.memory.id) == 1
    assert best.memory.id not in ids_of_search(repo)


def _used(repo: MemoryRepository, ids: list[UUID]) -> None:
    assert repo.touch(A, ids) == len(ids)
    repo.feedback(A, ids[1], "useful")
    repo.record_outcome(A, ids[2], "success")


def _corrected(repo: MemoryRepository, ids: list[UUID]) -> None:
    repo.supersede(A, ids[0], NewMemory("corrected meanwhile", embedding=NORTH))
    repo.invalidate(A, [ids[1]])
    repo.label(A, ids[2], "label")
    repo.link(A, ids[2], ids[3], "next")
    assert repo.clear("another agent") == 0


def ids_of_search(repo: MemoryRepository) -> list[UUID]:
    return ids(repo.search(A, NORTH))


@pytest.mark.parametrize("index_there", [False, True], ids=["first", "replacing"])
def test_nobody_waits_for_a_build(
    repo: MemoryRepository,
    impatient: MemoryRepository,
    database_url: str,
    background: ThreadPoolExecutor,
    filled: list[UUID],
    index_there: bool,
) -> None:
    old = build(repo) if index_there else []

    with paused(database_url, background) as running:
        for work in (_new, _changed, _used, _corrected, _deleted):
            work(impatient, filled)
        assert impatient.search(A, NORTH, strategy="auto").strategy == (
            "index" if index_there else "exact"
        )
        assert [status.index for status in impatient.rank_indexes(agent_id=A)] == old
        assert not running.done()

    [index] = running.result()
    assert tables_of(database_url) == [index.relation]
    assert_as_exact(another(database_url))


@pytest.mark.parametrize("phase", ["waiting", "building", "ending"])
def test_plain_statements_on_the_memories_wait_for_nothing(
    repo: MemoryRepository,
    database_url: str,
    background: ThreadPoolExecutor,
    filled: list[UUID],
    phase: str,
) -> None:
    statements = [
        "SELECT * FROM pgrecall.agent_memories FOR UPDATE",
        "INSERT INTO pgrecall.agent_memories (agent_id, id, content) "
        "VALUES ('agent', gen_random_uuid(), 'x')",
        "UPDATE pgrecall.agent_memories SET importance = 0.5",
        "DELETE FROM pgrecall.agent_memories WHERE content = 'x'",
        "VACUUM pgrecall.agent_memories",
        "ANALYZE pgrecall.agent_memories",
        "INSERT INTO pgrecall.memory_usage (agent_id, memory_id) VALUES ('x', gen_random_uuid())",
        "DELETE FROM pgrecall.memory_usage",
        "DELETE FROM pgrecall.memory_events",
    ]

    def others() -> None:
        with psycopg.connect(database_url, autocommit=True, options=IMPATIENT) as other:
            for statement in statements:
                other.execute(statement.encode())

    if phase == "building":
        with paused(database_url, background) as running:
            others()
    elif phase == "ending":
        with held(database_url, background, lambda: build(repo)) as (_, running):
            others()
    else:
        with open_transaction(database_url) as writer:
            insert(writer, "slow", "another agent")
            running = background.submit(build, repo)
            wait_until(
                "the build waits for the writer", lambda: bool(values(database_url, AWAITING))
            )
            others()
            assert not running.done()
    assert len(running.result()) == 1


def test_the_settings_of_a_session_are_as_before(database_url: str) -> None:
    engine = create_engine(database_url, pool_size=1, max_overflow=0)
    fill(MemoryRepository(engine))

    def settings(connection: Connection) -> list[str | None]:
        return [
            connection.exec_driver_sql(f"SELECT current_setting('{name}', true)").scalar()
            for name in SETTINGS
        ]

    with engine.connect() as connection:
        for name, setting in (
            ("statement_timeout", "54321ms"),
            ("maintenance_work_mem", "7MB"),
            ("max_parallel_maintenance_workers", "3"),
            ("hnsw.ef_search", "77"),
            ("hnsw.iterative_scan", "relaxed_order"),
        ):
            connection.exec_driver_sql(f"SET {name} = '{setting}'")
        connection.commit()
        before = settings(connection)

    build(MemoryRepository(engine))
    MemoryRepository(engine).maintain_rank_indexes(at_least=1)
    MemoryRepository(engine).search(A, NORTH, strategy="index")

    with engine.connect() as connection:
        assert settings(connection) == before
    engine.dispose()


def test_the_settings_of_a_callers_transaction_are_as_before(
    engine: Engine, filled: list[UUID]
) -> None:
    chosen = {
        "maintenance_work_mem": "7MB",
        "max_parallel_maintenance_workers": "3",
        "statement_timeout": "54321ms",
        "lock_timeout": "4321ms",
        "work_mem": "3MB",
        "enable_seqscan": "on",
        "search_path": "public",
        "hnsw.ef_search": "77",
        "hnsw.iterative_scan": "relaxed_order",
        "hnsw.max_scan_tuples": "12345",
    }
    assert chosen.keys() == set(SETTINGS)
    with engine.connect() as connection:

        def settings() -> dict[str, Any]:
            return {n: connection.exec_driver_sql(f"SHOW {n}").scalar() for n in SETTINGS}

        repo = MemoryRepository(connection)
        for name, setting in chosen.items():
            connection.exec_driver_sql(f"SET LOCAL {name} = '{setting}'")
        before = settings()

        build(repo)
        assert settings() == before
        through_index(repo, NORTH)
        assert settings() == before
        connection.rollback()


def test_a_session_in_a_hurry_builds_all_the_same(
    database_url: str, engine: Engine, filled: list[UUID], background: ThreadPoolExecutor
) -> None:
    hurried = create_engine(
        database_url, poolclass=NullPool, connect_args={"options": "-c statement_timeout=400ms"}
    )
    asked = (
        "SELECT pid FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND "
        f"starts_with(query, '{BUILDING}') AND clock_timestamp() - query_start > '600 ms'"
    )

    with held(database_url, background, lambda: build(MemoryRepository(hurried))) as (_, running):
        wait_until("it has taken longer than that", lambda: bool(values(database_url, asked)))

    assert len(running.result()) == 1


def test_a_session_in_a_hurry_waits_for_writers_all_the_same(
    database_url: str, engine: Engine, filled: list[UUID], background: ThreadPoolExecutor
) -> None:
    hurried = create_engine(
        database_url, poolclass=NullPool, connect_args={"options": "-c statement_timeout=400ms"}
    )
    with open_transaction(database_url) as writer:
        insert(writer, "slow")
        running = background.submit(build, MemoryRepository(hurried))
        wait_until(
            "it has waited longer than that, or given up",
            lambda: (
                bool(values(database_url, f"{AWAITING} AND now() - query_start > '600 ms'"))
                or running.done()
            ),
        )
        writer.commit()

    assert len(running.result()) == 1


# Who writes while it builds


def test_what_was_written_before_and_committed_after_is_not_missed(
    repository_of: RepositoryOf, database_url: str, background: ThreadPoolExecutor
) -> None:
    repo = repository_of(database_url)
    fill(repo)
    with open_transaction(database_url) as writer:
        memory_id = insert(writer, "the slow one")
        running = background.submit(build, repo)
        wait_until("the build waits for the writer", lambda: bool(values(database_url, AWAITING)))
        writer.commit()
    [index] = running.result()

    [status] = repo.rank_indexes(agent_id=A)
    assert status.written == 0
    assert index.memories == SOME + 1
    assert values(
        database_url,
        f"SELECT count(*) FROM pgrecall.{index.relation} WHERE memory_id = %s",
        memory_id,
    ) == [1]
    hits = through_index(repo, NORTH)
    assert memory_id in ids(hits)


@pytest.mark.parametrize("change", ["insert", "update", "delete"])
def test_what_is_written_by_a_transaction_begun_before_is_not_missed(
    repo: MemoryRepository,
    database_url: str,
    engine: Engine,
    background: ThreadPoolExecutor,
    filled: list[UUID],
    change: str,
) -> None:
    """Its moment, now(), lies before the build; it writes when the build has taken its snapshot."""
    with engine.connect() as connection:
        connection.exec_driver_sql("SELECT now()")
        with paused(database_url, background) as running:
            within = MemoryRepository(connection)
            if change == "insert":
                changed = within.add(A, NewMemory("late", embedding=NORTH, importance=1.0))
            elif change == "update":
                within.update(A, filled[0], embedding=NORTH, importance=1.0)
            else:
                within.delete(A, filled[0])
            connection.commit()
    [index] = running.result()

    [status] = repo.rank_indexes(agent_id=A)
    assert index.memories == SOME
    found = ids(through_index(another(database_url), NORTH))
    assert found == ids(repo.search(A, NORTH, strategy="exact", touch=False))
    if change == "insert":
        assert (status.written, changed in found) == (1, True)
    elif change == "update":
        assert (status.changed, filled[0] in found) == (1, True)
    else:
        assert filled[0] not in found


def test_what_was_retrieved_before_and_committed_after_is_not_missed(
    repo: MemoryRepository, engine: Engine, filled: list[UUID]
) -> None:
    """Of two retrievals the first is committed last: after a build that knows of the second."""
    with engine.connect() as connection:
        MemoryRepository(connection).touch(A, filled[0])
        repo.touch(A, filled[1])
        with (
            suppress(DatabaseConflict),  # waiting for it to end would do as well
            pytest.MonkeyPatch.context() as patch,
        ):
            patch.setattr("pgrecall.jobs.indexing.PATIENCE", 0.2)
            build(repo)
        connection.commit()
    if not repo.rank_indexes(agent_id=A):
        build(repo)

    first = repo.get(A, filled[0], include_embedding=True)
    assert first is not None
    assert first.embedding is not None
    exact, found = (
        repo.search(
            A,
            [-x for x in first.embedding],
            k=2,
            profile="last_access",
            weights={"similarity": 0.05, "recency": 0.95},
            strategy=strategy,
            touch=False,
        )
        for strategy in ("exact", "index")
    )
    assert set(ids(exact)) == {filled[0], filled[1]}
    assert ids(found) == ids(exact)


def test_a_writer_that_never_ends_is_a_conflict(
    repository_of: RepositoryOf, database_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("pgrecall.jobs.indexing.PATIENCE", 0.3)
    repo = repository_of(database_url)
    fill(repo)
    [old] = build(repo)

    with open_transaction(database_url) as writer:
        insert(writer, "slow")
        with pytest.raises(DatabaseConflict, match=r"has not ended.*end it and build again"):
            build(repo)
        with pytest.raises(DatabaseConflict, match="has not ended"):
            repo.maintain_rank_indexes(at_least=1) or build(repo)

    assert tables_of(database_url) == [old.relation]
    assert listed(database_url) == [(A, old.relation, old.built_at)]
    assert len(build(repo)) == 1


@pytest.mark.parametrize(
    "statement",
    [
        "SELECT count(*) FROM pgrecall.agent_memories",
        "SELECT FROM pgrecall.agent_memories FOR UPDATE",
        "INSERT INTO pgrecall.memory_links (agent_id, source_id, target_id, kind) "
        "VALUES ('agent', gen_random_uuid(), gen_random_uuid(), 'x')",
        "SELECT txid_current()",
    ],
)
def test_a_build_waits_only_for_those_who_have_written_memories(
    repo: MemoryRepository,
    database_url: str,
    filled: list[UUID],
    statement: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("pgrecall.jobs.indexing.PATIENCE", 0.2)
    with open_transaction(database_url) as other:
        other.execute(statement.encode())

        assert len(build(repo)) == 1


def test_writers_that_came_later_are_not_waited_for(
    repo: MemoryRepository, database_url: str, background: ThreadPoolExecutor, filled: list[UUID]
) -> None:
    with open_transaction(database_url) as later:
        with open_transaction(database_url) as earlier:
            insert(earlier, "earlier")
            running = background.submit(build, repo)
            wait_until(
                "the build waits for the writer", lambda: bool(values(database_url, AWAITING))
            )
            late = insert(later, "later")
            earlier.commit()
        [index] = running.result()
        later.commit()

    assert index.memories == SOME + 1
    [status] = repo.rank_indexes(agent_id=A)
    assert status.written == 1
    assert late in ids(through_index(repo, NORTH))


@pytest.mark.parametrize("way", ["delete", "clear"])
def test_no_position_is_left_of_what_is_deleted_during_a_build(
    repo: MemoryRepository,
    database_url: str,
    background: ThreadPoolExecutor,
    filled: list[UUID],
    way: str,
) -> None:
    """A position holds the direction of an embedding."""
    with paused(database_url, background) as running:
        if way == "delete":
            assert repo.delete(A, filled[:5]) == 5
        else:
            repo.clear(A)
    running.result()

    left = {
        memory_id
        for relation in tables_of(database_url)
        for memory_id in values(database_url, f"SELECT memory_id FROM pgrecall.{relation}")
    }
    assert left & set(filled[: 5 if way == "delete" else SOME]) == set()


def test_a_deletion_that_is_not_committed_makes_no_other_wait_for_the_build(
    repo: MemoryRepository,
    impatient: MemoryRepository,
    database_url: str,
    engine: Engine,
    background: ThreadPoolExecutor,
    filled: list[UUID],
) -> None:
    """The build may wait for it, but not in front of others."""
    waiting = "SELECT pid FROM pg_stat_activity WHERE wait_event_type = 'Lock'"
    with engine.connect() as connection:
        MemoryRepository(connection).delete(A, filled[0])
        running = background.submit(build, repo)
        wait_until(
            "the build waits for the deletion, or does not",
            lambda: (
                running.done()
                or bool(values(database_url, waiting) or values(database_url, AWAITING))
            ),
        )
        assert impatient.delete(A, filled[1]) == 1
        assert len(impatient.search(A, NORTH)) == 10
        connection.commit()
    running.result()

    for relation in tables_of(database_url):
        left = values(database_url, f"SELECT memory_id FROM pgrecall.{relation}")
        assert not {filled[0], filled[1]} & set(left)


# When it fails


def test_a_build_whose_backend_is_ended_leaves_nothing(
    repository_of: RepositoryOf, database_url: str, background: ThreadPoolExecutor
) -> None:
    repo = repository_of(database_url)
    fill(repo)

    with held(database_url, background, lambda: build(repo)) as (pid, running):
        assert value(database_url, "SELECT pg_terminate_backend(%s, 10000)", pid)
        with pytest.raises(DatabaseUnavailable):
            running.result()

    assert (tables_of(database_url), listed(database_url)) == ([], [])
    assert repo.search(A, NORTH, strategy="index").strategy == "exact"
    assert len(build(repo)) == 1


def test_searches_go_on_in_the_old_index_when_a_new_one_fails(
    repo: MemoryRepository, database_url: str, background: ThreadPoolExecutor, filled: list[UUID]
) -> None:
    [old] = build(repo)

    with held(database_url, background, lambda: build(repo)) as (pid, running):
        assert value(database_url, "SELECT pg_terminate_backend(%s, 10000)", pid)
        with pytest.raises(DatabaseUnavailable):
            running.result()

    assert listed(database_url) == [(A, old.relation, old.built_at)]
    assert tables_of(database_url) == [old.relation]
    assert_as_exact(repo)


KILLED = """
import os, signal, sys
from sqlalchemy import create_engine, event
from pgrecall import MemoryRepository
from pgrecall.migrate.connecting import database_url

url, begins = sys.argv[1:]
engine = create_engine(database_url(url))
repo = MemoryRepository(engine)

def after(connection, cursor, text, *_):
    if begins and text.lstrip().startswith(begins):
        os.kill(os.getpid(), signal.SIGKILL)

event.listen(engine, "after_cursor_execute", after)
repo.build_rank_indexes(agent_id="agent", at_least=1)
"""


@contextmanager
def victim(url: str, begins: str = "") -> Iterator[subprocess.Popen[bytes]]:
    """A client that builds, and kills itself after a statement that begins like this."""
    with subprocess.Popen(
        [sys.executable, "-c", KILLED, url, begins],
        cwd=Path(__file__).parents[2],
        stderr=subprocess.PIPE,
    ) as process:
        yield process
        _, errors = process.communicate(timeout=60)
    assert process.returncode == -signal.SIGKILL, errors.decode()


def assert_nothing_is_left(url: str, old: RankIndex) -> None:
    wait_until(
        "the server has noticed",
        lambda: (
            not values(
                url,
                "SELECT pid FROM pg_stat_activity WHERE datname = current_database() "
                "AND pid <> pg_backend_pid() AND state <> 'idle'",
            )
        ),
    )
    assert listed(url) == [(A, old.relation, old.built_at)]
    assert tables_of(url) == [old.relation]
    assert_as_exact(another(url))


@pytest.mark.parametrize("command", ["CREATE TABLE", "CREATE INDEX", "ALTER TABLE"])
def test_a_client_killed_in_the_middle_of_a_build_leaves_nothing(
    repo: MemoryRepository, database_url: str, filled: list[UUID], command: str
) -> None:
    [old] = build(repo)

    with pausing(database_url, command), victim(database_url) as process:
        wait_until_blocked(database_url, BUILDING, "advisory")
        process.kill()

    assert_nothing_is_left(database_url, old)


@pytest.mark.parametrize("begins", ["SELECT current_setting", BUILDING])
def test_a_client_killed_between_the_statements_of_a_build_leaves_nothing(
    repo: MemoryRepository, database_url: str, filled: list[UUID], begins: str
) -> None:
    [old] = build(repo)

    with victim(database_url, begins):
        pass

    assert_nothing_is_left(database_url, old)


def test_what_a_killed_client_could_not_drop_any_more_is_dropped_by_maintenance(
    repo: MemoryRepository, database_url: str, filled: list[UUID]
) -> None:
    [old] = build(repo)

    class Gone(Exception):
        pass

    def die(*arguments: Any) -> None:
        if "drop_positions" in arguments[2]:
            raise Gone

    victim = create_engine(database_url, poolclass=NullPool)
    event.listen(victim, "before_cursor_execute", die)
    with pytest.raises(Gone):
        build(MemoryRepository(victim))

    [(_, relation, _)] = listed(database_url)
    assert tables_of(database_url) == sorted([old.relation, relation])
    assert repo.maintain_rank_indexes(at_least=1) == []
    assert tables_of(database_url) == [relation]
    assert_as_exact(another(database_url))


# Two at once


@pytest.mark.parametrize("index_there", [False, True], ids=["first", "replacing"])
def test_builds_at_once_for_one_agent_end_with_one_index(
    repo: MemoryRepository,
    database_url: str,
    background: ThreadPoolExecutor,
    filled: list[UUID],
    index_there: bool,
) -> None:
    if index_there:
        build(repo)
    together = Barrier(3)

    def client() -> list[RankIndex]:
        together.wait(timeout=30)
        return build(repo)

    built = [running.result() for running in [background.submit(client) for _ in range(3)]]

    [(_, relation, _)] = listed(database_url)
    run(database_url, "SELECT pgrecall.drop_positions()")  # what one could not lock in time stays
    assert tables_of(database_url) == [relation]
    assert relation in {index.relation for [index] in built}
    assert_as_exact(repo)


@pytest.mark.parametrize("level", ["REPEATABLE READ", "SERIALIZABLE", "AUTOCOMMIT"])
def test_engines_of_other_isolation_levels_build_at_once_too(
    database_url: str, repo: MemoryRepository, filled: list[UUID], level: str
) -> None:
    engine = create_engine(database_url, poolclass=NullPool, isolation_level=level)
    together = Barrier(2)

    def client(_: int) -> list[RankIndex]:
        together.wait(timeout=30)
        return build(MemoryRepository(engine))

    with ThreadPoolExecutor(2) as threads:
        built = list(threads.map(client, range(2)))

    assert [len(each) for each in built] == [1, 1]
    [(_, relation, _)] = listed(database_url)
    run(database_url, "SELECT pgrecall.drop_positions()")
    assert tables_of(database_url) == [relation]
    assert_as_exact(another(database_url))


def test_a_build_that_waited_for_another_does_not_lose_what_was_written_in_between(
    repo: MemoryRepository, database_url: str, background: ThreadPoolExecutor, filled: list[UUID]
) -> None:
    with held(database_url, background, lambda: build(repo)) as (_, first):
        second = background.submit(build, repo)
        wait_until_blocked(database_url, BUILDING, "advisory")
        late = repo.add(A, NewMemory("late", embedding=NORTH))

    first.result(), second.result()

    assert late in ids(through_index(repo, NORTH))
    assert_as_exact(repo)


# Layouts


@pytest.mark.parametrize(
    ("embedding_type", "schema", "extensions"),
    [
        (EmbeddingType.VECTOR, "pgrecall", None),
        (EmbeddingType.VECTOR, "select", "extensions"),
        (EmbeddingType.HALFVEC, "pgrecall", "extensions"),
        (EmbeddingType.HALFVEC, "select", None),
    ],
)
def test_every_layout_of_a_database_can_have_rank_indexes(
    empty_url: str,
    embedding_type: EmbeddingType,
    schema: str,
    extensions: str | None,
) -> None:
    if extensions is not None:
        run(
            empty_url, f"CREATE SCHEMA {extensions}", f"CREATE EXTENSION vector SCHEMA {extensions}"
        )
    migrate.upgrade(empty_url, dimensions=DIMENSIONS, embedding_type=embedding_type, schema=schema)
    options = {"connect_args": {"options": "-c search_path=pg_catalog"}}
    engine = create_engine(empty_url, poolclass=NullPool, **options)
    repo = MemoryRepository(engine, schema=schema)
    teams = repo.teams
    fill(repo)
    fill(teams)

    [index] = build(repo)
    [again] = build(repo)
    [theirs] = build(teams)

    assert_as_exact(repo)
    assert_as_exact(teams)
    assert index.relation != again.relation
    assert tables_of(empty_url, schema) == sorted([again.relation, theirs.relation])
    assert repo.drop_rank_index(A)
    assert tables_of(empty_url, schema) == [theirs.relation]


def test_two_schemas_of_one_database_keep_their_indexes_apart(own_url: str) -> None:
    migrate.upgrade(own_url, dimensions=3, schema="small")
    engine = create_engine(own_url, poolclass=NullPool)
    large, small = MemoryRepository(engine), MemoryRepository(engine, schema="small")
    fill(large)
    small.add(A, NewMemory("small", embedding=[1.0, 0.0, 0.0]))

    [one], [other] = build(large), build(small)
    assert small.maintain_rank_indexes(at_least=1) == []
    assert large.drop_rank_index(A)

    assert (one.memories, other.memories) == (SOME, 1)
    assert tables_of(own_url) == []
    assert tables_of(own_url, "small") == [other.relation]


# Parameters


BAD: list[dict[str, Any]] = [
    *({"m": m} for m in (1, 0, -1, 101, 2.5, "16", True, None, float("nan"))),
    *({"ef_construction": ef} for ef in (3, 1_001, -1, 64.0, "64", True, None)),
    {"m": 24, "ef_construction": 47},
    {"m": 100, "ef_construction": 128},
    *({"at_least": n} for n in (0, -1, 2**31, 1.5, "1", True, None)),
    {"as_of": datetime(2026, 1, 1)},  # noqa: DTZ001
    {"as_of": "2026-01-01"},
]


@pytest.mark.parametrize("options", BAD, ids=repr)
def test_parameters_are_checked(
    shared_repo: MemoryRepository, agent: str, options: dict[str, Any]
) -> None:
    repo = shared_repo
    repo.add(agent, NewMemory("one", embedding=NORTH))

    with pytest.raises(InputError, match=next(iter(reversed(options)))):
        repo.build_rank_indexes(agent_id=agent, **{"at_least": 1} | options)
    if "as_of" not in options:
        with pytest.raises(InputError):
            repo.maintain_rank_indexes(**{"at_least": 2**31 - 1} | options)

    assert repo.rank_indexes(agent_id=agent) == []


@pytest.mark.parametrize("agent_id", ["", "x" * 201, "a\0b", 7, b"agent"], ids=repr)
def test_the_name_of_an_agent_is_checked(shared_repo: MemoryRepository, agent_id: Any) -> None:
    for work in (
        shared_repo.build_rank_indexes,
        shared_repo.drop_rank_index,
        shared_repo.check_rank_index,
        shared_repo.rank_indexes,
    ):
        with pytest.raises(InputError):
            work(agent_id=agent_id)


@pytest.mark.parametrize(("m", "ef_construction"), [(2, 4), (8, 40), (100, 200), (24, 1_000)])
def test_the_parameters_of_the_graph_arrive(
    repo: MemoryRepository, database_url: str, m: int, ef_construction: int
) -> None:
    fill(repo, number=60)

    [index] = build(repo, m=m, ef_construction=ef_construction)

    [(_, options)] = rows(database_url, INDEX, f"pgrecall.{index.relation}")
    assert sorted(options) == sorted([f"m={m}", f"ef_construction={ef_construction}"])
    assert (index.m, index.ef_construction) == (m, ef_construction)


@pytest.mark.parametrize("agent_id", ["Robert'); DROP TABLE x;--", 'a"b', "%s :name %(x)s", "\\"])
def test_hostile_names_of_agents_are_only_names(
    repo: MemoryRepository, database_url: str, agent_id: str
) -> None:
    fill(repo, agent_id)

    [index] = build(repo, agent_id)

    assert index.agent_id == agent_id
    assert_as_exact(repo, agent_id)
    assert repo.drop_rank_index(agent_id)
    assert tables_of(database_url) == []


# Plans


@pytest.mark.parametrize("number", [60, SOME, 3_000])
def test_a_search_walks_the_graph(repo: MemoryRepository, database_url: str, number: int) -> None:
    fill(repo, number=number)
    [index] = build(repo)
    [(graph, _)] = rows(database_url, INDEX, f"pgrecall.{index.relation}")
    walks = f"SELECT pg_stat_get_xact_numscans({graph})"
    reads = f"SELECT pg_stat_get_xact_numscans('pgrecall.{index.relation}'::regclass)"

    # A session of its own: the other one still counts what its build read.
    with create_engine(database_url, poolclass=NullPool).connect() as connection:
        through_index(MemoryRepository(connection), NORTH, k=1)

        assert connection.exec_driver_sql(walks).scalar() == 1
        assert connection.exec_driver_sql(reads).scalar() == 0


@pytest.mark.parametrize("number", [1, SOME, 3_000])
def test_the_query_for_candidates_is_planned_through_the_graph(
    repo: MemoryRepository, engine: Engine, number: int
) -> None:
    fill(repo, number=number)
    [index] = build(repo)
    length = sql(
        engine,
        "SELECT atttypmod FROM pg_attribute WHERE attname = 'position' "
        f"AND attrelid = 'pgrecall.{index.relation}'::regclass",
    )[0][0]

    with engine.connect() as connection:
        connection.exec_driver_sql("SET LOCAL enable_seqscan = off")
        connection.exec_driver_sql("SET LOCAL plan_cache_mode = force_generic_plan")
        connection.exec_driver_sql(
            "PREPARE candidates AS SELECT memory_id "
            f"FROM pgrecall.{index.relation} ORDER BY position <#> $1 LIMIT $2"
        )
        place = "[" + ",".join(["0.5"] * length) + "]"
        plan = connection.exec_driver_sql(f"EXPLAIN EXECUTE candidates ('{place}', 100)").scalars()

        assert any(f"Index Scan using {index.relation}_position" in line for line in plan)


def test_an_index_that_goes_away_in_the_middle_of_a_search_takes_no_hit_along(
    repo: MemoryRepository, database_url: str
) -> None:
    """Dropped after the list was read; what was written since is more than k, and not the best."""
    fill(repo, number=50)
    build(repo)
    repo.add_many(A, [NewMemory(f"far {n}", embedding=at(170 + n / 10)) for n in range(20)])
    searching = create_engine(database_url, poolclass=NullPool)

    def drop(*arguments: Any) -> None:
        if "rank_candidates" in arguments[2]:
            assert repo.drop_rank_index(A)

    event.listen(searching, "before_cursor_execute", drop)
    query = NORTH

    found = MemoryRepository(searching).search(A, query, strategy="index", touch=False)

    assert repo.rank_indexes(agent_id=A) == []
    assert ids(found) == ids(repo.search(A, query, strategy="exact", touch=False))


# A caller's transaction


@pytest.mark.parametrize("commit", [True, False], ids=["commit", "rollback"])
def test_a_build_takes_part_in_the_callers_transaction(
    transaction: Transaction, database_url: str, commit: bool
) -> None:
    outside = MemoryRepository(create_engine(database_url, poolclass=NullPool))

    def work(within: MemoryRepository) -> list[RankIndex]:
        fill(within)
        built = build(within)
        assert_as_exact(within)
        assert [status.index for status in within.rank_indexes(agent_id=A)] == built
        assert outside.rank_indexes(agent_id=A) == []
        return built

    try:
        [index] = transaction(work, commit=commit)

        assert [s.index for s in outside.rank_indexes(agent_id=A)] == ([index] if commit else [])
        assert tables_of(database_url) == ([index.relation] if commit else [])
        assert outside.count(A) == (SOME if commit else 0)
    finally:
        outside.drop_rank_index(A)


def test_a_rebuild_that_is_rolled_back_leaves_the_index_there_was(
    repo: MemoryRepository, engine: Engine, database_url: str, filled: list[UUID]
) -> None:
    [old] = build(repo)

    with engine.connect() as connection:
        build(MemoryRepository(connection))
        assert MemoryRepository(connection).drop_rank_index(A)
        connection.rollback()

    assert listed(database_url) == [(A, old.relation, old.built_at)]
    assert tables_of(database_url) == [old.relation]
    assert_as_exact(another(database_url))


def test_a_caller_sees_what_it_has_written_itself_before_and_after(
    engine: Engine, repo: MemoryRepository, filled: list[UUID]
) -> None:
    with engine.connect() as connection:
        within = MemoryRepository(connection)
        before = within.add(A, NewMemory("before", embedding=NORTH, importance=1.0))
        [index] = build(within)
        after = within.add(A, NewMemory("after", embedding=NORTH, importance=1.0))
        found = ids(through_index(within, NORTH))
        connection.rollback()

    assert index.memories == SOME + 1
    assert {before, after} <= set(found)


@pytest.mark.parametrize("level", ["REPEATABLE READ", "SERIALIZABLE"])
def test_a_build_in_an_old_snapshot_misses_nothing(
    repo: MemoryRepository, database_url: str, filled: list[UUID], level: str
) -> None:
    """What others commit after the snapshot was taken and before the build began."""
    engine = create_engine(database_url, poolclass=NullPool, isolation_level=level)
    with engine.connect() as connection:
        within = MemoryRepository(connection)
        assert within.count(A) == SOME
        missed = repo.add(A, NewMemory("unseen", embedding=NORTH, importance=1.0))
        with suppress(InputError):
            build(within)
        connection.commit()

    found = repo.search(A, NORTH, strategy="index", touch=False)

    assert missed in ids(found)


@pytest.mark.parametrize("level", ["REPEATABLE READ", "SERIALIZABLE"])
def test_a_refused_build_leaves_the_settings_as_before(
    database_url: str, filled: list[UUID], level: str
) -> None:
    names = SETTINGS[:3]
    engine = create_engine(database_url, poolclass=NullPool, isolation_level=level)
    with engine.connect() as connection:
        for name, setting in zip(names, ("7MB", "3", "54321ms"), strict=True):
            connection.exec_driver_sql(f"SET LOCAL {name} = '{setting}'")

        with pytest.raises(InputError, match=f"cannot be built in a {level} transaction"):
            build(MemoryRepository(connection))

        assert [connection.exec_driver_sql(f"SHOW {name}").scalar() for name in names] == [
            *("7MB", "3", "54321ms"),
        ]


# A change of the language meanwhile


CHANGE = "SELECT pgrecall.change_text_language('simple')"


def assert_knows_no_words(url: str) -> None:
    """It is used but for words, and due, and as good as another after maintenance."""
    repo = another(url)
    assert values(url, "SELECT term_memories FROM pgrecall.rank_indexes") == [None]
    assert_as_exact(repo)
    for strategy in ("exact", "index"):
        found, exact = (
            repo.search(
                A, at(50), query_text="the memory 7", profile="hybrid", strategy=s, touch=False
            )
            for s in ("index", "exact")
        )
        assert (found.strategy, ids(found)) == (strategy, ids(exact))
        if strategy == "exact":
            assert len(repo.maintain_rank_indexes(at_least=1)) == 1
    assert values(url, "SELECT term_memories FROM pgrecall.rank_indexes") == [SOME]


@pytest.mark.parametrize("index_there", [False, True], ids=["first", "replacing"])
def test_an_index_whose_language_changes_while_it_is_built_knows_no_words(
    own_repo: MemoryRepository,
    own_url: str,
    background: ThreadPoolExecutor,
    index_there: bool,
) -> None:
    fill(own_repo)
    if index_there:
        build(own_repo)
    with paused(own_url, background) as running:
        migrate.change_language(own_url, "simple")
    running.result()

    assert_knows_no_words(own_url)


def test_an_index_is_not_entered_before_a_change_of_the_language_has_ended(
    own_repo: MemoryRepository,
    own_url: str,
    background: ThreadPoolExecutor,
) -> None:
    fill(own_repo)
    with psycopg.connect(own_url) as changing:
        with paused(own_url, background) as running:
            changing.execute(CHANGE)
        wait_until_blocked(own_url, BUILDING, "relation")
        changing.commit()
    running.result()

    assert_knows_no_words(own_url)


def test_a_change_of_the_language_waits_for_an_index_that_has_been_entered(
    own_repo: MemoryRepository,
    own_url: str,
    own_engine: Engine,
    background: ThreadPoolExecutor,
) -> None:
    fill(own_repo)
    with own_engine.connect() as connection:
        build(MemoryRepository(connection))
        changing = background.submit(run, own_url, CHANGE)
        wait_until_blocked(own_url, CHANGE)
        connection.commit()
    changing.result()

    assert_knows_no_words(own_url)


def test_a_session_that_has_built_often_knows_the_language_of_now(
    own_repo: MemoryRepository, own_url: str, own_engine: Engine
) -> None:
    """Whatever plans it keeps."""
    number = 300  # a word is common from 256 memories on
    fill(own_repo, number=number)
    with own_engine.connect() as connection:
        within = MemoryRepository(connection)
        for _ in range(12):
            build(within)
            connection.commit()
        migrate.change_language(own_url, "simple")

        build(within)
        connection.commit()

    assert values(own_url, "SELECT term_memories FROM pgrecall.rank_indexes") == [number]
    [common] = values(own_url, "SELECT common_terms FROM pgrecall.rank_indexes")
    assert common == {"memory": number}


def test_a_build_in_an_async_callers_transaction_is_rolled_back_with_it(
    repo: MemoryRepository, database_url: str, filled: list[UUID]
) -> None:
    async def work() -> tuple[int, list[str]]:
        engine = create_async_engine(database_url, poolclass=NullPool)
        async with engine.connect() as connection:
            within = AsyncMemoryRepository(connection)
            [index] = await within.build_rank_indexes(agent_id=A, at_least=1)
            hits = await within.search(A, NORTH, strategy="index", touch=False)
            names = await connection.run_sync(
                lambda _: awaited(within, await_only).rank_indexes(agent_id=A)
            )
            await connection.rollback()
        return len(hits), [status.index.relation for status in names if status.index] + [
            index.relation
        ]

    found, relations = asyncio.run(work())

    assert (found, len(set(relations))) == (10, 1)
    assert (tables_of(database_url), repo.rank_indexes(agent_id=A)) == ([], [])


# Grants


@pytest.fixture
def role(database_url: str) -> Iterator[str]:
    with new_role(database_url, "reader") as name:
        yield name


@contextmanager
def new_role(url: str, name: str) -> Iterator[str]:
    """A role of the server, that may use the schema and nothing in it."""
    name = f"{name} {os.getpid()}"
    quoted = psql.Identifier(name)
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute(psql.SQL("CREATE ROLE {}").format(quoted))
        connection.execute(psql.SQL("GRANT USAGE ON SCHEMA pgrecall TO {}").format(quoted))
        try:
            yield name
        finally:
            connection.execute(psql.SQL("DROP OWNED BY {} CASCADE").format(quoted))
            connection.execute(psql.SQL("DROP ROLE {}").format(quoted))


READ = ("agent_memories", "memory_usage", "memory_events", "rank_indexes", "alembic_version")


def let_in(url: str, role: str, level: str) -> None:
    assert values(url, "SELECT 1 FROM pgrecall.grant_access(%s, %s)", level, role) == [1]


def grant(url: str, role: str, *tables: str, what: str = "SELECT") -> None:
    """By hand, and every function."""
    with psycopg.connect(url, autocommit=True) as connection:
        for table in tables:
            connection.execute(
                psql.SQL("GRANT {} ON pgrecall.{} TO {}").format(
                    psql.SQL(what), psql.Identifier(table), psql.Identifier(role)
                )
            )
        connection.execute(
            psql.SQL("GRANT EXECUTE ON ALL FUNCTIONS IN SCHEMA pgrecall TO {}").format(
                psql.Identifier(role)
            )
        )


@contextmanager
def acting_as(engine: Engine, role: str) -> Iterator[Connection]:
    with engine.connect() as connection:
        quoted = psql.Identifier(role).as_string(connection.connection.driver_connection)
        connection.exec_driver_sql(f"SET ROLE {quoted}".replace("%", "%%"), ())
        try:
            yield connection
        finally:
            connection.rollback()
            connection.exec_driver_sql("RESET ROLE")  # what was committed stays with the session
            connection.commit()


@pytest.mark.parametrize("built", ["before", "after"])
def test_who_may_read_may_search_through_the_index(
    repo: MemoryRepository, engine: Engine, database_url: str, filled: list[UUID], built: str
) -> None:
    with ExitStack() as stack:
        roles = [
            stack.enter_context(new_role(database_url, name))
            for name in ("reader", 'Mrs "O"', "a:b", "per%cent", "pub lic")
        ]
        if built == "before":
            [index] = build(repo)
        for role in roles:
            let_in(database_url, role, "reader")
        if built == "after":
            [index] = build(repo)

        for role in roles:
            with acting_as(engine, role) as connection:
                within = MemoryRepository(connection)
                assert_as_exact(within)
                assert [status.index for status in within.rank_indexes(agent_id=A)] == [index]
                assert within.rank_index_progress() is None
                with pytest.raises(ProgrammingError, match="permission denied"):
                    connection.exec_driver_sql(f"DELETE FROM pgrecall.{index.relation}")


def test_who_may_read_because_everybody_may_searches_through_the_index(
    own_repo: MemoryRepository, own_engine: Engine, own_url: str
) -> None:
    fill(own_repo)
    run(
        own_url,
        *(f"GRANT SELECT ON pgrecall.{table} TO PUBLIC" for table in (*READ, "rank_positions")),
        "GRANT EXECUTE ON ALL FUNCTIONS IN SCHEMA pgrecall TO PUBLIC",
    )
    build(own_repo)

    with new_role(own_url, "reader") as role, acting_as(own_engine, role) as connection:
        assert_as_exact(MemoryRepository(connection))


def test_who_may_not_read_the_memories_may_not_read_their_positions(
    repo: MemoryRepository, engine: Engine, database_url: str, filled: list[UUID], role: str
) -> None:
    grant(database_url, role, "rank_indexes")
    grant(database_url, role, "agent_memories", what="INSERT, UPDATE, DELETE")
    [index] = build(repo)

    with (
        acting_as(engine, role) as connection,
        pytest.raises(ProgrammingError, match="permission denied"),
    ):
        connection.exec_driver_sql(f"SELECT * FROM pgrecall.{index.relation}")


def test_who_was_granted_by_hand_since_the_build_gets_every_hit(
    repo: MemoryRepository, engine: Engine, database_url: str, filled: list[UUID], role: str
) -> None:
    """By ranking every memory; after maintenance through the index."""
    build(repo)
    grant(database_url, role, *READ, "rank_positions")

    for used in ("exact", "index"):
        with acting_as(engine, role) as connection:
            within = MemoryRepository(connection)
            for strategy in ("auto", "index", "exact"):
                found = within.search(A, NORTH, strategy=strategy, touch=False)
                assert ids(found) == ids(repo.search(A, NORTH, strategy="exact", touch=False))
                assert found.strategy == ("exact" if strategy == "exact" else used)
        assert repo.maintain_rank_indexes(at_least=1) == []


def test_what_was_taken_from_a_role_is_taken_from_it_on_positions_too(
    repo: MemoryRepository, engine: Engine, database_url: str, filled: list[UUID], role: str
) -> None:
    grant(database_url, role, *READ, "rank_positions")
    [index] = build(repo)
    run(database_url, f'REVOKE SELECT ON pgrecall.rank_positions FROM "{role}"')
    repo.maintain_rank_indexes(at_least=1)

    with (
        acting_as(engine, role) as connection,
        pytest.raises(ProgrammingError, match="permission denied"),
    ):
        connection.exec_driver_sql(f"SELECT * FROM pgrecall.{index.relation}")


def test_who_may_delete_memories_since_the_build_deletes_their_positions_too(
    repo: MemoryRepository, engine: Engine, database_url: str, filled: list[UUID], role: str
) -> None:
    [index] = build(repo)
    let_in(database_url, role, "writer")

    with acting_as(engine, role) as connection:
        assert MemoryRepository(connection).delete(A, filled[:2]) == 2
        connection.exec_driver_sql("RESET ROLE")
        left = connection.exec_driver_sql(f"SELECT count(*) FROM pgrecall.{index.relation}")
        assert left.scalar() == SOME - 2


def test_a_maintainer_who_owns_nothing_builds_maintains_and_drops(
    engine: Engine, database_url: str, repo: MemoryRepository, filled: list[UUID], role: str
) -> None:
    let_in(database_url, role, "maintainer")
    with acting_as(engine, role) as connection:
        within = MemoryRepository(connection)
        [first] = build(within)
        [index] = build(within)
        assert_as_exact(within)
        connection.commit()

    assert tables_of(database_url) == [index.relation] != [first.relation]
    assert value(
        database_url,
        "SELECT relowner = (SELECT relowner FROM pg_class "
        "WHERE oid = 'pgrecall.rank_positions'::regclass) "
        f"FROM pg_class WHERE oid = 'pgrecall.{index.relation}'::regclass",
    )
    assert_as_exact(repo)
    with acting_as(engine, role) as connection:
        within = MemoryRepository(connection)
        assert within.maintain_rank_indexes(at_least=1) == []
        assert within.drop_rank_index(A)
        connection.commit()
    assert tables_of(database_url) == []


@pytest.mark.parametrize("level", ["reader", "writer"])
def test_who_is_no_maintainer_builds_nothing(
    engine: Engine, database_url: str, filled: list[UUID], role: str, level: str
) -> None:
    let_in(database_url, role, level)
    with (
        acting_as(engine, role) as connection,
        pytest.raises(DatabaseError, match="permission denied for function"),
    ):
        build(MemoryRepository(connection))


def test_what_runs_with_the_owner_s_rights_touches_new_tables_of_positions_alone(
    engine: Engine, database_url: str, repo: MemoryRepository, filled: list[UUID], role: str
) -> None:
    """Not one of another's making, whose triggers would run with these rights; none in use."""
    let_in(database_url, role, "maintainer")
    [index] = build(repo)
    mine = f"ranks_{'f' * 32}"
    run(
        database_url,
        f"CREATE TABLE pgrecall.{mine} (LIKE pgrecall.rank_positions)",
        f'ALTER TABLE pgrecall.{mine} OWNER TO "{role}"',
    )
    for call in (
        "index_positions('agent_memories', 8, 64, 1024)",
        f"index_positions('{mine}', 8, 64, 1024)",
        "attach_positions('agent_memories', 'agent')",
        f"attach_positions('{mine}', 'agent')",
        f"attach_positions('{index.relation}', 'agent')",
        "align_positions('agent_memories')",
        f"align_positions('{mine}')",
    ):
        with (
            acting_as(engine, role) as connection,
            pytest.raises(DBAPIError, match=r"must be the table of a rank index|is in use"),
        ):
            connection.exec_driver_sql(f"SELECT pgrecall.{call}")


def test_a_table_in_use_or_of_somebody_else_is_not_dropped(
    database_url: str, repo: MemoryRepository, filled: list[UUID]
) -> None:
    [index] = build(repo)
    for relation in (index.relation, "agent_memories", "rank_positions"):
        assert value(database_url, f"SELECT pgrecall.drop_positions('{relation}')") == 0
    assert tables_of(database_url) == [index.relation]


# The parent


def test_the_graph_of_a_build_is_taken_for_that_of_the_parent(
    repo: MemoryRepository, database_url: str, filled: list[UUID]
) -> None:
    """Whatever its parameters: none is built a second time."""
    [index] = build(repo, m=8, ef_construction=40)

    assert rows(
        database_url,
        "SELECT c.relname, p.relname FROM pg_index i JOIN pg_class c ON c.oid = i.indexrelid "
        "LEFT JOIN pg_inherits h ON h.inhrelid = c.oid LEFT JOIN pg_class p ON p.oid = h.inhparent "
        f"WHERE i.indrelid = 'pgrecall.{index.relation}'::regclass ORDER BY 2",
    ) == [
        (f"{index.relation}_position", "ix_rank_positions_position"),
        (f"{index.relation}_words", "ix_rank_positions_words"),
        (f"{index.relation}_pkey", "pk_rank_positions"),
    ]


def test_a_build_that_a_caller_has_not_committed_keeps_no_other_agent_waiting(
    repo: MemoryRepository, impatient: MemoryRepository, engine: Engine, filled: list[UUID]
) -> None:
    others = fill(repo, "other")
    build(repo, "other")
    build(repo)
    with engine.connect() as connection:
        build(MemoryRepository(connection))

        assert_as_exact(impatient, "other")
        assert impatient.delete("other", others[:2]) == 2
        connection.rollback()


# By hand


def test_by_hand_an_index_is_built_maintained_and_dropped(
    repo: MemoryRepository, database_url: str, filled: list[UUID]
) -> None:
    states = "SELECT due FROM pgrecall.rank_index_states('agent', 100)"
    assert values(database_url, states) == ["not built yet"]
    run(database_url, "CALL pgrecall.build_rank_index('agent', at_least => 100, m => 8)")
    [status] = repo.rank_indexes(agent_id=A)
    assert status.index is not None
    assert (status.index.at_least, status.index.m, status.index.memories) == (100, 8, SOME)
    assert tables_of(database_url) == [status.index.relation]
    assert_as_exact(repo)
    assert values(database_url, states) == [None]
    run(database_url, "CALL pgrecall.maintain_rank_indexes(at_least => 100)")
    assert tables_of(database_url) == [status.index.relation]

    fill(repo, "grown", 150)
    run(
        database_url,
        "UPDATE pgrecall.rank_indexes SET built_at = now() - interval '30 days'",
        "CALL pgrecall.maintain_rank_indexes(at_least => 100)",
    )

    first, second = repo.rank_indexes()
    assert (first.agent_id, second.agent_id) == (A, "grown")
    assert first.index is not None
    assert second.index is not None
    assert (first.index.m, second.index.m) == (8, 24)
    assert tables_of(database_url) == sorted([first.index.relation, second.index.relation])
    assert first.index.relation != status.index.relation
    assert value(database_url, "SELECT pgrecall.drop_rank_index('agent')") is True
    assert value(database_url, "SELECT pgrecall.drop_rank_index('agent')") is False
    assert tables_of(database_url) == [second.index.relation]


def test_by_hand_an_index_of_an_owner_that_has_shrunk_is_dropped(
    repo: MemoryRepository, database_url: str, filled: list[UUID]
) -> None:
    build(repo, at_least=SOME)
    repo.delete(A, filled[10:])

    run(database_url, "CALL pgrecall.maintain_rank_indexes()")

    assert (tables_of(database_url), listed(database_url)) == ([], [])


def test_by_hand_a_writer_that_does_not_end_is_told_of(
    database_url: str, filled: list[UUID]
) -> None:
    with open_transaction(database_url) as writer:
        insert(writer, "slow")
        assert values(database_url, "SELECT pgrecall.await_writers(0.1)") == [None]


@pytest.mark.parametrize(
    "options",
    [
        *("m => 1", "m => 101", "m => NULL", "m => 24, ef_construction => 47"),
        *("ef_construction => 1001", "ef_construction => 3, m => 1", "at_least => 0"),
        *("at_least => NULL", "at_least => 3000000000"),
    ],
)
def test_by_hand_parameters_are_checked(database_url: str, options: str) -> None:
    with pytest.raises(psycopg.errors.InvalidParameterValue):
        run(database_url, f"CALL pgrecall.build_rank_index('agent', {options})")
    for agent in ("NULL", "''", "'team:'"):
        with pytest.raises(psycopg.errors.InvalidParameterValue):
            run(database_url, f"CALL pgrecall.build_rank_index({agent})")
        if agent != "NULL":
            with pytest.raises(psycopg.errors.InvalidParameterValue):
                run(database_url, f"SELECT pgrecall.drop_rank_index({agent})")


def test_progress_is_none_while_nothing_is_built_and_a_share_while_something_is(
    repo: MemoryRepository, background: ThreadPoolExecutor
) -> None:
    fill(repo, number=1_500)
    assert repo.rank_index_progress() is None
    seen: list[float | None] = []

    running = background.submit(build, repo, m=32, ef_construction=300)
    while not running.done():
        seen.append(repo.rank_index_progress())

    assert len(running.result()) == 1
    shares = [share for share in seen if share is not None]
    assert len(set(shares)) > 1, "the build was not seen going on"
    assert all(0 <= share <= 1 for share in shares)
    assert repo.rank_index_progress() is None
