"""What is done to many memories at once: psql and the repository do the same."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import astuple, replace
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID, uuid4

import psycopg
import pytest
from psycopg.rows import dict_row

from pgrecall import MemoryRepository, NewMemory, profiles
from pgrecall.label import Label
from tests.integration.support import NORTH, at
from tests.integration.test_verbs import Twins, call

Connection = psycopg.Connection[dict[str, Any]]
NOW = datetime.now(UTC)


@pytest.fixture(scope="module")
def connection(shared_url: str) -> Iterator[Connection]:
    with psycopg.connect(shared_url, autocommit=True, row_factory=dict_row) as found:
        yield found


@pytest.fixture
def twins(shared_repo: MemoryRepository, connection: Connection, agent: str) -> Twins:
    return Twins(shared_repo, connection, agent)


def tasks(twins: Twins) -> None:
    ages = {"stale": 8, "fresh": 6, "touched": 30, "no task": 30, "done": 30}
    twins.add(
        {
            name: {
                "memory_type": "semantic" if name == "no task" else "task",
                "created_at": NOW - timedelta(days=days),
            }
            for name, days in ages.items()
        }
    )
    twins.set_status("done", "completed")
    for number, owner in ((1, twins.one), (2, twins.two)):
        twins.repo.touch(owner, twins.id("touched", number))


def varied(twins: Twins) -> None:
    """Memories that differ in age and score; some do not hold any more, some were put away."""
    around = random.Random(11)
    twins.add(
        {
            f"m{n}": {
                "created_at": NOW - timedelta(days=around.uniform(0, 90)),
                "usefulness": around.random(),
                "importance": around.random(),
                "trust": around.random(),
                "expires_at": NOW - timedelta(days=1) if n % 7 == 0 else None,
            }
            for n in range(30)
        }
    )
    twins.set_status("m3", "completed")


def test_stale_tasks_are_completed_as_by_the_repository(twins: Twins) -> None:
    tasks(twins)

    by_python = twins.repo.complete_stale_tasks(twins.one, actor="Ann")
    [by_sql] = twins.call("complete_stale_tasks", actor="Ann")

    assert by_sql == {"complete_stale_tasks": 1}
    assert by_python == 1
    assert twins.rows(2) == twins.rows(1)
    assert twins.of_two("stale")["status"] == "completed"


@pytest.mark.parametrize("profile", ["five_factor", "tiered", "trust"])
@pytest.mark.parametrize("days", [None, 20])
def test_pruning_by_score_is_that_of_the_repository(
    twins: Twins, profile: str, days: int | None
) -> None:
    varied(twins)
    limits: dict[str, Any] = {"below_score": 0.3, "profile": profile}
    if days is not None:
        limits["older_than"] = timedelta(days=days)

    by_python = twins.repo.prune(twins.one, **limits, reason="low", actor="Ann")
    [by_sql] = twins.call("prune", **limits, reason="low", actor="Ann")

    assert by_sql == {"prune": by_python}
    assert 0 < by_python < 29
    assert twins.rows(2) == twins.rows(1)


def test_a_profile_of_the_callers_own_prunes_by_its_own_score(twins: Twins) -> None:
    varied(twins)
    own = replace(profiles.five_factor, name="own")

    by_python = twins.repo.prune(twins.one, below_score=0.3, profile=own, actor="Ann")
    [by_sql] = twins.call("prune", below_score=0.3, actor="Ann")

    assert by_sql == {"prune": by_python}
    assert twins.rows(2) == twins.rows(1)


def test_pruning_among_some_leaves_the_others(twins: Twins) -> None:
    varied(twins)
    some = [twins.id(name, 2) for name in ("m1", "m2", "m3")]

    [pruned] = twins.call("prune", among=[*some, twins.id("m4", 1), uuid4()])
    [nothing] = twins.call("prune", among=[])

    assert (pruned, nothing) == ({"prune": 2}, {"prune": 0})  # the third was completed before
    gone = {row["id"] for row in twins.memories(2) if row["status"] == "archived"}
    assert gone == set(map(str, some[:2]))


def test_near_duplicates_are_those_of_the_repository(
    connection: Connection, shared_repo: MemoryRepository, agent: str
) -> None:
    around = random.Random(5)
    shared_repo.add_many(
        agent, [NewMemory(f"m{n}", embedding=at(around.uniform(0, 90))) for n in range(40)]
    )

    several: list[dict[str, Any]] = [{}, {"threshold": 0.99, "newest": 20}]
    for options in several:
        found = shared_repo.near_duplicates(agent, limit=7, **options)
        rows = call(connection, "near_duplicates", agent, k=7, **options)

        assert [tuple(row.values()) for row in rows] == [astuple(one) for one in found]
        assert len(found) == 7


def test_clusters_are_those_of_the_repository(
    connection: Connection, shared_repo: MemoryRepository, agent: str
) -> None:
    around = random.Random(5)
    shared_repo.add_many(
        agent, [NewMemory(f"m{n}", embedding=at(around.uniform(0, 180))) for n in range(60)]
    )
    options: dict[str, Any] = {"min_similarity": 0.95, "min_size": 4}

    found = shared_repo.clusters(agent, **options)
    rows = call(connection, "clusters", agent, **options)

    assert len(found) > 1
    assert [tuple(row.values()) for row in rows] == [
        (number, place, memory.id, similarity)
        for number, cluster in enumerate(found, 1)
        for place, (memory, similarity) in enumerate(
            zip(cluster.memories, cluster.similarities, strict=True), 1
        )
    ]
    assert call(connection, "clusters", agent, more_than=60, **options) == []


NAN = float("nan")
DURATIONS = (timedelta(-1), timedelta(365_251))
SIGNED: list[dict[str, Any]] = [{"actor": ""}, {"metadata": []}]
REFUSED: dict[str, list[dict[str, Any]]] = {
    "complete_stale_tasks": [*({"older_than": one} for one in (*DURATIONS, None)), *SIGNED],
    "prune": [
        {},
        *({"older_than": one} for one in DURATIONS),
        *({"below_score": one} for one in (-0.1, 1.1, NAN)),
        *({"among": [], **one} for one in SIGNED),
    ],
    "near_duplicates": [
        *({"threshold": one} for one in (-0.1, 1.1, NAN, None)),
        *({"k": one} for one in (0, 100_001, None)),
        *({"newest": one} for one in (1, 100_001, None)),
    ],
    "clusters": [
        *({"min_similarity": one} for one in (-0.1, 1.1, NAN, None)),
        *({"min_size": one} for one in (1, None)),
        *({"more_than": one} for one in (-1, None)),
        *({"newest": one} for one in (1, 100_001, None)),
    ],
}


@pytest.mark.parametrize(
    ("name", "wrong"),
    [(name, one) for name in REFUSED for one in REFUSED[name]]
    + [(name, {"agent": owner}) for name in REFUSED for owner in ("", None)],
    ids=str,
)
def test_what_makes_no_sense_is_refused(twins: Twins, name: str, wrong: dict[str, Any]) -> None:
    twins.add({"m": {"created_at": NOW - timedelta(days=50), "memory_type": "task"}})
    before = twins.rows(2)
    arguments = {"agent": twins.two, **wrong}
    if name == "prune" and "agent" in wrong:
        arguments["older_than"] = timedelta(0)

    with pytest.raises(psycopg.errors.InvalidParameterValue) as refused:
        call(twins.connection, name, **arguments)

    assert refused.value.diag.message_primary
    assert twins.rows(2) == before


@pytest.mark.parametrize("profile", ["nothing", "", "five_factor(); --", None])
def test_a_profile_that_is_not_there_is_named(twins: Twins, profile: str | None) -> None:
    with pytest.raises(psycopg.Error, match="unknown profile") as refused:
        twins.call("prune", below_score=0.5, profile=profile)

    assert refused.value.sqlstate == "PM007"


@pytest.mark.parametrize("name", ["complete_stale_tasks", "prune"])
def test_the_actor_is_the_sessions_user_unless_named(twins: Twins, name: str) -> None:
    twins.add({"m": {"created_at": NOW - timedelta(days=50), "memory_type": "task"}})

    twins.call(name, timedelta(days=1))

    user = twins.connection.execute("SELECT session_user::text AS name").fetchone()
    [*_, event] = twins.repo.history(twins.two, twins.id("m", 2))
    assert {"name": event.actor} == user


def ids_of(rows: list[dict[str, Any]], name: str) -> list[UUID]:
    return [row[name] for row in rows]


def test_memories_that_are_equally_old_are_compared_by_id(
    connection: Connection, shared_repo: MemoryRepository, agent: str
) -> None:
    made = [NewMemory(f"m{n}", embedding=NORTH, created_at=NOW) for n in range(4)]
    ids = sorted(shared_repo.add_many(agent, made))

    rows = call(connection, "near_duplicates", agent, newest=3)

    assert set(ids_of(rows, "older_id")) == {*ids[1:3]}
    assert set(ids_of(rows, "newer_id")) == {*ids[2:4]}


def alike(twins: Twins) -> None:
    """Two clusters whose memories differ in all that the one in their place takes from them."""
    twins.add(
        {
            f"m{n}": {
                "embedding": at(90 * (n % 2) + n / 10),
                "importance": 0.1 * n,
                "usefulness": 0.05 * n,
                "confidence": 1 - 0.1 * n,
                "trust": None if n == 3 else 0.1 * n,
                "tags": [f"t{n}", "all"],
                "entities": ["Ines", f"e{n}"],
                "valid_from": NOW - timedelta(days=n + 1),
                "valid_until": NOW + timedelta(days=n + 1),
                "expires_at": None if n in (1, 2) else NOW + timedelta(days=9 - n),
                "compliant": None if n == 2 else n != 5,
                "has_errors": n == 4,
                "memory_type": "preference",
                "component": "meta",
                "output_type": "decision",
                "tier": "medium",
                "tokens": n,
            }
            for n in range(8)
        }
    )
    for number, owner in ((1, twins.one), (2, twins.two)):
        for n in range(8):
            label = Label("shared", "tag", n / 10)
            twins.repo.label(owner, twins.id(f"m{n}", number), [label, f"own {n}"])


def test_consolidating_is_that_of_the_repository(twins: Twins) -> None:
    alike(twins)

    done = twins.repo.consolidate(twins.one, more_than=3, actor="Ann")
    rows = twins.call("consolidate", more_than=3, actor="Ann")

    assert len(done) == 2
    for number, new in ((1, [one.memory_id for one in done]), (2, ids_of(rows, "memory_id"))):
        twins.name({f"new {n}": id_ for n, id_ in enumerate(new)}, number)
    assert twins.rows(2) == twins.rows(1)
    names = {twins.id(f"m{n}", number): n for n in range(8) for number in (1, 2)}
    assert [([names[id_] for id_ in row["source_ids"]], row["importance"]) for row in rows] == [
        ([names[id_] for id_ in one.source_ids], one.importance) for one in done
    ]
    [first, second] = (twins.repo.get(twins.two, id_) for id_ in ids_of(rows, "memory_id"))
    assert first is not None
    assert second is not None
    odd, even = sorted((first, second), key=lambda memory: memory.has_errors)
    assert odd.importance == pytest.approx(0.8)
    assert odd.trust == pytest.approx((0.1 + 0.5 + 0.7) / 3)
    assert even.trust == pytest.approx((0.0 + 0.2 + 0.4 + 0.6) / 4)
    assert (odd.compliant, even.compliant) == (False, None)
    assert (even.valid_from, even.valid_until) == (
        *(NOW - timedelta(days=1), NOW + timedelta(days=1)),
    )
    assert even.expires_at == NOW + timedelta(days=3)
    assert set(even.tags) == {"all", "t0", "t2", "t4", "t6"}
    assert even.metadata == {"consolidates": 4}


def test_two_who_consolidate_at_once_do_it_once(
    twins: Twins, shared_url: str, shared_repo: MemoryRepository
) -> None:
    alike(twins)

    def run(_: int) -> int:
        with psycopg.connect(shared_url, autocommit=True, row_factory=dict_row) as connection:
            return len(call(connection, "consolidate", twins.two, more_than=3))

    with ThreadPoolExecutor(4) as threads:
        assert sum(threads.map(run, range(4))) == 2
    statuses = Counter(row["status"] for row in twins.memories(2))
    assert statuses == {"consolidated": 8, "active": 2}


def test_a_summary_by_hand_stands_for_memories_in_the_order_given(twins: Twins) -> None:
    alike(twins)
    ids = [twins.id(f"m{n}", 2) for n in (3, 1)]

    [row] = twins.call("consolidate_memories", ids, content="summary", embedding=str(at(5)))

    memory = twins.repo.get(twins.two, row["memory_id"], include_embedding=True)
    assert memory is not None
    assert (memory.content, memory.embedding_model) == ("summary", None)
    assert memory.embedding == pytest.approx(at(5))
    assert memory.tags == ["t3", "all", "t1"]
    assert row["source_ids"] == sorted(ids)


@pytest.mark.parametrize("which", ["archived", "twice", "another's", "none", "no ids", "changed"])
def test_what_cannot_be_consolidated_is_left(twins: Twins, which: str) -> None:
    alike(twins)
    twins.set_status("m1", "archived")
    named: dict[str, Any] = {}
    ids: list[UUID] | None = [twins.id(f"m{n}", 2) for n in (3, 5)]
    assert ids is not None
    match which:
        case "archived":
            ids.append(twins.id("m1", 2))
        case "twice":
            ids.append(ids[0])
        case "another's":
            ids.append(twins.id("m7", 1))
        case "none":
            ids = None
        case "no ids":
            ids = []
        case "changed":
            named["seen"] = [NOW, NOW]
    before = twins.rows(2)

    assert twins.call("consolidate_memories", ids, **named) == []
    assert twins.rows(2) == before
