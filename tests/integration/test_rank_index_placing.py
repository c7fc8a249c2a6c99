"""Maintenance places in a rank index what was written or changed since, without a build."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

import psycopg
import pytest

from pgrecall import MemoryRepository, NewMemory, RankIndex
from tests.integration.rank_indexes import (
    A,
    Site,
    assert_as_exact,
    due,
    fill,
    found,
    ids,
    insert,
    maintain,
    used_positions,
)
from tests.integration.support import NORTH, at
from tests.migrations.asking import wait_until_blocked

BESIDE = "SELECT unnest(pgrecall.memories_beside('agent'))"
BY_PSQL = "CALL pgrecall.maintain_rank_indexes(at_least => 1)"
BY_MEANING: dict[str, Any] = {"profile": "last_access", "weights": {"similarity": 1.0}}
BY_AGE: dict[str, Any] = {"profile": "five_factor", "weights": {"similarity": 0.1, "recency": 0.9}}


def by_python(site: Site) -> None:
    assert maintain(site.repo) == []


def by_psql(site: Site) -> None:
    with psycopg.connect(site.url, autocommit=True) as connection:
        connection.execute(BY_PSQL)


def index_of(site: Site) -> RankIndex:
    [status] = site.repo.rank_indexes.status(agent_id=A)
    assert status.index is not None
    return status.index


@pytest.mark.parametrize("maintained", [by_python, by_psql])
def test_what_was_written_and_changed_is_found_by_the_index(
    site: Site, maintained: Callable[[Site], None]
) -> None:
    stored = fill(site.repo, number=450)
    former = site.build()
    new = site.repo.add(A, NewMemory("quite new words", embedding=at(10)))
    site.repo.upsert(A, NewMemory("first text", key="k", embedding=at(90)))
    replaced = site.repo.upsert(A, NewMemory("second paragraph", key="k", embedding=at(5)))
    site.repo.update(A, stored[3], importance=0.99)
    assert {new, replaced, stored[3]} <= {*site.values(BESIDE)}

    maintained(site)

    assert site.values(BESIDE) == []
    index = index_of(site)
    assert (index.relation, index.built_at) == (former.relation, former.built_at)
    assert index.written_until > former.written_until
    [status] = site.repo.rank_indexes.status(agent_id=A)
    assert (status.written, status.changed, status.due) == (0, 0, None)
    assert {new, replaced} <= {*site.positions(index)}
    repo = site.another()
    assert found(repo, NORTH, "index", k=2, **BY_MEANING) == [replaced, new]
    worded = {"query_text": "paragraph", "profile": "hybrid"}
    assert found(repo, at(180), "index", k=1, **worded) == [replaced]
    assert_as_exact(repo)


def test_only_what_differs_is_written(site: Site) -> None:
    stored = fill(site.repo)
    index = site.build()
    site.repo.labels.add(A, stored[0], "important")
    site.repo.update(A, stored[1], importance=0.01)
    assert {*site.values(BESIDE)} == {stored[0], stored[1]}
    versions = f"SELECT memory_id, xmin::text FROM pgrecall.{index.relation} ORDER BY 1"
    before = dict(site.rows(versions))

    maintain(site.repo)

    after = dict(site.rows(versions))
    assert {one for one in after if after[one] != before[one]} == {stored[1]}


def test_new_memories_are_newer_than_those_of_the_build(site: Site) -> None:
    """Where all of the build are as old as its moment, only later times tell them apart."""
    fill(site.repo)
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
    new = site.repo.add(A, NewMemory("new", embedding=NORTH))
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
    [kept, gone] = [site.repo.add(A, NewMemory(text, embedding=NORTH)) for text in ("kept", "gone")]
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
    new = site.repo.add(A, NewMemory("new", embedding=NORTH))
    index = site.build()
    note = "SELECT pgrecall.note_placed('agent', %s, now())"

    assert site.values(note, former.built_at) == [False]
    assert index_of(site).written_until == index.written_until
    assert site.values(note, index.built_at) == [True]
    site.run("DELETE FROM pgrecall.rank_indexes")
    site.rows("SELECT pgrecall.place_memories('agent', %s)", [new])
    assert site.values(note, index.built_at) == [False]


def test_many_are_due_for_a_build_instead(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    """More than MAX_BESIDE, and more than a tenth of those in the index."""
    fill(site.repo, number=300)
    site.build()
    fill(site.repo, number=30, start=1_000)
    for limit, said in ((10, None), (29, None), (30, None)):
        monkeypatch.setattr("pgrecall.rank_index.index.MAX_BESIDE", limit)
        assert due(site.repo) == said
    fill(site.repo, number=1, start=2_000)
    assert due(site.repo) == "31 memories written or changed since"
    assert maintain(site.repo) == [A]


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
