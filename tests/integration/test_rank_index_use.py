"""What happened since a rank index was built: what was used is noted once, whoever uses it, and
found; what was written or changed is placed by maintenance, without a build."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID

import psycopg
import pytest
from sqlalchemy import event
from sqlalchemy.exc import ProgrammingError

from pgrecall import MemoryRepository, NewMemory, RankIndex, migrate
from pgrecall.rank_index.space import SIGNAL_AXES
from tests.conftest import DIMENSIONS
from tests.integration.owner import north
from tests.integration.rank_indexes import (
    A,
    Site,
    acting_as,
    assert_as_exact,
    due,
    fill,
    found,
    ids,
    insert,
    maintain,
    new_role,
    used_positions,
)
from tests.integration.support import NORTH, at
from tests.migrations.asking import wait_until_blocked

pytestmark = pytest.mark.hnsw

BY_USE: dict[str, Any] = {
    "profile": "last_access",
    "weights": {"similarity": 0.1, "importance": 0.1, "recency": 0.8},
}
BY_LATEST: dict[str, Any] = {"profile": "half_life"}
BESIDE = "SELECT unnest(pgrecall.memories_beside('agent'))"
BY_PSQL = "CALL pgrecall.maintain(dry_run => false, at_least => 1)"
BY_MEANING: dict[str, Any] = {"profile": "last_access", "weights": {"similarity": 1.0}}
BY_AGE: dict[str, Any] = {"profile": "five_factor", "weights": {"similarity": 0.1, "recency": 0.9}}


def test_what_leaves_the_clock_alone_is_no_use(site: Site) -> None:
    """But the same text again, at a later moment, is one."""
    filled = fill(site.repo)
    index = site.build()

    site.run(f"SELECT pgrecall.touch('{A}', '{{{filled[0]}}}', accessed => false)")
    site.repo.search(A, NORTH, profile="trust")
    assert site.used(index) == []

    site.repo.add(A, north("memory 1"))
    assert site.used(index) == [filled[1]]


def test_a_new_index_begins_with_what_was_used_since_its_moment(site: Site) -> None:
    """Which may lie long before its build, or a moment, since a use has the time at which its
    transaction began. Maintenance adds what is missing."""
    filled = fill(site.repo)
    site.repo.touch(A, filled[:4])
    assert site.used(site.build()) == sorted(filled[:4])
    site.run("UPDATE pgrecall.memory_usage SET last_accessed_at = now() - interval '2 minutes'")
    index = site.build()
    assert site.used(index) == []

    counted = "INSERT INTO pgrecall.memory_usage (agent_id, memory_id, last_accessed_at)"
    site.run(f"{counted} VALUES ('{A}', '{filled[9]}', now())")
    assert site.used(index) == []
    assert maintain(site.repo) == []
    assert site.used(index) == [filled[9]]
    index = site.build(as_of=datetime.now(UTC) + timedelta(hours=1))
    site.repo.touch(A, filled[:3])
    assert site.used(index) == sorted([*filled[:3], filled[9]])


def test_two_who_use_the_same_memories_at_once_note_each_once(site: Site) -> None:
    filled = fill(site.repo)
    index = site.build()
    with site.engine.connect() as connection:
        MemoryRepository(connection).touch(A, filled[:3])
        other = site.background.submit(site.repo.touch, A, filled[3:0:-1])
        wait_until_blocked(site.url, lock="transactionid")
        connection.commit()
    assert other.result() == 3
    assert site.used(index) == sorted(filled[:4])


def test_a_use_waits_for_no_build_and_is_noted_in_the_index_that_comes(site: Site) -> None:
    filled, impatient = fill(site.repo), site.another("-c lock_timeout=100ms")
    former = site.build()
    with site.paused() as running:
        impatient.touch(A, filled[0])
        assert site.used(former) == [filled[0]]
    assert site.used(running.result()) == [filled[0]]
    with site.held(site.build) as (_, running):
        impatient.touch(A, filled[1])
    assert site.used(running.result()) == sorted(filled[:2])


@pytest.mark.parametrize("gone", ["both", "of used memories"])
def test_without_its_tables_an_index_is_in_nobody_s_way(site: Site, gone: str) -> None:
    """As where it is replaced in the middle, or was built by an earlier version."""
    filled = fill(site.repo)
    index = site.build()
    site.run(f"DROP TABLE pgrecall.{used_positions(index.relation)}")
    if gone == "both":
        site.run(f"DROP TABLE pgrecall.{index.relation}")

    assert site.repo.touch(A, filled[:2]) == 2
    assert site.repo.delete(A, filled[0]) == 1
    hits = site.repo.search(A, NORTH, strategy="index", touch=False, **BY_USE)

    assert hits.strategy == "exact"
    assert ids(hits) == found(site.repo, NORTH, "exact", **BY_USE)


@pytest.mark.usefixtures("impatient_drops")
def test_an_index_is_dropped_while_its_memories_are_being_used(site: Site) -> None:
    filled = fill(site.repo)
    site.build()
    with site.engine.connect() as connection:
        MemoryRepository(connection).touch(A, filled[:2])
        assert site.repo.rank_indexes.drop(A)
        assert len(site.tables()) == 1
        connection.commit()
    maintain(site.repo, 10_000)
    assert site.tables() == []


def test_writers_note_what_they_use_and_nothing_else(site: Site) -> None:
    """Not even what others ask them to: a memory that was not used is not copied."""
    filled = fill(site.repo)
    index = site.build()
    with new_role(site.url, "writer") as role:
        migrate.grant(site.url, role, "writer")
        with acting_as(site.engine, role) as connection:
            MemoryRepository(connection).touch(A, filled[0])
            connection.exec_driver_sql(f"SELECT pgrecall.log_usage('{A}', '{{{filled[1]}}}')")
            connection.commit()
        assert site.used(index) == [filled[0]]
        copying = f"pgrecall.copy_used_positions('{A}', '{index.relation}', '2020-01-01')"
        with (
            acting_as(site.engine, role) as connection,
            pytest.raises(ProgrammingError, match="permission denied for table"),
        ):
            connection.exec_driver_sql(f"SELECT {copying}")


def test_deleted_memories_leave_both_tables(site: Site) -> None:
    filled = fill(site.repo)
    index = site.build()
    site.repo.touch(A, filled[:5])

    site.repo.delete(A, filled[:2])
    assert site.used(index) == sorted(filled[2:5])
    with site.paused() as running:  # they are in neither table of the index that comes
        site.repo.delete(A, filled[2:4])
    index = running.result()
    assert site.used(index) == [filled[4]]
    assert not {*filled[:4]} & {*site.positions(index)}
    site.repo.erase_owner(A)
    assert site.tables() == []


@pytest.mark.parametrize("first", ["used", "deleted"])
def test_no_copy_outlives_its_memory(site: Site, first: str) -> None:
    """Used for the first time while it is being deleted; who comes second waits."""
    filled = fill(site.repo)
    index = site.build()
    steps: list[Callable[..., Any]] = [site.repo.touch, site.repo.delete]
    with site.engine.connect() as connection:
        within = MemoryRepository(connection)
        if first == "used":
            within.touch(A, filled[:3])
        else:
            within.delete(A, filled[:3])
        other = site.background.submit(steps[first == "used"], A, filled[2::-1])
        wait_until_blocked(site.url, lock="transactionid")
        connection.commit()
    assert other.result() == 3
    assert site.used(index) == []
    assert not {*filled[:3]} & {*site.positions(index)}


def test_a_search_locks_the_used_memories_first_as_whoever_drops_both_tables(site: Site) -> None:
    fill(site.repo)
    index = site.build()
    with site.engine.connect() as dropping:
        dropping.exec_driver_sql(f"LOCK TABLE pgrecall.{used_positions(index.relation)}")
        search = site.background.submit(site.repo.search, A, NORTH, strategy="index", **BY_USE)
        wait_until_blocked(site.url, lock="relation")
        dropping.exec_driver_sql(f"LOCK TABLE pgrecall.{index.relation} NOWAIT")
        dropping.rollback()
    assert search.result().strategy == "index"


@pytest.mark.parametrize("asked", [BY_USE, BY_LATEST], ids=["by use", "by latest"])
def test_what_was_used_is_found_wherever_it_was(site: Site, asked: dict[str, Any]) -> None:
    """However it ranked before, of all memories or of few, and by words."""
    filled = fill(site.repo, number=900)
    index = site.build()
    worded: dict[str, Any] = {"profile": "hybrid", "keywords": "memory 17"}
    for used in (filled[:30], filled):
        site.repo.touch(A, used)
        assert site.used(index) == sorted(used)
        for query in (NORTH, at(80), at(200)):
            exact = found(site.repo, query, "exact", **asked)
            assert found(site.repo, query, "index", **asked) == exact
        exact = found(site.repo, NORTH, "exact", **worded)
        assert found(site.repo, NORTH, "index", **worded) == exact
        assert filled[17] == exact[0]


def test_where_many_were_written_or_changed_every_memory_is_ranked(site: Site) -> None:
    """More than a twentieth, but at least 500; a memory that changed twice counts once."""
    fill(site.repo, number=600)
    site.build()
    changed = (
        "INSERT INTO pgrecall.memory_events (agent_id, memory_id, id, event_type, occurred_at) "
        "SELECT 'agent', id, pgrecall.event_id(), 'updated', clock_timestamp() "
        "FROM pgrecall.agent_memories CROSS JOIN generate_series(1, 2) "
        "WHERE id IN (SELECT id FROM pgrecall.agent_memories ORDER BY id LIMIT 400)"
    )
    site.run(changed)
    [both, *_] = fill(site.repo, number=100, start=1_000)
    site.repo.update(A, both, importance=0.1)
    assert due(site.repo) is None

    assert site.repo.search(A, NORTH, touch=False, strategy="index").strategy == "index"
    fill(site.repo, number=1, start=2_000)
    assert site.repo.search(A, NORTH, touch=False, strategy="index").strategy == "exact"


def test_an_index_that_falls_short_is_asked_once_in_some_seconds(site: Site) -> None:
    """But not because of a filter that no candidate passes."""
    fill(site.repo, number=600)
    site.build()
    nothing = site.repo.search(A, NORTH, touch=False, filter={"tags": "nobody's"})
    assert (nothing, nothing.strategy) == ([], "exact")
    assert site.repo.search(A, NORTH, touch=False).strategy == "index"
    fill(site.repo, number=501, start=2_000)
    cases: tuple[dict[str, Any], ...] = (
        *({}, {"filter": {"memory_type": "fact"}}, {"filter": {"similarity": {"$gte": -1}}}),
    )
    for filters in cases:
        listened, sent = site.another(), list[str]()
        engine: Any = listened._bind
        event.listen(engine, "before_cursor_execute", lambda *given, to=sent: to.append(given[2]))
        for _ in range(3):
            assert listened.search(A, NORTH, touch=False, **filters).strategy == "exact"
        assert sum("rank_candidates(" in text for text in sent) == 1


def test_a_search_that_names_a_former_index_ranks_every_memory(site: Site) -> None:
    """Its tables are still there, but uses are no longer noted in them."""
    filled = fill(site.repo)
    former = site.build()
    site.run("UPDATE pgrecall.rank_indexes SET relation = 'ranks_' || repeat('0', 32)")
    candidates = (
        f"SELECT memory_id FROM pgrecall.rank_candidates('{A}', '{former.relation}', "
        f"'{[0.1] * (DIMENSIONS + SIGNAL_AXES)}', 64, now(), NULL)"
    )
    assert site.values(candidates) == []
    site.run(f"UPDATE pgrecall.rank_indexes SET relation = '{former.relation}'")
    assert {*site.values(candidates)} <= {*filled} != set()


# Placing


def index_of(site: Site) -> RankIndex:
    [status] = site.repo.rank_indexes.status(agent_id=A)
    assert status.index is not None
    return status.index


@pytest.mark.parametrize("by", ["python", "psql"])
def test_what_was_written_and_changed_is_found_by_the_index(site: Site, by: str) -> None:
    stored = fill(site.repo, number=450)
    former = site.build()
    new = site.repo.add(A, NewMemory("quite new words", embedding=at(10)))
    site.repo.upsert(A, NewMemory("first text", key="k", embedding=at(90)))
    replaced = site.repo.upsert(A, NewMemory("second paragraph", key="k", embedding=at(5)))
    site.repo.update(A, stored[3], importance=0.99)
    assert {new, replaced, stored[3]} <= {*site.values(BESIDE)}

    if by == "python":
        assert maintain(site.repo) == []
    else:
        site.run(BY_PSQL)

    assert site.values(BESIDE) == []
    index = index_of(site)
    assert (index.relation, index.built_at) == (former.relation, former.built_at)
    assert index.written_until > former.written_until
    [status] = site.repo.rank_indexes.status(agent_id=A)
    assert (status.written, status.changed, status.due) == (0, 0, None)
    assert {new, replaced} <= {*site.positions(index)}
    repo = site.another()
    assert found(repo, NORTH, "index", k=2, **BY_MEANING) == [replaced, new]
    worded = {"keywords": "paragraph", "profile": "hybrid"}
    assert found(repo, at(180), "index", k=1, **worded) == [replaced]
    assert_as_exact(repo)


def archive(site: Site, memory_id: UUID) -> None:
    ids = f"'{{{memory_id}}}'"
    given = f"'{A}', {ids}, 'archived', '{{}}', 'why', 'who', '{{}}'"
    site.run(f"SELECT pgrecall.archive_memories({given})")


def test_what_changes_no_position_is_beside_no_index(site: Site) -> None:
    stored = fill(site.repo)
    index = site.build()
    site.repo.links.add(A, stored[0], stored[1], "related")
    site.repo.touch(A, stored[2:4], key="once")
    site.run(f"SELECT pgrecall.judge('{A}', '{stored[4]}', 'a question')")
    site.repo.links.remove(A, stored[0], stored[1], "related")
    assert site.values(BESIDE) == []

    archive(site, stored[5])
    site.repo.delete(A, stored[6])

    assert {*site.values(BESIDE)} == {stored[5], stored[6]}
    searched = f"SELECT pgrecall.beside_index('{A}', '{index.relation}', '{index.built_at}')"
    assert site.values(searched) == [[]]


def test_what_was_used_long_before_the_build_is_not_used_by_being_said_again(site: Site) -> None:
    stored = fill(site.repo)
    index = site.build()
    long_ago = index.as_of - timedelta(days=1)

    site.repo.add(A, NewMemory("memory 1", embedding=NORTH, created_at=long_ago))

    assert len(stored) == site.repo.count(A)
    assert site.used(index) == []


def test_a_use_by_a_transaction_begun_long_before_the_build_is_noted(site: Site) -> None:
    stored = fill(site.repo)
    index = site.build()
    later = "as_of = now() + interval '5 minutes', built_at = now() + interval '9 minutes'"
    site.run(f"UPDATE pgrecall.rank_indexes SET {later}")

    site.repo.touch(A, stored[:2])

    assert site.used(index) == sorted(stored[:2])


def test_archived_memories_give_their_place_in_the_graph_to_others(site: Site) -> None:
    stored = fill(site.repo)
    index = site.build()
    site.repo.touch(A, stored[:2])
    archive(site, stored[0])

    maintain(site.repo)

    assert stored[0] not in site.positions(index)
    assert site.used(index) == [stored[1]]
    site.repo.revive(A, [stored[0]])
    maintain(site.repo)
    assert stored[0] in site.positions(index)


def test_new_memories_are_newer_than_those_of_the_build(site: Site) -> None:
    """Where all of the build are as old as its moment, only later times tell them apart."""
    fill(site.repo, number=400)
    site.run("UPDATE pgrecall.agent_memories SET created_at = now() - interval '10 days'")
    index = site.build()
    assert index.as_of < index.built_at - timedelta(days=9)
    wrong = datetime(9000, 1, 1, tzinfo=UTC)
    new = site.repo.add(A, NewMemory("new", embedding=at(89)))
    future = site.repo.add(A, NewMemory("of a wrong clock", embedding=at(89), created_at=wrong))

    maintain(site.repo)

    assert {*found(site.another(), at(180), "index", k=2, **BY_AGE)} == {new, future}


def test_a_used_memory_that_changes_is_placed_in_both_tables(site: Site) -> None:
    stored = fill(site.repo)
    index = site.build()
    new = site.repo.add(A, north("new"))
    site.repo.touch(A, [stored[0], new])
    assert site.used(index) == [stored[0]]
    site.repo.update(A, stored[0], importance=0.99)

    maintain(site.repo)

    assert site.used(index) == sorted([stored[0], new])
    both = [
        dict(site.rows(f"SELECT memory_id, position::text FROM pgrecall.{table}"))
        for table in (index.relation, used_positions(index.relation))
    ]
    assert both[0][stored[0]] == both[1][stored[0]]
    assert both[0][new] == both[1][new]
    assert_as_exact(site.another())


def test_who_writes_meanwhile_is_not_missed(site: Site) -> None:
    """A transaction in flight bears an earlier time than what commits before it: it is awaited."""
    fill(site.repo)
    former = site.build()
    with psycopg.connect(site.url) as writer:
        late = insert(writer, "in flight")
        site.repo.add(A, NewMemory("another", embedding=at(3)))
        running = site.background.submit(maintain, site.repo)
        site.await_waiting()
        writer.commit()
    assert running.result() == []
    assert late in site.positions(former)
    assert site.values(BESIDE) == []


def test_no_position_outlives_its_memory(site: Site) -> None:
    fill(site.repo)
    index = site.build()
    [kept, gone] = [site.repo.add(A, north(text)) for text in ("kept", "gone")]
    with psycopg.connect(site.url) as placing:
        placing.execute("SELECT pgrecall.place_memories('agent', %s)", ([kept, gone],))
        deleting = site.background.submit(site.repo.delete, A, gone)
        wait_until_blocked(site.url, lock="transactionid")
        placing.commit()
    assert deleting.result() == 1
    with psycopg.connect(site.url) as other:
        MemoryRepository(site.engine).delete(A, kept)
        other.execute("SELECT pgrecall.place_memories('agent', %s)", ([kept],))
        other.commit()
    assert not {kept, gone} & {*site.positions(index), *site.used(index)}


def test_an_index_that_was_replaced_meanwhile_is_left_alone(site: Site) -> None:
    fill(site.repo)
    former = site.build()
    new = site.repo.add(A, north("new"))
    index = site.build()
    note = "SELECT pgrecall.note_placed('agent', %s, now())"

    assert site.values(note, former.built_at) == [False]
    assert index_of(site).written_until == index.written_until
    assert site.values(note, index.built_at) == [True]
    site.run("DELETE FROM pgrecall.rank_indexes")
    site.rows("SELECT pgrecall.place_memories('agent', %s)", [new])
    assert site.values(note, index.built_at) == [False]


def test_after_an_interrupted_placing_nothing_is_missing(site: Site) -> None:
    """What was placed is scored beside the index until all is."""
    fill(site.repo)
    site.build()
    some = [site.repo.add(A, NewMemory(f"new {n}", embedding=at(n))) for n in range(4)]
    site.rows("SELECT pgrecall.place_memories('agent', %s)", some[:2])
    assert {*site.values(BESIDE)} == {*some}
    assert_as_exact(site.another())
    maintain(site.repo)
    assert_as_exact(site.another())
    assert ids(site.another().search(A, NORTH, strategy="index", touch=False, **BY_MEANING))
