"""Keeping rank indexes: months of use, when maintenance is due, what it does, and checks."""

from __future__ import annotations

from collections.abc import Callable
from threading import Event
from typing import Any

import pytest
from sqlalchemy import NullPool, create_engine, event

from pgrecall import MemoryRepository, NewMemory
from tests.integration.rank_indexes import (
    AGED,
    BUILDING,
    A,
    Site,
    due,
    fill,
    found,
    ids,
    maintain,
)
from tests.integration.support import NORTH, at
from tests.migrations.asking import wait_until_blocked

pytestmark = pytest.mark.hnsw


def test_only_active_memories_make_an_agent_large_and_keep_its_index(site: Site) -> None:
    """As a search counts them, or there would be indexes that none takes. An index goes when fewer
    than half are left."""
    archive = (
        "UPDATE pgrecall.agent_memories SET status = 'archived' WHERE id = ANY (%s) RETURNING id"
    )
    stored = {agent_id: fill(site.repo, agent_id, 60) for agent_id in ("large", "small")}
    for agent_id, archived in (("large", 10), ("small", 11)):
        site.values(archive, stored[agent_id][:archived])

    [status] = site.repo.rank_indexes.status(at_least=50)

    assert (status.agent_id, status.memories) == ("large", 50)
    assert maintain(site.repo, 50) == ["large"]
    assert [one.agent_id for one in site.repo.rank_indexes.build(at_least=50)] == ["large"]
    assert site.repo.search("large", NORTH, touch=False).strategy == "index"
    for archived, left in ((25, ["large"]), (26, [])):
        site.values(archive, stored["large"][-archived:])
        assert maintain(site.repo, 60) == []
        assert [name for name, _ in site.listed()] == left


def write(site: Site, number: int) -> None:
    fill(site.repo, number=number, start=1_000 + site.repo.count(A))


def change(site: Site, number: int) -> None:
    site.run(
        "INSERT INTO pgrecall.memory_events (agent_id, memory_id, id, event_type, occurred_at) "
        "SELECT 'agent', id, pgrecall.event_id(), 'updated', clock_timestamp() "
        "FROM pgrecall.agent_memories CROSS JOIN generate_series(1, 2) "  # twice is once
        f"WHERE id IN (SELECT id FROM pgrecall.agent_memories ORDER BY id LIMIT {number})"
    )


def place(site: Site, number: int) -> None:
    """Those that wait, and then some are written."""
    assert maintain(site.repo) == []
    write(site, number)


def use(site: Site, number: int) -> None:
    some = f"SELECT id FROM pgrecall.agent_memories ORDER BY id LIMIT {number}"
    for _ in range(2):
        site.repo.touch(A, site.values(some))


def age(site: Site, days: float) -> None:
    site.run(
        f"UPDATE pgrecall.rank_indexes SET built_at = now() - {days} * interval '1 day'",
        "UPDATE pgrecall.agent_memories SET inserted_at = now() - interval '99 days'",
    )


def change_version(site: Site, by: int) -> None:
    site.run(f"UPDATE pgrecall.rank_indexes SET space = space + {by}")


Happens = Callable[[Site, Any], None]
DUE: dict[str, tuple[Happens, float, float, str, dict[str, int]]] = {
    "written": (write, 40, 1, "41 memories written or changed since", {"written": 41}),
    "changed": (change, 40, 41, "41 memories written or changed since", {"changed": 41}),
    "placed": (place, 40, 1, "41 memories written or changed since", {"written": 1}),
    "used": (use, 40, 41, "41 memories used since", {"used": 41}),
    "old": (age, 27.9, 28.1, "28 days old", {}),
    "version": (change_version, 0, 1, "built by another version of pgrecall, not used", {}),
}
"""What happens, how much of it is nothing yet, how much more makes the index due and why, and what
has been counted then."""


@pytest.mark.parametrize("name", DUE)
def test_an_index_is_due_once_enough_has_happened_since_the_build(
    site: Site, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    happens, little, more, said, counted = DUE[name]
    fill(site.repo, number=80)
    site.build()
    monkeypatch.setattr("pgrecall.rank_index.index.MAX_BESIDE", 40)

    happens(site, little)
    [enough] = site.repo.rank_indexes.status(agent_id=A)
    happens(site, more)
    [status] = site.repo.rank_indexes.status(agent_id=A)

    expected = dict.fromkeys(("written", "changed", "used"), 0) | counted
    assert (enough.due, enough.beside) == (
        None,
        40 if name in ("written", "changed", "placed") else 0,
    )
    assert {one: getattr(status, one) for one in expected} == expected
    assert status.due == said
    assert status.index is not None
    assert status.index.is_usable == (name != "version")
    if name == "version":
        for strategy in ("index", "auto"):
            hits = site.another().search(A, NORTH, strategy=strategy, touch=False)
            assert hits.strategy == "exact"
    if name == "used":  # the database has a limit of its own, which is not that of this test
        site.build()
    else:
        assert maintain(site.repo) == [A]
    assert due(site.repo) is None
    assert found(site.repo, NORTH, "index")


@pytest.mark.parametrize(
    ("happens", "enough", "more", "said"),
    [
        (use, 33, 34, "34 memories used since"),
        (write, 2, 1, "3 memories written or changed since"),
    ],
    ids=["used", "written"],
)
def test_an_index_is_due_once_more_than_a_third_was_used_or_a_fiftieth_written(
    site: Site, monkeypatch: pytest.MonkeyPatch, happens: Happens, enough: int, more: int, said: str
) -> None:
    fill(site.repo)
    site.build()
    monkeypatch.setattr("pgrecall.rank_index.index.MAX_BESIDE", 1)
    for number, expected in ((enough, None), (more, said)):
        happens(site, number)
        assert due(site.repo) == expected


def test_only_what_is_due_is_built(site: Site) -> None:
    for agent_id in ("grown", "fresh", "old", "small"):
        fill(site.repo, agent_id, 30 if agent_id == "small" else 60)
    fill(site.repo.teams, "team", 60)
    kept, _ = site.build("fresh"), site.build("old")
    site.run(f"{AGED} WHERE agent_id = 'old'")
    statuses = {one.agent_id: one for one in site.repo.rank_indexes.status(at_least=60)}
    assert {name: (one.memories, one.due) for name, one in statuses.items()} == {
        "fresh": (None, None),
        "grown": (60, "not built yet"),
        "old": (None, "40 days old"),
    }

    assert maintain(site.repo, 60) == ["grown", "old", "team:team"]

    listed = dict(site.listed())
    assert [*listed] == ["fresh", "grown", "old", "team:team"]
    assert listed["fresh"] == kept.relation
    assert site.tables() == sorted(listed.values())
    site.run("UPDATE pgrecall.rank_indexes SET space = 0 WHERE agent_id = 'old'")
    assert (maintain(site.repo, 60), maintain(site.repo, 60)) == (["old"], [])


def test_tables_left_behind_are_dropped_and_others_are_not(site: Site) -> None:
    """Those are left behind that are partitions and in no list."""
    for agent_id in ("left", A):
        fill(site.repo, agent_id)
        used = site.build(agent_id).relation
    site.run("DELETE FROM pgrecall.rank_indexes WHERE agent_id = 'left'")
    others = ["ranks_" + "0123456789abcdef" * 2, "ranks_of_mine"]
    site.run(*(f"CREATE TABLE pgrecall.{name} ()" for name in others))
    assert len(site.tables()) == 4

    assert maintain(site.repo, 10_000) == []

    assert site.tables() == sorted([used, *others])


@pytest.mark.usefixtures("impatient_drops")
def test_a_table_stays_while_somebody_reads_it_and_goes_by_maintenance(site: Site) -> None:
    fill(site.repo)
    old = site.build()

    with site.engine.connect() as reader:
        within = MemoryRepository(reader)
        assert found(within, NORTH, "index")
        new = site.build()
        assert site.tables() == sorted([old.relation, new.relation])
        assert site.listed() == [(A, new.relation)]
        assert found(within, NORTH, "index")
        assert site.repo.rank_indexes.drop(A) is True
        assert site.repo.search(A, NORTH, strategy="index").strategy == "exact"
        assert len(site.tables()) == 2
        reader.commit()

    assert maintain(site.repo, 10_000) == []
    assert site.tables() == []


@pytest.mark.parametrize("index_is_there", [True, False])
def test_of_two_maintenances_at_once_one_builds(site: Site, *, index_is_there: bool) -> None:
    """Both have seen that it is due; the second waits for the first and finds it done. A build
    going on is not taken for a table left behind."""
    fill(site.repo)
    if index_is_there:
        site.build()
        site.run(AGED)
    with site.held(lambda: maintain(site.repo)) as (_, first):
        second = site.background.submit(maintain, site.repo)
        wait_until_blocked(site.url, BUILDING, "advisory")
        assert site.repo.maintenance.run(agent_id="nobody").done == []

    assert first.result() == second.result() == [A]
    [(_, relation)] = site.listed()
    assert site.tables() == [relation]


def test_what_has_gone_during_maintenance_is_not_built(site: Site) -> None:
    fill(site.repo)
    site.build()
    site.run(AGED)

    site.repo.maintenance.run(at_least=1, on_progress=lambda *_: site.repo.erase_owner(A))

    assert (site.tables(), site.listed()) == ([], [])


def test_searches_go_on_through_maintenance_and_miss_nothing(site: Site) -> None:
    fill(site.repo, number=150)
    site.build()
    over = Event()
    searching = site.another()
    query = at(30)
    expected = set(found(site.repo, query, "exact", k=20))

    def search(strategy: Any) -> int:
        done = 0
        while not over.is_set():
            hits = searching.search(A, query, k=20, strategy=strategy, touch=False)
            assert len(hits) == 20
            assert len(set(ids(hits)) & expected) >= 19
            done += 1
        return done

    running = [site.background.submit(search, strategy) for strategy in ("auto", "index", "index")]
    try:
        for _ in range(3):
            site.run("UPDATE pgrecall.rank_indexes SET space = 0")
            assert maintain(site.repo) == [A]
            assert site.repo.rank_indexes.drop(A)
            assert maintain(site.repo) == [A]
    finally:
        over.set()
    assert all(each.result() > 0 for each in running)
    maintain(site.repo)
    assert site.tables() == [relation for _, relation in site.listed()]


@pytest.mark.parametrize("replaced", [True, False])
def test_a_search_whose_index_goes_in_the_middle_finds_everything(
    site: Site, *, replaced: bool
) -> None:
    """It has read the name of the table, which is dropped before it looks; what was written since
    is more than k, and not the best."""
    fill(site.repo, number=60)
    site.build()
    site.repo.add_many(A, [NewMemory(f"far {n}", embedding=at(170 + n / 10)) for n in range(20)])
    searching = create_engine(site.url, poolclass=NullPool)

    def go(*arguments: Any) -> None:
        if "rank_candidates" in arguments[2]:
            site.build() if replaced else site.repo.rank_indexes.drop(A)

    event.listen(searching, "before_cursor_execute", go)

    hits = MemoryRepository(searching).search(A, at(70), strategy="index", touch=False)

    assert ids(hits) == found(site.repo, at(70), "exact")
    assert len(site.tables()) == replaced
