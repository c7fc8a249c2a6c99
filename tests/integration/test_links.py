"""Links between memories, and searches that follow them."""

from __future__ import annotations

import random
from typing import Any
from uuid import UUID, uuid4

import pytest
from sqlalchemy import Engine

from pgrecall import NewMemory, ScoredMemory
from pgrecall.errors import MemoryNotFound
from pgrecall.lifecycle.linking import Link
from tests.conftest import DIMENSIONS
from tests.integration.owner import Owner
from tests.integration.support import NORTH, NOW, at, before

SHOWN: dict[str, Any] = {"as_of": NOW, "touch": False}
"""At one moment, so that scores of two searches are the same."""


def named(owner: Owner, names: str) -> dict[str, UUID]:
    """One memory for each letter, each a little less like the query than the one before."""
    return {
        name: owner.add(NewMemory(name, embedding=at(8 * n), created_at=before(1)))
        for n, name in enumerate(names)
    }


def linked(owner: Owner, names: str, *pairs: str, **more: Any) -> dict[str, UUID]:
    ids = named(owner, names)
    for pair in pairs:
        owner.links.add(ids[pair[0]], ids[pair[1]], **more)
    return ids


def steps(hits: list[ScoredMemory]) -> list[tuple[str, int]]:
    return [(hit.memory.content, hit.hops) for hit in hits]


def test_a_link_is_seen_from_both_ends_and_takes_a_new_weight(mine: Owner) -> None:
    one, other = named(mine, "ab").values()

    for weight in (0.4, 0.9):
        mine.links.add(one, other, "causes", weight=weight, actor="ines")
        expected = [Link(source_id=one, target_id=other, kind="causes", weight=weight)]
        assert mine.links.of(one) == mine.links.of(other) == expected

    told = mine.history(one)[-1]
    target = {"target_id": str(other), "kind": "causes"}
    assert (told.old_values, told.new_values) == (
        target | {"weight": 0.4},
        target | {"weight": 0.9},
    )
    assert (told.event_type, told.actor) == ("linked", "ines")


def test_links_differ_by_direction_and_kind_and_come_strongest_first(mine: Owner) -> None:
    a, b, c = named(mine, "abc").values()
    links = [(b, a, "x", 1.0), (c, a, "related", 0.8), (a, b, "y", 0.6), (a, b, "x", 0.2)]
    for source, target, kind, weight in reversed(links):
        mine.links.add(source, target, kind, weight=weight)

    def found() -> list[tuple[UUID, UUID, str, float]]:
        return [(one.source_id, one.target_id, one.kind, one.weight) for one in mine.links.of(a)]

    assert found() == links
    assert mine.links.remove(a, b, "x", actor="ines") is True
    assert mine.links.remove(a, b, "x") is False
    assert found() == links[:3]
    told = mine.event(a, "unlinked")
    assert (told.old_values["weight"], told.actor) == (0.2, "ines")


def test_links_lead_to_memories_of_the_same_owner(mine: Owner) -> None:
    [one], [others], [of_team] = (named(of, "a").values() for of in (mine, mine.other, mine.team))

    for unknown in (uuid4(), others, of_team):
        for ends in ((one, unknown), (unknown, one)):
            with pytest.raises(MemoryNotFound, match=str(unknown)):
                mine.links.add(*ends)
        assert mine.links.remove(one, unknown) is False

    assert (mine.links.of(one), mine.kinds(one)) == ([], ["initial"])


# Searches that follow links


FILTERED: dict[str, dict[str, Any]] = {
    "no query": {"query": None},
    "similarity": {"filter": {"similarity": {"$gte": 0.3}}},
    "score": {"min_score": 0.55},
    "tags": {"filter": {"tags": "even"}},
    "types": {"filter": {"memory_type": "task"}},
    "any tag": {"filter": {"tags": ["kind:x", "none"]}},
    "trust": {"filter": {"decayed_trust": {"$gte": 0.4}}},
    "metadata": {"filter": {"metadata.n": {"$gte": 20}}},
    "either": {"filter": {"$or": [{"memory_type": "task"}, {"metadata.n": {"$lt": 20}}]}},
    "as of": {"as_of": before(20)},
    "inactive ones too": {"include_inactive": True},
    "profile": {"profile": "tiered", "entities": ["Ines", "Otto"]},
    "trust as stored": {"profile": "trust_stored", "filter": {"decayed_trust": {"$gte": 0.5}}},
    "weights": {"weights": {"similarity": 0.5, "recency": 0.5}},
    "nothing": {},
}


class Web:
    """Sixty memories of all kinds, linked at random, and as many of a team."""

    def __init__(self, engine: Engine) -> None:
        around = random.Random(23)
        self.mine = Owner(engine, "spider")
        self.edges: list[tuple[UUID, UUID]] = []
        for owner in (self.mine, Owner(engine, "spiders", is_team=True)):
            ids = owner.add_many([self._memory(around, n) for n in range(60)])
            owner.invalidate(ids[5::9])
            for memory_id in ids[4::10]:
                owner.put(memory_id, status="archived")
            for _ in range(90):
                source, target = around.sample(ids, 2)
                owner.links.add(source, target, around.choice("abc"), weight=around.random())
                self.edges.append((UUID(int=source.int), UUID(int=target.int)))

    @staticmethod
    def _memory(around: random.Random, n: int) -> NewMemory:
        return NewMemory(
            f"memory {n}",
            embedding=None if n % 17 == 16 else [around.gauss() for _ in range(DIMENSIONS)],
            created_at=before(around.uniform(0, 60)),
            tags=["even"] if n % 2 == 0 else ["odd"],
            memory_type="task" if n % 3 else "episodic",
            entities=around.sample(["Ines", "Otto", "Reef"], n % 4),
            metadata={"n": n},
            importance=around.random(),
            usefulness=around.random(),
            trust=around.random(),
            expires_at=None,
        )

    def expected(self, k: int, steps: int, **arguments: Any) -> list[tuple[UUID, int, float]]:
        """From a search that returns all, and the links by hand."""
        every = self.mine.search(k=1_000, **arguments)
        distance: dict[UUID, int] = {hit.memory.id: 0 for hit in every[:k]}
        for step in range(1, steps + 1):
            reached = [one for one, far in distance.items() if far == step - 1]
            for source, target in self.edges:
                for near, far_end in ((source, target), (target, source)):
                    if near in reached:
                        distance.setdefault(far_end, step)
        brought = [hit for hit in every[k:] if hit.memory.id in distance][:k]
        hits = [*every[:k], *brought]
        return [(hit.memory.id, distance[hit.memory.id], hit.score) for hit in hits]


@pytest.fixture(scope="module")
def web(shared_engine: Engine) -> Web:
    return Web(shared_engine)


@pytest.mark.parametrize(("further", "k"), [(0, 3), (1, 3), (1, 20), (2, 5)])
def test_neighbours_pass_what_hits_pass_and_are_ranked_as_they_are(
    web: Web, further: int, k: int
) -> None:
    brought = set()
    conditions = {"condition": {"filter": web.mine.repo.memories.c.importance > 0.4}, **FILTERED}
    for name, arguments in conditions.items():
        teams = [] if further == 0 else ["spiders"]
        asked: dict[str, Any] = {"query": NORTH, "teams": teams, **SHOWN, **arguments}

        hits = web.mine.search(k=k, linked=further, **asked)

        told = [(hit.memory.id, hit.hops, hit.score) for hit in hits]
        assert told == web.expected(k, further, **asked), name
        brought |= {(hit.hops, hit.memory.team_id) for hit in hits}
    # Without these, nothing above might have been brought along.
    assert {step for step, _ in brought} == set(range(further + 1))
    assert {team for step, team in brought if step} == ({None, "spiders"} if further else set())


def test_links_of_another_owner_and_to_what_is_gone_lead_nowhere(mine: Owner) -> None:
    ids = linked(mine, "abc", "ac")
    values = "VALUES (:other, :source, :target, 'x')"
    columns = "(agent_id, source_id, target_id, kind)"
    insert = f"INSERT INTO pgrecall.memory_links {columns} {values}"
    mine.sql(insert, other=mine.other.name, source=ids["a"], target=ids["b"])
    mine.sql("DELETE FROM pgrecall.agent_memories WHERE agent_id = :agent AND content = 'c'")
    linked(mine.team, "abc", "ac")

    assert steps(mine.search(NORTH, k=1, linked=2, **SHOWN)) == [("a", 0)]
    assert steps(mine.team.search(NORTH, k=1, linked=1, **SHOWN)) == [("a", 0), ("c", 1)]
    assert mine.other.search(NORTH, linked=2) == []


def test_neighbours_are_retrieved_too_and_counted_as_their_owners(mine: Owner) -> None:
    for owner in (mine, mine.team):
        linked(owner, "abcd", "ac")

    mine.search(NORTH, k=2, linked=1, teams=[mine.name], touch=False)
    found = mine.search(NORTH, k=2, linked=1, teams=[mine.name])

    assert sorted(steps(found)) == [("a", 0), ("a", 0), ("c", 1), ("c", 1)]
    for owner in (mine, mine.team):
        hits = owner.search(NORTH, touch=False)
        counts = {hit.memory.content: hit.memory.retrieval_count for hit in hits}
        assert counts == {"a": 1, "b": 0, "c": 1, "d": 0}
