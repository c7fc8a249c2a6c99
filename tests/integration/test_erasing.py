"""Erasure of memories and of owners, in tables and on disk; deleting what passes a filter."""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any
from uuid import UUID

import psycopg
import pytest
from sqlalchemy import Engine, text

from pgrecall import Erased, MemoryRepository, NewMemory
from pgrecall.errors import InputError
from tests.integration.owner import Owner, north, plain
from tests.integration.support import NORTH, at, before, sql
from tests.migrations.asking import wait_until

SECRET = "xyzzysecret"
VECTOR = [0.11, 0.23, 0.37, 0.41, 0.53, 0.61, 0.79, 0.83]
TABLES = (
    *("agent_memories", "memory_usage", "memory_events", "memory_links"),
    *("maintenance_runs", "rank_indexes", "owner_vectors", "entity_names"),
)


def live(
    mine: Owner, secret: str = SECRET, vector: list[float] = VECTOR
) -> tuple[UUID, list[UUID]]:
    """Leaves rows of one memory in every table, and its id in the history of four others."""
    before, *others, last = mine.add_many(
        [north(f"of {n}", embedding=at(n), entities=["stays"]) for n in range(5)]
    )
    one = mine.supersede(before, north(secret, embedding=vector, entities=[secret]))
    mine.touch(one)
    mine.update(one, content=f"{secret} again", embedding=vector)
    mine.feedback(one, "useful", context=secret, query=secret)
    mine.links.add(one, others[0])
    mine.links.add(others[1], one)
    mine.links.add(others[2], one, "consolidates")
    mine.links.add(others[0], one)
    mine.links.remove(others[0], one)
    mine.repo.rank_indexes.build(agent_id=mine.name, at_least=1)
    mine.maintain()
    mine.links.add(last, others[0])
    mine.feedback(last, "useful", context="stays")
    return one, [before, *others, last]


def stored(mine: Owner) -> str:
    """All rows of the owner and of its rank index, as one text."""
    relations = mine.sql(
        "SELECT unnest(ARRAY[relation, pgrecall.used_positions(relation)]) "
        "FROM pgrecall.rank_indexes WHERE agent_id = :agent"
    )
    positions = [
        row
        for one in relations
        for row in mine.sql(f"SELECT to_jsonb(p)::text FROM pgrecall.{one} p")
    ]
    return "\n".join([*positions, *(row for table in TABLES for row in mine.rows(table))])


@pytest.mark.parametrize("deleted", [False, True])
def test_nothing_of_an_erased_memory_is_in_any_table(mine: Owner, deleted: bool) -> None:
    """Nor of one whose history is all that was left."""
    one, others = live(mine)
    if deleted:
        mine.delete(one, reason=SECRET)
    found = stored(mine)
    assert SECRET in found
    assert str(one) in found
    counted = mine.erase(one, dry_run=True)
    assert stored(mine) == found

    erased = mine.erase(one)

    assert erased == replace(counted, dry_run=False)
    assert SECRET not in stored(mine)
    assert str(one) not in stored(mine)
    events = 1 + 1 + 1 + 1 + deleted
    there: dict[str, Any] = {"memories": 1, "counters": 1, "links": 3}
    there["positions"] = 2  # one among those of memories used since the build
    there = dict.fromkeys(there, 0) if deleted else there
    # In the row of the one before and its history; in those of four links, one of them removed.
    mentions = 1 + 1 + 2 + 2
    derived = () if deleted else (others[3],)
    assert erased == Erased(**there, events=events, mentions=mentions, derived=derived)
    assert mine.get_many(others).keys() == set(others)
    assert mine.kinds(others[1]) == ["initial", "linked", "unlinked"]
    assert [event.reason for event in mine.repo.history(mine.name, others[4])][-1] == "stays"
    assert mine.erase(one) == Erased()


def test_an_erasure_is_within_one_owner(mine: Owner) -> None:
    """Even where another has memories of the same ids, with the same links."""
    ids = [UUID(int=1), UUID(int=2), UUID(int=3)]
    for owner in (mine, mine.other, mine.team):
        owner.add_many([plain(str(id_), id=id_) for id_ in ids])
        owner.links.add(ids[0], ids[1])
        owner.supersede(ids[2], plain("new", id=UUID(int=4)))
    theirs = [owner.everything() for owner in (mine.other, mine.team)]

    assert mine.erase([ids[1], UUID(int=4)]).mentions == 3
    assert mine.erase_owner().memories == 2

    assert [owner.everything() for owner in (mine.other, mine.team)] == theirs


def test_what_was_superseded_stays_superseded(mine: Owner) -> None:
    old = mine.add(north("old"))
    new = mine.supersede(old, north("new"))

    mine.erase(new)

    memory = mine.read(old)
    assert (memory.invalidation_reason, memory.superseded_by) == ("superseded", None)
    assert mine.recalled() == []
    mine.revive(old)
    assert mine.recalled() == ["old"]


def test_nothing_of_an_erased_owner_is_in_any_table(mine: Owner) -> None:
    for owner in (mine, mine.other):
        one, _ = live(owner)
        owner.delete(one)
    found = mine.sql(
        "SELECT DISTINCT table_name::text FROM information_schema.columns NATURAL JOIN "
        "information_schema.tables WHERE table_schema = 'pgrecall' AND table_type = 'BASE TABLE' "
        "AND column_name = 'agent_id' ORDER BY 1"
    )
    assert {*found} == {*TABLES}
    assert all(mine.rows(table) for table in found)
    others = {table: mine.other.rows(table) for table in found}
    [relation] = mine.sql("SELECT relation FROM pgrecall.rank_indexes WHERE agent_id = :agent")
    rows = {table: len(mine.rows(table)) for table in found}
    counted = mine.erase_owner(dry_run=True)
    so_far: list[tuple[int, int]] = []

    erased = mine.erase_owner(
        batch_size=2, on_progress=lambda done, of: so_far.append((done.memories, of))
    )

    assert erased == replace(counted, dry_run=False)
    assert erased.record() | {"memories": 5, "runs": 1} == erased.record()
    assert (erased.events, erased.counters) == (rows["memory_events"], rows["memory_usage"])
    assert so_far == [(2, 5), (4, 5), (5, 5), (5, 5), (5, 5)]  # what was deleted before, the rest
    assert not any(mine.rows(table) for table in found)
    assert mine.sql(f"SELECT to_regclass('pgrecall.{relation}')::text") == [None]
    assert {table: mine.other.rows(table) for table in found} == others
    assert mine.erase_owner() == Erased()


def test_an_owner_is_erased_in_psql(mine: Owner, connection: psycopg.Connection[Any]) -> None:
    live(mine)
    counted = connection.execute("SELECT * FROM pgrecall.count_owner(%s)", [mine.name]).fetchone()

    erased = connection.execute("CALL pgrecall.erase_owner(%s, 2)", [mine.name]).fetchone()

    assert erased == counted
    assert not any(mine.rows(table) for table in TABLES)


# On disk


@pytest.fixture
def disk(own_url: str) -> Iterator[psycopg.Connection[Any]]:
    with psycopg.connect(own_url, autocommit=True) as connection:
        folder = connection.execute("SHOW data_directory").fetchone()[0]  # type: ignore[index]
        if not Path(folder).is_dir():
            pytest.skip("the server's files are on another machine")
        yield connection


def on_disk(connection: psycopg.Connection[Any], needles: dict[str, bytes]) -> dict[str, set[str]]:
    """The relations in whose files each of these bytes are found."""
    connection.execute("CHECKPOINT")
    [(folder, database)] = connection.execute(
        "SELECT current_setting('data_directory'), oid FROM pg_database "
        "WHERE datname = current_database()"
    ).fetchall()
    found: dict[str, set[str]] = {name: set() for name in needles}
    for path in Path(folder, "base", str(database)).iterdir():
        content = path.read_bytes()
        for name, needle in needles.items():
            if needle in content:
                node = path.name.split(".")[0].split("_")[0]
                [relation] = connection.execute(
                    "SELECT coalesce(max(pg_filenode_relation(0, %s)::text), %s)", [node, node]
                ).fetchone()  # type: ignore[misc]
                found[name].add(relation)
    return found


@pytest.mark.parametrize("whole", [False, True], ids=["memory", "owner"])
def test_nothing_that_was_erased_is_on_disk_after_the_tables_were_rewritten(
    own_engine: Engine, disk: psycopg.Connection[Any], whole: bool
) -> None:
    """Text and vector, in heaps, indexes and statistics."""
    mine = Owner(own_engine, "agent")
    one, _ = live(mine)
    [relation] = mine.sql("SELECT relation FROM pgrecall.rank_indexes")
    [position] = mine.sql(
        f"SELECT position::text FROM pgrecall.{relation} WHERE memory_id = :one", one=one
    )
    disk.execute("ANALYZE")
    needles = {
        "text": SECRET.encode(),
        "vector": struct.pack(f"<{len(VECTOR)}f", *VECTOR),
        "position": struct.pack(
            f"<{position.count(',') + 1}e", *map(float, position.strip("[]").split(","))
        ),
    }
    there = on_disk(disk, needles)
    assert {"pgrecall.agent_memories", "pgrecall.memory_events"} <= there["text"]
    assert "pg_statistic" in there["text"]
    assert "pgrecall.agent_memories" in there["vector"]
    assert {f"pgrecall.{relation}", f"pgrecall.{relation}_position"} <= there["position"]

    live(mine.other, "another", at(30))

    if whole:
        mine.erase_owner()
    mine.erase(() if whole else one, vacuum=True)
    assert f"pgrecall.{relation}_position" not in on_disk(disk, needles)["position"]
    disk.execute("VACUUM (FULL, ANALYZE)")
    disk.execute("VACUUM FULL pg_statistic")

    assert on_disk(disk, needles) == {name: set() for name in needles}


# Deleting what passes a filter


ODD = {"tags": "odd"}


@pytest.fixture
def stocked(mine: Owner) -> Owner:
    for n in range(6):
        tags, metadata = ["odd" if n % 2 else "even"], {"user": {"age": n}}
        mine.add(
            NewMemory(f"m {n}", embedding=None, tags=tags, metadata=metadata, created_at=before(n))
        )
    mine.other.add(NewMemory("of another", embedding=None, tags=["odd"]))
    mine.touch(mine.list(filter=ODD)[0].id)
    return mine


def left(owner: Owner) -> list[str]:
    return sorted(one.content for one in owner.list(include_inactive=True))


def test_what_passes_is_deleted_with_its_traces(stocked: Owner) -> None:
    odd = stocked.list(filter=ODD)
    stocked.invalidate(odd[0].id)

    assert stocked.delete(filter=ODD, dry_run=True) == 2
    assert len(left(stocked)) == 6
    assert stocked.delete(filter=ODD, reason="tidy", actor="me") == 2
    assert left(stocked) == ["m 0", "m 1", "m 2", "m 4"]
    assert stocked.event(odd[1].id, "deleted").reason == "tidy"
    assert stocked.delete(filter=ODD, include_inactive=True) == 1
    assert stocked.delete(filter={"metadata.user.age": {"$gte": 3}}) == 1
    assert stocked.delete(filter=stocked.repo.memories.c.content == "m 2") == 1
    assert (
        stocked.delete(filter={"created_at": {"$gte": before(9)}, "content": {"$match": "m"}}) == 1
    )
    assert left(stocked) == []


NOTHING_LEFT_OUT: list[tuple[dict[str, Any], str]] = [
    *(({"filter": {}}, "erase_owner"), ({"filter": None}, "erase_owner")),
    ({"include_inactive": True}, "erase_owner"),
    ({"filter": {"tags": {"$all": []}}}, "empty list"),
    ({"filter": {"tags": []}}, "empty list"),
    *(({"filter": {group: [{}]}}, "empty mapping") for group in ("$and", "$or")),
    ({"filter": {"$and": []}}, "empty list"),
    ({"filter": {"content": {"$match": "the"}}}, "only stop words"),
]


@pytest.mark.parametrize("dry_run", [True, False])
def test_a_filter_that_leaves_out_nothing_deletes_nothing(stocked: Owner, dry_run: bool) -> None:
    for everything, said in NOTHING_LEFT_OUT:
        with pytest.raises(InputError, match=said):
            stocked.delete(**everything, dry_run=dry_run)
    assert len(left(stocked)) == 6


def test_ids_and_filters_are_not_combined(stocked: Owner) -> None:
    ids = [one.id for one in stocked.list()]
    with pytest.raises(InputError, match="not by both"):
        stocked.delete(ids, filter=ODD)
    assert len(left(stocked)) == 6


WAYS: dict[str, Callable[[Engine], Any]] = {
    "repository": lambda engine: MemoryRepository(engine).delete("a", filter={"tags": "x"}),
    "psql": lambda engine: sql(
        engine,
        "SELECT pgrecall.forget('a', ARRAY(SELECT id FROM pgrecall.agent_memories "
        "WHERE agent_id = 'a' AND tags && '{x}' FOR UPDATE))",
    ),
}


@pytest.mark.parametrize("way", WAYS)
def test_a_memory_that_stops_passing_meanwhile_is_spared(engine: Engine, way: str) -> None:
    repo = MemoryRepository(engine)
    ids = repo.add_many("a", [NewMemory(f"m {n}", embedding=NORTH, tags=["x"]) for n in range(3)])
    with ThreadPoolExecutor(1) as threads, engine.begin() as other:
        MemoryRepository(other).update("a", ids[1], tags=["y"])
        running = threads.submit(WAYS[way], engine)
        wait_until("it waits", lambda: len(sql(engine, WAITING)) == 1)
        other.execute(text("COMMIT"))
        running.result()

    assert [one.id for one in repo.list("a")] == [ids[1]]


WAITING = (
    "SELECT FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND datname = current_database()"
)
