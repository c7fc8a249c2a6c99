"""Erasure of memories and of owners: what is left of them, in tables and on disk."""

from __future__ import annotations

import struct
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any
from uuid import UUID

import psycopg
import pytest
from sqlalchemy import Engine

from pgrecall import Erased, MemoryRepository
from pgrecall.errors import DatabaseError
from tests.integration.owner import Owner, north, plain
from tests.integration.support import at

SECRET = "xyzzysecret"
VECTOR = [0.11, 0.23, 0.37, 0.41, 0.53, 0.61, 0.79, 0.83]
TABLES = (
    *("agent_memories", "memory_usage", "memory_events", "memory_labels", "memory_links"),
    *("gc_runs", "rank_indexes"),
)


def live(
    mine: Owner, secret: str = SECRET, vector: list[float] = VECTOR
) -> tuple[UUID, list[UUID]]:
    """Leaves rows of one memory in every table, and its id in the history of four others."""
    before, *others, last = mine.add_many([north(f"of {n}", embedding=at(n)) for n in range(5)])
    one = mine.supersede(before, north(secret, embedding=vector))
    mine.touch(one)
    mine.update(one, content=f"{secret} again", embedding=vector)
    mine.feedback(one, "useful", context=secret, query=secret)
    mine.labels.add(one, [secret, "y"])
    mine.links.add(one, others[0])
    mine.links.add(others[1], one)
    mine.links.add(others[2], one, "consolidates")
    mine.links.add(others[0], one)
    mine.links.remove(others[0], one)
    mine.repo.rank_indexes.build(agent_id=mine.name, at_least=1)
    mine.collect_garbage()
    mine.labels.add(last, "stays")
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
    events = 1 + 1 + 1 + 1 + 1 + deleted
    there: dict[str, Any] = {"memories": 1, "counters": 1, "labels": 2, "links": 3}
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
    assert mine.upkeep.erase_owner().memories == 2

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
    counted = mine.upkeep.erase_owner(dry_run=True)
    so_far: list[tuple[int, int]] = []

    erased = mine.upkeep.erase_owner(
        batch_size=2, on_progress=lambda done, of: so_far.append((done.memories, of))
    )

    assert erased == replace(counted, dry_run=False)
    assert erased.record() | {"memories": 5, "runs": 1} == erased.record()
    assert (erased.events, erased.counters) == (rows["memory_events"], rows["memory_usage"])
    assert so_far == [(2, 5), (4, 5), (5, 5), (5, 5), (5, 5)]  # what was deleted before, the rest
    assert not any(mine.rows(table) for table in found)
    assert mine.sql(f"SELECT to_regclass('pgrecall.{relation}')::text") == [None]
    assert {table: mine.other.rows(table) for table in found} == others
    assert mine.upkeep.erase_owner() == Erased()


def test_an_erasure_that_is_stopped_can_be_started_again(mine: Owner) -> None:
    live(mine)

    def stop(*_: Any) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        mine.upkeep.erase_owner(batch_size=4, on_progress=stop)
    assert mine.sql("SELECT count(*) FROM pgrecall.agent_memories WHERE agent_id = :agent") == [2]

    assert mine.upkeep.erase_owner().memories == 2
    assert not any(mine.rows(table) for table in TABLES)


def test_an_owner_is_erased_in_psql(mine: Owner, connection: psycopg.Connection[Any]) -> None:
    live(mine)
    counted = connection.execute("SELECT * FROM pgrecall.count_owner(%s)", [mine.name]).fetchone()

    erased = connection.execute("CALL pgrecall.erase_owner(%s, 2)", [mine.name]).fetchone()

    assert erased == counted
    assert not any(mine.rows(table) for table in TABLES)


def test_only_the_owner_of_the_schema_vacuums(own_url: str, own_engine: Engine) -> None:
    repo = MemoryRepository(own_engine)
    repo.transfer.export(lambda lines: None)  # leaves settings of its transaction on the connection
    repo.erase("a", (), vacuum=True)
    one = repo.add("a", north("stays"))
    with own_engine.connect() as connection:
        connection.exec_driver_sql("CREATE ROLE sweeper; GRANT USAGE ON SCHEMA pgrecall TO sweeper")
        connection.exec_driver_sql("GRANT SELECT ON ALL TABLES IN SCHEMA pgrecall TO sweeper")
        connection.exec_driver_sql("SET LOCAL ROLE sweeper")
        with pytest.raises(DatabaseError, match="only the owner of the schema"):
            MemoryRepository(connection).erase("a", one, vacuum=True)
        connection.exec_driver_sql("RESET ROLE")
        with pytest.raises(DatabaseError, match="transaction block"):
            MemoryRepository(connection).erase("a", one, vacuum=True)
        assert MemoryRepository(connection).get("a", one)


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
        mine.upkeep.erase_owner()
    mine.erase(() if whole else one, vacuum=True)
    assert f"pgrecall.{relation}_position" not in on_disk(disk, needles)["position"]
    disk.execute("VACUUM (FULL, ANALYZE)")
    disk.execute("VACUUM FULL pg_statistic")

    assert on_disk(disk, needles) == {name: set() for name in needles}


def test_superseded_memories_are_looked_for_twice(mine: Owner, database_url: str) -> None:
    """Not once for each memory of the owner."""
    ids = mine.add_many([plain(f"{n}") for n in range(20)])
    with psycopg.connect(database_url) as connection:
        connection.execute("SET LOCAL track_functions = 'all'")
        connection.execute("SELECT pgrecall.erase(%s, %s, true)", [mine.stored_id, [ids[0]]])
        calls = "SELECT pg_stat_get_xact_function_calls('pgrecall.replaced_by'::regproc)"
        assert connection.execute(calls).fetchone() == (2,)
