"""where= : the caller's own expressions stay within their brackets."""

from __future__ import annotations

from typing import Any

import pytest
from sqlalchemy import bindparam, literal_column, text

from pgrecall import MemoryRepository, NewMemory
from pgrecall.errors import InputError

LEAVING = [
    "true) OR (true",
    "true) OR true -- ",
    "true /* ",
    "true; DELETE FROM pgrecall.agent_memories",
    "(true",
    "content = 'open",
    "content = $$x$$) OR (true",
    r"content = E'\') OR (true --'",
    '"open',
]


@pytest.fixture
def two(repo: MemoryRepository) -> MemoryRepository:
    repo.add("a", NewMemory("mine", embedding=None))
    repo.add("b", NewMemory("secret of b", embedding=None))
    return repo


@pytest.mark.parametrize("raw", LEAVING)
@pytest.mark.parametrize("kind", [text, literal_column])
def test_raw_sql_that_leaves_its_brackets_is_refused(
    two: MemoryRepository, raw: str, kind: Any
) -> None:
    with pytest.raises(InputError, match="close its own brackets"):
        two.search("a", where=kind(raw))
    with pytest.raises(InputError, match="close its own brackets"):
        two.count("a", where=[two.memories.c.importance > 0, kind(raw)])


@pytest.mark.parametrize("raw", ["true OR true", "(true) OR (true)", "content <> ')' OR 1 = 1"])
def test_an_or_does_not_reach_other_agents(two: MemoryRepository, raw: str) -> None:
    found = two.search("a", where=text(raw), touch=False)

    assert [hit.memory.content for hit in found] == ["mine"]
    assert two.count("a", where=text(raw)) == 1


@pytest.mark.parametrize(
    "name", ["k", "owner_id", "query", "as_of", "similarity_weight", "metadata", "min_score"]
)
def test_a_parameter_with_a_name_of_ours_is_refused(two: MemoryRepository, name: str) -> None:
    for condition in (
        two.memories.c.content == bindparam(name, "mine"),
        text(f"content = :{name}").bindparams(**{name: "mine"}),
    ):
        with pytest.raises(InputError, match=f":{name} .* rename"):
            two.search("a", where=condition)


def test_a_parameter_of_ones_own_keeps_its_value(two: MemoryRepository) -> None:
    found = two.search("a", where=text("content = :mine").bindparams(mine="mine"), touch=False)

    assert [hit.memory.content for hit in found] == ["mine"]


def test_a_parameter_without_a_value_is_refused(two: MemoryRepository) -> None:
    with pytest.raises(InputError, match=":nope has no value"):
        two.search("a", where=text("content = :nope"))


def test_conditions_hold_for_memories_of_teams_too(two: MemoryRepository) -> None:
    two.teams.add("red", NewMemory("ours", embedding=None, importance=0.9))
    two.teams.add("red", NewMemory("dull", embedding=None, importance=0.1))

    found = two.search("a", where=two.memories.c.importance > 0.4, teams=["red"], touch=False)

    assert {hit.memory.content for hit in found} == {"mine", "ours"}
