from __future__ import annotations

from uuid import uuid4

from sqlalchemy import Engine

from pgrecall import MemoryRepository, NewMemory
from tests.integration.support import NORTH, contents, sql


def test_a_deleted_memory_is_gone_with_its_counters(
    either: MemoryRepository, engine: Engine
) -> None:
    memory_id = either.add("agent", NewMemory("gone", embedding=NORTH))
    either.touch("agent", memory_id)

    assert either.delete("agent", memory_id) == 1

    assert either.get("agent", memory_id) is None
    assert sql(engine, "SELECT * FROM pgrecall.memory_usage") == []


def test_a_deleted_memory_is_gone_with_its_labels_and_links(
    either: MemoryRepository, engine: Engine
) -> None:
    gone, kept, other = (
        either.add("agent", NewMemory(text, embedding=NORTH)) for text in ("a", "b", "c")
    )
    for memory_id in (gone, kept):
        sql(
            engine,
            "INSERT INTO pgrecall.memory_labels (agent_id, memory_id, kind, value) "
            "VALUES ('agent', :memory, 'tag', 'x')",
            memory=memory_id,
        )
    for source, target in ((gone, kept), (kept, gone), (kept, other)):
        sql(
            engine,
            "INSERT INTO pgrecall.memory_links (agent_id, source_id, target_id, kind) "
            "VALUES ('agent', :source, :target, 'x')",
            source=source,
            target=target,
        )

    either.delete("agent", gone)

    assert sql(engine, "SELECT memory_id FROM pgrecall.memory_labels") == [(kept,)]
    left = sql(engine, "SELECT source_id, target_id FROM pgrecall.memory_links")
    assert left == [(kept, other)]


def test_delete_leaves_the_other_memories_and_their_counters(either: MemoryRepository) -> None:
    gone, kept = (either.add("agent", NewMemory(text, embedding=NORTH)) for text in ("a", "b"))
    either.touch("agent", [gone, kept])

    either.delete("agent", gone)

    [hit] = either.search("agent", NORTH)
    assert (hit.memory.id, hit.memory.retrieval_count) == (kept, 1)


def test_delete_takes_many_ids_and_counts_those_that_were_there(either: MemoryRepository) -> None:
    ids = either.add_many("agent", [NewMemory(str(i), embedding=NORTH) for i in range(3)])

    assert either.delete("agent", [ids[0], uuid4(), ids[1], ids[0]]) == 2
    assert contents(either.search("agent", NORTH)) == ["2"]


def test_deleting_nothing_deletes_nothing(either: MemoryRepository) -> None:
    either.add("agent", NewMemory("kept", embedding=NORTH))

    assert either.delete("agent", []) == 0
    assert either.delete("agent", uuid4()) == 0
    assert either.count("agent") == 1


def test_what_happened_to_a_deleted_memory_stays_in_its_events(
    either: MemoryRepository, engine: Engine
) -> None:
    memory_id = either.add("agent", NewMemory("gone", embedding=None))
    sql(
        engine,
        "INSERT INTO pgrecall.memory_events (agent_id, memory_id, id, event_type) "
        "VALUES ('agent', :memory, gen_random_uuid(), 'manual')",
        memory=memory_id,
    )

    either.delete("agent", memory_id)

    events = sql(
        engine, "SELECT event_type FROM pgrecall.memory_events WHERE memory_id = :id", id=memory_id
    )
    assert sorted(events) == [("deleted",), ("initial",), ("manual",)]


def test_an_id_may_be_used_again_after_its_deletion(either: MemoryRepository) -> None:
    mine = either.add("agent", NewMemory("first", embedding=NORTH))
    either.touch("agent", mine)
    either.delete("agent", mine)

    either.add("agent", NewMemory("second", id=mine, embedding=NORTH))

    [hit] = either.search("agent", NORTH)
    assert (hit.memory.content, hit.memory.retrieval_count) == ("second", 0)
