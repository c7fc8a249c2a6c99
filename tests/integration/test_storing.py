"""Adding, reading, updating, deleting and touching memories, one or many."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any
from uuid import UUID, uuid4

import pytest
from sqlalchemy import Engine, NullPool, create_engine, event, func, select

from pgrecall import MemoryRepository
from pgrecall.errors import (
    DatabaseReadOnly,
    EmbedderRequired,
    InvalidMemory,
    InvalidVector,
    MemoryNotFound,
    NotCompliant,
)
from tests.calls import OF_ALL, operations
from tests.integration.owner import Owner, north, plain
from tests.integration.support import NORTH, NOW, at, before, contents, sql
from tests.methods import method

ROWS = (
    "SELECT ctid::text, xmin::text, xmax::text, m::text FROM pgrecall.{} m WHERE agent_id = :agent"
)


# Adding


def test_created_at_left_out_is_the_databases_now_and_none_is_unknown(
    shared_engine: Engine, mine: Owner
) -> None:
    given = datetime(2020, 2, 29, 12, 30, 0, 123456, tzinfo=UTC)
    with shared_engine.begin() as connection:
        inside = mine.within(connection)
        now = connection.scalar(select(func.now()))
        dated: list[dict[str, Any]] = [{}, {"created_at": None}, {"created_at": given}]
        ids = [inside.add(plain(f"alone {made}", **made)) for made in dated]
        ids += inside.add_many([plain(f"{made}", **made) for made in dated])

    assert [mine.read(memory_id).created_at for memory_id in ids] == [now, None, given] * 2


def test_a_batch_of_several_parts_is_stored_whole_and_its_ids_come_in_input_order(
    mine: Owner, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("pgrecall.memories.adding._PART", 100)
    batch = [plain("given", id=uuid4()), *(plain(f"memory {i % 230}") for i in range(250))]

    ids = mine.add_many(batch)

    assert [one.outcome for one in ids] == ["inserted"] * 231 + ["duplicate"] * 20
    assert (ids[0], ids[1].version) == (batch[0].id, 7)
    found = mine.get_many(ids)
    assert [found[one].content for one in ids] == [memory.content for memory in batch]
    assert (mine.add_many([]), mine.count()) == ([], 231)


def test_a_batch_in_autocommit_is_stored_and_leaves_no_table_behind(
    shared_engine: Engine, mine: Owner
) -> None:
    engine = shared_engine.execution_options(isolation_level="AUTOCOMMIT")

    Owner(engine, mine.name).add_many([north("a"), plain("b")])

    assert mine.count() == 2
    assert sql(shared_engine, "SELECT relname FROM pg_class WHERE relname LIKE '%staging%'") == []


# Reading


def test_get_shows_all_of_a_memory_that_is_there_and_counts_nothing(mine: Owner) -> None:
    memory_id = mine.add(north("a", expires_at=before(1000)))
    mine.put(memory_id, status="archived")
    assert mine.read(memory_id).status == "archived"
    assert mine.rows("memory_usage") == []
    values = {"id": memory_id, "accessed": before(1)}
    mine.sql("INSERT INTO pgrecall.memory_usage VALUES (:agent, :id, 3, :accessed, 2, 1)", **values)

    memory, full = mine.read(memory_id), mine.get(memory_id, include_embedding=True)

    assert (memory.embedding, full.embedding) == (None, NORTH)
    assert (memory.retrieval_count, memory.success_count, memory.failure_count) == (3, 2, 1)
    assert (memory.last_accessed_at, mine.get(uuid4())) == (before(1), None)


def test_count_is_of_what_a_search_would_look_at(mine: Owner) -> None:
    mine.add(north("valid", created_at=before(5)))
    mine.add_many([plain("not embedded"), north("expired", expires_at=before(1000))])

    assert mine.count() == len(mine.search(NORTH)) == 2
    assert mine.count(include_inactive=True) == 3
    assert [mine.count(as_of=before(days)) for days in (0, 10)] == [1, 0]


# Updating


def test_update_changes_what_is_named_and_nothing_else(mine: Owner) -> None:
    memory_id = mine.add(north("old", importance=0.1, tags=["a"], created_at=before(10)))
    mine.touch(memory_id)
    old = mine.get(memory_id, include_embedding=True)

    changed = mine.update(memory_id, importance=0.9)

    memory = mine.get(memory_id, include_embedding=True)
    assert changed == mine.read(memory_id)
    differ = {name for name in vars_of(memory) if getattr(memory, name) != getattr(old, name)}
    assert (memory.importance, differ) == (0.9, {"importance", "updated_at"})


def vars_of(memory: Any) -> tuple[str, ...]:
    return tuple(memory.__dataclass_fields__)


def test_update_takes_none_for_unknown(mine: Owner) -> None:
    times = ("created_at", "valid_from", "valid_until", "expires_at")
    known = dict(zip(times, (NOW, NOW, before(-1), before(-1)), strict=True)) | {"trust": 0.5}
    memory_id = mine.add(north("known", **known))

    for field in ("embedding", *known):
        mine.update(memory_id, **{field: None})
        assert getattr(mine.get(memory_id, include_embedding=True), field) is None


def test_a_refused_update_changes_nothing(mine: Owner) -> None:
    memory_id = mine.add(north("old", valid_from=NOW))
    stored = mine.everything()
    refused: list[tuple[dict[str, Any], type[Exception], str]] = [
        ({"content": "new"}, EmbedderRequired, "embedder"),
        ({"content": "new", "embedding": [1.0]}, InvalidVector, "1 dimensions.* 8"),
        ({"valid_until": before(1)}, InvalidMemory, "validity"),
        ({"compliant": False}, NotCompliant, "check_compliance=False"),
    ]

    for changes, error, message in refused:
        with pytest.raises(error, match=message):
            mine.update(memory_id, **changes)

    assert mine.everything() == stored
    assert mine.update(memory_id, compliant=False, check_compliance=False).compliant is False
    missing = uuid4()
    with pytest.raises(MemoryNotFound, match=rf"'{mine.name}'.*{missing}") as caught:
        mine.update(missing, importance=0.9)
    assert isinstance(caught.value, LookupError)


# Deleting


def test_a_deleted_memory_is_gone_with_its_traces_but_its_history(mine: Owner) -> None:
    gone, kept, other = (mine.add(north(text)) for text in "abc")
    theirs = mine.other.add(north("a", id=gone))
    mine.touch([gone, kept])
    for source, target in ((gone, kept), (kept, gone), (kept, other)):
        mine.links.add(source, target)

    assert mine.delete([gone, uuid4(), theirs, gone]) == 1

    assert mine.get(gone) is None
    assert sorted(contents(mine.search(NORTH, touch=False))) == ["b", "c"]
    assert [len(mine.rows(f"memory_{name}")) for name in ("usage", "links")] == [1] * 2
    assert mine.read(kept).retrieval_count == 1
    assert mine.kinds(gone) == ["initial", "linked", "deleted"]
    assert mine.other.read(theirs).content == "a"
    assert mine.delete([]) == mine.delete(gone) == 0
    again = mine.add(north("second", id=gone))
    assert (again, mine.read(again).retrieval_count) == (gone, 0)


# Touching


def test_touch_counts_each_retrieval_of_each_memory_once_at_the_databases_now(
    shared_engine: Engine, mine: Owner
) -> None:
    memory_id, hers = mine.add(plain("a")), mine.other.add(plain("a"))
    with shared_engine.begin() as connection:
        inside = mine.within(connection)
        for times in (1, 2, 3):
            several = (one for one in (memory_id, uuid4(), hers, memory_id))
            assert inside.touch(several) == 1
            assert inside.read(memory_id).retrieval_count == times
        now = connection.scalar(select(func.now()))

    assert mine.read(memory_id).last_accessed_at == now
    assert mine.other.rows("memory_usage") == []
    assert mine.other.touch([]) == mine.other.touch(uuid4()) == 0
    assert mine.other.rows("memory_usage") == []
    far = {"last": datetime(2999, 1, 1, tzinfo=UTC)}
    update = "UPDATE pgrecall.memory_usage SET last_accessed_at = :last WHERE agent_id = :agent"
    mine.sql(update, **far)
    mine.touch(memory_id)
    assert mine.read(memory_id).last_accessed_at == far["last"]  # never back


def test_a_search_counts_its_hits_and_only_those_and_writes_no_memory_row_and_no_event(
    mine: Owner,
) -> None:
    near, far = mine.add_many([north("near"), north("far", embedding=at(90))])
    tables = ("agent_memories", "memory_events")
    before = [mine.sql(ROWS.format(table)) for table in tables]
    assert contents(mine.search(NORTH, touch=False)) == ["near", "far"]
    assert mine.rows("memory_usage") == []

    [first] = mine.search(NORTH, k=1)
    [second] = mine.search(NORTH, k=1)

    assert (first.memory.retrieval_count, second.memory.retrieval_count) == (0, 1)
    assert (first.signals["frequency"], second.signals["frequency"]) == (0, 1 / 50)
    assert (mine.read(near).retrieval_count, mine.read(far).retrieval_count) == (2, 0)
    assert [mine.sql(ROWS.format(table)) for table in tables] == before


# The caller's engine


def test_where_nothing_may_be_written_only_what_writes_says_so(
    shared_url: str, mine: Owner
) -> None:
    options = {"postgresql_readonly": True}
    engine = create_engine(shared_url, poolclass=NullPool, execution_options=options)
    reader = Owner(engine, mine.name)
    assert reader.search(NORTH) == []  # without hits nothing is to be counted
    mine.add(north("a"))

    assert contents(reader.search(NORTH, touch=False)) == ["a"]
    with pytest.raises(DatabaseReadOnly, match="touch=False"):
        reader.search(NORTH)
    with pytest.raises(DatabaseReadOnly):
        reader.add(plain("b"))


SEVERAL_STATEMENTS = {
    *("add_many", "context", "explain", "matched", "plan", "search", "search_many"),
    *("transfer.export", "transfer.restore", "maintenance.health", "maintenance.run"),
    *("evaluation.evaluate", "evaluation.tune", "erase", "upsert_many"),
    *("rank_indexes.build", "rank_indexes.drop", "consolidate", "erase_owner"),
}
"""Or none."""


def test_on_an_engine_any_other_operation_is_one_statement_in_autocommit(
    shared_engine: Engine, mine: Owner
) -> None:
    one, other = mine.add_many([plain(text, trust=0.5) for text in "ab"])
    engine = shared_engine.execution_options()
    repo = MemoryRepository(engine)
    repo.count(mine.name)  # looks at the schema, once per engine
    seen: list[bool] = []

    def see(connection: Any, *_: Any) -> None:
        seen.append(connection.connection.driver_connection.autocommit)

    event.listen(engine, "before_cursor_execute", see)
    for name, (arguments, *_) in operations(UUID(int=one.int), UUID(int=other.int)).items():
        if name not in SEVERAL_STATEMENTS:
            owner = {} if name in OF_ALL else {"agent_id": mine.name}
            method(repo, name)(**owner | arguments)
            assert seen == [True], name
            seen.clear()
        if name in ("delete", "erase"):
            mine.add(plain("again", id=one, trust=0.5))
        if name == "invalidate":
            mine.revive(one)
    event.remove(engine, "before_cursor_execute", see)


def test_a_refusal_leaves_the_callers_connection_usable_in_autocommit(
    shared_engine: Engine, mine: Owner
) -> None:
    with shared_engine.connect().execution_options(isolation_level="AUTOCOMMIT") as connection:
        inside = mine.within(connection)
        memory_id, other = inside.add_many([north("a"), north("b")])
        with pytest.raises(MemoryNotFound):
            inside.links.add(memory_id, uuid4())

        inside.links.add(memory_id, other)
        connection.rollback()
        assert len(inside.links.of(memory_id)) == 1


def test_two_agents_may_have_the_same_id(mine: Owner) -> None:
    same, hers = uuid4(), mine.other
    mine.add(north("mine", id=same))
    hers.add_many([north("hers", id=same)])

    mine.update(same, importance=0.9)
    mine.touch(same)
    for _ in range(2):
        hers.touch(same)

    for owner, text, importance, times in ((mine, "mine", 0.9, 1), (hers, "hers", 0.5, 2)):
        assert contents(owner.search(NORTH, touch=False)) == [text]
        memory = owner.read(same)
        assert (memory.importance, memory.retrieval_count) == (importance, times)
    hers.delete(same)
    assert (hers.get(same), mine.read(same).retrieval_count) == (None, 1)
    with pytest.raises(MemoryNotFound):
        hers.update(same, content="hers", embedding=None)
    assert Owner(mine.bind, mine.name.upper()).get(same) is None
