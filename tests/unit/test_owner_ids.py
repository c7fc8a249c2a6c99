"""Ids of owners: agents' may not begin as those of teams are stored. No server is asked."""

from __future__ import annotations

from datetime import timedelta
from typing import Any
from uuid import UUID

import pytest

from pgrecall import JudgedQuery, MemoryRepository, NewMemory
from pgrecall.errors import InputError
from pgrecall.schema import tables
from pgrecall.schema.owner import require_owner
from tests.methods import NOWHERE, method
from tests.unit.test_repository_surface import METHODS, OF_ALL_AGENTS, OF_NO_AGENT

ID, OTHER = UUID(int=1), UUID(int=2)
VECTOR = [1.0, 0.0]
QUERIES = [JudgedQuery(VECTOR, [ID])]
NEW = NewMemory("x", embedding=None)

CALLS: dict[str, tuple[Any, ...]] = {
    **dict.fromkeys(
        ["clear", "upkeep.clusters", "upkeep.consolidate", "count", "rank_indexes.drop"], ()
    ),
    **dict.fromkeys(
        [
            "upkeep.near_duplicates",
            "evaluation.recorded_queries",
            "upkeep.telling_terms",
            "upkeep.prune",
        ],
        (),
    ),
    **dict.fromkeys(["rank_indexes.check", "upkeep.complete_stale_tasks"], ()),
    **dict.fromkeys(["get", "delete", "touch", "existing", "history", "invalidate"], (ID,)),
    **dict.fromkeys(
        [
            "ids.shorten",
            "revive",
            "upkeep.promote",
            "upkeep.demote",
            "labels.of",
            "links.of",
            "update",
        ],
        (ID,),
    ),
    **dict.fromkeys(["labels.add", "labels.remove"], (ID, "x")),
    **dict.fromkeys(["links.add", "links.remove"], (ID, OTHER)),
    **dict.fromkeys(["search", "context"], (VECTOR,)),
    **dict.fromkeys(["evaluation.evaluate", "evaluation.tune"], (QUERIES,)),
    "add": (NEW,),
    "add_many": ([NEW],),
    "upkeep.adjust_trust": (ID, 0.1, "why", "who"),
    "explain": (ID, VECTOR),
    "plan": (VECTOR,),
    "feedback": (ID, "useful"),
    "ids.find": ("0123",),
    "labels.find": ("x",),
    "record_outcome": (ID, "success"),
    "upkeep.set_importance": (ID, 0.5),
    "supersede": (ID, NEW),
}
"""What each method takes after its agent."""
NAMED: dict[str, dict[str, Any]] = {
    "rank_indexes.check": {"queries": [VECTOR]},
    "upkeep.complete_stale_tasks": {"older_than": timedelta(days=1)},
    "context": {"max_tokens": 10},
    "upkeep.prune": {"below_score": 0.5},
    "update": {"importance": 0.5},
}
"""And by name."""


@pytest.fixture(scope="module")
def repo() -> MemoryRepository:
    """On a server that is not there: what is checked before it is asked is checked at no cost."""
    return NOWHERE


def called(repo: MemoryRepository, name: str, agent_id: str) -> None:
    if name in OF_ALL_AGENTS:
        method(repo, name)(agent_id=agent_id)
    else:
        method(repo, name)(agent_id, *CALLS[name], **NAMED.get(name, {}))


def test_every_method_that_takes_an_agent_is_called_here() -> None:
    assert {*CALLS, *OF_ALL_AGENTS, *OF_NO_AGENT} == set(METHODS)


@pytest.mark.parametrize("name", [*CALLS, *OF_ALL_AGENTS])
def test_agents_and_teams_are_called_as_they_may_be(repo: MemoryRepository, name: str) -> None:
    for agent_id in ("team:", "team:red", "team:" + "x" * 195):
        with pytest.raises(InputError, match=r"agent_id must not begin with 'team:'.*teams`"):
            called(repo, name, agent_id)
    for team_id in ("", "team:", "team:" + "x" * 201):
        with pytest.raises(InputError, match="agent_id"):
            called(repo.teams, name, team_id)


def test_teams_that_cannot_be_are_refused_by_name(repo: MemoryRepository) -> None:
    for team_id in ("", "team:", "x" * 201):
        with pytest.raises(InputError, match="teams"):
            repo.search("agent", VECTOR, teams=[team_id])


def test_owners_are_stored_with_what_tells_a_team() -> None:
    of_teams = tables().of_teams()

    for agent_id in ("team", "teams:red", " team:red", "TEAM:red", "x" * 200):
        assert require_owner(tables(), agent_id) == agent_id
        assert require_owner(of_teams, agent_id) == f"team:{agent_id}"
        assert require_owner(of_teams, f"team:{agent_id}") == f"team:{agent_id}"
