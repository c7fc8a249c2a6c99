"""What was used since a rank index was built: noted once, whoever uses it, and found."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest
from sqlalchemy import Engine, event
from sqlalchemy.exc import ProgrammingError

from pgrecall import MemoryRepository, NewMemory, migrate
from tests.integration.rank_indexes import (
    A,
    Site,
    acting_as,
    due,
    fill,
    found,
    ids,
    maintain,
    new_role,
    used_positions,
)
from tests.integration.support import NORTH, at
from tests.migrations.asking import wait_until_blocked

BY_USE: dict[str, Any] = {
    "profile": "last_access",
    "weights": {"similarity": 0.1, "importance": 0.1, "recency": 0.8},
}
BY_LATEST: dict[str, Any] = {"profile": "half_life"}


# Noting


def test_the_first_use_since_the_build_copies_the_position_and_others_write_nothing(
    site: Site,
) -> None:
    filled = fill(site.repo)
    fill(site.repo, "other")
    other, index = site.build("other"), site.build()
    new = site.repo.add(A, NewMemory("not in the index", embedding=NORTH))
    assert site.used(index) == []

    site.repo.touch(A, [*filled[:3], new])

    assert site.used(index) == sorted(filled[:3])
    table = f"pgrecall.{used_positions(index.relation)}"
    rows = f"SELECT ctid, xmin, memory_id, position::text, bytes, words FROM {table} ORDER BY 3"
    written = site.rows(rows)
    main = f"SELECT memory_id, position::text, bytes FROM pgrecall.{index.relation} ORDER BY 1"
    assert [row[2:5] for row in written] == [row for row in site.rows(main) if row[0] in filled[:3]]
    assert [row[5] for row in written] == [[]] * 3
    site.repo.touch(A, filled[:3])
    assert site.rows(rows) == written
    assert site.used(other) == []


def test_what_leaves_the_clock_alone_is_no_use(site: Site) -> None:
    """But the same text again, at a later moment, is one."""
    filled = fill(site.repo)
    index = site.build()

    site.run(f"SELECT pgrecall.touch('{A}', '{{{filled[0]}}}', accessed => false)")
    site.repo.search(A, NORTH, profile="trust")
    assert site.used(index) == []

    site.repo.add(A, NewMemory("memory 1", embedding=NORTH))
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
            connection.exec_driver_sql(f"SELECT pgrecall.note_use('{A}', '{{{filled[1]}}}')")
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
    site.repo.upkeep.erase_owner(A)
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


# Finding


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
    """However it ranked before, of all memories or of few; in psql too."""
    filled = fill(site.repo, number=900)
    index = site.build()
    for used in (filled[:30], filled):
        site.repo.touch(A, used)
        assert site.used(index) == sorted(used)
        for query in (NORTH, at(80), at(200)):
            exact = found(site.repo, query, "exact", **asked)
            assert found(site.repo, query, "index", **asked) == exact
            assert _recalled(site, query, asked) == exact


def _recalled(site: Site, query: list[float], asked: dict[str, Any]) -> list[Any]:
    weights = json.dumps(asked["weights"]) if "weights" in asked else None
    return site.values(
        "SELECT id FROM pgrecall.recall(%s, %s, profile => %s, strategy => 'index', weights => %s)",
        *(A, str(query), asked["profile"], weights),
    )


def test_words_count_for_what_was_used(site: Site) -> None:
    filled = fill(site.repo, number=600)
    site.build()
    site.repo.touch(A, filled[:300])
    asked: dict[str, Any] = {"profile": "hybrid", "query_text": "memory 17"}

    exact = found(site.repo, NORTH, "exact", **asked)

    assert found(site.repo, NORTH, "index", **asked) == exact
    assert filled[17] == exact[0]


def test_where_more_than_a_tenth_was_written_or_changed_every_memory_is_ranked(
    site: Site,
) -> None:
    """But at least 500, whatever the size; a memory that changed twice counts once."""
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


@pytest.mark.parametrize(
    "filters", [{}, {"memory_types": ["episodic"]}, {"min_similarity": -1.0}], ids=str
)
def test_an_index_that_falls_short_is_asked_once_in_some_seconds(
    site: Site, engine: Engine, filters: dict[str, Any]
) -> None:
    fill(site.repo, number=600)
    site.build()
    fill(site.repo, number=501, start=2_000)
    sent: list[str] = []
    event.listen(engine, "before_cursor_execute", lambda *given: sent.append(given[2]))
    listened = MemoryRepository(engine)
    for _ in range(3):
        assert listened.search(A, NORTH, touch=False, **filters).strategy == "exact"

    assert sum("rank_candidates(" in text for text in sent) == 1


def test_a_filter_that_no_candidate_passes_keeps_no_search_from_the_index(site: Site) -> None:
    fill(site.repo, number=600)
    site.build()
    nothing = site.repo.search(A, NORTH, touch=False, tags=["nobody's"])

    assert nothing == []
    assert nothing.strategy == "exact"
    assert site.repo.search(A, NORTH, touch=False).strategy == "index"


def test_a_search_that_names_a_former_index_ranks_every_memory(site: Site) -> None:
    """Its tables are still there, but uses are no longer noted in them."""
    filled = fill(site.repo)
    former = site.build()
    site.run("UPDATE pgrecall.rank_indexes SET agent_id = 'another'")
    candidates = (
        f"SELECT memory_id FROM pgrecall.rank_candidates('{A}', '{former.relation}', "
        f"(SELECT position::text FROM pgrecall.{former.relation} LIMIT 1), 64, now(), NULL)"
    )
    assert site.values(candidates) == []
    site.run(f"UPDATE pgrecall.rank_indexes SET agent_id = '{A}'")
    assert {*site.values(candidates)} <= {*filled} != set()
