from __future__ import annotations

import inspect
from dataclasses import fields
from typing import Any
from uuid import UUID

import pytest

from pgrecall import MemoryChanges, MemoryRepository, NewMemory, NewMemoryDict
from pgrecall.core.memory import NewMemoryFields
from pgrecall.errors import InputError, InvalidMemory
from pgrecall.ranking.arguments import SearchArguments
from pgrecall.ranking.filters import FilterArguments, Filters
from pgrecall.ranking.question import Question
from pgrecall.schema import tables
from pgrecall.schema.tables import require_owner
from tests.calls import GOOD, OF_NONE
from tests.integration.support import NORTH
from tests.methods import NOWHERE, NOWHERE_LATER, method, public

METHODS = public(NOWHERE)
OF_ALL_AGENTS = (
    *("rank_indexes.build", "rank_indexes.status", "transfer.export"),
    *("changes", "maintenance.run"),
)
"""What works on the memories of every agent unless one is named."""


def test_what_one_repository_can_do_the_other_can() -> None:
    assert public(NOWHERE_LATER) == METHODS
    assert {"add", "add_many", "get", "update", "delete", "search", "touch", "count"} < {*METHODS}
    assert sum("." not in name for name in METHODS) <= 32


@pytest.mark.parametrize("name", METHODS)
def test_both_present_a_method_in_the_same_way(name: str) -> None:
    one, other = method(NOWHERE, name), method(NOWHERE_LATER, name)
    parameters = inspect.signature(one).parameters

    assert inspect.signature(one) == inspect.signature(other)
    assert inspect.getdoc(one)
    assert inspect.getdoc(one) == inspect.getdoc(other)
    assert inspect.iscoroutinefunction(other)
    assert not inspect.iscoroutinefunction(one)
    if name in OF_ALL_AGENTS:
        agent_id = parameters["agent_id"]
        assert (agent_id.kind, agent_id.default) == (inspect.Parameter.KEYWORD_ONLY, None)
    elif name not in OF_NONE:
        assert next(iter(parameters)) == "agent_id"
        assert parameters["agent_id"].default is inspect.Parameter.empty


def test_the_defaults_shown_are_those_that_hold() -> None:
    def asked(**arguments: Any) -> Question:
        return Question.of(tables(), "a", "b", k=1, arguments=arguments)  # type: ignore[arg-type]

    shown = _shown("search", SearchArguments)
    assert shown["profile"] is None  # the repository's, or else the database's
    named = {"profile": "hybrid"}
    assert asked(**shown | named).search == asked(**named).search
    assert Filters.of(_shown("count", FilterArguments)) == Filters()  # type: ignore[arg-type]
    assert NewMemory("text", **_shown("add", NewMemoryFields)) == NewMemory("text")
    with pytest.raises(InvalidMemory, match="at least one field"):
        NOWHERE.update("a", UUID(int=0), **_shown("update", MemoryChanges))


@pytest.mark.parametrize(
    ("declared", "without"),
    [
        (MemoryChanges, {"id", "key"}),
        (NewMemoryFields, {"content"}),
        (NewMemoryDict, set[str]()),
    ],
)
def test_methods_take_the_fields_of_a_memory(declared: Any, without: set[str]) -> None:
    taken = {name: hint.__forward_arg__ for name, hint in declared.__annotations__.items()}

    assert taken == {one.name: one.type for one in fields(NewMemory) if one.name not in without}


NO_AGENTS: tuple[tuple[Any, str], ...] = (
    ("", r"agent_id must not be empty"),
    ("x" * 201, r"agent_id.*200.*201"),
    ("a\0b", r"agent_id.*NUL.*position 1"),
    ("\ud800", r"agent_id.*surrogate.*position 0"),
    (None, r"agent_id must be text or a UUID, got None|has no agent_id"),
    (7, r"agent_id must be text or a UUID, got 7"),
    *((f"team:{end}", r"must not begin with 'team:'.*teams`") for end in ("", "red", "x" * 195)),
)


@pytest.mark.parametrize("name", [name for name in METHODS if name not in OF_NONE])
def test_an_agent_or_team_that_cannot_be_is_refused_by_every_method(name: str) -> None:
    for agent_id, message in NO_AGENTS:
        if agent_id is not None or name not in OF_ALL_AGENTS:
            with pytest.raises(InputError, match=message):
                method(NOWHERE, name)(**GOOD[name] | {"agent_id": agent_id})
    for team_id in ("", "team:", "team:" + "x" * 201):
        with pytest.raises(InputError, match="agent_id"):
            method(NOWHERE.teams, name)(**GOOD[name] | {"agent_id": team_id})


def test_teams_that_cannot_be_are_refused_by_name() -> None:
    for team_id in ("", "team:", "x" * 201):
        with pytest.raises(InputError, match="teams"):
            NOWHERE.search("agent", NORTH, teams=[team_id])


def test_owners_are_stored_with_what_tells_a_team() -> None:
    of_teams = tables().of_teams()

    for agent_id in ("team", "teams:red", " team:red", "TEAM:red", "x" * 200):
        assert require_owner(tables(), agent_id) == agent_id
        assert require_owner(of_teams, agent_id) == f"team:{agent_id}"
        assert require_owner(of_teams, f"team:{agent_id}") == f"team:{agent_id}"


def _shown(name: str, keys: Any) -> dict[str, Any]:
    parameters = inspect.signature(getattr(MemoryRepository, name)).parameters
    return {key: parameters[key].default for key in keys.__annotations__}
