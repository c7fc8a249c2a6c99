from __future__ import annotations

from pgrecall import MemoryRepository, NewMemory
from tests.conftest import Direction


def test_a_memory_is_found_by_its_direction(repo: MemoryRepository, direction: Direction) -> None:
    near = repo.add("agent", NewMemory("near", embedding=direction(10)))
    far = repo.add("agent", NewMemory("far", embedding=direction(80)))

    hits = repo.search("agent", direction(0))

    assert [hit.memory.id for hit in hits] == [near, far]
