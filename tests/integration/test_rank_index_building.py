"""Building a rank index: what it leaves alone, what it waits for, what is left when it fails."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, suppress
from datetime import UTC, datetime, timedelta
from pathlib import Path
from threading import Barrier
from typing import Any
from uuid import UUID

import psycopg
import pytest
from sqlalchemy import Engine, NullPool, create_engine, event

from pgrecall import MemoryRepository, NewMemory, RankIndex, migrate
from pgrecall.embedding import EmbeddingType
from pgrecall.errors import DatabaseConflict, DatabaseUnavailable, InputError
from tests.conftest import DIMENSIONS
from tests.integration.rank_indexes import (
    AGED,
    AWAITING,
    BUILDING,
    FIRST,
    SOME,
    A,
    another,
    assert_as_exact,
    build,
    due,
    fill,
    found,
    held,
    hurried,
    ids,
    insert,
    listed,
    maintain,
    paused,
    tables_of,
)
from tests.integration.support import NORTH, at, sql
from tests.migrations.asking import (
    open_transaction,
    rows,
    run,
    terminate,
    value,
    values,
    wait_until,
    wait_until_blocked,
)

IMPATIENT = "-c lock_timeout=100ms -c statement_timeout=20s"


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
    return hurried(database_url, IMPATIENT)


def await_waiting(url: str, since: str = "0 ms") -> None:
    query = f"{AWAITING} AND now() - query_start > '{since}'"
    wait_until("the build waits for the writer", lambda: bool(values(url, query)))


# What it finds


def test_a_search_finds_through_the_index_what_exact_ranking_finds(
    repo: MemoryRepository, database_url: str
) -> None:
    fill(repo)

    index = build(repo)

    assert_as_exact(repo)
    assert tables_of(database_url) == [index.relation]
    assert listed(database_url) == [(A, index.relation)]
    assert value(database_url, f"SELECT count(*) FROM pgrecall.{index.relation}") == SOME
    assert (index.agent_id, index.memories) == (A, SOME)
    assert index.as_of == FIRST + timedelta(hours=SOME - 1)
    [status] = repo.rank_indexes(agent_id=A)
    assert status.index == index
    assert (status.written, status.changed, status.used, status.due) == (0, 0, 0, None)
    assert min(index.seconds, status.bytes) > 0


def test_the_parameters_arrive_and_the_graph_is_taken_for_that_of_the_parent(
    repo: MemoryRepository, database_url: str
) -> None:
    """None is built a second time, whatever its parameters."""
    fill(repo, number=60)
    for m, ef_construction in ((2, 4), (100, 200), (8, 1_000)):
        index = build(repo, m=m, ef_construction=ef_construction, at_least=7)

        assert (index.m, index.ef_construction, index.at_least) == (m, ef_construction, 7)
        assert rows(
            database_url,
            "SELECT c.relname, p.relname, c.reloptions FROM pg_index i "
            "JOIN pg_class c ON c.oid = i.indexrelid "
            "LEFT JOIN pg_inherits h ON h.inhrelid = c.oid "
            "LEFT JOIN pg_class p ON p.oid = h.inhparent "
            f"WHERE i.indrelid = 'pgrecall.{index.relation}'::regclass ORDER BY 2",
        ) == [
            (
                *(f"{index.relation}_position", "ix_rank_positions_position"),
                [f"m={m}", f"ef_construction={ef_construction}"],
            ),
            (f"{index.relation}_words", "ix_rank_positions_words", ["fastupdate=off"]),
            (f"{index.relation}_pkey", "pk_rank_positions", None),
        ]


def test_a_build_without_an_agent_takes_all_that_are_large_enough(repo: MemoryRepository) -> None:
    for agent_id, number in (("b", 30), ("a", 20), ("c", 19)):
        fill(repo, agent_id, number)
    told: list[tuple[str, int, int]] = []

    built = repo.build_rank_indexes(at_least=20, on_progress=lambda *about: told.append(about))

    assert [index.agent_id for index in built] == ["a", "b"]
    assert [status.agent_id for status in repo.rank_indexes()] == ["a", "b"]
    assert told == [("a", 0, 2), ("b", 1, 2), ("", 2, 2)]


def test_a_second_build_takes_the_place_of_the_first(
    repo: MemoryRepository, database_url: str
) -> None:
    fill(repo)
    first = build(repo)
    fill(repo, number=50, start=SOME)

    second = build(repo)

    assert second.built_at > first.built_at
    assert second.memories == SOME + 50
    assert tables_of(database_url) == [second.relation] != [first.relation]
    assert_as_exact(repo)


def test_an_index_of_a_team_is_apart_from_that_of_an_agent_of_the_same_name(
    repo: MemoryRepository, database_url: str
) -> None:
    fill(repo, "same", 80)
    fill(repo.teams, "same", 90)

    own, theirs = build(repo, "same"), build(repo.teams, "same")

    assert (own.memories, theirs.memories) == (80, 90)
    assert (own.agent_id, theirs.agent_id) == ("same", "team:same")
    assert tables_of(database_url) == sorted([own.relation, theirs.relation])
    assert [s.index for s in repo.rank_indexes()] == [own]
    assert [s.index for s in repo.teams.rank_indexes()] == [theirs]
    assert_as_exact(repo, "same")
    assert_as_exact(repo.teams, "same")


def test_nothing_is_built_where_nothing_is_active(
    repo: MemoryRepository, database_url: str
) -> None:
    repo.add(A, NewMemory("old", embedding=NORTH, created_at=datetime(2020, 1, 1, tzinfo=UTC)))
    assert repo.prune(A, older_than=timedelta(days=1)) == 1

    for agent_id in (A, "nobody"):
        assert repo.build_rank_indexes(agent_id=agent_id, at_least=1) == []
        assert repo.search(agent_id, NORTH, strategy="index") == []

    assert (tables_of(database_url), listed(database_url)) == ([], [])


def test_agents_of_few_memories_or_without_embeddings_are_searched_rightly(
    repo: MemoryRepository,
) -> None:
    cases: list[list[Any]] = [[None, None, None], [None, NORTH, None], [NORTH], [None]]
    for number, embeddings in enumerate(cases):
        agent_id = f"{number}"
        repo.add_many(agent_id, [NewMemory(f"{n}", embedding=e) for n, e in enumerate(embeddings)])

        assert build(repo, agent_id).memories == len(embeddings)

        for profile in ("five_factor", "last_access"):
            exact, through = (
                repo.search(agent_id, at(30), profile=profile, strategy=strategy, touch=False)
                for strategy in ("exact", "index")
            )
            assert ids(through) == ids(exact)


def test_what_is_retrieved_after_the_build_is_known_though_its_moment_lies_ahead(
    repo: MemoryRepository, filled: list[UUID]
) -> None:
    build(repo, as_of=datetime.now(UTC) + timedelta(hours=1))

    repo.touch(A, filled[:3])

    assert repo.rank_indexes(agent_id=A)[0].used == 3


def test_a_search_walks_the_graph(repo: MemoryRepository, database_url: str) -> None:
    """Even where reading all positions would be cheaper."""
    fill(repo)
    relation = build(repo).relation
    graph = value(database_url, f"SELECT 'pgrecall.{relation}_position'::regclass::oid")
    scans = (
        f"SELECT pg_stat_get_xact_numscans({graph}), "
        f"pg_stat_get_xact_numscans('pgrecall.{relation}'::regclass)"
    )

    # A session of its own: the other one still counts what its build read.
    with create_engine(database_url, poolclass=NullPool).connect() as connection:
        found(MemoryRepository(connection), NORTH, "index", k=1)

        assert connection.exec_driver_sql(scans).one() == (1, 0)


# What it leaves alone


def test_nobody_waits_for_a_build(
    repo: MemoryRepository,
    impatient: MemoryRepository,
    database_url: str,
    background: ThreadPoolExecutor,
    filled: list[UUID],
) -> None:
    old = build(repo)

    with paused(database_url, background) as running:
        impatient.add(A, NewMemory("written meanwhile", embedding=NORTH))
        impatient.update(A, filled[0], content="changed meanwhile", embedding=NORTH)
        assert impatient.touch(A, filled) == len(filled)
        impatient.feedback(A, filled[1], "useful")
        impatient.record_outcome(A, filled[2], "success")
        impatient.supersede(A, filled[0], NewMemory("corrected meanwhile", embedding=NORTH))
        impatient.invalidate(A, [filled[1]])
        impatient.label(A, filled[2], "label")
        impatient.link(A, filled[2], filled[3], "next")
        assert impatient.clear("another agent") == 0
        assert impatient.delete(A, filled[4:9]) == 5
        hits = impatient.search(A, NORTH, strategy="auto")
        assert hits.strategy == "index"
        assert {"written meanwhile", "corrected meanwhile"} <= {h.memory.content for h in hits}
        assert [status.index for status in impatient.rank_indexes(agent_id=A)] == [old]
        assert not running.done()

    index = running.result()
    assert tables_of(database_url) == [index.relation]
    assert_as_exact(another(database_url))
    # A position holds the direction of an embedding: none is left of what was deleted.
    left = values(database_url, f"SELECT memory_id FROM pgrecall.{index.relation}")
    assert not set(filled[4:9]) & set(left)


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
        "VACUUM (TRUNCATE false) pgrecall.agent_memories",
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
            await_waiting(database_url)
            others()
            assert not running.done()
    assert running.result().agent_id == A


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
        "enable_indexscan": "off",
        "search_path": "public",
        "hnsw.ef_search": "77",
        "hnsw.iterative_scan": "relaxed_order",
        "hnsw.max_scan_tuples": "12345",
    }
    with engine.connect() as connection:

        def settings() -> dict[str, Any]:
            return {n: connection.exec_driver_sql(f"SHOW {n}").scalar() for n in chosen}

        repo = MemoryRepository(connection)
        for name, setting in chosen.items():
            connection.exec_driver_sql(f"SET LOCAL {name} = '{setting}'")

        build(repo)
        assert settings() == chosen
        maintain(repo)
        found(repo, NORTH, "index")
        assert settings() == chosen
        connection.rollback()


def test_a_session_in_a_hurry_waits_for_writers_and_builds_all_the_same(
    database_url: str, filled: list[UUID], background: ThreadPoolExecutor
) -> None:
    repo = hurried(database_url, "-c statement_timeout=400ms")
    blocked = (
        "SELECT pid FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND "
        f"starts_with(query, '{BUILDING}') AND clock_timestamp() - query_start > '500 ms'"
    )
    with (
        open_transaction(database_url, "LOCK TABLE pgrecall.rank_indexes IN SHARE MODE"),
        open_transaction(database_url) as writer,
    ):
        insert(writer, "slow")
        running = background.submit(build, repo)
        await_waiting(database_url, "500 ms")
        writer.commit()
        wait_until("it has taken longer than that", lambda: bool(values(database_url, blocked)))

    assert running.result().memories == SOME + 1


# Who writes while it builds


def test_what_was_written_before_and_committed_after_is_not_missed(
    repo: MemoryRepository, database_url: str, background: ThreadPoolExecutor, filled: list[UUID]
) -> None:
    """Nor what was written later, by somebody who is not waited for."""
    with open_transaction(database_url) as later:
        with open_transaction(database_url) as writer:
            memory_id = insert(writer, "the slow one")
            running = background.submit(build, repo)
            await_waiting(database_url)
            late = insert(later, "later")
            writer.commit()
        index = running.result()
        later.commit()

    [status] = repo.rank_indexes(agent_id=A)
    assert (index.memories, status.written) == (SOME + 1, 1)
    positions = f"SELECT memory_id FROM pgrecall.{index.relation}"
    assert {memory_id, late} & set(values(database_url, positions)) == {memory_id}
    assert {memory_id, late} <= set(found(repo, NORTH, "index"))


def test_what_is_written_by_a_transaction_begun_before_is_not_missed(
    repo: MemoryRepository,
    database_url: str,
    engine: Engine,
    background: ThreadPoolExecutor,
    filled: list[UUID],
) -> None:
    """Its moment, now(), lies before the build; it writes when the build has taken its snapshot."""
    best = {"embedding": NORTH, "importance": 1.0}
    with engine.connect() as connection:
        connection.exec_driver_sql("SELECT now()")
        with paused(database_url, background) as running:
            within = MemoryRepository(connection)
            added = within.add(A, NewMemory("late", **best))
            within.update(A, filled[0], **best)
            within.delete(A, filled[1])
            connection.commit()

    assert running.result().memories == SOME
    [status] = repo.rank_indexes(agent_id=A)
    assert (status.written, status.changed) == (1, 2)  # one deleted
    through = found(another(database_url), NORTH, "index")
    assert through == found(repo, NORTH, "exact")
    assert {added, filled[0]} <= set(through)
    assert filled[1] not in through


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
    opposite = [-x for x in first.embedding]
    weights = {"similarity": 0.05, "recency": 0.95}
    exact, through = (
        found(repo, opposite, strategy, k=2, profile="last_access", weights=weights)
        for strategy in ("exact", "index")
    )
    assert set(exact) == {filled[0], filled[1]}
    assert through == exact


def test_a_writer_that_never_ends_is_a_conflict(
    repo: MemoryRepository,
    database_url: str,
    filled: list[UUID],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("pgrecall.jobs.indexing.PATIENCE", 0.1)
    old = build(repo)

    with open_transaction(database_url) as writer:
        insert(writer, "slow")
        with pytest.raises(DatabaseConflict, match=r"has not ended.*end it and build again"):
            build(repo)
        run(database_url, AGED)
        with pytest.raises(DatabaseConflict, match="has not ended"):
            maintain(repo)
        assert values(database_url, "SELECT pgrecall.await_writers(0.1)") == [None]

    assert tables_of(database_url) == [old.relation]
    assert listed(database_url) == [(A, old.relation)]
    assert maintain(repo) == [A]


def test_a_build_waits_only_for_those_who_have_written_memories(
    repo: MemoryRepository,
    database_url: str,
    filled: list[UUID],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("pgrecall.jobs.indexing.PATIENCE", 0.2)
    with ExitStack() as stack:
        for statement in (
            "SELECT count(*) FROM pgrecall.agent_memories",
            "SELECT FROM pgrecall.agent_memories FOR UPDATE",
            "INSERT INTO pgrecall.memory_links (agent_id, source_id, target_id, kind) "
            "VALUES ('agent', gen_random_uuid(), gen_random_uuid(), 'x')",
            "SELECT txid_current()",
        ):
            stack.enter_context(open_transaction(database_url, statement))

        assert build(repo).memories == SOME


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

    left = f"SELECT memory_id FROM pgrecall.{running.result().relation}"
    assert not {filled[0], filled[1]} & set(values(database_url, left))


# When it fails


def test_a_build_whose_backend_is_ended_leaves_what_there_was(
    repo: MemoryRepository, database_url: str, background: ThreadPoolExecutor, filled: list[UUID]
) -> None:
    old = build(repo)

    with held(database_url, background, lambda: build(repo)) as (pid, running):
        terminate(database_url, pid)
        with pytest.raises(DatabaseUnavailable):
            running.result()

    assert listed(database_url) == [(A, old.relation)]
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
    if text.lstrip().startswith(begins):
        os.kill(os.getpid(), signal.SIGKILL)

event.listen(engine, "after_cursor_execute", after)
repo.build_rank_indexes(agent_id="agent", at_least=1)
"""


def test_a_client_killed_when_it_has_built_leaves_what_there_was(
    repo: MemoryRepository, database_url: str, filled: list[UUID]
) -> None:
    old = build(repo)

    done = subprocess.run(
        [sys.executable, "-c", KILLED, database_url, BUILDING],
        cwd=Path(__file__).parents[2],
        capture_output=True,
        env=os.environ,
    )

    assert done.returncode == -signal.SIGKILL, done.stderr.decode()
    going_on = (
        "SELECT pid FROM pg_stat_activity WHERE datname = current_database() "
        "AND pid <> pg_backend_pid() AND state <> 'idle'"
    )
    wait_until("the server has noticed", lambda: not values(database_url, going_on))
    assert listed(database_url) == [(A, old.relation)]
    assert tables_of(database_url) == [old.relation]


def test_what_a_killed_client_could_not_drop_any_more_is_dropped_by_maintenance(
    repo: MemoryRepository, database_url: str, filled: list[UUID]
) -> None:
    old = build(repo)

    class Gone(Exception):
        pass

    def die(*arguments: Any) -> None:
        if "drop_positions" in arguments[2]:
            raise Gone

    victim = create_engine(database_url, poolclass=NullPool)
    event.listen(victim, "before_cursor_execute", die)
    with pytest.raises(Gone):
        build(MemoryRepository(victim))

    [(_, relation)] = listed(database_url)
    assert tables_of(database_url) == sorted([old.relation, relation])
    assert maintain(repo) == []
    assert tables_of(database_url) == [relation]
    assert_as_exact(another(database_url))


# Two at once


@pytest.mark.parametrize("level", ["READ COMMITTED", "SERIALIZABLE", "AUTOCOMMIT"])
def test_builds_at_once_for_one_agent_end_with_one_index(
    repo: MemoryRepository,
    database_url: str,
    background: ThreadPoolExecutor,
    filled: list[UUID],
    level: str,
) -> None:
    client = another(database_url, isolation_level=level)
    together = Barrier(2)

    def work() -> RankIndex:
        together.wait(timeout=30)
        return build(client)

    for _ in range(2):  # the first, and one that replaces it
        built = [running.result() for running in [background.submit(work) for _ in range(2)]]

        [(_, relation)] = listed(database_url)
        run(database_url, "SELECT pgrecall.drop_positions()")  # what one could not lock in time
        assert tables_of(database_url) == [relation]
        assert relation in {index.relation for index in built}
    assert_as_exact(repo)


def test_a_build_that_waited_for_another_does_not_lose_what_was_written_in_between(
    repo: MemoryRepository, database_url: str, background: ThreadPoolExecutor, filled: list[UUID]
) -> None:
    with held(database_url, background, lambda: build(repo)) as (_, first):
        second = background.submit(build, repo)
        wait_until_blocked(database_url, BUILDING, "advisory")
        late = repo.add(A, NewMemory("late", embedding=NORTH))

    first.result(), second.result()

    assert late in found(repo, NORTH, "index")
    assert_as_exact(repo)


# Layouts and parameters


def test_any_layout_can_have_rank_indexes_and_schemas_keep_theirs_apart(empty_url: str) -> None:
    run(empty_url, "CREATE SCHEMA extensions", "CREATE EXTENSION vector SCHEMA extensions")
    halfvec = EmbeddingType.HALFVEC
    migrate.upgrade(empty_url, dimensions=DIMENSIONS, embedding_type=halfvec, schema="select")
    migrate.upgrade(empty_url, dimensions=3, schema="small")
    options = {"connect_args": {"options": "-c search_path=pg_catalog"}}
    engine = create_engine(empty_url, poolclass=NullPool, **options)
    repo, small = (MemoryRepository(engine, schema=schema) for schema in ("select", "small"))
    fill(repo)
    fill(repo.teams)
    small.add(A, NewMemory("small", embedding=[1.0, 0.0, 0.0]))

    index, again, theirs, other = build(repo), build(repo), build(repo.teams), build(small)

    assert_as_exact(repo)
    assert_as_exact(repo.teams)
    assert index.relation != again.relation
    assert tables_of(empty_url, "select") == sorted([again.relation, theirs.relation])
    assert maintain(small) == []
    assert repo.drop_rank_index(A)
    assert tables_of(empty_url, "select") == [theirs.relation]
    assert (other.memories, tables_of(empty_url, "small")) == (1, [other.relation])


BAD: list[dict[str, Any]] = [
    *({"m": m} for m in (1, 101, 2.5, "16", True, None, float("nan"))),
    *({"ef_construction": ef} for ef in (3, 1_001, 64.0, "64", True, None)),
    {"m": 24, "ef_construction": 47},
    *({"at_least": n} for n in (0, 2**31, 1.5, "1", True, None)),
    {"as_of": datetime(2026, 1, 1)},  # noqa: DTZ001
    {"as_of": "2026-01-01"},
    {"on_progress": 7},
]


def test_parameters_are_checked(repo: MemoryRepository, filled: list[UUID]) -> None:
    for options in BAD:
        name = next(reversed(options))
        with pytest.raises(InputError, match=name):
            repo.build_rank_indexes(agent_id=A, **{"at_least": 1} | options)
        if name != "as_of":
            with pytest.raises(InputError, match=name):
                repo.maintain_rank_indexes(**{"at_least": 1} | options)
    works = (repo.build_rank_indexes, repo.drop_rank_index, repo.check_rank_index)
    for agent_id in ("", "x" * 201, "a\0b", 7, b"agent"):
        for work in (*works, repo.rank_indexes):
            with pytest.raises(InputError):
                work(agent_id=agent_id)  # type: ignore[arg-type]
    assert repo.rank_indexes(agent_id=A) == []


def test_by_hand_parameters_are_checked(database_url: str) -> None:
    calls = [
        f"CALL pgrecall.build_rank_index('agent', {options})"
        for options in (
            *("m => 1", "m => 101, ef_construction => 300", "m => NULL"),
            *("m => 24, ef_construction => 47", "ef_construction => 1001"),
            *("ef_construction => 3, m => 1", "at_least => 0", "at_least => NULL"),
            "at_least => 3000000000",
        )
    ]
    for agent in ("''", "'team:'"):
        calls.append(f"CALL pgrecall.build_rank_index({agent})")
        calls.append(f"SELECT pgrecall.drop_rank_index({agent})")
    with psycopg.connect(database_url, autocommit=True) as connection:
        for call in [*calls, "CALL pgrecall.build_rank_index(NULL)"]:
            with pytest.raises(psycopg.errors.InvalidParameterValue):
                connection.execute(call.encode())


# A caller's transaction


def test_a_build_takes_part_in_the_callers_transaction(
    engine: Engine, repo: MemoryRepository, database_url: str, impatient: MemoryRepository
) -> None:
    """It sees what it has written itself; another agent is not kept waiting."""
    others = fill(repo, "other")
    build(repo, "other")
    with engine.connect() as connection:
        within = MemoryRepository(connection)
        for end in (connection.rollback, connection.commit):
            fill(within)
            index = build(within)
            after = within.add(A, NewMemory("after", embedding=NORTH, importance=1.0))
            assert after in found(within, NORTH, "index")
            assert_as_exact(within)
            assert [status.index for status in within.rank_indexes(agent_id=A)] == [index]
            assert repo.rank_indexes(agent_id=A) == []
            assert_as_exact(impatient, "other")
            assert impatient.delete("other", [others.pop()]) == 1
            end()
            there = [status.index for status in repo.rank_indexes(agent_id=A)]
            assert there == ([] if end == connection.rollback else [index])
            assert (index.relation in tables_of(database_url)) == bool(there)

        build(within)
        assert within.drop_rank_index(A)
        connection.rollback()
    assert (A, index.relation) in listed(database_url)
    assert len(tables_of(database_url)) == 2
    assert_as_exact(another(database_url))


@pytest.mark.parametrize("level", ["REPEATABLE READ", "SERIALIZABLE"])
def test_a_build_in_an_old_snapshot_is_refused_and_misses_nothing(
    repo: MemoryRepository, database_url: str, filled: list[UUID], level: str
) -> None:
    """What others commit after the snapshot was taken and before the build began."""
    engine = create_engine(database_url, poolclass=NullPool, isolation_level=level)
    with engine.connect() as connection:
        connection.exec_driver_sql("SET LOCAL statement_timeout = '54321ms'")
        within = MemoryRepository(connection)
        assert within.count(A) == SOME
        repo.add(A, NewMemory("unseen", embedding=NORTH, importance=1.0))
        with pytest.raises(InputError, match=f"cannot be built in a {level} transaction"):
            build(within)
        assert connection.exec_driver_sql("SHOW statement_timeout").scalar() == "54321ms"
        with pytest.raises(psycopg.errors.InvalidParameterValue, match=level):
            connection.connection.cursor().execute(
                "SELECT pgrecall.make_rank_index('agent', clock_timestamp())"
            )
        connection.rollback()

    assert (tables_of(database_url), listed(database_url)) == ([], [])


# A change of the language meanwhile


CHANGE = "SELECT pgrecall.change_text_language('simple')"


def assert_knows_no_words(url: str) -> None:
    """It is used but for words, and due, and as good as another after maintenance."""
    repo = another(url)
    assert values(url, "SELECT term_memories FROM pgrecall.rank_indexes") == [None]
    assert due(repo) == "its words are those of a former language, not used"
    assert_as_exact(repo)
    for strategy in ("exact", "index"):
        through, exact = (
            repo.search(
                A, at(50), query_text="the memory 7", profile="hybrid", strategy=s, touch=False
            )
            for s in ("index", "exact")
        )
        assert (through.strategy, ids(through)) == (strategy, ids(exact))
        assert maintain(repo) == ([A] if strategy == "exact" else [])
    assert values(url, "SELECT term_memories FROM pgrecall.rank_indexes") == [SOME]


def test_an_index_whose_language_changes_while_it_is_built_knows_no_words(
    own_repo: MemoryRepository, own_url: str, background: ThreadPoolExecutor
) -> None:
    fill(own_repo)
    build(own_repo)
    with paused(own_url, background) as running:
        migrate.change_language(own_url, "simple")
    running.result()

    assert_knows_no_words(own_url)


def test_an_index_is_not_entered_before_a_change_of_the_language_has_ended(
    own_repo: MemoryRepository, own_url: str, background: ThreadPoolExecutor
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
    own_repo: MemoryRepository, own_url: str, own_engine: Engine, background: ThreadPoolExecutor
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
    """Whatever plans it keeps: PostgreSQL turns to those for any values after five."""
    number = 256  # a word is common from so many memories on
    fill(own_repo, number=number)
    with own_engine.connect() as connection:
        within = MemoryRepository(connection)
        for _ in range(6):
            build(within)
            connection.commit()
        migrate.change_language(own_url, "simple")

        build(within)
        connection.commit()

    assert values(own_url, "SELECT term_memories FROM pgrecall.rank_indexes") == [number]
    [common] = values(own_url, "SELECT common_terms FROM pgrecall.rank_indexes")
    assert common == {"memory": number}


# By hand


def test_by_hand_an_index_is_built_maintained_and_dropped(
    repo: MemoryRepository, database_url: str, filled: list[UUID]
) -> None:
    states = "SELECT due FROM pgrecall.rank_index_states('agent', 100)"
    maintained = "CALL pgrecall.maintain_rank_indexes(at_least => 100)"
    assert values(database_url, states) == ["not built yet"]
    run(database_url, "CALL pgrecall.build_rank_index('agent', at_least => 100, m => 8)")
    [status] = repo.rank_indexes(agent_id=A)
    assert status.index is not None
    assert (status.index.at_least, status.index.m, status.index.memories) == (100, 8, SOME)
    assert_as_exact(repo)
    assert values(database_url, states) == [None]
    run(database_url, maintained)
    assert tables_of(database_url) == [status.index.relation]

    fill(repo, "grown", 150)
    run(database_url, AGED, maintained)

    first, second = (status.index for status in repo.rank_indexes())
    assert first is not None
    assert second is not None
    assert [(index.agent_id, index.m) for index in (first, second)] == [(A, 8), ("grown", 24)]
    assert tables_of(database_url) == sorted([first.relation, second.relation])
    assert first.relation != status.index.relation
    assert value(database_url, "SELECT pgrecall.drop_rank_index('agent')") is True
    assert value(database_url, "SELECT pgrecall.drop_rank_index('agent')") is False
    repo.delete("grown", [hit.memory.id for hit in repo.search("grown", k=101)])
    run(database_url, "CALL pgrecall.maintain_rank_indexes()")  # it has shrunk
    assert (tables_of(database_url), listed(database_url)) == ([], [])


def test_progress_is_none_while_nothing_is_built_and_a_share_while_something_is(
    repo: MemoryRepository, engine: Engine, background: ThreadPoolExecutor
) -> None:
    fill(repo, number=1_000)
    assert repo.rank_index_progress() is None
    seen: list[float | None] = []

    running = background.submit(build, repo, m=32, ef_construction=300)
    while not running.done():
        seen.append(repo.rank_index_progress())

    assert running.result().memories == 1_000
    shares = [share for share in seen if share is not None]
    assert len(set(shares)) > 1, "the build was not seen going on"
    assert all(0 <= share <= 1 for share in shares)
    assert sql(engine, "SELECT pgrecall.rank_index_progress()") == [(None,)]
