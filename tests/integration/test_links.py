from __future__ import annotations

import random
from collections.abc import Iterator
from typing import Any
from uuid import UUID, uuid4

import psycopg
import pytest
from sqlalchemy import Engine, create_engine

from pgrecall import MemoryRepository, NewMemory, ScoredMemory
from pgrecall.errors import InputError, MemoryNotFound
from pgrecall.label import Label
from pgrecall.link import Link
from tests.conftest import DIMENSIONS, new_database
from tests.integration.support import NORTH, NOW, at, before, contents, sql
from tests.integration.test_plans import Plan, custom_plan, generic_plan, nodes, plans, scans

HOSTILE = ["'; DROP TABLE pgrecall.memory_links; --", "%s :name $1 {}", "Ω" * 200, " \t\n", "🙂"]
SHOWN: dict[str, Any] = {"as_of": NOW, "touch": False}
"""At one moment, so that scores of two searches are the same."""

Edges = list[tuple[UUID, UUID]]


def test_a_link_is_seen_from_both_ends(either: MemoryRepository) -> None:
    one, other = some(either, "agent", 2)

    either.link("agent", one, other, "causes", weight=0.4)

    expected = [Link(source_id=one, target_id=other, kind="causes", weight=0.4)]
    assert either.links("agent", one) == either.links("agent", other) == expected


def test_links_come_strongest_first(shared_repo: MemoryRepository, agent: str) -> None:
    ids = some(shared_repo, agent, 4)
    for target, weight in zip(ids[1:], (0.2, 1.0, 0.6), strict=True):
        shared_repo.link(agent, ids[0], target, weight=weight)
    shared_repo.link(agent, ids[2], ids[0], weight=0.8)

    found = shared_repo.links(agent, ids[0])

    assert [link.weight for link in found] == [1.0, 0.8, 0.6, 0.2]
    assert [link.kind for link in found] == ["related"] * 4


def test_a_link_made_again_takes_the_new_weight(either: MemoryRepository) -> None:
    one, other = some(either, "agent", 2)
    either.link("agent", one, other, "causes", weight=0.4)

    either.link("agent", one, other, "causes", weight=0.9, actor="ines")

    [link] = either.links("agent", one)
    assert link.weight == 0.9
    told = either.history("agent", one)[-1]
    target = {"target_id": str(other), "kind": "causes"}
    assert told.old_values == {**target, "weight": 0.4}
    assert told.new_values == {**target, "weight": 0.9}
    assert (told.event_type, told.actor) == ("linked", "ines")


def test_links_differ_by_direction_and_kind(shared_repo: MemoryRepository, agent: str) -> None:
    one, other = some(shared_repo, agent, 2)
    for source, target, kind in ((one, other, "a"), (other, one, "a"), (one, other, "b")):
        shared_repo.link(agent, source, target, kind)

    assert shared_repo.unlink(agent, one, other, "a") is True
    assert shared_repo.unlink(agent, one, other, "a") is False

    left = {(link.source_id, link.target_id, link.kind) for link in shared_repo.links(agent, one)}
    assert left == {(other, one, "a"), (one, other, "b")}


def test_an_unlinking_is_told(either: MemoryRepository) -> None:
    one, other = some(either, "agent", 2)
    either.link("agent", one, other, weight=0.25)

    either.unlink("agent", one, other, actor="ines")
    either.unlink("agent", one, other)

    told = [event for event in either.history("agent", one) if event.event_type == "unlinked"]
    assert [(event.old_values["weight"], event.actor) for event in told] == [(0.25, "ines")]


def test_a_memory_is_not_linked_to_itself(shared_repo: MemoryRepository, agent: str) -> None:
    [one] = some(shared_repo, agent, 1)

    with pytest.raises(InputError):
        shared_repo.link(agent, one, one)
    with pytest.raises(InputError):
        shared_repo.link(agent, one, UUID(int=one.int))

    assert shared_repo.links(agent, one) == []


def test_links_lead_to_memories_of_the_same_owner(
    shared_repo: MemoryRepository, agent: str
) -> None:
    [one] = some(shared_repo, agent, 1)
    [others] = some(shared_repo, f"{agent} too", 1)
    [of_team] = some(shared_repo.teams, agent, 1)

    for unknown in (uuid4(), others, of_team):
        with pytest.raises(MemoryNotFound, match=str(unknown)):
            shared_repo.link(agent, one, unknown)
        with pytest.raises(MemoryNotFound, match=str(unknown)):
            shared_repo.link(agent, unknown, one)
        assert shared_repo.unlink(agent, one, unknown) is False

    assert shared_repo.links(agent, one) == []
    assert len(shared_repo.history(agent, one)) == 1


@pytest.mark.parametrize(
    "bad",
    [
        *({"kind": ""}, {"kind": "x" * 201}, {"kind": None}, {"kind": "nul \0"}),
        *({"weight": 1.1}, {"weight": -0.1}, {"weight": None}, {"weight": float("nan")}),
        *({"weight": "1"}, {"target_id": "text"}, {"target_id": None}, {"actor": ""}),
    ],
    ids=lambda one: f"{one!a:.40}",
)
def test_a_link_that_cannot_be_stored_is_refused(
    shared_repo: MemoryRepository, agent: str, bad: dict[str, Any]
) -> None:
    one, other = some(shared_repo, agent, 2)

    with pytest.raises(InputError):
        shared_repo.link(agent, **{"source_id": one, "target_id": other, **bad})

    assert shared_repo.links(agent, one) == []


@pytest.mark.parametrize("kind", HOSTILE, ids=lambda text: f"{text!a:.20}")
def test_kinds_are_stored_verbatim(shared_repo: MemoryRepository, agent: str, kind: str) -> None:
    one, other = some(shared_repo, agent, 2)

    shared_repo.link(agent, one, other, kind)

    assert [link.kind for link in shared_repo.links(agent, one)] == [kind]
    assert shared_repo.unlink(agent, one, other, kind[:-1] or "x") is False
    assert shared_repo.unlink(agent, one, other, kind) is True


def test_agents_and_teams_have_links_of_their_own(
    shared_repo: MemoryRepository, agent: str
) -> None:
    mine, theirs = some(shared_repo, agent, 2), some(shared_repo.teams, agent, 2)
    shared_repo.link(agent, mine[0], mine[1])
    shared_repo.teams.link(agent, theirs[0], theirs[1])

    assert [link.source_id for link in shared_repo.links(agent, mine[1])] == [mine[0]]
    assert [link.source_id for link in shared_repo.teams.links(agent, theirs[1])] == [theirs[0]]
    assert shared_repo.links(f"{agent} too", mine[0]) == []


def test_neighbours_of_the_hits_come_with_the_score_they_have(either: MemoryRepository) -> None:
    """The best two are a and b; of the others d and f are linked to them."""
    ids = named(either, "agent", "abcdef")
    for source, target in (("a", "d"), ("f", "b"), ("d", "e"), ("a", "b")):
        either.link("agent", ids[source], ids[target], weight=0.1)
    independent = {hit.memory.content: hit.score for hit in either.search("agent", NORTH, **SHOWN)}

    hits = either.search("agent", NORTH, k=2, expand=1, **SHOWN)

    assert [(hit.memory.content, hit.steps) for hit in hits] == [
        *(("a", 0), ("b", 0), ("d", 1), ("f", 1))
    ]
    assert [hit.score for hit in hits] == [independent[text] for text in "abdf"]


def test_two_steps_reach_what_is_linked_to_the_neighbours(either: MemoryRepository) -> None:
    ids = named(either, "agent", "abcdef")
    for source, target in (("a", "d"), ("e", "d"), ("e", "f")):
        either.link("agent", ids[source], ids[target])

    found = {
        steps: [
            (hit.memory.content, hit.steps)
            for hit in either.search("agent", NORTH, k=2, expand=steps, **SHOWN)
        ]
        for steps in (0, 1, 2)
    }

    assert found[0] == [("a", 0), ("b", 0)]
    assert found[1] == [*found[0], ("d", 1)]
    assert found[2] == [*found[0], ("d", 1), ("e", 2)]


def test_a_cycle_brings_each_memory_once_by_its_shortest_way(
    shared_repo: MemoryRepository, agent: str
) -> None:
    ids = named(shared_repo, agent, "abcd")
    for pair in ("ab", "bc", "ca", "cb", "cd", "da", "dc"):
        shared_repo.link(agent, ids[pair[0]], ids[pair[1]])
        shared_repo.link(agent, ids[pair[0]], ids[pair[1]], "another")

    hits = shared_repo.search(agent, NORTH, k=1, expand=2, **SHOWN)
    alone = shared_repo.search(agent, NORTH, k=4, expand=2, **SHOWN)

    # Of three neighbours at one step only the best is brought along: k is 1.
    assert [(hit.memory.content, hit.steps) for hit in hits] == [("a", 0), ("b", 1)]
    assert [(hit.memory.content, hit.steps) for hit in alone] == [(text, 0) for text in "abcd"]


FILTERED: dict[str, dict[str, Any]] = {
    "no query": {"embedding": None},
    "similarity": {"min_similarity": 0.3},
    "score": {"min_score": 0.55},
    "tags": {"tags": ["even"]},
    "types": {"memory_types": ["task"]},
    "labels": {"labels": ["x"], "label_kinds": ["tag"]},
    "trust": {"min_trust": 0.4},
    "metadata": {"metadata": {"n": {"$gte": 20}}},
    "as of": {"as_of": before(20)},
    "invalid ones too": {"include_invalid": True, "statuses": ["active", "archived"]},
    "profile": {"profile": "tiered", "query_entities": ["Ines", "Otto"]},
    "trust as stored": {"profile": "trust", "apply_decay": False, "min_trust": 0.5},
    "weights": {"weights": {"similarity": 0.5, "recency": 0.5}},
    "nothing": {},
}


class Web:
    """Sixty memories of all kinds, linked at random, and as many of a team."""

    agent, team = "spider", "spiders"

    def __init__(self, repo: MemoryRepository, engine: Engine) -> None:
        self.repo = repo
        around = random.Random(23)
        self.edges: Edges = []
        for owner, of_owner in ((self.agent, repo), (self.team, repo.teams)):
            ids = of_owner.add_many(owner, [self._memory(around, n) for n in range(60)])
            for n, memory_id in enumerate(ids):
                if n % 3 == 0:
                    kind: Any = around.choice(["tag", "keyword"])
                    of_owner.label(owner, memory_id, Label("x", kind))
            of_owner.invalidate(owner, ids[5::9])
            sql(
                engine,
                "UPDATE pgrecall.agent_memories SET status = 'archived' WHERE id = ANY(:ids)",
                ids=[UUID(int=one.int) for one in ids[4::10]],
            )
            for _ in range(90):
                source, target = around.sample(ids, 2)
                of_owner.link(owner, source, target, around.choice("abc"), weight=around.random())
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
        every = self.repo.search(self.agent, k=1_000, **arguments)
        distance: dict[UUID, int] = {hit.memory.id: 0 for hit in every[:k]}
        for step in range(1, steps + 1):
            reached = [one for one, far in distance.items() if far == step - 1]
            for source, target in self.edges:
                for near, far_end in ((source, target), (target, source)):
                    if near in reached:
                        distance.setdefault(far_end, step)
        brought = [hit for hit in every[k:] if hit.memory.id in distance][:k]
        return [
            (hit.memory.id, distance[hit.memory.id], hit.score) for hit in [*every[:k], *brought]
        ]


@pytest.fixture(scope="module")
def web(server_url: str, template: str) -> Iterator[Web]:
    with new_database(server_url, template) as url:
        engine = create_engine(url)
        yield Web(MemoryRepository(engine), engine)
        engine.dispose()


@pytest.mark.parametrize("arguments", FILTERED.values(), ids=FILTERED)
@pytest.mark.parametrize("teams", [[], ["spiders"]], ids=["own", "teams"])
@pytest.mark.parametrize(("steps", "k"), [(1, 3), (1, 20), (2, 5)])
def test_neighbours_pass_what_hits_pass_and_are_ranked_as_they_are(
    web: Web, arguments: dict[str, Any], teams: list[str], steps: int, k: int
) -> None:
    asked: dict[str, Any] = {"embedding": NORTH, "teams": teams, **SHOWN, **arguments}
    expected = web.expected(k, steps, **asked)

    hits = web.repo.search(web.agent, k=k, expand=steps, **asked)

    assert told(hits) == expected
    assert len(hits) <= 2 * k


@pytest.mark.parametrize("expand", [1, 2])
def test_the_web_has_neighbours_to_find(web: Web, expand: int) -> None:
    """The test of the tests: without this, nothing above might have been brought along."""
    for teams in ([], [web.team]):
        hits = web.repo.search(web.agent, NORTH, k=5, expand=expand, teams=teams, **SHOWN)

        assert {hit.steps for hit in hits} >= {0, expand}
        assert len({hit.memory.id for hit in hits}) == len(hits)
    assert {hit.memory.team_id for hit in hits if hit.steps} == {None, web.team}


def test_where_narrows_neighbours_too(web: Web) -> None:
    where = web.repo.memories.c.importance > 0.4
    expected = web.expected(4, 2, embedding=NORTH, where=where, teams=[web.team], **SHOWN)

    hits = web.repo.search(web.agent, NORTH, k=4, expand=2, where=where, teams=[web.team], **SHOWN)

    assert told(hits) == expected
    assert any(hit.steps for hit in hits)


def test_a_search_of_a_team_expands_along_its_links(
    shared_repo: MemoryRepository, agent: str
) -> None:
    mine, theirs = named(shared_repo, agent, "abc"), named(shared_repo.teams, agent, "abc")
    shared_repo.link(agent, mine["a"], mine["b"])
    shared_repo.teams.link(agent, theirs["a"], theirs["c"])

    hits = shared_repo.teams.search(agent, NORTH, k=1, expand=1, **SHOWN)

    assert [(hit.memory.id, hit.steps) for hit in hits] == [(theirs["a"], 0), (theirs["c"], 1)]


def test_links_of_another_owner_are_not_followed(
    shared_repo: MemoryRepository, shared_engine: Engine, agent: str
) -> None:
    ids = named(shared_repo, agent, "ab")
    sql(
        shared_engine,
        "INSERT INTO pgrecall.memory_links (agent_id, source_id, target_id, kind) "
        "VALUES (:owner, :source, :target, 'x')",
        owner=f"{agent} too",
        source=UUID(int=ids["a"].int),
        target=UUID(int=ids["b"].int),
    )

    assert contents(shared_repo.search(agent, NORTH, k=1, expand=2, **SHOWN)) == ["a"]


def test_a_link_to_what_is_gone_leads_nowhere(
    shared_repo: MemoryRepository, shared_engine: Engine, agent: str
) -> None:
    ids = named(shared_repo, agent, "ab")
    shared_repo.link(agent, ids["a"], ids["b"])
    sql(
        shared_engine,
        "DELETE FROM pgrecall.agent_memories WHERE agent_id = :agent AND content = 'b'",
        agent=agent,
    )

    assert contents(shared_repo.search(agent, NORTH, k=1, expand=2, **SHOWN)) == ["a"]


def test_neighbours_are_retrieved_too(either: MemoryRepository) -> None:
    ids = named(either, "agent", "abcd")
    either.link("agent", ids["a"], ids["c"])

    either.search("agent", NORTH, k=1, expand=1, touch=False)
    either.search("agent", NORTH, k=1, expand=1)
    [hit, neighbour] = either.search("agent", NORTH, k=1, expand=1)

    assert (hit.memory.content, neighbour.memory.content) == ("a", "c")
    counts = {
        hit.memory.content: hit.memory.retrieval_count for hit in either.search("agent", NORTH)
    }
    assert counts == {"a": 2, "b": 0, "c": 2, "d": 0}


def test_neighbours_of_teams_are_counted_as_theirs(
    shared_repo: MemoryRepository, agent: str
) -> None:
    team = f"{agent} red"
    ids = named(shared_repo.teams, team, "ab")
    shared_repo.teams.link(team, ids["a"], ids["b"])

    found = shared_repo.search(agent, NORTH, k=1, expand=1, teams=[team])

    assert [hit.steps for hit in found] == [0, 1]
    counted = [shared_repo.teams.get(team, memory_id) for memory_id in ids.values()]
    assert [memory.retrieval_count for memory in counted if memory is not None] == [1, 1]


@pytest.mark.parametrize("k", [3, 100])
def test_expanding_by_nothing_is_a_search_as_ever(web: Web, k: int) -> None:
    asked: dict[str, Any] = {"k": k, "teams": [web.team], **SHOWN}

    hits = web.repo.search(web.agent, NORTH, expand=0, **asked)

    assert hits == web.repo.search(web.agent, NORTH, **asked)
    assert {hit.steps for hit in hits} == {0}


def test_a_search_without_hits_has_no_neighbours(shared_repo: MemoryRepository, agent: str) -> None:
    assert shared_repo.search(agent, NORTH, expand=2) == []


def test_the_record_of_a_neighbour_tells_how_far_it_is(
    shared_repo: MemoryRepository, agent: str
) -> None:
    ids = named(shared_repo, agent, "ab")
    shared_repo.link(agent, ids["b"], ids["a"])

    [hit, neighbour] = shared_repo.search(agent, NORTH, k=1, expand=1, **SHOWN)

    assert "steps" not in hit.record()
    assert neighbour.record()["steps"] == 1


@pytest.mark.parametrize("expand", [-1, 3, 1.5, True, None, "1"])
def test_only_up_to_two_steps_can_be_asked_for(
    shared_repo: MemoryRepository, agent: str, expand: Any
) -> None:
    with pytest.raises(InputError, match="expand"):
        shared_repo.search(agent, NORTH, expand=expand)


MEMORIES = 4_000

FILL = """
INSERT INTO pgrecall.agent_memories (agent_id, id, content, embedding)
SELECT 'agent ' || n % 2, gen_random_uuid(), 'memory ' || n, ARRAY[sin(n), cos(n), 1, 0, 0, 0, 0, 1]
  FROM generate_series(1, {memories}) AS n;
WITH numbered AS (
    SELECT agent_id, id, row_number() OVER (PARTITION BY agent_id ORDER BY id) AS n
      FROM pgrecall.agent_memories)
INSERT INTO pgrecall.memory_links (agent_id, source_id, target_id, kind)
SELECT one.agent_id, one.id, other.id, 'related'
  FROM numbered AS one
 CROSS JOIN LATERAL (VALUES (one.n + 1), (one.n * 7 % 1999 + 1), (one.n + 40)) AS far (n)
  JOIN numbered AS other ON other.agent_id = one.agent_id AND other.n = far.n
 WHERE other.id <> one.id
ON CONFLICT DO NOTHING;
"""
KEYS = {"pk_memory_links", "ix_memory_links_agent_id_target_id"}


@pytest.fixture(scope="module")
def large(server_url: str, template: str) -> Iterator[Engine]:
    """Some 12,000 links of 4,000 memories of two agents."""
    with new_database(server_url, template) as url:
        with psycopg.connect(url, autocommit=True) as connection:
            connection.execute(FILL.format(memories=MEMORIES))
            connection.execute(
                "VACUUM ANALYZE pgrecall.agent_memories, pgrecall.memory_usage, "
                "pgrecall.memory_links"
            )
        engine = create_engine(url)
        MemoryRepository(engine).count("agent 1")
        yield engine
        engine.dispose()


@pytest.mark.parametrize("planned", [custom_plan, generic_plan])
@pytest.mark.parametrize("expand", [1, 2])
def test_neighbours_are_found_by_the_keys(large: Engine, planned: Any, expand: int) -> None:
    searched, plan = plans(
        large,
        lambda repo: repo.search("agent 1", NORTH, k=10, expand=expand, touch=False),
        planned,
    )

    assert scans(searched, "memory_links") == []
    assert indexes(plan, "memory_links") == KEYS
    assert indexes(plan, "agent_memories") == {"pk_agent_memories"}
    conditions = [one["Index Cond"] for one in nodes(plan) if one.get("Index Name") in KEYS]
    assert all("agent_id" in one and names_an_end(one) for one in conditions)


@pytest.mark.parametrize("planned", [custom_plan, generic_plan])
def test_the_links_of_a_memory_are_found_by_the_keys(large: Engine, planned: Any) -> None:
    [(memory_id,)] = sql(large, "SELECT id FROM pgrecall.agent_memories LIMIT 1")

    [plan] = plans(large, lambda repo: repo.links("agent 1", memory_id), planned)

    assert {one["Index Name"] for one in nodes(plan) if "Index Cond" in one} == KEYS


def names_an_end(condition: str) -> bool:
    """Whether one end of the link is looked up."""
    return "source_id" in condition or "target_id" in condition


def indexes(plan: Plan, table: str) -> set[str]:
    """The indexes a table is read by; its own name for a scan of the whole table."""
    found: set[str] = set()
    for scan in scans(plan, table):
        found |= {one["Index Name"] for one in nodes(scan) if "Index Cond" in one} or {table}
    return found


def told(hits: list[ScoredMemory]) -> list[tuple[UUID, int, float]]:
    return [(hit.memory.id, hit.steps, hit.score) for hit in hits]


def some(repo: MemoryRepository, owner: str, count: int) -> list[UUID]:
    return [repo.add(owner, NewMemory(f"memory {n}", embedding=at(n))) for n in range(count)]


def named(repo: MemoryRepository, owner: str, names: str) -> dict[str, UUID]:
    """One memory for each letter, each a little less like the query than the one before."""
    return {
        name: repo.add(owner, NewMemory(name, embedding=at(8 * n), created_at=before(1)))
        for n, name in enumerate(names)
    }
