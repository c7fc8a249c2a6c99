from __future__ import annotations

from uuid import UUID, uuid4

import pytest
from sqlalchemy import Engine

from pgrecall import Memory, MemoryRepository, NewMemory
from pgrecall.errors import MemoryNotFound
from tests.integration.support import NORTH, at, contents, sql


@pytest.fixture
def hers(either: MemoryRepository) -> UUID:
    return either.add("anna", NewMemory("hers", embedding=NORTH))


def _of(repo: MemoryRepository, agent: str, memory_id: UUID) -> Memory:
    memory = repo.get(agent, memory_id)
    assert memory is not None
    return memory


def test_get_finds_only_ones_own(either: MemoryRepository, hers: UUID) -> None:
    assert either.get("bert", hers) is None
    assert either.get("Anna", hers) is None


def test_search_and_count_look_only_at_ones_own(either: MemoryRepository, hers: UUID) -> None:
    his = either.add("bert", NewMemory("his", embedding=at(80)))

    [hit] = either.search("bert", NORTH)

    assert hit.memory.id == his
    assert either.count("bert") == either.count("anna") == 1
    assert either.search("carl", NORTH) == []


def test_update_changes_only_ones_own(either: MemoryRepository, hers: UUID) -> None:
    with pytest.raises(MemoryNotFound):
        either.update("bert", hers, content="his", embedding=None)

    assert _of(either, "anna", hers).content == "hers"


def test_delete_deletes_only_ones_own(either: MemoryRepository, hers: UUID) -> None:
    assert either.delete("bert", hers) == 0
    assert either.count("anna") == 1


def test_touch_counts_only_ones_own(either: MemoryRepository, hers: UUID, engine: Engine) -> None:
    assert either.touch("bert", hers) == 0
    assert sql(engine, "SELECT * FROM pgrecall.memory_usage") == []


def test_two_agents_may_have_the_same_id(either: MemoryRepository) -> None:
    same = uuid4()
    either.add("anna", NewMemory("hers", id=same, embedding=NORTH))
    either.add_many("bert", [NewMemory("his", id=same, embedding=NORTH)])

    either.update("bert", same, importance=0.9)
    either.touch("bert", same)
    either.touch("bert", same)
    either.touch("anna", same)

    assert contents(either.search("anna", NORTH, touch=False)) == ["hers"]
    assert contents(either.search("bert", NORTH, touch=False)) == ["his"]
    assert (_of(either, "anna", same).importance, _of(either, "bert", same).importance) == (
        0.5,
        0.9,
    )
    assert _of(either, "anna", same).retrieval_count == 1
    assert _of(either, "bert", same).retrieval_count == 2


def test_deleting_ones_own_leaves_the_others_of_that_id(either: MemoryRepository) -> None:
    same = uuid4()
    for agent in ("anna", "bert"):
        either.add(agent, NewMemory(agent, id=same, embedding=NORTH))
        either.touch(agent, same)

    either.delete("bert", same)

    assert _of(either, "anna", same).retrieval_count == 1
