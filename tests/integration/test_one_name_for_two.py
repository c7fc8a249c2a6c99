"""An agent and a team may bear one name; what belongs to one is not the other's."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any
from uuid import UUID, uuid4

import pytest
from sqlalchemy import Connection, Engine, text

from pgrecall import MemoryRepository, NewMemory, RetentionPolicy
from tests.integration.conftest import OWNED
from tests.integration.support import NORTH, at, read, sql

NAME = "x" * 200
"""As long as one may be."""
STORED = f"team:{NAME}"
Pair = tuple[UUID, UUID]
Work = Callable[[MemoryRepository, Pair], Any]


def filled(repo: MemoryRepository, ids: Pair | None = None) -> Pair:
    """Two memories with counters, a link, a history, a rank index and a run."""
    first, second = repo.add_many(
        NAME,
        [
            NewMemory(text, id=id_, embedding=at(20 * n), trust=0.5, entities=[text])
            for n, (text, id_) in enumerate(zip(("one", "two"), ids or (None, None), strict=True))
        ],
    )
    repo.touch(NAME, first)
    repo.links.add(NAME, first, second, "next")
    repo.feedback(NAME, first, "useful", "it was")
    repo.maintenance.run(agent_id=NAME)
    repo.rank_indexes.build(agent_id=NAME, at_least=1)
    return UUID(int=first.int), UUID(int=second.int)


def everything(within: Engine | Connection, owner_id: str) -> dict[str, list[str]]:
    """All rows of an owner, and the positions of its rank index."""

    def column(statement: str) -> list[str]:
        if isinstance(within, Engine):
            return [row for (row,) in sql(within, statement, owner_id=owner_id)]
        return [*within.scalars(text(statement), {"owner_id": owner_id})]

    found = {
        table: column(
            f"SELECT to_jsonb(t)::text FROM pgrecall.{table} t WHERE agent_id = :owner_id "
            "ORDER BY 1"
        )
        for table in OWNED
    }
    for relation in column("SELECT relation FROM pgrecall.rank_indexes WHERE agent_id = :owner_id"):
        found["positions"] = column(f"SELECT to_jsonb(t)::text FROM pgrecall.{relation} t")
    return found


def test_what_is_told_of_a_memory_is_told_to_its_owner_alone(repo: MemoryRepository) -> None:
    for theirs, own in ((repo.teams, repo), (repo, repo.teams)):
        first, second = filled(theirs)

        assert own.get(NAME, first) is None
        for told in (own.history, own.links.of):
            assert not told(NAME, first)
        assert not own.links.of(NAME, second)
        assert not own.search(NAME, NORTH)
        assert not own.rank_indexes.status(agent_id=NAME)
        assert not own.rank_indexes.drop(NAME)
        assert not own.links.remove(NAME, first, second, "next")
        assert (
            own.touch(NAME, first)
            == own.delete(NAME, [first, second])
            == own.erase_owner(NAME).memories
            == 0
        )

        kinds = [event.event_type for event in theirs.history(NAME, first)]
        assert kinds == ["initial", "linked", "feedback"]
        assert theirs.erase_owner(NAME).memories == 2


WORKS: dict[str, Work] = {
    "touch": lambda repo, ids: repo.touch(NAME, ids),
    "search": lambda repo, ids: repo.search(NAME, NORTH),
    "search through the index": lambda repo, ids: repo.search(NAME, NORTH, strategy="index"),
    "search and neighbours": lambda repo, ids: repo.search(NAME, NORTH, k=1, linked=1),
    "context": lambda repo, ids: repo.context(NAME, NORTH, max_tokens=100),
    "outcome": lambda repo, ids: repo.record_outcome(NAME, ids[0], "success"),
    "trust": lambda repo, ids: repo.adjust_trust(NAME, ids[0], 0.1, "seen", "Ann"),
    "feedback": lambda repo, ids: repo.feedback(NAME, ids[0], "useful", query="q"),
    "update": lambda repo, ids: repo.update(NAME, ids[0], content="3", embedding=NORTH),
    "link": lambda repo, ids: repo.links.add(NAME, ids[1], ids[0]),
    "unlink": lambda repo, ids: repo.links.remove(NAME, ids[0], ids[1], "next"),
    "supersede": lambda repo, ids: repo.supersede(NAME, ids[0], NewMemory("new", embedding=NORTH)),
    "invalidate": lambda repo, ids: repo.invalidate(NAME, ids),
    "importance": lambda repo, ids: repo.update(NAME, ids[0], importance=0.9),
    "say it again": lambda repo, ids: repo.add(NAME, NewMemory("ONE", embedding=NORTH)),
    "consolidate": lambda repo, ids: repo.consolidate(
        NAME, min_size=2, more_than=0, min_similarity=0.1
    ),
    "maintain": lambda repo, ids: repo.maintenance.run(RetentionPolicy(max_live=0), agent_id=NAME),
    "delete": lambda repo, ids: repo.delete(NAME, ids),
    "erase_owner": lambda repo, ids: repo.erase_owner(NAME),
    "build": lambda repo, ids: repo.rank_indexes.build(at_least=1),
    "drop": lambda repo, ids: repo.rank_indexes.drop(NAME),
}


@pytest.mark.parametrize(
    ("changed", "kept"), [(NAME, STORED), (STORED, NAME)], ids=["agent", "team"]
)
def test_what_is_done_to_one_leaves_the_other_as_it_was(
    repo: MemoryRepository, engine: Engine, changed: str, kept: str
) -> None:
    """Though both have memories of the same ids and texts."""
    ids = (uuid4(), uuid4())
    for each in (repo, repo.teams):
        filled(each, ids)
    theirs = repo.teams if changed == NAME else repo
    theirs.update(NAME, ids[1], tags=["of this one"])
    asked: dict[str, Any] = {"filter": {"tags": "of this one"}, "touch": False}
    own = repo if changed == NAME else repo.teams
    assert (len(theirs.search(NAME, **asked)), own.search(NAME, **asked)) == (1, [])
    assert theirs.transfer.export(lambda lines: None, agent_id=NAME) == len(ids)
    before = {owner_id: everything(engine, owner_id) for owner_id in (changed, kept)}
    assert all(before[kept].values())

    for name, work in WORKS.items():
        with engine.connect() as connection:  # and all is as it was before the next
            one = MemoryRepository(connection)

            work(one if changed == NAME else one.teams, ids)

            assert everything(connection, kept) == before[kept], name
            assert everything(connection, changed) != before[changed], name


def test_a_search_that_returns_both_can_be_deleted_by_agent(repo: MemoryRepository) -> None:
    """Hits of a team are not the agent's to delete."""
    filled(repo)
    first, second = filled(repo.teams)
    hits = repo.search(NAME, NORTH, teams=[NAME])

    assert repo.delete(NAME, [hit.memory.id for hit in hits]) == 2

    assert (repo.count(NAME), repo.teams.count(NAME)) == (0, 2)
    assert len(repo.teams.links.of(NAME, second)) == 1
    assert read(repo.teams, NAME, first).retrieval_count == 2


def test_a_team_is_found_by_its_id_as_it_is_stored(repo: MemoryRepository) -> None:
    """Such as a hit's owner_id."""
    first, _ = filled(repo.teams)
    [hit] = repo.search("agent", NORTH, k=1, teams=[STORED])

    assert (hit.memory.id, hit.memory.owner_id, hit.memory.team_id) == (first, STORED, NAME)
    assert len(repo.search("agent", NORTH, teams=[NAME, STORED])) == 2
    assert len(repo.teams.search(STORED, NORTH, teams=[NAME])) == 2
    assert repo.teams.get(STORED, first) == repo.teams.get(NAME, first)
    assert repo.teams.maintenance.run(RetentionPolicy(max_live=1), agent_id=STORED).archived == 1
    assert [status.agent_id for status in repo.teams.rank_indexes.status(agent_id=STORED)] == [
        STORED
    ]
    assert repo.teams.erase_owner(STORED).memories == 2
