"""Deleting what passes a filter."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import psycopg
import pytest
from sqlalchemy import Engine, text

from pgrecall import MemoryRepository, NewMemory
from pgrecall.core.ids import id_of_key
from pgrecall.errors import InputError
from pgrecall.execution.error_mapping import map_errors
from tests.integration.owner import Owner
from tests.integration.support import NORTH, before, sql
from tests.migrations.asking import wait_until


@pytest.fixture
def stocked(mine: Owner) -> Owner:
    for n in range(6):
        tags, metadata = ["odd" if n % 2 else "even"], {"user": {"age": n}}
        mine.add(
            NewMemory(f"m {n}", embedding=None, tags=tags, metadata=metadata, created_at=before(n))
        )
    mine.other.add(NewMemory("of another", embedding=None, tags=["odd"]))
    mine.touch(mine.list(tags=["odd"])[0].id)
    return mine


def left(owner: Owner) -> list[str]:
    return sorted(one.content for one in owner.list(include_invalid=True))


def test_what_passes_is_deleted_with_its_traces(stocked: Owner) -> None:
    odd = stocked.list(tags=["odd"])
    stocked.invalidate(odd[0].id)

    assert stocked.delete(tags=["odd"], dry_run=True) == 2
    assert len(left(stocked)) == 6
    assert stocked.delete(tags=["odd"], reason="tidy", actor="me") == 2
    assert left(stocked) == ["m 0", "m 1", "m 2", "m 4"]
    assert stocked.event(odd[1].id, "deleted").reason == "tidy"
    assert stocked.delete(tags=["odd"], include_invalid=True) == 1
    assert stocked.delete(metadata={"user.age": {"$gte": 3}}) == 1
    assert stocked.delete(where=stocked.repo.memories.c.content == "m 2") == 1
    assert stocked.delete(created_after=before(9), text="m") == 1
    assert left(stocked) == []
    assert stocked.delete(tags=[]) == 0


def test_ids_are_counted_by_a_dry_run(stocked: Owner) -> None:
    ids = [one.id for one in stocked.list(limit=2)]

    assert stocked.delete([*ids, id_of_key(stocked.name, "x")], dry_run=True) == 2
    assert len(left(stocked)) == 6


@pytest.mark.parametrize(
    "everything",
    [{}, {"include_invalid": True}, {"statuses": ["active"]}, {"text": "the"}, {"metadata": {}}],
)
@pytest.mark.parametrize("dry_run", [True, False])
def test_a_filter_that_leaves_out_nothing_is_refused(
    stocked: Owner,
    connection: psycopg.Connection[Any],
    everything: dict[str, Any],
    dry_run: bool,
) -> None:
    with pytest.raises(InputError, match="erase_owner"):
        stocked.delete(**everything, dry_run=dry_run)
    given = everything | ({"metadata": "{}"} if "metadata" in everything else {})
    named = "".join(f", {name} => %({name})s" for name in given)
    call: Any = f"SELECT pgrecall.forget_matching(%(agent)s, dry_run => %(dry_run)s{named})"
    with pytest.raises(InputError, match="erase_owner deletes all"), map_errors():
        connection.execute(call, {"agent": stocked.name, "dry_run": dry_run} | given)
    assert len(left(stocked)) == 6


def test_ids_and_filters_are_not_combined(stocked: Owner) -> None:
    ids = [one.id for one in stocked.list()]
    with pytest.raises(InputError, match="not by both"):
        stocked.delete(ids, tags=["odd"])
    assert len(left(stocked)) == 6


def test_psql_deletes_the_same(stocked: Owner, connection: psycopg.Connection[Any]) -> None:
    odd = {one.id for one in stocked.list(tags=["odd"])}
    call = (
        "SELECT forget_matching FROM pgrecall.forget_matching(%s, tags => '{odd}', dry_run => %s)"
    )
    for dry_run in (True, False):
        rows = connection.execute(call, (stocked.name, dry_run)).fetchall()
        assert {row["forget_matching"] for row in rows} == odd
        assert len(left(stocked)) == (6 if dry_run else 3)


WAYS: dict[str, Callable[[Engine], Any]] = {
    "repository": lambda engine: MemoryRepository(engine).delete("a", tags=["x"]),
    "psql": lambda engine: sql(engine, "SELECT pgrecall.forget_matching('a', tags => '{x}')"),
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
