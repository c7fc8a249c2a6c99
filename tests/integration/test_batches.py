from __future__ import annotations

from uuid import UUID, uuid4

import pytest
from sqlalchemy import Engine

from pgrecall import MemoryRepository, NewMemory
from tests.integration.owner import Owner, north, plain
from tests.integration.support import at, sql


def test_the_ids_of_a_batch_come_back_in_input_order(mine: Owner) -> None:
    ours = uuid4()
    batch = [plain("given", id=ours), *(north(f"{i}", embedding=at(i)) for i in range(30))]

    ids = mine.add_many(batch)

    found = [mine.read(memory_id).content for memory_id in ids]
    assert found == [memory.content for memory in batch]
    assert (ids[0], ids[1].version) == (ours, 7)
    assert mine.add_many(batch[:1]) == [ours]
    assert mine.add_many([]) == []
    assert mine.count() == 31


def test_a_batch_of_more_than_one_part_is_stored_whole(
    mine: Owner, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("pgrecall.memories.insert._PART", 100)
    batch = [plain(f"memory {i % 230}") for i in range(250)]

    ids = mine.add_many(batch)

    assert [one.outcome for one in ids] == ["inserted"] * 230 + ["duplicate"] * 20
    assert len(set(ids)) == mine.count() == 230
    assert [mine.read(ids[n]).content for n in (0, 99, 100, 249)] == [
        *("memory 0", "memory 99", "memory 100", "memory 19")
    ]


def test_rows_of_a_batch_lie_by_content_hash_and_ids_come_in_input_order(
    repo: MemoryRepository, engine: Engine
) -> None:
    """So that two batches that share texts wait for each other and form no circle."""
    sql(engine, "TRUNCATE pgrecall.agent_memories")  # so that rows lie as they came
    batch = [NewMemory(str(i), embedding=None) for i in range(100)]

    ids = repo.add_many("agent", batch)

    rows = sql(
        engine, "SELECT id, content, content_hash FROM pgrecall.agent_memories ORDER BY ctid"
    )
    hashes = [bytes(content_hash) for _, _, content_hash in rows]
    by_id = {UUID(str(memory_id)): content for memory_id, content, _ in rows}
    assert hashes == sorted(hashes)
    assert [by_id[memory_id] for memory_id in ids] == [memory.content for memory in batch]


def test_a_batch_in_autocommit_is_stored_and_leaves_no_table_behind(
    shared_engine: Engine, mine: Owner
) -> None:
    engine = shared_engine.execution_options(isolation_level="AUTOCOMMIT")

    Owner(engine, mine.name).add_many([north("a"), plain("b")])

    assert mine.count() == 2
    assert sql(shared_engine, "SELECT relname FROM pg_class WHERE relname LIKE '%staging%'") == []
