from __future__ import annotations

from typing import Any
from uuid import UUID, uuid4

import pytest
from sqlalchemy import Engine

from pgrecall import MemoryRepository, NewMemory
from pgrecall.errors import (
    EmbedderRequired,
    InputError,
    InvalidMemory,
    InvalidVector,
    MemoryNotFound,
    UnknownName,
)
from tests.integration.support import NORTH, NOW, at, before, contents, sql


def test_update_changes_what_is_named_and_nothing_else(either: MemoryRepository) -> None:
    memory_id = either.add("agent", NewMemory("old", embedding=NORTH, importance=0.1, tags=["a"]))

    either.update("agent", memory_id, importance=0.9)

    memory = either.get("agent", memory_id, include_embedding=True)
    assert memory is not None
    assert (memory.importance, memory.content, memory.tags) == (0.9, "old", ["a"])
    assert memory.embedding == NORTH


def test_update_returns_the_memory_as_it_is_afterwards(either: MemoryRepository) -> None:
    memory_id = either.add("agent", NewMemory("old", embedding=NORTH))

    changed = either.update("agent", memory_id, content="new", embedding=at(90))

    assert changed == either.get("agent", memory_id)
    assert changed.content == "new"


def test_new_content_and_its_embedding_are_what_search_finds(either: MemoryRepository) -> None:
    memory_id = either.add("agent", NewMemory("north", embedding=NORTH))

    either.update("agent", memory_id, content="east", embedding=at(90))

    [hit] = either.search("agent", at(90), min_similarity=0.9)
    assert hit.memory.content == "east"


def test_update_moves_updated_at_and_leaves_created_at(either: MemoryRepository) -> None:
    memory_id = either.add("agent", NewMemory("old", embedding=None, created_at=before(10)))
    first = either.get("agent", memory_id)

    changed = either.update("agent", memory_id, importance=0.9)

    assert first is not None
    assert changed.updated_at > first.updated_at
    assert changed.created_at == before(10)


@pytest.mark.parametrize(
    "field", ["created_at", "embedding", "valid_from", "valid_until", "expires_at", "trust"]
)
def test_update_takes_none_for_unknown(either: MemoryRepository, field: str) -> None:
    memory_id = either.add(
        "agent",
        NewMemory(
            "known",
            embedding=NORTH,
            created_at=NOW,
            valid_from=NOW,
            valid_until=before(-1),
            expires_at=before(-1),
            trust=0.5,
        ),
    )

    emptied: dict[str, Any] = {field: None}
    either.update("agent", memory_id, **emptied)

    memory = either.get("agent", memory_id, include_embedding=True)
    assert memory is not None
    assert getattr(memory, field) is None


def test_update_leaves_the_counters(either: MemoryRepository) -> None:
    memory_id = either.add("agent", NewMemory("old", embedding=NORTH))
    either.touch("agent", memory_id)

    assert either.update("agent", memory_id, importance=0.9).retrieval_count == 1


def test_updating_a_memory_that_is_not_there_names_agent_and_id(either: MemoryRepository) -> None:
    missing = uuid4()

    with pytest.raises(MemoryNotFound, match=rf"'agent'.*{missing}"):
        either.update("agent", missing, importance=0.9)


def test_memory_not_found_is_a_lookup_error(repo: MemoryRepository) -> None:
    with pytest.raises(LookupError):
        repo.update("agent", uuid4(), importance=0.9)


@pytest.mark.parametrize(
    ("changes", "error", "message"),
    [
        ({}, InvalidMemory, "at least one field"),
        ({"id": uuid4()}, InvalidMemory, "id of a memory cannot be changed"),
        ({"colour": "red"}, UnknownName, "colour.*content.*importance"),
        ({"status": "archived"}, UnknownName, "status"),
        ({"content": "new"}, EmbedderRequired, "embedder"),
        ({"content": "new", "embedding": [1.0]}, InvalidVector, "1 dimensions.* 8"),
        ({"content": ""}, InvalidMemory, "content must not be empty"),
        ({"importance": 1.5}, InvalidMemory, r"importance.*1\.5"),
        ({"importance": None}, InvalidMemory, "importance.*None"),
        ({"created_at": NOW.replace(tzinfo=None)}, InvalidMemory, "created_at has no time zone"),
        ({"tags": None}, InvalidMemory, "tags.*None"),
        ({"tier": "eternal"}, InvalidMemory, "eternal.*short, medium, long"),
    ],
)
def test_a_refused_update_changes_nothing(
    shared_repo: MemoryRepository,
    agent: str,
    changes: dict[str, Any],
    error: type[InputError],
    message: str,
) -> None:
    memory_id = shared_repo.add(agent, NewMemory("old", embedding=NORTH))
    first = shared_repo.get(agent, memory_id, include_embedding=True)

    with pytest.raises(error, match=message) as caught:
        shared_repo.update(agent, memory_id, **changes)

    assert type(caught.value) is error
    assert shared_repo.get(agent, memory_id, include_embedding=True) == first


def test_an_end_before_the_stored_start_is_refused_and_named(
    either: MemoryRepository, engine: Engine
) -> None:
    memory_id = either.add("agent", NewMemory("old", embedding=None, valid_from=NOW))

    with pytest.raises(InvalidMemory, match="validity"):
        either.update("agent", memory_id, valid_until=before(1))

    assert sql(engine, "SELECT valid_until FROM pgrecall.agent_memories") == [(None,)]


def test_an_id_that_is_no_uuid_is_refused(either: MemoryRepository) -> None:
    with pytest.raises(InputError, match="'7'"):
        either.update("agent", "7", importance=0.9)  # type: ignore[arg-type]


def test_updating_restores_search_after_an_embedding_is_added(either: MemoryRepository) -> None:
    memory_id: UUID = either.add("agent", NewMemory("bare", embedding=None))

    either.update("agent", memory_id, embedding=NORTH)

    assert contents(either.search("agent", NORTH, min_similarity=0.99)) == ["bare"]
