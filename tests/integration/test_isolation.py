from __future__ import annotations

from uuid import UUID, uuid4

import pytest
from sqlalchemy import Engine

from pgrecall import Memory, MemoryRepository, NewMemory
from pgrecall.errors import MemoryNotFound
from tests.integration.support import NORTH, at, contents, sql


@pytest.fixture
def hers(repo: MemoryRepository) -> UUID:
    return repo.add("anna", NewMemory("hers", embedding=NORTH))


def _of(repo: MemoryRepository, agent: str, memory_id: UUID) -> Memory:
    memory = repo.get(agent, memory_id)
    assert memory is not None
    return memory


def test_get_finds_only_ones_own(repo: MemoryRepository, hers: UUID) -> None:
    assert repo.get("bert", hers) is None
    assert repo.get("Anna", hers) is None


def test_search_and_count_look_only_at_ones_own(repo: MemoryRepository, hers: UUID) -> None:
    his = repo.add("bert", NewMemory("his", embedding=at(80)))

    [hit] = repo.search("bert", NORTH)

    assert hit.memory.id == his
    assert repo.count("bert") == repo.count("anna") == 1
    assert repo.search("carl", NORTH) == []


def test_update_changes_only_ones_own(repo: MemoryRepository, hers: UUID) -> None:
    with pytest.raises(MemoryNotFound):
        repo.update("bert", hers, content="his", embedding=None)

    assert _of(repo, "anna", hers).content == "hers"


def test_delete_and_touch_reach_only_ones_own(
    repo: MemoryRepository, hers: UUID, engine: Engine
) -> None:
    assert repo.delete("bert", hers) == repo.touch("bert", hers) == 0
    assert repo.count("anna") == 1
    assert sql(engine, "SELECT * FROM pgrecall.memory_usage") == []


def test_two_agents_may_have_the_same_id(repo: MemoryRepository) -> None:
    same = uuid4()
    repo.add("anna", NewMemory("hers", id=same, embedding=NORTH))
    repo.add_many("bert", [NewMemory("his", id=same, embedding=NORTH)])

    repo.update("bert", same, importance=0.9)
    repo.touch("bert", same)
    repo.touch("bert", same)
    repo.touch("anna", same)

    assert contents(repo.search("anna", NORTH, touch=False)) == ["hers"]
    assert contents(repo.search("bert", NORTH, touch=False)) == ["his"]
    assert (_of(repo, "anna", same).importance, _of(repo, "bert", same).importance) == (
        0.5,
        0.9,
    )
    assert _of(repo, "anna", same).retrieval_count == 1
    assert _of(repo, "bert", same).retrieval_count == 2

    repo.delete("bert", same)

    assert _of(repo, "anna", same).retrieval_count == 1
