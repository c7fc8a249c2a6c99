from __future__ import annotations

from collections.abc import Callable
from typing import Any
from uuid import UUID

import pytest
from sqlalchemy import Engine

from pgrecall import MemoryRepository, NewMemory
from pgrecall.errors import InputError
from tests.integration.support import NORTH, sql

SOME_ID = UUID(int=1)
METHODS: dict[str, Callable[[MemoryRepository, Any], Any]] = {
    "add": lambda repo, agent: repo.add(agent, NewMemory("a", embedding=NORTH)),
    "add_many": lambda repo, agent: repo.add_many(agent, [NewMemory("a", embedding=NORTH)]),
    "get": lambda repo, agent: repo.get(agent, SOME_ID),
    "update": lambda repo, agent: repo.update(agent, SOME_ID, importance=0.5),
    "delete": lambda repo, agent: repo.delete(agent, SOME_ID),
    "search": lambda repo, agent: repo.search(agent, NORTH),
    "touch": lambda repo, agent: repo.touch(agent, SOME_ID),
    "existing": lambda repo, agent: repo.existing(agent, [SOME_ID]),
    "count": lambda repo, agent: repo.count(agent),
}


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize(
    ("agent_id", "message"),
    [
        ("", r"agent_id must not be empty"),
        ("x" * 201, r"agent_id.*200.*201"),
        ("a\0b", r"agent_id.*NUL.*position 1"),
        ("\ud800", r"agent_id.*surrogate.*position 0"),
        (None, r"agent_id must be text, got NoneType"),
        (7, r"agent_id must be text, got int"),
        (SOME_ID, r"agent_id must be text, got UUID"),
    ],
)
def test_an_agent_id_that_cannot_be_is_refused_by_every_method(
    shared_repo: MemoryRepository, shared_engine: Engine, method: str, agent_id: Any, message: str
) -> None:
    rows = "SELECT count(*) FROM pgrecall.agent_memories"
    first = sql(shared_engine, rows)

    with pytest.raises(InputError, match=message) as caught:
        METHODS[method](shared_repo, agent_id)

    assert type(caught.value) is InputError
    assert sql(shared_engine, rows) == first


@pytest.mark.parametrize("method", ["get", "update", "delete", "touch", "existing"])
@pytest.mark.parametrize("memory_id", ["0" * 32, 7, None, b"0" * 16])
def test_an_id_that_is_no_uuid_is_refused(
    shared_repo: MemoryRepository, agent: str, method: str, memory_id: Any
) -> None:
    changes = {"importance": 0.5} if method == "update" else {}

    with pytest.raises(InputError, match=r"UUID"):
        getattr(shared_repo, method)(agent, memory_id, **changes)


@pytest.mark.parametrize("method", ["delete", "touch", "existing"])
def test_one_bad_id_among_good_ones_is_refused(
    shared_repo: MemoryRepository, agent: str, method: str
) -> None:
    memory_id = shared_repo.add(agent, NewMemory("a", embedding=NORTH))

    with pytest.raises(InputError, match=r"UUID.*'7'"):
        getattr(shared_repo, method)(agent, [memory_id, "7"])

    [hit] = shared_repo.search(agent, NORTH)
    assert hit.memory.retrieval_count == 0


def test_the_longest_agent_id_is_200_characters_of_any_kind(
    shared_repo: MemoryRepository,
) -> None:
    agent = "🙂" * 200

    shared_repo.add(agent, NewMemory("a", embedding=NORTH))
    shared_repo.add_many(agent, [NewMemory("b", embedding=NORTH)])

    assert len(shared_repo.search(agent, NORTH)) == 2
