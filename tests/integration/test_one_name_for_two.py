"""An agent and a team may bear one name; what belongs to one is not the other's."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any
from uuid import UUID, uuid4

import pytest
from sqlalchemy import Engine

from pgrecall import GarbagePolicy, LabelledQuery, MemoryRepository, NewMemory
from tests.integration.conftest import OWNED
from tests.integration.support import NORTH, at, sql

Pair = tuple[UUID, UUID]
Work = Callable[[MemoryRepository, Pair], Any]


@pytest.fixture(params=["agent", "team"])
def sides(request: pytest.FixtureRequest, repo: MemoryRepository) -> tuple[MemoryRepository, ...]:
    """The repository whose memories are asked for, and that of the other of this name."""
    return (repo.teams, repo) if request.param == "agent" else (repo, repo.teams)


def filled(repo: MemoryRepository, ids: Pair | None = None) -> Pair:
    """Two memories of x with counters, labels, a link, a history, a rank index and a run."""
    first, second = repo.add_many(
        "x",
        [
            NewMemory(text, id=id_, embedding=at(20 * n), trust=0.5)
            for n, (text, id_) in enumerate(zip(("one", "two"), ids or (None, None), strict=True))
        ],
    )
    repo.touch("x", first)
    repo.label("x", first, ["seen"])
    repo.link("x", first, second, "next")
    repo.feedback("x", first, "useful", "it was")
    repo.collect_garbage(GarbagePolicy(max_age_hours=None), agent_id="x")
    repo.build_rank_indexes(agent_id="x", at_least=1)
    return UUID(int=first.int), UUID(int=second.int)


def everything(engine: Engine, owner_id: str) -> dict[str, list[str]]:
    """All rows of an owner, and the positions of its rank index."""
    found = {
        table: sql(
            engine,
            f"SELECT to_jsonb(t)::text FROM pgrecall.{table} t WHERE agent_id = :owner_id "
            "ORDER BY 1",
            owner_id=owner_id,
        )
        for table in OWNED
    }
    for (relation,) in sql(
        engine,
        "SELECT relation FROM pgrecall.rank_indexes WHERE agent_id = :owner_id",
        owner_id=owner_id,
    ):
        found["positions"] = sql(engine, f"SELECT to_jsonb(t)::text FROM pgrecall.{relation} t")
    return {table: [row for (row,) in rows] for table, rows in found.items()}


def test_what_is_told_of_a_memory_is_told_to_its_owner_alone(
    sides: tuple[MemoryRepository, MemoryRepository],
) -> None:
    theirs, own = sides
    first, second = filled(theirs)

    assert own.get("x", first) is None
    assert own.history("x", first) == []
    assert own.labels("x", first) == []
    assert own.links("x", first) == []
    assert own.links("x", second) == []
    assert own.search("x", NORTH) == []
    assert own.telling_terms("x") == []
    assert own.recorded_queries("x") == []
    assert own.rank_indexes(agent_id="x") == []
    assert not own.drop_rank_index("x")
    assert not own.unlink("x", first, second, "next")
    assert own.touch("x", first) == 0
    assert own.delete("x", [first, second]) == 0

    assert [event.event_type for event in theirs.history("x", first)] == [
        *("initial", "labelled", "linked", "feedback"),
    ]
    assert len(theirs.labels("x", first)) == len(theirs.links("x", second)) == 1
    memory = theirs.get("x", first)
    assert memory is not None
    assert (memory.retrieval_count, memory.feedback_up) == (1, 1)


WORKS: dict[str, Work] = {
    "touch": lambda repo, ids: repo.touch("x", ids),
    "search": lambda repo, ids: repo.search("x", NORTH),
    "search through the index": lambda repo, ids: repo.search("x", NORTH, strategy="index"),
    "search and neighbours": lambda repo, ids: repo.search("x", NORTH, k=1, expand=1),
    "context": lambda repo, ids: repo.context("x", NORTH, max_tokens=100),
    "outcome": lambda repo, ids: repo.record_outcome("x", ids[0], "success"),
    "trust": lambda repo, ids: repo.adjust_trust("x", ids[0], 0.1, "seen", "Ann"),
    "feedback": lambda repo, ids: repo.feedback("x", ids[0], "useful", query="q"),
    "update": lambda repo, ids: repo.update("x", ids[0], content="3", embedding=NORTH),
    "label": lambda repo, ids: repo.label("x", ids[1], ["new"]),
    "unlabel": lambda repo, ids: repo.unlabel("x", ids[0], "seen"),
    "link": lambda repo, ids: repo.link("x", ids[1], ids[0]),
    "unlink": lambda repo, ids: repo.unlink("x", ids[0], ids[1], "next"),
    "supersede": lambda repo, ids: repo.supersede("x", ids[0], NewMemory("new", embedding=NORTH)),
    "invalidate": lambda repo, ids: repo.invalidate("x", ids),
    "importance": lambda repo, ids: repo.set_importance("x", ids[0], 0.9),
    "demote": lambda repo, ids: repo.demote("x", ids),
    "say it again": lambda repo, ids: repo.add("x", NewMemory("ONE", embedding=NORTH)),
    "consolidate": lambda repo, ids: repo.consolidate(
        "x", min_size=2, more_than=0, min_similarity=0.1
    ),
    "prune": lambda repo, ids: repo.prune("x", below_score=1.0),
    "collect garbage": lambda repo, ids: repo.collect_garbage(
        GarbagePolicy(max_live=0), agent_id="x"
    ),
    "collect all garbage": lambda repo, ids: repo.collect_garbage(GarbagePolicy(max_live=0)),
    "delete": lambda repo, ids: repo.delete("x", ids),
    "clear": lambda repo, ids: repo.clear("x"),
    "build": lambda repo, ids: repo.build_rank_indexes(at_least=1),
    "drop": lambda repo, ids: repo.drop_rank_index("x"),
}


@pytest.mark.parametrize("work", WORKS)
@pytest.mark.parametrize(("changed", "kept"), [("x", "team:x"), ("team:x", "x")])
def test_what_is_done_to_one_leaves_the_other_as_it_was(
    repo: MemoryRepository, engine: Engine, changed: str, kept: str, work: str
) -> None:
    """Though both have memories of the same ids and texts."""
    ids = (uuid4(), uuid4())
    for each in (repo, repo.teams):
        filled(each, ids)
    before = {owner_id: everything(engine, owner_id) for owner_id in (changed, kept)}
    assert all(before[kept].values())

    WORKS[work](repo if changed == "x" else repo.teams, ids)

    assert everything(engine, kept) == before[kept]
    assert everything(engine, changed) != before[changed]


def test_the_history_of_what_was_deleted_stays_its_owner_s(
    sides: tuple[MemoryRepository, MemoryRepository],
) -> None:
    theirs, own = sides
    first, _ = filled(theirs)
    theirs.delete("x", first, reason="done")
    own.clear("x")

    assert own.history("x", first) == []
    assert theirs.history("x", first)[-1].reason == "done"


def test_psql_tells_the_history_of_the_owner_it_is_asked_about(
    repo: MemoryRepository, engine: Engine
) -> None:
    first, _ = filled(repo.teams)

    told = [
        sql(engine, "SELECT * FROM pgrecall.history(:owner, :id)", owner=owner, id=first)
        for owner in ("x", "team:x")
    ]

    assert [len(rows) for rows in told] == [0, 4]


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


def test_a_key_of_both_is_two_memories(repo: MemoryRepository) -> None:
    new = NewMemory("one", key="message-1", embedding=None)

    assert repo.add("x", new) != repo.teams.add("x", new)


def test_each_is_evaluated_and_tuned_by_its_own(repo: MemoryRepository) -> None:
    for one in (repo, repo.teams):
        ids = one.add_many(
            "x",
            [NewMemory(f"{one is repo} {n}", embedding=at(9 * n)) for n in range(10)],
        )
        queries = [LabelledQuery(at(9 * n), [id_]) for n, id_ in enumerate(ids)]

        evaluated = one.evaluate("x", queries, profiles=["last_access"], k=1)
        tuned = one.tune("x", queries, start="last_access")

        assert evaluated.missing == 0
        assert evaluated.profiles[0].overall.means["recall"] == 1
        assert tuned.held_out.missing == 0
