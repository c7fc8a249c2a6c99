from __future__ import annotations

import asyncio
import random
from collections.abc import Callable, Iterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from itertools import combinations
from typing import Any
from uuid import UUID

import numpy as np
import pytest
from sqlalchemy import Engine, NullPool, create_engine
from sqlalchemy.ext.asyncio import create_async_engine

from pgrecall import (
    AsyncMemoryRepository,
    Memory,
    MemoryRepository,
    NewMemory,
    migrate,
    profiles,
    score,
)
from pgrecall.cluster import Consolidation
from pgrecall.errors import InputError, InvalidProfile, UnknownName
from pgrecall.event import Event
from pgrecall.garbage import GarbagePolicy
from pgrecall.link import Link
from tests.conftest import DIMENSIONS, new_database
from tests.integration.compass import Compass
from tests.integration.conftest import RepositoryOf
from tests.integration.support import NORTH, at, before, contents, sql

Similarities = dict[UUID, dict[UUID, float]]
Member = tuple[UUID, float]
PROFILES = ("five_factor", "last_access", "half_life", "trust", "tiered")


class Crowd:
    """A few hundred random memories around some centres, and their similarities by NumPy."""

    agent = "crowd"

    def __init__(self, repo: MemoryRepository, engine: Engine) -> None:
        self.repo, self.engine = repo, engine
        around = np.random.default_rng(7)
        centres = around.normal(size=(12, DIMENSIONS))
        spread = centres[around.integers(0, 12, 260)] + around.normal(size=(260, DIMENSIONS)) * 0.75
        vectors = np.concatenate([spread, around.normal(size=(60, DIMENSIONS))]).astype(np.float32)
        around.shuffle(vectors)
        new = [
            NewMemory(f"memory {n}", embedding=vector.tolist(), created_at=before(n))
            for n, vector in enumerate(vectors)
        ]
        self.ids: list[UUID] = [*repo.add_many(self.agent, new)]
        unit = vectors.astype(np.float64)
        unit /= np.linalg.norm(unit, axis=1, keepdims=True)
        self._cosines = np.clip(unit @ unit.T, 0, 1)

    def newest(self, count: int) -> Similarities:
        """The first ones: each was created a day before the one before."""
        return {
            one: {
                other: float(self._cosines[i, j])
                for j, other in enumerate(self.ids[:count])
                if i != j
            }
            for i, one in enumerate(self.ids[:count])
        }

    def pairs(self, count: int, threshold: float) -> dict[tuple[UUID, UUID], float]:
        similarities = self.newest(count)
        found = {
            (newer, older): similarities[newer][older]
            for newer, older in combinations(self.ids[:count], 2)
        }
        # None is so near to the threshold that its being float4 in the database could decide.
        assert all(abs(similarity - threshold) > 1e-6 for similarity in found.values())
        return {pair: value for pair, value in found.items() if value > threshold}


@pytest.fixture(scope="module")
def crowd(server_url: str, template: str) -> Iterator[Crowd]:
    with new_database(server_url, template) as url:
        engine = create_engine(url)
        yield Crowd(MemoryRepository(engine), engine)
        engine.dispose()


@pytest.mark.parametrize("threshold", [0.5, 0.8, 0.92])
@pytest.mark.parametrize("newest", [100, 320, 100_000])
def test_near_duplicates_are_those_of_a_comparison_of_all(
    crowd: Crowd, threshold: float, newest: int
) -> None:
    expected = crowd.pairs(newest, threshold)

    found = crowd.repo.near_duplicates(
        crowd.agent, threshold=threshold, newest=newest, limit=100_000
    )

    assert {frozenset((one.newer_id, one.older_id)) for one in found} == set(
        map(frozenset, expected)
    )
    by_pair = {frozenset(pair): similarity for pair, similarity in expected.items()}
    for one in found:
        assert one.similarity == pytest.approx(by_pair[frozenset((one.newer_id, one.older_id))])
    order = [one.similarity for one in found]
    assert order == sorted(order, reverse=True)
    assert len(expected) > 1


def test_the_older_and_the_newer_are_told_apart_by_their_age(crowd: Crowd) -> None:
    ages = {memory_id: days for days, memory_id in enumerate(crowd.ids)}

    found = crowd.repo.near_duplicates(crowd.agent)

    assert found
    for one in found:
        assert ages[one.older_id] > ages[one.newer_id]
        assert one.older_content == f"memory {ages[one.older_id]}"
        assert one.newer_content == f"memory {ages[one.newer_id]}"


def test_near_duplicates_are_more_than_092_similar_and_at_most_100(crowd: Crowd) -> None:
    expected = sorted(crowd.pairs(2_000, 0.92).values(), reverse=True)

    found = crowd.repo.near_duplicates(crowd.agent)

    assert [one.similarity for one in found] == pytest.approx(expected[:100])


@pytest.mark.parametrize("limit", [1, 7])
def test_the_most_similar_come_first_up_to_the_limit(crowd: Crowd, limit: int) -> None:
    expected = sorted(crowd.pairs(2_000, 0.5).values(), reverse=True)
    assert len(expected) > limit

    found = crowd.repo.near_duplicates(crowd.agent, threshold=0.5, limit=limit)

    assert [one.similarity for one in found] == pytest.approx(expected[:limit])


def test_a_pair_at_the_threshold_is_no_near_duplicate(either: MemoryRepository) -> None:
    """24/25 is the same in float4 and float8: strictly greater is asked for."""
    either.add_many(
        "agent", [NewMemory("a", embedding=axes(3, 4)), NewMemory("b", embedding=axes(4, 3))]
    )

    assert either.near_duplicates("agent", threshold=0.96) == []
    [pair] = either.near_duplicates("agent", threshold=0.9599)
    assert pair.similarity == 0.96


def test_near_duplicates_are_active_valid_and_the_agents_own(
    shared_repo: MemoryRepository, shared_engine: Engine, agent: str
) -> None:
    ids = shared_repo.add_many(
        agent,
        [
            *(NewMemory(text, embedding=NORTH) for text in ("a", "archived", "forgotten")),
            NewMemory("expired", embedding=NORTH, expires_at=before(1000)),
            NewMemory("unlike", embedding=at(80)),
            NewMemory("without", embedding=None),
        ],
    )
    set_of(shared_engine, ids[1], "status", "archived")
    shared_repo.invalidate(agent, ids[2])
    shared_repo.add(f"{agent} too", NewMemory("another's", embedding=NORTH))
    shared_repo.teams.add(agent, NewMemory("a team's", embedding=NORTH))

    assert shared_repo.near_duplicates(agent) == []
    like = shared_repo.add(agent, NewMemory("b", embedding=at(1)))
    [pair] = shared_repo.near_duplicates(agent)
    assert (pair.older_id, pair.newer_id) == (ids[0], like)


@pytest.mark.parametrize(
    ("name", "bad"),
    [
        *(("near_duplicates", {"threshold": value}) for value in (1.5, -0.1, None, "0.9")),
        *(("near_duplicates", {"limit": value}) for value in (0, 10**9, None)),
        *(("clusters", {"min_similarity": value}) for value in (1.5, -0.1, None)),
        *(("clusters", {"min_size": 1}), ("clusters", {"more_than": -1})),
        *((name, {"newest": 1}) for name in ("near_duplicates", "clusters", "consolidate")),
        *((name, {"newest": 2.5}) for name in ("near_duplicates", "clusters", "consolidate")),
    ],
    ids=str,
)
def test_what_cannot_be_looked_for_is_refused(
    shared_repo: MemoryRepository, agent: str, name: str, bad: dict[str, Any]
) -> None:
    with pytest.raises(InputError):
        getattr(shared_repo, name)(agent, **bad)


@pytest.mark.parametrize(
    "asked",
    [
        {},
        {"min_similarity": 0.7},
        {"min_similarity": 0.61, "min_size": 6},
        {"min_similarity": 0.9, "min_size": 2},
        {"newest": 100, "min_size": 4},
        {"more_than": 319},
    ],
    ids=repr,
)
def test_clusters_are_those_of_the_greedy_rule(crowd: Crowd, asked: dict[str, Any]) -> None:
    expected = greedy(
        crowd.newest(asked.get("newest", 2_000)),
        asked.get("min_similarity", 0.80),
        asked.get("min_size", 3),
    )

    found = crowd.repo.clusters(crowd.agent, **asked)

    assert [[one.id for one in cluster.memories] for cluster in found] == [
        [member for member, _ in cluster] for cluster in expected
    ]
    for cluster, members in zip(found, expected, strict=True):
        assert cluster.similarities == pytest.approx([share for _, share in members], abs=1e-6)
    assert len(expected) > 1


def test_no_memory_is_in_two_clusters_and_all_are_like_the_central_one(crowd: Crowd) -> None:
    similarities = crowd.newest(2_000)

    found = crowd.repo.clusters(crowd.agent, min_similarity=0.6)

    members = [one.id for cluster in found for one in cluster.memories]
    assert len(members) == len(set(members)) > 20
    for cluster in found:
        assert len(cluster.memories) >= 3
        others = [one.id for one in cluster.memories[1:]]
        assert all(similarities[cluster.central.id][other] > 0.6 - 1e-6 for other in others)


@pytest.mark.parametrize(("memories", "clusters"), [(20, 0), (21, 1)])
def test_only_an_agent_with_more_than_20_active_memories_has_clusters(
    either: MemoryRepository, memories: int, clusters: int
) -> None:
    alike(either, 3)
    either.add_many("agent", [NewMemory(f"other {n}", embedding=None) for n in range(memories - 3)])

    assert len(either.clusters("agent")) == clusters
    assert len(either.clusters("agent", more_than=memories)) == 0
    assert len(either.clusters("agent", more_than=memories - 1)) == 1


def test_memories_put_away_or_invalid_neither_count_nor_belong_to_a_cluster(
    shared_repo: MemoryRepository, shared_engine: Engine, agent: str
) -> None:
    ids = alike(shared_repo, 24, agent=agent)
    set_of(shared_engine, ids[0], "status", "archived")
    set_of(shared_engine, ids[1], "status", "completed")
    shared_repo.invalidate(agent, ids[2])
    set_of(shared_engine, ids[3], "expires_at", before(1000))

    assert shared_repo.clusters(agent) == []
    [cluster] = shared_repo.clusters(agent, more_than=19)
    assert {one.id for one in cluster.memories} == set(ids[4:])


def test_a_similarity_of_080_is_enough(shared_repo: MemoryRepository, agent: str) -> None:
    """4/5 is exact: a cluster's members are at least so similar."""
    central = shared_repo.add(agent, NewMemory("central", embedding=NORTH))
    for n, vector in enumerate([axes(4, 3), axes(4, -3), axes(4, 0, 3)]):
        shared_repo.add(agent, NewMemory(str(n), embedding=vector))

    [cluster] = shared_repo.clusters(agent, more_than=0)

    assert cluster.central.id == central
    assert cluster.similarities == [1.0, 0.8, 0.8, 0.8]
    assert shared_repo.clusters(agent, more_than=0, min_similarity=0.8000001) == []


def test_a_chain_of_small_steps_is_not_joined(shared_repo: MemoryRepository, agent: str) -> None:
    """cos 25 = 0.91 and cos 30 = 0.87, but cos 55 = 0.57: only neighbours are alike."""
    ids = {
        angle: shared_repo.add(agent, NewMemory(str(angle), embedding=at(angle)))
        for angle in (0, 25, 50, 80)
    }

    [cluster] = shared_repo.clusters(agent, more_than=0)

    assert cluster.central.id == ids[25]
    assert {one.id for one in cluster.memories} == {ids[0], ids[25], ids[50]}


def test_a_cluster_needs_three_unless_told_otherwise(
    shared_repo: MemoryRepository, agent: str
) -> None:
    ids = alike(shared_repo, 2, agent=agent)

    assert shared_repo.clusters(agent, more_than=0) == []
    [cluster] = shared_repo.clusters(agent, more_than=0, min_size=2)
    assert {one.id for one in cluster.memories} == set(ids)


def test_a_summary_stands_for_its_sources(repository_of: RepositoryOf, database_url: str) -> None:
    repo = repository_of(database_url, embedder=Compass())
    ids = {
        angle: repo.add("agent", source(angle, importance, tags, entities))
        for angle, importance, tags, entities in (
            (10, 0.3, ["a"], ["Ines"]),
            (12, 0.6, ["b", "a"], []),
            (14, 0.5, [], ["Otto", "Ines"]),
        )
    }
    asked: list[list[str]] = []

    def summarise(texts: list[str]) -> str:
        asked.append(texts)
        return "12.5"

    [done] = repo.consolidate("agent", summarise, more_than=0, actor="curator")

    assert asked == [["12", "10", "14"]] or asked == [["12", "14", "10"]]
    assert sorted(done.source_ids) == sorted(ids.values())
    new = read(repo, "agent", done.memory_id)
    assert (new.content, new.status, new.embedding_model) == ("12.5", "active", "compass-1")
    assert done.importance == new.importance == pytest.approx(0.7)
    assert (sorted(new.tags), sorted(new.entities)) == (["a", "b"], ["Ines", "Otto"])
    assert (new.memory_type, new.subject) == ("preference", "tea")
    assert contents(repo.search("agent", "12.5")) == ["12.5"]
    for source_id in ids.values():
        assert read(repo, "agent", source_id).status == "consolidated"
        told = event(repo, "agent", source_id, "consolidated")
        assert (told.old_values, told.new_values) == (
            {"status": "active"},
            {"status": "consolidated"},
        )
        assert told.actor == "curator"
    back = [
        Link(source_id=done.memory_id, target_id=source_id, kind="consolidates", weight=1.0)
        for source_id in sorted(ids.values())
    ]
    assert repo.links("agent", done.memory_id) == back


def test_the_most_central_memory_stands_for_all_without_a_summariser(
    either: MemoryRepository,
) -> None:
    ids = [
        either.add("agent", source(angle, 0.5, [], [], embedding=at(angle)))
        for angle in (10, 12, 14)
    ]

    [done] = either.consolidate("agent", more_than=0)

    assert done.memory_id not in ids
    new = either.get("agent", done.memory_id, include_embedding=True)
    assert new is not None
    assert (new.content, new.importance) == ("12", 0.6)
    assert new.embedding == pytest.approx(at(12))
    assert [read(either, "agent", one).status for one in ids] == ["consolidated"] * 3


@pytest.mark.parametrize(
    ("greatest", "importance"), [(0.0, 0.1), (0.85, 0.95), (0.95, 1.0), (1, 1)]
)
def test_the_importance_is_a_tenth_above_the_greatest_at_most_one(
    shared_repo: MemoryRepository, agent: str, greatest: float, importance: float
) -> None:
    for n, share in enumerate((greatest / 2, greatest, 0.0)):
        shared_repo.add(agent, NewMemory(str(n), embedding=at(n), importance=share))

    [done] = shared_repo.consolidate(agent, more_than=0)

    assert done.importance == pytest.approx(importance, abs=1e-15)
    assert read(shared_repo, agent, done.memory_id).importance == done.importance


def test_a_coroutine_may_summarise(database_url: str) -> None:
    async def run() -> tuple[list[Consolidation], list[tuple[int, int]]]:
        repo = AsyncMemoryRepository(
            create_async_engine(database_url, poolclass=NullPool), embedder=Compass()
        )
        for group in (0, 90):
            await repo.add_many("agent", [str(group + n) for n in range(3)])
        progress: list[tuple[int, int]] = []

        async def summarise(texts: list[str]) -> str:
            await asyncio.sleep(0)
            return str(float(texts[0]) + 0.5)

        async def on_progress(done: int, of: int) -> None:
            await asyncio.sleep(0)
            progress.append((done, of))

        done = await repo.consolidate("agent", summarise, more_than=0, on_progress=on_progress)
        return done, progress

    done, progress = asyncio.run(run())

    assert len(done) == 2
    assert progress == [(1, 2), (2, 2)]


def test_progress_is_told_after_each_cluster(either: MemoryRepository, engine: Engine) -> None:
    for group in range(3):
        alike(either, 3, turned=30 * group)
    told: list[tuple[int, int, int]] = []
    put_away = "SELECT count(*) FROM pgrecall.agent_memories WHERE status = 'consolidated'"

    def on_progress(done: int, of: int) -> None:
        told.append((done, of, *sql(engine, put_away)[0]))

    either.consolidate("agent", more_than=0, min_similarity=0.99, on_progress=on_progress)

    assert told == [(1, 3, 3), (2, 3, 6), (3, 3, 9)]


@pytest.mark.parametrize("text", ["1.5", "1", "90", " 1 "])
def test_a_summary_may_say_what_is_there_already(database_url: str, text: str) -> None:
    repo = compass_repo(database_url)
    ids = repo.add_many("agent", ["0", "1", "2"])
    other = repo.add("agent", NewMemory("90", embedding=at(90), importance=0.2))

    [done] = repo.consolidate("agent", lambda _: text, more_than=0)

    assert (done.memory_id == other) == (text == "90")
    assert done.memory_id not in ids
    memory = read(repo, "agent", done.memory_id)
    assert (memory.status, memory.importance) == ("active", 0.6)
    assert {link.target_id for link in repo.links("agent", done.memory_id)} == set(ids)
    assert [read(repo, "agent", one).status for one in ids] == ["consolidated"] * 3


Meddling = Callable[[MemoryRepository, list[UUID]], object]
MEDDLING: dict[str, Meddling] = {
    "changed": lambda repo, ids: repo.update("agent", ids[1], importance=0.9),
    "rewritten": lambda repo, ids: repo.update("agent", ids[0], content="0.1"),
    "forgotten": lambda repo, ids: repo.invalidate("agent", ids[2]),
    "superseded": lambda repo, ids: repo.supersede("agent", ids[0], "45"),
    "deleted": lambda repo, ids: repo.delete("agent", ids[1]),
    "cleared": lambda repo, ids: repo.clear("agent"),
    "consolidated": lambda repo, ids: repo.consolidate("agent", more_than=0),
}


@pytest.mark.parametrize("meddle", MEDDLING.values(), ids=MEDDLING)
def test_a_cluster_that_was_changed_meanwhile_is_left(
    database_url: str, engine: Engine, meddle: Meddling
) -> None:
    repo = compass_repo(database_url)
    ids: list[UUID] = [*repo.add_many("agent", ["0", "1", "2"])]
    stored: list[dict[str, list[str]]] = []

    def summarise(_: list[str]) -> str:
        meddle(repo, ids)
        stored.append(everything(engine, "agent"))
        return "1.5"

    assert repo.consolidate("agent", summarise, more_than=0) == []

    assert [everything(engine, "agent")] == stored


def test_a_change_by_a_transaction_begun_before_the_cluster_was_read_counts(
    database_url: str, engine: Engine
) -> None:
    """Its updated_at, the transaction's begin, is earlier than that of the other members."""
    repo = compass_repo(database_url)
    with engine.connect() as connection:
        connection.exec_driver_sql("SELECT now()")
        ids = repo.add_many("agent", ["0", "1", "2"])
        stored: list[dict[str, list[str]]] = []

        def summarise(_: list[str]) -> str:
            MemoryRepository(connection, embedder=Compass()).update("agent", ids[1], content="45")
            connection.commit()
            stored.append(everything(engine, "agent"))
            return "1.5"

        done = repo.consolidate("agent", summarise, more_than=0)

    assert done == []
    assert [everything(engine, "agent")] == stored


def test_what_was_retrieved_meanwhile_is_consolidated_all_the_same(database_url: str) -> None:
    repo = compass_repo(database_url)
    ids = repo.add_many("agent", ["0", "1", "2"])

    def summarise(_: list[str]) -> str:
        repo.touch("agent", ids)
        return "1.5"

    assert len(repo.consolidate("agent", summarise, more_than=0)) == 1


class TooDifficultError(Exception):
    pass


def test_a_summariser_that_fails_leaves_its_cluster_and_what_was_done(
    repository_of: RepositoryOf, database_url: str, engine: Engine
) -> None:
    repo = repository_of(database_url, embedder=Compass())
    first = repo.add_many("agent", ["0", "1", "2", "3"])
    second = repo.add_many("agent", ["90", "91", "92"])

    def summarise(texts: list[str]) -> str:
        if "91" in texts:
            raise TooDifficultError
        return "1.5"

    with pytest.raises(TooDifficultError):
        repo.consolidate("agent", summarise, more_than=0)

    assert [read(repo, "agent", one).status for one in first] == ["consolidated"] * 4
    assert [read(repo, "agent", one).status for one in second] == ["active"] * 3
    assert repo.count("agent") == 4


@pytest.mark.parametrize("nothing", [None, "", "  \n", 5, b"bytes", ["a"]])
def test_a_summariser_that_returns_no_text_is_an_error(
    database_url: str, engine: Engine, nothing: Any
) -> None:
    repo = compass_repo(database_url)
    repo.add_many("agent", ["0", "1", "2"])
    stored = everything(engine, "agent")

    with pytest.raises(InputError, match="summarise"):
        repo.consolidate("agent", lambda _: nothing, more_than=0)

    assert everything(engine, "agent") == stored


def test_a_summary_that_cannot_be_embedded_changes_nothing(
    repo: MemoryRepository, engine: Engine
) -> None:
    alike(repo, 3)
    stored = everything(engine, "agent")

    with pytest.raises(InputError):
        repo.consolidate("agent", lambda texts: "summary", more_than=0)

    assert everything(engine, "agent") == stored


def test_teams_consolidate_their_own_memories(shared_repo: MemoryRepository, agent: str) -> None:
    mine, theirs = (alike(one, 3, agent=agent) for one in (shared_repo, shared_repo.teams))

    [done] = shared_repo.teams.consolidate(agent, more_than=0)

    assert sorted(done.source_ids) == sorted(theirs)
    assert [read(shared_repo, agent, one).status for one in mine] == ["active"] * 3


def test_stale_tasks_are_completed(either: MemoryRepository, engine: Engine) -> None:
    now = datetime.now(UTC)
    ages = {
        "stale": NewMemory("stale", created_at=now - days(7.01), memory_type="task"),
        "also a task": NewMemory(
            "also a task", created_at=now - days(30), additional_types=["task"]
        ),
        "touched long ago": NewMemory(
            "touched long ago", created_at=now - days(30), memory_type="task"
        ),
        "fresh": NewMemory("fresh", created_at=now - days(6.99), memory_type="task"),
        "touched": NewMemory("touched", created_at=now - days(30), memory_type="task"),
        "no task": NewMemory("no task", created_at=now - days(30), memory_type="Task"),
        "undated": NewMemory("undated", created_at=None, memory_type="task"),
    }
    ids = {text: either.add("agent", stored_without(new)) for text, new in ages.items()}
    either.touch("agent", [ids["touched"], ids["touched long ago"]])
    either.feedback("agent", ids["stale"], "useful")
    sql(
        engine,
        "UPDATE pgrecall.memory_usage SET last_accessed_at = now() - interval '8 days' "
        "WHERE memory_id = :id",
        id=UUID(int=ids["touched long ago"].int),
    )

    assert either.complete_stale_tasks("agent", actor="curator") == 3

    stale = {"stale", "also a task", "touched long ago"}
    for text, memory_id in ids.items():
        expected = "completed" if text in stale else "active"
        assert (text, read(either, "agent", memory_id).status) == (text, expected)
    told = event(either, "agent", ids["stale"], "completed")
    assert (told.old_values, told.new_values) == ({"status": "active"}, {"status": "completed"})
    assert told.actor == "curator"
    assert either.complete_stale_tasks("agent") == 0


def test_how_old_a_stale_task_is_can_be_set(shared_repo: MemoryRepository, agent: str) -> None:
    made = datetime.now(UTC) - timedelta(hours=2)
    shared_repo.add(agent, NewMemory("a", embedding=None, memory_type="task", created_at=made))

    assert shared_repo.complete_stale_tasks(agent, older_than=timedelta(hours=3)) == 0
    assert shared_repo.complete_stale_tasks(agent, older_than=timedelta(hours=1)) == 1


@pytest.fixture
def varied(shared_repo: MemoryRepository, agent: str) -> list[Memory]:
    """Forty memories that differ in all that a score without a query depends on."""
    around = random.Random(11)
    now = datetime.now(UTC)
    curves = ("hyperbolic", "exponential", "linear", None)
    new = [
        NewMemory(
            f"memory {n}",
            embedding=at(n),
            created_at=None if n % 13 == 0 else now - timedelta(days=around.uniform(0, 90)),
            memory_type=around.choice(["episodic", "task"]),
            tier=around.choice(["short", "medium", "long"]),
            expires_at=None,
            importance=around.random(),
            usefulness=around.random(),
            confidence=around.random(),
            trust=None if n % 7 == 0 else around.random(),
            trust_curve=around.choice(curves),
            trust_half_life_hours=around.uniform(10, 500),
        )
        for n in range(40)
    ]
    ids = shared_repo.add_many(agent, new)
    for memory_id in ids[::2]:
        for _ in range(around.randint(1, 4)):
            shared_repo.touch(agent, memory_id)
    return [read(shared_repo, agent, memory_id) for memory_id in ids]


@pytest.mark.parametrize("profile", PROFILES)
def test_pruning_by_score_archives_what_scores_below(
    shared_repo: MemoryRepository, agent: str, varied: list[Memory], profile: str
) -> None:
    """The library's own score of values is checked elsewhere: here it is the judge."""
    names = ("created_at", "last_accessed_at", "retrieval_count", "usefulness", "importance")
    more = ("confidence", "trust", "trust_curve", "trust_half_life_hours", "tier", "memory_type")
    scores = {
        memory.id: score(
            profiles.named(profile), {name: getattr(memory, name) for name in names + more}
        ).score
        for memory in varied
    }
    ranked = sorted(scores.values())
    limit = (ranked[15] + ranked[16]) / 2
    assert ranked[16] - ranked[15] > 1e-6

    pruned = shared_repo.prune(agent, below_score=limit, profile=profile)

    expected = {memory_id for memory_id, value in scores.items() if value < limit}
    assert pruned == len(expected) == 16
    assert put_away(shared_repo, agent, varied) == expected


def test_pruning_by_age_archives_what_is_older(
    shared_repo: MemoryRepository, agent: str, varied: list[Memory]
) -> None:
    limit = datetime.now(UTC) - timedelta(days=30)
    older = {m.id for m in varied if m.created_at is not None and m.created_at < limit}

    pruned = shared_repo.prune(agent, older_than=timedelta(days=30), reason="old", actor="ines")

    assert pruned == len(older) > 5
    assert put_away(shared_repo, agent, varied) == older
    told = event(shared_repo, agent, min(older), "archived")
    assert (told.old_values, told.new_values) == ({"status": "active"}, {"status": "archived"})
    assert (told.reason, told.actor) == ("old", "ines")


def test_pruning_by_both_needs_both(
    shared_repo: MemoryRepository, agent: str, varied: list[Memory]
) -> None:
    limit = datetime.now(UTC) - timedelta(days=20)
    half_an_hour = 0.5 / 24  # five_factor moves by less than 0.001 meanwhile
    scored = {m.id: five_factor_without_a_query(m, datetime.now(UTC)) for m in varied}
    assert all(abs(value - 0.3) > half_an_hour * 0.05 for value in scored.values())
    expected = {
        m.id
        for m in varied
        if m.created_at is not None and m.created_at < limit and scored[m.id] < 0.3
    }

    pruned = shared_repo.prune(agent, older_than=timedelta(days=20), below_score=0.3)

    assert pruned == len(expected) > 3
    assert put_away(shared_repo, agent, varied) == expected


def test_pruning_without_a_limit_is_refused(either: MemoryRepository) -> None:
    either.add("agent", NewMemory("a", embedding=NORTH))

    with pytest.raises(InputError):
        either.prune("agent")
    with pytest.raises(InputError):
        either.prune("agent", older_than=30)  # type: ignore[arg-type]
    with pytest.raises(InputError):
        either.prune("agent", below_score=2)
    with pytest.raises((UnknownName, InvalidProfile)):
        either.prune("agent", below_score=0.5, profile="nothing")

    assert either.count("agent") == 1


def test_pruning_archives_active_memories_of_one_agent(
    shared_repo: MemoryRepository, shared_engine: Engine, agent: str
) -> None:
    ids = [
        shared_repo.add(agent, NewMemory(text, embedding=NORTH, created_at=before(1000)))
        for text in ("a", "completed", "forgotten")
    ]
    set_of(shared_engine, ids[1], "status", "completed")
    shared_repo.invalidate(agent, ids[2])
    others = shared_repo.add(
        f"{agent} too", NewMemory("a", embedding=NORTH, created_at=before(1000))
    )
    theirs = shared_repo.teams.add(agent, NewMemory("a", embedding=NORTH, created_at=before(1000)))

    assert shared_repo.prune(agent, older_than=timedelta(days=1), below_score=1.0) == 2

    assert [read(shared_repo, agent, one).status for one in ids] == [
        *("archived", "completed", "archived")
    ]
    assert read(shared_repo, f"{agent} too", others).status == "active"
    assert read(shared_repo.teams, agent, theirs).status == "active"


def test_what_was_pruned_can_be_revived(shared_repo: MemoryRepository, agent: str) -> None:
    memory_id = shared_repo.add(agent, NewMemory("a", embedding=NORTH, created_at=before(1000)))
    shared_repo.prune(agent, older_than=timedelta(days=1))
    assert shared_repo.search(agent, NORTH) == []

    shared_repo.revive(agent, memory_id)

    assert contents(shared_repo.search(agent, NORTH)) == ["a"]


def test_clearing_leaves_nothing_of_the_agent_in_any_table(
    either: MemoryRepository, engine: Engine
) -> None:
    for agent in ("agent", "another"):
        live_through_everything(either, agent)
        either.collect_garbage(agent_id=agent)
    tables = owned_tables(engine)
    assert all(rows_of(engine, table, "agent") for table in tables)
    others = {table: rows_of(engine, table, "another") for table in tables}
    in_store = len(rows_of(engine, "agent_memories", "agent"))

    assert either.clear("agent") == in_store == 4

    assert {table: rows_of(engine, table, "agent") for table in tables} == {
        table: [] for table in tables
    }
    assert {table: rows_of(engine, table, "another") for table in tables} == others
    assert either.clear("agent") == 0


def test_clearing_leaves_no_history_of_what_was_deleted_before(repo: MemoryRepository) -> None:
    gone = repo.add("red", NewMemory("a", embedding=NORTH))
    repo.delete("red", gone)

    assert repo.clear("red") == 0

    assert repo.history("red", gone) == []


def test_clearing_an_agent_that_has_nothing_deletes_nothing(
    either: MemoryRepository,
) -> None:
    either.add("agent", NewMemory("a", embedding=NORTH))

    assert either.clear("nobody") == 0
    assert either.count("agent") == 1


def test_curating_works_on_the_oldest_postgresql_and_with_halfvec(postgres_16: str) -> None:
    with new_database(postgres_16) as url:
        migrate.upgrade(url, dimensions=DIMENSIONS, embedding_type="halfvec")
        repo = MemoryRepository(create_engine(url, poolclass=NullPool))
        ids = alike(repo, 4)
        live_through_everything(repo, "another")

        assert len(repo.near_duplicates("agent")) == 6
        [cluster] = repo.clusters("agent", more_than=0)
        [done] = repo.consolidate("agent", more_than=0)
        hits = repo.search("agent", at(0), k=1, expand=2, statuses=["active", "consolidated"])
        pruned = repo.prune("agent", below_score=1.0)
        collected = repo.collect_garbage(GarbagePolicy(max_live=0))

        assert {one.id for one in cluster.memories} == set(done.source_ids) == set(ids)
        assert [hit.steps for hit in hits] in ([0, 1], [0, 2])
        assert (pruned, collected.archived, collected.deleted) == (1, 4 + 4, 0)
        assert (repo.clear("agent"), repo.clear("another")) == (5, 4)


def greedy(similarities: Similarities, least: float, min_size: int) -> list[list[Member]]:
    """The documented rule: a centre takes what is like it and not taken by an earlier centre.

    Centres in the order of how many are as similar to them, then of how similar those are.
    """
    like = {
        one: {other: share for other, share in others.items() if share >= least}
        for one, others in similarities.items()
    }
    shares = [share for others in similarities.values() for share in others.values()]
    assert all(abs(share - least) > 1e-6 for share in shares)
    centres = sorted(like, key=lambda one: (-len(like[one]), -sum(like[one].values()), one))
    taken: set[UUID] = set()
    found: list[list[Member]] = []
    for centre in centres:
        free = {other: share for other, share in like[centre].items() if other not in taken}
        if centre in taken or len(free) + 1 < min_size:
            continue
        members = sorted(free.items(), key=lambda member: (-member[1], member[0]))
        found.append([(centre, 1.0), *members])
        taken |= {centre, *free}
    return found


def five_factor_without_a_query(memory: Memory, now: datetime) -> float:
    """System A's numbers, similarity missing."""
    recency = 0.5
    if memory.created_at is not None:
        age_days = max((now - memory.created_at).total_seconds(), 0) / 86_400
        recency = float(np.exp(-0.05 * age_days))
    frequency = min(memory.retrieval_count / 50, 1)
    return 0.25 * recency + 0.20 * memory.usefulness + 0.10 * memory.confidence + 0.05 * frequency


def live_through_everything(repo: MemoryRepository, owner: str) -> None:
    """Leaves rows in every table: four memories, one more that is deleted."""
    ids = repo.add_many(
        owner, [NewMemory(text, embedding=at(n)) for n, text in enumerate(("a", "b", "c", "d"))]
    )
    repo.search(owner, NORTH)
    repo.add(owner, NewMemory("a", embedding=NORTH))
    repo.feedback(owner, ids[0], "useful")
    repo.label(owner, ids[0], ["x", "y"])
    repo.link(owner, ids[0], ids[1])
    new = repo.supersede(owner, ids[2], NewMemory("e", embedding=NORTH))
    repo.link(owner, new, ids[2])
    repo.delete(owner, ids[3])
    repo.build_rank_indexes(agent_id=owner)


def owned_tables(engine: Engine) -> list[str]:
    """Every table of the schema that says whose its rows are."""
    found = sql(
        engine,
        "SELECT DISTINCT table_name FROM information_schema.columns NATURAL JOIN "
        "information_schema.tables WHERE table_schema = 'pgrecall' AND table_type = 'BASE TABLE' "
        "AND column_name = 'agent_id' ORDER BY 1",
    )
    assert len(found) >= 7
    return [name for (name,) in found]


def rows_of(engine: Engine, table: str, owner: str) -> list[str]:
    return sorted(
        row
        for (row,) in sql(
            engine,
            f"SELECT to_jsonb(t)::text FROM pgrecall.{table} t WHERE agent_id = :owner",
            owner=owner,
        )
    )


def everything(engine: Engine, owner: str) -> dict[str, list[str]]:
    return {table: rows_of(engine, table, owner) for table in owned_tables(engine)}


def alike(
    repo: MemoryRepository, count: int, *, agent: str = "agent", turned: float = 0.0
) -> list[UUID]:
    """Memories within a few degrees of each other."""
    return [
        repo.add(agent, NewMemory(f"alike {turned} {n}", embedding=at(turned + n / 10)))
        for n in range(count)
    ]


def source(
    angle: float, importance: float, tags: list[str], entities: list[str], **more: Any
) -> NewMemory:
    return NewMemory(
        str(angle),
        importance=importance,
        tags=tags,
        entities=entities,
        memory_type="preference",
        subject="tea",
        **more,
    )


def stored_without(new: NewMemory) -> NewMemory:
    """Without a vector, which the repository would have to compute."""
    return replace(new, embedding=None)


def axes(*values: float) -> list[float]:
    return [*map(float, values), *[0.0] * (DIMENSIONS - len(values))]


def days(number: float) -> timedelta:
    return timedelta(days=number)


def compass_repo(url: str) -> MemoryRepository:
    return MemoryRepository(create_engine(url, poolclass=NullPool), embedder=Compass())


def read(repo: MemoryRepository, agent: str, memory_id: UUID) -> Memory:
    memory = repo.get(agent, memory_id)
    assert memory is not None
    return memory


def put_away(repo: MemoryRepository, agent: str, memories: list[Memory]) -> set[UUID]:
    return {m.id for m in memories if read(repo, agent, m.id).status == "archived"}


def event(repo: MemoryRepository, agent: str, memory_id: UUID, kind: str) -> Event:
    """The only one of its kind."""
    [found] = [one for one in repo.history(agent, memory_id) if one.event_type == kind]
    return found


def set_of(engine: Engine, memory_id: UUID, column: str, value: object) -> None:
    sql(
        engine,
        f"UPDATE pgrecall.agent_memories SET {column} = :value WHERE id = :id",
        value=value,
        id=UUID(int=memory_id.int),
    )
