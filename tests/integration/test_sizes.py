"""Sizes of an owner: in Python and in psql."""

from __future__ import annotations

from datetime import UTC, datetime

from sqlalchemy import Engine

from pgrecall import MemoryRepository, NewMemory
from tests.integration.support import at


def test_memories_are_counted_by_status_type_and_month(
    repo: MemoryRepository, agent: str, engine: Engine
) -> None:
    months = (datetime(2026, 1, 31, 23, tzinfo=UTC), datetime(2026, 2, 1, tzinfo=UTC), None)
    new = [
        NewMemory(
            f"memory {n}",
            embedding=at(n),
            created_at=months[n % 3],
            memory_type="fact" if n else "task",
            metadata={"n": n},
        )
        for n in range(6)
    ]
    ids = repo.add_many(agent, new)
    repo.add("another", NewMemory("not counted", embedding=at(0)))
    with engine.begin() as connection:
        update = f"UPDATE pgrecall.agent_memories SET status = 'archived' WHERE id = '{ids[1]}'"
        connection.exec_driver_sql(update)

    found = repo.upkeep.sizes(agent)
    assert (found.memories, found.by_status) == (6, {"active": 5, "archived": 1})
    assert [*found.by_type.items()] == [("fact", 5), ("task", 1)]
    expected = {"2026-01": 2, "2026-02": 2, "unknown": 2}
    assert [*found.by_month] == sorted(expected)
    assert found.by_month == expected
    assert 6 * 8 < found.bytes < 6 * 4_000
    assert found.rank_index is None
    repo.rank_indexes.build(agent_id=agent, at_least=1)
    state = repo.upkeep.sizes(agent).rank_index
    assert state == repo.rank_indexes.status(agent_id=agent)[0]
    with engine.connect() as reading:
        few = reading.exec_driver_sql(f"SELECT * FROM pgrecall.sizes('{agent}', 1)").all()
    assert [row.value for row in few if row.counted_by == "memory_type"] == ["fact"]
    nothing = repo.upkeep.sizes("nobody")
    assert (nothing.memories, nothing.bytes, nothing.by_month) == (0, 0, {})
