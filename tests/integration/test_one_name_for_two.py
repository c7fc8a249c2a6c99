"""An agent and a team may bear one name; what belongs to one is not the other's."""

from __future__ import annotations

from uuid import UUID

import pytest
from sqlalchemy import Engine

from pgrecall import MemoryRepository, NewMemory
from tests.integration.support import NORTH, sql

Pair = tuple[UUID, UUID]


@pytest.fixture(params=["agent", "team"])
def sides(request: pytest.FixtureRequest, repo: MemoryRepository) -> tuple[MemoryRepository, ...]:
    """The repository whose memories are asked for, and that of the other of this name."""
    return (repo.teams, repo) if request.param == "agent" else (repo, repo.teams)


def filled(repo: MemoryRepository) -> Pair:
    """Two memories of x with counters, labels, a link and a history."""
    first, second = repo.add_many(
        "x", [NewMemory(text, embedding=NORTH) for text in ("one", "two")]
    )
    repo.touch("x", first)
    repo.label("x", first, ["seen"])
    repo.link("x", first, second, "next")
    repo.feedback("x", first, "useful", "it was")
    return first, second


def test_what_is_told_of_a_memory_is_told_to_its_owner_alone(
    sides: tuple[MemoryRepository, MemoryRepository],
) -> None:
    theirs, own = sides
    first, second = filled(theirs)

    assert own.history("x", first) == []
    assert own.labels("x", first) == []
    assert own.links("x", first) == []
    assert own.links("x", second) == []
    assert not own.unlink("x", first, second, "next")
    assert own.delete("x", [first, second]) == 0

    assert [event.event_type for event in theirs.history("x", first)] == [
        *("initial", "labelled", "linked", "feedback"),
    ]
    assert len(theirs.labels("x", first)) == len(theirs.links("x", second)) == 1
    memory = theirs.get("x", first)
    assert memory is not None
    assert (memory.retrieval_count, memory.feedback_up) == (1, 1)


def test_the_history_of_what_was_deleted_stays_its_owner_s(
    sides: tuple[MemoryRepository, MemoryRepository],
) -> None:
    theirs, own = sides
    first, _ = filled(theirs)
    theirs.delete("x", first, reason="done")

    assert own.history("x", first) == []
    assert theirs.history("x", first)[-1].reason == "done"


def test_psql_tells_the_history_of_the_table_it_is_asked_about(
    repo: MemoryRepository, engine: Engine
) -> None:
    first, _ = filled(repo.teams)

    told = {
        of_team: sql(engine, f"SELECT * FROM pgrecall.history('x', :id, {of_team})", id=first)
        for of_team in ("false", "true")
    }

    assert (len(told["false"]), len(told["true"])) == (0, 4)


def test_a_search_that_returns_both_can_be_deleted_by_agent(repo: MemoryRepository) -> None:
    """Hits of a team are not the agent's to delete."""
    filled(repo)
    first, second = filled(repo.teams)
    hits = repo.search("x", NORTH, teams=["x"])

    assert repo.delete("x", [hit.memory.id for hit in hits]) == 2

    assert repo.count("x") == 0
    assert repo.teams.count("x") == 2
    assert len(repo.teams.labels("x", first)) == len(repo.teams.links("x", second)) == 1
    kept = repo.teams.get("x", first)
    assert kept is not None
    assert kept.retrieval_count == 2
