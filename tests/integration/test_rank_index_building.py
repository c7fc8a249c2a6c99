"""Building a rank index: what it leaves alone, what it waits for, what is left when it fails."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack
from datetime import datetime, timedelta
from threading import Barrier
from typing import Any

import psycopg
import pytest
from sqlalchemy import Engine, NullPool, create_engine, event
from sqlalchemy.exc import DBAPIError

from pgrecall import MemoryRepository, NewMemory, RankIndex, migrate
from pgrecall.core.vectors import EmbeddingType
from pgrecall.errors import DatabaseConflict, DatabaseUnavailable, InputError
from pgrecall.rank_index.index import M
from tests.conftest import DIMENSIONS
from tests.integration.owner import north
from tests.integration.rank_indexes import (
    AGED,
    BUILDING,
    FIRST,
    SOME,
    A,
    Site,
    assert_as_exact,
    build,
    due,
    fill,
    found,
    ids,
    insert,
    maintain,
    site_of,
)
from tests.integration.support import NORTH, at, read
from tests.migrations.asking import open_transaction, run, terminate, wait_until_blocked

pytestmark = pytest.mark.hnsw

IMPATIENT = "-c lock_timeout=100ms -c statement_timeout=20s"
"""Of a client that waits for no lock longer than a tenth of a second."""
BEST: dict[str, Any] = {"embedding": NORTH, "importance": 1.0}
PATIENCE = "pgrecall.rank_index.maintaining.PATIENCE"


@pytest.fixture
def own_site(own_url: str, own_engine: Engine) -> Iterator[Site]:
    with site_of(own_url, own_engine) as made:
        fill(made.repo)
        yield made


def test_a_search_finds_through_the_index_what_exact_ranking_finds(site: Site) -> None:
    """By walking the graph, even where reading all positions would be cheaper."""
    fill(site.repo)

    index = site.build()

    assert_as_exact(site.repo)
    site.assert_only(index)
    assert len(site.positions(index)) == SOME
    assert (index.agent_id, index.memories) == (A, SOME)
    assert index.as_of == FIRST + timedelta(hours=SOME - 1)
    [status] = site.repo.rank_indexes.status(agent_id=A)
    assert status.index == index
    assert (status.written, status.changed, status.used, status.due) == (0, 0, 0, None)
    assert min(index.seconds, status.bytes) > 0
    scans = ", ".join(
        f"pg_stat_get_xact_numscans('pgrecall.{index.relation}{name}'::regclass)"
        for name in ("_position", "")
    )
    # A session of its own: the other one still counts what its build read.
    with create_engine(site.url, poolclass=NullPool).connect() as connection:
        found(MemoryRepository(connection), NORTH, "index", k=1)
        assert connection.exec_driver_sql(f"SELECT {scans}").one() == (1, 0)


def test_the_parameters_arrive_and_no_index_is_built_a_second_time(site: Site) -> None:
    """The other indexes are taken for those of the parent, which has no graph."""
    fill(site.repo, number=60)
    parents = ("ix_rank_positions_words", "pk_rank_positions", None, None)
    for m, ef in ((2, 4), (100, 200), (8, 1_000)):
        index = site.build(m=m, ef_construction=ef, at_least=7)

        assert (index.m, index.ef_construction, index.at_least) == (m, ef, 7)
        options = (["fastupdate=off"], None, [f"m={m}", f"ef_construction={ef}"], None)
        assert site.rows(
            "SELECT p.relname, c.reloptions FROM pg_index i "
            "JOIN pg_class c ON c.oid = i.indexrelid "
            "LEFT JOIN pg_inherits h ON h.inhrelid = c.oid "
            "LEFT JOIN pg_class p ON p.oid = h.inhparent "
            f"WHERE i.indrelid = 'pgrecall.{index.relation}'::regclass ORDER BY 1, 2"
        ) == [*zip(parents, options, strict=True)]


def test_large_owners_have_an_index_each_whose_place_a_second_build_takes(site: Site) -> None:
    """A team and an agent of the same name are two."""
    repo, told = site.repo, list[tuple[str, int, int]]()
    for agent_id, number in (("b", 30), ("a", 20), ("c", 19)):
        fill(repo, agent_id, number)
    fill(repo.teams, "a", 90)

    former, other = repo.rank_indexes.build(at_least=20, on_progress=lambda *n: told.append(n))
    theirs = build(repo.teams, "a")
    fill(repo, "a", 50, start=20)
    own = build(repo, "a")

    assert told == [("a", 0, 2), ("b", 1, 2), ("", 2, 2)]
    owners = [(one.agent_id, one.memories) for one in (former, other, own, theirs)]
    assert owners == [("a", 20), ("b", 30), ("a", 70), ("team:a", 90)]
    assert [len(site.positions(index)) for index in (own, theirs)] == [70, 90]
    assert own.built_at > former.built_at
    assert site.tables() == sorted([own.relation, other.relation, theirs.relation])
    assert [status.index for status in repo.rank_indexes.status()] == [own, other]
    assert [status.index for status in repo.teams.rank_indexes.status()] == [theirs]
    assert_as_exact(repo, "a")
    assert_as_exact(repo.teams, "a")


def test_agents_of_few_memories_or_without_embeddings_are_searched_rightly(site: Site) -> None:
    cases: list[list[Any]] = [[None, None, None], [None, NORTH, None], [NORTH], [None]]
    for number, embeddings in enumerate(cases):
        agent_id = f"{number}"
        new = [NewMemory(f"{n}", embedding=e) for n, e in enumerate(embeddings)]
        site.repo.add_many(agent_id, new)

        assert site.build(agent_id).memories == len(embeddings)

        for profile in ("five_factor", "last_access"):
            exact, through = (
                site.repo.search(agent_id, at(30), profile=profile, strategy=strategy, touch=False)
                for strategy in ("exact", "index")
            )
            assert ids(through) == ids(exact)
    site.run("UPDATE pgrecall.agent_memories SET status = 'archived'")
    for nobody in ("0", "nobody"):
        assert site.repo.rank_indexes.build(agent_id=nobody, at_least=1) == []


def test_nobody_waits_for_a_build(site: Site) -> None:
    """And of what is deleted meanwhile no position is left: it holds the direction of a vector."""
    filled, old = fill(site.repo), site.build()
    impatient = site.another(IMPATIENT)

    with site.paused() as running:
        impatient.add(A, north("written meanwhile"))
        impatient.update(A, filled[0], content="changed meanwhile", embedding=NORTH)
        assert impatient.touch(A, filled) == len(filled)
        impatient.record_outcome(A, filled[2], "success")
        impatient.supersede(A, filled[0], north("corrected meanwhile"))
        impatient.invalidate(A, [filled[1]])
        impatient.links.add(A, filled[2], filled[3], "next")
        assert impatient.delete(A, filled[4:9]) == 5
        hits = impatient.search(A, NORTH, strategy="auto")
        assert hits.strategy == "index"
        assert {"written meanwhile", "corrected meanwhile"} <= {h.memory.content for h in hits}
        assert [status.index for status in impatient.rank_indexes.status(agent_id=A)] == [old]
        assert not running.done()

    site.assert_only(running.result())
    assert_as_exact(site.another())
    assert not set(filled[4:9]) & set(site.positions(running.result()))


def test_the_settings_of_a_callers_transaction_are_as_before(site: Site) -> None:
    fill(site.repo)
    several = (
        *("maintenance_work_mem=7MB", "max_parallel_maintenance_workers=3", "work_mem=3MB"),
        *("statement_timeout=54321ms", "lock_timeout=4321ms", "enable_seqscan=on"),
        *("enable_indexscan=off", "search_path=public", "hnsw.ef_search=77"),
        *("hnsw.iterative_scan=relaxed_order", "hnsw.max_scan_tuples=12345"),
    )
    chosen = dict(one.split("=") for one in several)
    with site.engine.connect() as connection:

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


def test_what_was_written_before_and_committed_after_is_not_missed(site: Site) -> None:
    """Nor what was written later, by somebody who is not waited for."""
    fill(site.repo)
    with open_transaction(site.url) as later:
        with open_transaction(site.url) as writer:
            memory_id = insert(writer, "the slow one")
            running = site.build_meanwhile()
            site.await_waiting()
            late = insert(later, "later")
            writer.commit()
        index = running.result()
        later.commit()

    [status] = site.repo.rank_indexes.status(agent_id=A)
    assert (index.memories, status.written) == (SOME + 1, 1)
    assert {memory_id, late} & set(site.positions(index)) == {memory_id}
    assert {memory_id, late} <= set(found(site.repo, NORTH, "index"))


def test_what_is_written_by_a_transaction_begun_before_is_not_missed(site: Site) -> None:
    """Its moment, now(), lies before the build; it writes when the build has taken its snapshot."""
    filled = fill(site.repo)
    with site.engine.connect() as connection:
        connection.exec_driver_sql("SELECT now()")
        with site.paused() as running:
            within = MemoryRepository(connection)
            added = within.add(A, NewMemory("late", **BEST))
            within.update(A, filled[0], **BEST)
            within.delete(A, filled[1])
            connection.commit()

    assert running.result().memories == SOME
    [status] = site.repo.rank_indexes.status(agent_id=A)
    assert (status.written, status.changed) == (1, 2)
    through = found(site.another(), NORTH, "index")
    assert through == found(site.repo, NORTH, "exact")
    assert {added, filled[0]} <= set(through)
    assert filled[1] not in through


def test_what_was_retrieved_before_and_committed_after_is_not_missed(site: Site) -> None:
    """Of two retrievals the first is committed last: after a build that knows of the second. The
    new index is in use while the build waits for the first."""
    repo, filled = site.repo, fill(site.repo, number=600)  # not all are candidates
    site.build()
    [(_, former)] = site.listed()
    with site.engine.connect() as connection:
        MemoryRepository(connection).touch(A, filled[0])
        repo.touch(A, filled[1])
        running = site.build_meanwhile()
        site.await_waiting()
        assert site.listed() != [(A, former)]
        connection.commit()
    assert site.used(running.result()) == sorted(filled[:2])

    opposite = [-x for x in read(repo, A, filled[0], include_embedding=True).embedding or ()]
    asked: dict[str, Any] = {"k": 2, "profile": "last_access"}
    asked["weights"] = {"similarity": 0.05, "recency": 0.95}
    exact, through = (found(repo, opposite, how, **asked) for how in ("exact", "index"))
    assert set(exact) == {filled[0], filled[1]}
    assert through == exact


def test_a_writer_that_never_ends_is_a_conflict(
    site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(PATIENCE, 0.1)
    fill(site.repo)
    old = site.build()

    with open_transaction(site.url) as writer:
        insert(writer, "slow")
        with pytest.raises(DatabaseConflict, match=r"has not ended.*end it and build again"):
            site.build()
        site.run(AGED)
        assert site.repo.maintenance.run(at_least=1).tasks["left"] == 1
        assert site.values("SELECT pgrecall.await_writers('agent', 0.1)") == [None]

    site.assert_only(old)
    assert maintain(site.repo) == [A]


def test_a_build_waits_only_for_those_who_have_written_memories(
    site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(PATIENCE, 0.2)
    fill(site.repo)
    with ExitStack() as stack:
        for statement in (
            "SELECT count(*) FROM pgrecall.agent_memories",
            "SELECT FROM pgrecall.agent_memories FOR UPDATE",
            "INSERT INTO pgrecall.memory_links (agent_id, source_id, target_id, kind) "
            "VALUES ('agent', gen_random_uuid(), gen_random_uuid(), 'x')",
            "SELECT txid_current()",
        ):
            stack.enter_context(open_transaction(site.url, statement))

        assert site.build().memories == SOME


def test_a_deletion_that_is_not_committed_makes_no_other_wait_for_the_build(site: Site) -> None:
    """The build may wait for it, but not in front of others."""
    filled, impatient = fill(site.repo), site.another(IMPATIENT)
    with site.engine.connect() as connection:
        MemoryRepository(connection).delete(A, filled[0])
        running = site.build_meanwhile()
        site.await_waiting()
        assert impatient.delete(A, filled[1]) == 1
        assert len(impatient.search(A, NORTH)) == 10
        connection.commit()

    assert not {filled[0], filled[1]} & set(site.positions(running.result()))


def test_a_build_that_is_ended_leaves_what_there_was_and_maintenance_drops_the_rest(
    site: Site,
) -> None:
    """The first loses its session; the client of the second is killed before it drops the old."""
    fill(site.repo)
    old = site.build()
    with site.held(site.build) as (pid, running):
        terminate(site.url, pid)
        with pytest.raises(DatabaseUnavailable):
            running.result()
    site.assert_only(old)
    assert_as_exact(site.repo)

    def die(*arguments: Any) -> None:
        if "drop_former_positions" in arguments[2]:
            raise KeyboardInterrupt

    victim = create_engine(site.url, poolclass=NullPool)
    event.listen(victim, "before_cursor_execute", die)
    with pytest.raises(KeyboardInterrupt):
        build(MemoryRepository(victim))
    [(_, relation)] = site.listed()
    assert site.tables() == sorted([old.relation, relation])
    assert maintain(site.repo) == []
    assert site.tables() == [relation]
    assert_as_exact(site.another())


@pytest.mark.parametrize("level", ["READ COMMITTED", "SERIALIZABLE", "AUTOCOMMIT"])
def test_builds_at_once_for_one_agent_end_with_one_index(site: Site, level: str) -> None:
    fill(site.repo)
    client, together = site.another(isolation_level=level), Barrier(2)

    def work() -> RankIndex:
        together.wait(timeout=30)
        return build(client)

    for _ in range(2):  # the first, and one that replaces it
        built = [running.result() for running in [site.background.submit(work) for _ in range(2)]]
        site.run("SELECT pgrecall.drop_positions()")  # what one could not lock in time
        [(_, relation)] = site.listed()
        assert site.tables() == [relation]
        assert relation in {index.relation for index in built}
    assert_as_exact(site.another())


def test_a_build_that_waited_for_another_does_not_lose_what_was_written_in_between(
    site: Site,
) -> None:
    fill(site.repo)
    with site.held(site.build) as (_, first):
        second = site.build_meanwhile()
        wait_until_blocked(site.url, BUILDING, "advisory")
        late = site.repo.add(A, north("late"))

    first.result(), second.result()

    assert late in found(site.repo, NORTH, "index")
    assert_as_exact(site.repo)


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
    with site_of(empty_url, engine) as site:
        assert index.relation != again.relation
        assert site.tables("select") == sorted([again.relation, theirs.relation])
        assert maintain(small) == []
        assert repo.rank_indexes.drop(A)
        assert site.tables("select") == [theirs.relation]
        assert (other.memories, site.tables("small")) == (1, [other.relation])


BAD: list[dict[str, Any]] = [
    *({"m": m} for m in (1, 101, 2.5, "16", True, None)),
    *({"ef_construction": ef} for ef in (3, 1_001, 64.0, None)),
    {"m": 24, "ef_construction": 47},
    *({"at_least": n} for n in (0, 2**31, 1.5, None)),
    {"as_of": datetime(2026, 1, 1)},  # noqa: DTZ001
    {"on_progress": 7},
]
BAD_BY_HAND = ("m => 1", "m => NULL", "m => 24, ef_construction => 47", "at_least => 3000000000")


def test_parameters_are_checked(site: Site) -> None:
    repo: Any = site.repo
    fill(repo, number=3)
    for options in BAD:
        name = next(reversed(options))
        with pytest.raises(InputError, match=name):
            repo.rank_indexes.build(agent_id=A, **{"at_least": 1} | options)
        if name == "at_least":
            with pytest.raises(InputError, match=name):
                repo.maintenance.run(**options)
    indexes = repo.rank_indexes
    for agent_id in ("", "x" * 201, "a\0b", 7, b"agent"):
        for work in (indexes.build, indexes.drop, indexes.status):
            with pytest.raises(InputError):
                work(agent_id=agent_id)
    assert repo.rank_indexes.status(agent_id=A) == []
    calls = [f"CALL pgrecall.build_rank_index('agent', {options})" for options in BAD_BY_HAND]
    for agent in ("''", "'team:'"):
        calls.append(f"CALL pgrecall.build_rank_index({agent})")
        calls.append(f"SELECT pgrecall.drop_rank_index({agent})")
    with psycopg.connect(site.url, autocommit=True) as connection:
        for call in [*calls, "CALL pgrecall.build_rank_index(NULL)"]:
            with pytest.raises(psycopg.errors.InvalidParameterValue):
                connection.execute(call.encode())


def test_a_build_takes_part_in_the_callers_transaction(site: Site) -> None:
    """It sees what it has written itself; another agent is not kept waiting."""
    impatient, others = site.another(IMPATIENT), fill(site.repo, "other")
    site.build("other")
    with site.engine.connect() as connection:
        within = MemoryRepository(connection)
        for end in (connection.rollback, connection.commit):
            fill(within)
            index = build(within)
            after = within.add(A, NewMemory("after", **BEST))
            assert after in found(within, NORTH, "index")
            assert_as_exact(within)
            assert [status.index for status in within.rank_indexes.status(agent_id=A)] == [index]
            assert site.repo.rank_indexes.status(agent_id=A) == []
            assert_as_exact(impatient, "other")
            assert impatient.delete("other", [others.pop()]) == 1
            end()
            there = end == connection.commit
            assert ((A, index.relation) in site.listed()) == there
            assert (index.relation in site.tables()) == there

        build(within)
        assert within.rank_indexes.drop(A)
        connection.rollback()
    assert (A, index.relation) in site.listed()
    assert len(site.tables()) == 2
    assert_as_exact(site.another())


@pytest.mark.parametrize("level", ["REPEATABLE READ", "SERIALIZABLE"])
def test_a_build_in_an_old_snapshot_is_refused(site: Site, level: str) -> None:
    """It would miss what others commit after the snapshot was taken and before the build began."""
    fill(site.repo)
    engine = create_engine(site.url, poolclass=NullPool, isolation_level=level)
    with engine.connect() as connection:
        connection.exec_driver_sql("SET LOCAL statement_timeout = '54321ms'")
        within = MemoryRepository(connection)
        assert within.count(A) == SOME
        with pytest.raises(InputError, match=f"cannot be built in a {level} transaction"):
            build(within)
        assert connection.exec_driver_sql("SHOW statement_timeout").scalar() == "54321ms"
        with pytest.raises(DBAPIError, match=level):
            connection.exec_driver_sql(
                "SELECT pgrecall.make_rank_index('agent', clock_timestamp())"
            )


CHANGE = "SELECT pgrecall.change_text_language('simple')"


@pytest.mark.parametrize("when", ["being built", "not yet entered", "entered"])
def test_a_change_of_the_language_beside_a_build_leaves_an_index_that_knows_no_words(
    own_site: Site, when: str
) -> None:
    """It and the entry of an index into the list wait for each other."""
    if when == "being built":
        own_site.build()
        with own_site.paused() as running:
            migrate.change_language(own_site.url, "simple")
        running.result()
    elif when == "not yet entered":
        with psycopg.connect(own_site.url) as changing:
            with own_site.paused() as running:
                changing.execute(CHANGE)
            wait_until_blocked(own_site.url, BUILDING, "relation")
            changing.commit()
        running.result()
    else:
        with own_site.engine.connect() as connection:
            build(MemoryRepository(connection))
            changed = own_site.background.submit(own_site.run, CHANGE)
            wait_until_blocked(own_site.url, CHANGE)
            connection.commit()
        changed.result()

    repo = own_site.another()
    assert own_site.values("SELECT term_memories FROM pgrecall.rank_indexes") == [None]
    assert due(repo) == "its words are those of a former language, not used"
    assert_as_exact(repo)
    asked: dict[str, Any] = {"keywords": "the memory 7", "profile": "hybrid"}
    for strategy in ("exact", "index"):  # the second after maintenance
        through = repo.search(A, at(50), strategy="index", touch=False, **asked)
        assert (through.strategy, ids(through)) == (strategy, found(repo, at(50), "exact", **asked))
        assert maintain(repo) == ([A] if strategy == "exact" else [])
    assert own_site.values("SELECT term_memories FROM pgrecall.rank_indexes") == [SOME]


def test_by_hand_an_index_is_built_maintained_and_dropped(site: Site) -> None:
    fill(site.repo)
    states = "SELECT due FROM pgrecall.rank_index_states('agent', 100)"
    maintained = "CALL pgrecall.maintain(dry_run => false, at_least => 100)"
    assert site.values(states) == ["not built yet"]
    site.run("CALL pgrecall.build_rank_index('agent', at_least => 100, m => 8)")
    [status] = site.repo.rank_indexes.status(agent_id=A)
    assert status.index is not None
    assert (status.index.at_least, status.index.m, status.index.memories) == (100, 8, SOME)
    assert_as_exact(site.repo)
    assert site.values(states) == [None]
    site.run(maintained)
    site.assert_only(status.index)

    fill(site.repo, "grown", 150)
    site.run(AGED, maintained)

    built = "SELECT agent_id, m FROM pgrecall.rank_indexes ORDER BY 1"
    assert site.rows(built) == [(A, 8), ("grown", M)]
    assert site.tables() == sorted(relation for _, relation in site.listed())
    for dropped in (True, False):
        assert site.values("SELECT pgrecall.drop_rank_index('agent')") == [dropped]
    site.run("DELETE FROM pgrecall.agent_memories WHERE content > 'memory 1'", maintained)
    assert (site.tables(), site.listed()) == ([], [])  # it has shrunk


def test_progress_is_none_while_nothing_is_built_and_a_share_while_something_is(site: Site) -> None:
    repo, seen = site.repo, list[float | None]()
    fill(repo, number=1_000)
    fill(repo, "other", 10)

    def progress() -> float | None:
        mine, other = repo.rank_indexes.status(at_least=1)
        assert (mine.agent_id, other.agent_id, other.progress) == (A, "other", None)
        return mine.progress

    assert progress() is None

    running = site.background.submit(site.build, m=32, ef_construction=300)
    while not running.done():
        seen.append(progress())

    assert running.result().memories == 1_000
    shares = [share for share in seen if share is not None]
    assert len(set(shares)) > 1, "the build was not seen going on"
    assert all(0 <= share <= 1 for share in shares)
    assert progress() is None
