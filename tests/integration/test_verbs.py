"""Verbs in psql: they do what the repository's do, wherever and by whom they are called."""

from __future__ import annotations

import json
import re
import time
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from random import Random
from typing import Any, Literal
from uuid import UUID, uuid4

import psycopg
import pytest
from psycopg import sql
from psycopg.rows import dict_row
from psycopg.types.json import Jsonb
from sqlalchemy import NullPool, create_engine

from pgrecall import GarbagePolicy, MemoryRepository, NewMemory, migrate
from pgrecall.errors import DuplicateMemory
from tests.conftest import DIMENSIONS, new_database
from tests.integration.support import NORTH, at
from tests.integration.test_hostile_strings import SHORT

Connection = psycopg.Connection[dict[str, Any]]
Rows = list[dict[str, Any]]

START = datetime.now(UTC)
each_hostile = pytest.mark.parametrize(
    "text",
    [*SHORT, "$operation$; SELECT 1; $operation$", "$$ END $$", "'); SELECT 1; --", "E'\\'"],
    ids=lambda text: f"{text!a:.20}",
)


# Does the same as the repository


def test_outcomes_move_trust_as_those_of_the_repository(twins: Twins) -> None:
    random = Random(4)
    trust = {"middling": 0.5, "high": 0.99, "low": 0.01, "none": None}
    twins.add({name: {"trust": value} for name, value in trust.items()})
    counted = {name: [0, 0, 0] for name in trust}

    for number in range(48):
        name = random.choice(list(trust))
        outcome = random.choice(["success"] * 4 + ["failure"])
        note: dict[str, Any] = {"reason": f"r{number}", "actor": "Ann", "metadata": {"n": number}}
        touch = random.random() < 0.7
        twins.repo.record_outcome(twins.one, twins.id(name), outcome, touch=touch, **note)  # type: ignore[arg-type]
        twins.call("record_outcome", twins.id(name, 2), outcome, touch=touch, **note)
        trust[name] = after_outcome(trust[name], outcome, counted[name], touch)

    assert twins.rows(2) == twins.rows(1)
    for name, expected in trust.items():
        assert twins.of_two(name)["trust"] == pytest.approx(expected, abs=1e-12)


def test_manual_changes_of_trust_as_those_of_the_repository(twins: Twins) -> None:
    twins.add({"m": {"trust": 0.5}})
    trust = 0.5

    for delta in (0.25, -0.1, 1, 0.3, -1, -0.0, 1e-200, 0.125):
        note: dict[str, Any] = {"metadata": {"by": [delta]}}
        twins.repo.adjust_trust(twins.one, twins.id("m"), delta, "why", "Ann", **note)
        twins.call("adjust_trust", twins.id("m", 2), delta, "why", "Ann", **note)
        trust = min(max(trust + delta, 0), 1)

    assert twins.rows(2) == twins.rows(1)
    assert twins.of_two("m")["trust"] == pytest.approx(trust)


def test_feedback_moves_usefulness_as_that_of_the_repository(twins: Twins) -> None:
    votes = {"useful": (1, 0), "not_useful": (0, 1), "outdated": (0, 1), "incorrect": (0, 3)}
    kinds: list[Literal["useful", "not_useful", "outdated", "incorrect"]] = [
        *("useful", "useful", "incorrect", "outdated", "not_useful", "useful"),
    ]
    twins.add({"m": {}, "untouched": {}})

    for kind in kinds:
        note: dict[str, Any] = {"actor": "Ann", "metadata": {"page": 1}}
        twins.repo.feedback(twins.one, twins.id("m"), kind, f"{kind}!", **note)
        twins.call("record_feedback", twins.id("m", 2), kind, f"{kind}!", **note)

    up, down = (sum(votes[kind][side] for kind in kinds) for side in (0, 1))
    assert twins.rows(2) == twins.rows(1)
    assert twins.of_two("m")["usefulness"] == pytest.approx((2 * 0.5 + up) / (2 + up + down))
    assert twins.of_two("m")["needs_review"] is True


def test_forgetting_and_reviving_as_the_repository_does(twins: Twins) -> None:
    gone = START - timedelta(days=1)
    twins.add({"a": {}, "b": {}, "expired": {"expires_at": gone}, "put away": {}, "untouched": {}})
    twins.set_status("put away", "archived")
    note: dict[str, Any] = {"reason": "moved", "actor": "Ann"}
    told: list[tuple[int, int]] = []
    for names in (["a", "b"], ["b"], ["a", "expired", "put away"]):
        ids, others = twins.ids(names), twins.ids(names, 2)
        told.append(
            (
                twins.repo.invalidate(twins.one, [*ids, uuid4()], **note),
                len(twins.call("invalidate", [*others, uuid4(), others[0]], **note)),
            )
        )
    for names in (["a", "expired", "put away"], ["a", "untouched"]):
        ids, others = twins.ids(names), twins.ids(names, 2)
        told.append(
            (
                twins.repo.revive(twins.one, [*ids, uuid4()], **note),
                len(twins.call("revive", [*others, uuid4(), others[0]], **note)),
            )
        )

    assert told == [(2, 2), (0, 0), (2, 2), (3, 3), (0, 0)]
    assert twins.rows(2) == twins.rows(1)
    standing = {row["content"] for row in twins.memories(2) if row["invalidated_at"] is None}
    assert standing == {"a", "expired", "put away", "untouched"}


def test_no_memory_is_revived_beside_one_that_says_the_same(twins: Twins) -> None:
    twins.add({"tea": {}, "other": {}})
    for owner, number in ((twins.one, 1), (twins.two, 2)):
        twins.set_status("tea", "archived")
        twins.repo.invalidate(owner, twins.ids(["other"], number))
        twins.repo.add(owner, NewMemory("TEA", embedding=NORTH))
    before = twins.rows(2)

    with pytest.raises(psycopg.Error, match="says the same") as refused:
        twins.call("revive", twins.ids(["other", "tea"], 2))
    assert refused.value.sqlstate == "PM004"
    with pytest.raises(DuplicateMemory):
        twins.repo.revive(twins.one, twins.ids(["other", "tea"]))

    assert twins.rows(2) == before == twins.rows(1)


@pytest.mark.parametrize("name", ["record_outcome", "adjust_trust", "record_feedback"])
def test_what_is_returned_is_the_memory_as_it_is_afterwards(twins: Twins, name: str) -> None:
    twins.add({"m": {"trust": 0.5}})
    given = REFUSED[name][0]

    [row] = twins.call(name, twins.id("m", 2), **given)

    [stored] = call_all(
        twins.connection,
        f"SELECT * FROM pgrecall.memory_records WHERE agent_id = '{twins.two}'",
    )
    assert row == stored
    assert row["updated_at"] > row["created_at"]


def test_the_history_is_the_repositorys_with_what_it_did_to_trust(
    connection: Connection, shared_repo: MemoryRepository, agent: str
) -> None:
    memory = NewMemory("m", embedding=NORTH, component="meta", confidence=0.5, compliant=True)
    memory_id = shared_repo.add(agent, memory, actor="Ann")
    shared_repo.record_outcome(agent, memory_id, "success", reason="it helped")
    shared_repo.adjust_trust(agent, memory_id, -0.25, "stale", "Ben", metadata={"case": 7})
    shared_repo.update(agent, memory_id, trust=None, trust_provenance=0.5)
    shared_repo.delete(agent, memory_id)

    rows = call(connection, "history", agent, memory_id)

    events = shared_repo.history(agent, memory_id)
    fields = ("id", "occurred_at", "event_type", "reason", "actor", "old_values", "new_values")
    assert [[row[name] for name in (*fields, "metadata")] for row in rows] == [
        [getattr(event, name) for name in (*fields, "metadata")] for event in events
    ]
    kinds = ["initial", "reinforcement", "manual", "updated", "deleted"]
    assert [row["event_type"] for row in rows] == kinds
    first = 0.3 * (0.6 * 0.8 + 0.4 * 0.5) + 0.25 * 0.5 + 0.3 * 1
    second = first + 0.05 / 1.1
    assert [row["new_trust"] for row in rows[:4]] == pytest.approx(
        [first, second, second - 0.25, None], abs=1e-9
    )
    assert [row["trust_delta"] for row in rows[:4]] == pytest.approx(
        [None, 0.05 / 1.1, -0.25, None], abs=1e-9
    )
    assert rows[1]["usage_delta"] == pytest.approx(0.7 + 0.3 / 20)
    assert rows[3]["provenance_delta"] == pytest.approx(0.5 - (0.6 * 0.8 + 0.4 * 0.5))
    assert [row["consensus_delta"] for row in rows] == [None, 0, 0, None, None]
    assert [row["governance_delta"] for row in rows] == [None, 0, 0, None, None]


def test_the_history_of_nothing_is_empty(connection: Connection, agent: str) -> None:
    assert call(connection, "history", agent, uuid4()) == []


def test_clearing_leaves_nothing_and_tells_how_many(twins: Twins) -> None:
    twins.add({"a": {}, "b": {}, "c": {}})
    twins.use_everything()
    twins.repo.delete(twins.two, twins.id("c", 2))
    twins.repo.delete(twins.one, twins.id("c"))

    [row] = twins.call("clear")
    cleared = twins.repo.clear(twins.one)

    assert row == {"clear": 2}
    assert cleared == 2
    assert [rows for rows in twins.rows(2).values() if rows] == []
    assert twins.call("clear") == [{"clear": 0}]


def test_a_team_is_the_owner_of_its_stored_id(
    connection: Connection, shared_repo: MemoryRepository, agent: str
) -> None:
    for repo in (shared_repo, shared_repo.teams):
        a, b = repo.add_many(agent, [NewMemory(text, embedding=NORTH, trust=0.5) for text in "ab"])
    teams, team = shared_repo.teams, f"team:{agent}"
    before = snapshot(connection, agent, {})

    call(connection, "record_outcome", team, a, "success")
    call(connection, "adjust_trust", team, a, -0.05, "hearsay")
    call(connection, "record_feedback", team, a, "useful")
    call(connection, "invalidate", team, [b])
    call(connection, "revive", team, [b])

    told = [row["event_type"] for row in call(connection, "history", team, a)]
    assert told == [event.event_type for event in teams.history(agent, a)]
    assert told == ["initial", "reinforcement", "manual", "feedback"]
    assert [event.event_type for event in teams.history(agent, b)][-1] == "revived"
    assert collect(connection, agent=team, delete_threshold=None)["scanned"] == 2
    assert [row["agent_id"] for row in logged(connection, team)] == [team]
    assert call(connection, "clear", team) == [{"clear": 2}]
    assert (teams.count(agent), shared_repo.count(agent)) == (0, 2)
    assert snapshot(connection, agent, {}) == before
    assert not any(snapshot(connection, team, {}).values())


def test_the_owners_of_memories_in_order(
    repo: MemoryRepository, own_connection: Connection
) -> None:
    for name in ("b", "a", "zoe", "c", "a"):
        repo.add(name, NewMemory(f"{name} {uuid4()}", embedding=NORTH))
    repo.teams.add("red", NewMemory("x", embedding=NORTH))
    for table, owner in (("usage", "aa"), ("labels", "zz"), ("links", "team:blue"), ("usage", "b")):
        values = {
            "usage": "memory_usage (agent_id, memory_id) VALUES (%s, gen_random_uuid())",
            "labels": "memory_labels VALUES (%s, gen_random_uuid(), 'tag', 'x')",
            "links": "memory_links VALUES (%s, gen_random_uuid(), gen_random_uuid(), 'x')",
        }
        own_connection.execute(f"INSERT INTO pgrecall.{values[table]}", (owner,))

    few = call(own_connection, "owners_of_memories")
    every = call(own_connection, "owners_of_memories", True)

    assert [row["agent_id"] for row in few] == ["a", "b", "c", "team:red", "zoe"]
    assert all(row["has_memories"] for row in few)
    left = ["aa", "team:blue", "zz"]
    assert [row["agent_id"] for row in every] == sorted([*left, *(row["agent_id"] for row in few)])
    assert [row["agent_id"] for row in every if not row["has_memories"]] == left


# Garbage


FATES: dict[str, tuple[dict[str, Any], str]] = {
    "trusted": ({"trust": 0.5}, "kept"),
    "never assessed": ({"trust": None}, "kept"),
    "at the threshold": ({"trust": 0.2}, "kept"),
    "under it": ({"trust": 0.19}, "archived"),
    "at that of deletion": ({"trust": 0.1}, "archived"),
    "not trusted": ({"trust": 0.05}, "deleted"),
    "not trusted and old": (
        {"trust": 0.0, "created_at": START - timedelta(days=50), "expires_at": START},
        "deleted",
    ),
    "expired": ({"trust": 0.9, "expires_at": START - timedelta(days=2)}, "archived"),
    "to expire": ({"trust": 0.9, "expires_at": START + timedelta(days=2)}, "kept"),
    "old": ({"trust": 0.9, "created_at": START - timedelta(hours=721)}, "archived"),
    "nearly old": ({"trust": 0.9, "created_at": START - timedelta(hours=719)}, "kept"),
    "of unknown age": ({"trust": 0.9, "created_at": None}, "kept"),
    "done and old": ({"trust": 0.9, "created_at": START - timedelta(days=40)}, "archived"),
    "archived before": ({"trust": 0.05}, "not live"),
}
"""What becomes of memories by the policy of system D, as it stands in systems.md."""


def fated(fate: str) -> set[str]:
    return {name for name, (_, found) in FATES.items() if found == fate}


def all_fates(twins: Twins) -> None:
    twins.add({name: fields for name, (fields, _) in FATES.items()})
    twins.set_status("archived before", "archived")
    twins.set_status("done and old", "completed")
    twins.use_everything()
    twins.leave_orphans(3)


def test_counting_garbage_tells_what_a_run_would_do(twins: Twins) -> None:
    all_fates(twins)
    before = twins.rows(2)

    counted = twins.call("count_garbage")
    capped = twins.call("count_garbage", max_live=2)

    numbers = Counter(fate for _, fate in FATES.values())
    live = len(FATES) - numbers["not live"]
    done = {"scanned": live, "archived": numbers["archived"], "deleted": numbers["deleted"]}
    assert counted == [done | {"swept": 9}]  # counters, labels and links of three that are gone
    assert capped[0]["archived"] == live - numbers["deleted"] - 2
    assert twins.rows(2) == before


@pytest.mark.parametrize("max_live", [None, 3])
@pytest.mark.parametrize("batch_size", [1, 4, 1000])
def test_batches_by_hand_do_what_a_run_of_the_repository_does(
    twins: Twins, batch_size: int, max_live: int | None
) -> None:
    all_fates(twins)
    policy = GarbagePolicy(name="p", max_live=max_live)
    run = twins.repo.collect_garbage(policy, agent_id=twins.one)

    id_ = one(twins.call("begin_garbage_run", policy="p", max_live=max_live))
    numbers: Counter[str] = Counter()
    after: UUID | None = None
    more = True
    while more:
        [batch] = twins.call("collect_garbage_batch", id_, after, batch_size)
        after, more = batch.pop("last_id"), batch.pop("more")
        assert batch["scanned"] <= batch_size
        numbers.update(batch)
    [ended] = twins.call("end_garbage_run", id_)

    names = ("scanned", "archived", "deleted", "swept")
    assert numbers == {name: getattr(run, name) for name in names}
    assert [ended[name] for name in (*names, "finished")] == [*map(numbers.get, names), True]
    assert run.swept == 9
    assert twins.rows(2, actors=False) == twins.rows(1, actors=False)


def test_a_batch_goes_on_after_the_id_given(twins: Twins) -> None:
    twins.add({name: {"trust": 0.15} for name in "abcde"})
    ids = sorted(twins.ids("abcde", 2))
    run = one(twins.call("begin_garbage_run"))

    [batch] = twins.call("collect_garbage_batch", run, ids[1], batch_size=2)

    done = {"scanned": 2, "archived": 2, "deleted": 0, "swept": 0}
    assert batch == done | {"last_id": ids[3], "more": True}
    archived = {row["id"] for row in twins.memories(2) if row["status"] == "archived"}
    assert archived == {str(id_) for id_ in ids[2:4]}


def test_a_memory_under_the_lowest_id_is_looked_at_once(
    connection: Connection, shared_repo: MemoryRepository, agent: str
) -> None:
    ids = [UUID(int=n) for n in range(3)]
    for id_ in ids:
        shared_repo.add(agent, NewMemory(f"m{id_}", id=id_, embedding=NORTH, trust=0.15))

    told = collect(connection, agent=agent, batch_size=1)

    assert (told["scanned"], told["archived"]) == (3, 3)
    assert archived(connection, agent) == ids


@pytest.mark.parametrize("whose", ["unknown", "another's", "none"])
def test_a_batch_belongs_to_a_run_of_the_owner_or_of_all(twins: Twins, whose: str) -> None:
    twins.add({"m": {"trust": 0.15}})
    others = one(call(twins.connection, "begin_garbage_run", twins.one))
    run = {"unknown": uuid4(), "another's": others, "none": None}[whose]

    with pytest.raises(psycopg.errors.InvalidParameterValue, match="begin_garbage_run"):
        twins.call("collect_garbage_batch", run)

    assert archived(twins.connection, twins.two) == []
    of_all = one(call(twins.connection, "begin_garbage_run"))
    assert twins.call("collect_garbage_batch", of_all)[0]["archived"] == 1


@pytest.mark.parametrize("batch_size", [1, 5, 1000])
def test_the_procedure_does_what_the_repository_does(twins: Twins, batch_size: int) -> None:
    all_fates(twins)
    policy = GarbagePolicy(name="p", max_live=None)
    run = twins.repo.collect_garbage(policy, agent_id=twins.one)

    told = twins.collect(policy="p", batch_size=batch_size)

    assert told == {
        name: getattr(run, name) for name in ("scanned", "archived", "deleted", "swept")
    }
    assert twins.rows(2, actors=False) == twins.rows(1, actors=False)
    by_status = {row["content"]: row["status"] for row in twins.memories(2)}
    assert by_status.keys() == FATES.keys() - fated("deleted")
    assert {name for name, status in by_status.items() if status == "archived"} == (
        fated("archived") | {"archived before"}
    )


POLICIES: list[dict[str, Any]] = [
    {"max_live": 0},
    {"max_live": 4, "max_age_hours": None},
    {"min_trust_threshold": None, "delete_threshold": None},
    {"min_trust_threshold": 1.0, "delete_threshold": 0.0, "max_age_hours": 0.0},
    {"min_trust_threshold": 0.05, "delete_threshold": 0.6, "max_live": 100},
]


@pytest.mark.parametrize("limits", POLICIES, ids=str)
def test_the_procedure_takes_every_policy(twins: Twins, limits: dict[str, Any]) -> None:
    all_fates(twins)
    run = twins.repo.collect_garbage(GarbagePolicy(**limits), agent_id=twins.one)

    told = twins.collect(batch_size=3, **limits)

    assert told == {
        name: getattr(run, name) for name in ("scanned", "archived", "deleted", "swept")
    }
    assert twins.rows(2, actors=False) == twins.rows(1, actors=False)


def test_the_procedure_without_an_agent_goes_through_all_of_them(
    repo: MemoryRepository, own_connection: Connection
) -> None:
    def remember() -> None:
        for owner in ("b", "a", "*", "last"):
            repo.add_many(
                owner,
                [NewMemory(name, embedding=NORTH, **fields) for name, (fields, _) in FATES.items()],
            )
        repo.teams.add("red", NewMemory("of a team", embedding=NORTH, trust=0.0))

    def everything() -> list[Any]:
        return [
            row
            for owner in ("b", "a", "*", "last", "team:red")
            for row in snapshot(own_connection, owner, {}, actors=False).items()
        ]

    remember()
    repo.collect_garbage()
    repo.teams.collect_garbage()
    by_python = everything()
    own_connection.execute("TRUNCATE pgrecall.agent_memories")
    own_connection.execute("TRUNCATE pgrecall.memory_events, pgrecall.gc_runs")
    remember()

    told = collect(own_connection)

    assert everything() == by_python
    assert told["scanned"] == 4 * len(FATES) + 1  # the last is a team's
    assert told["deleted"] == 4 * (len(fated("deleted")) + 1) + 1


def test_the_procedure_logs_its_run(twins: Twins) -> None:
    all_fates(twins)
    limits: dict[str, Any] = {
        "min_trust_threshold": 0.3,
        "delete_threshold": 0.02,
        "max_age_hours": 10.0,
        "max_live": 3,
    }
    twins.repo.collect_garbage(GarbagePolicy(name="p", **limits), agent_id=twins.one)

    told = twins.collect(policy="p", **limits)

    [by_repository], [by_procedure] = (logged(twins.connection, o) for o in (twins.one, twins.two))
    passing = ("agent_id", "id", "started_at", "seconds")
    assert all(by_procedure[name] for name in ("id", "started_at", "seconds"))
    for row in (by_repository, by_procedure):
        for name in passing:
            row.pop(name)
    assert by_procedure == by_repository
    assert by_procedure == {
        "policy": "p",
        "finished": True,
        **limits,
        **told,
    }


def test_a_run_over_all_is_logged_under_no_name(
    repo: MemoryRepository, own_connection: Connection
) -> None:
    repo.add("a", NewMemory("x", embedding=NORTH, trust=0.1))

    collect(own_connection)

    [row] = logged(own_connection, "")
    assert (row["scanned"], row["archived"], row["finished"]) == (1, 1, True)


def test_a_dry_run_tells_what_a_run_then_does_and_changes_nothing(twins: Twins) -> None:
    all_fates(twins)
    before = twins.rows(2)

    with twins.connection.transaction():
        twins.connection.execute("SET TRANSACTION READ ONLY")
        foretold = twins.collect(dry_run=True, max_live=2)
    unchanged = twins.rows(2)
    runs = logged(twins.connection, twins.two)
    told = twins.collect(max_live=2)

    assert (unchanged, runs) == (before, [])
    assert foretold == told


def test_the_procedure_refuses_to_run_inside_a_transaction(twins: Twins) -> None:
    all_fates(twins)
    before = twins.rows(2)

    with (
        pytest.raises(psycopg.errors.InvalidTransactionTermination),
        twins.connection.transaction(),
    ):
        twins.collect()

    assert twins.rows(2) == before
    assert logged(twins.connection, twins.two) == []


@pytest.mark.parametrize("stop", ["pg_cancel_backend", "pg_terminate_backend"])
def test_a_run_that_is_stopped_keeps_the_batches_it_did(
    shared_url: str, connection: Connection, shared_repo: MemoryRepository, agent: str, stop: str
) -> None:
    memories = [NewMemory(f"m{n}", embedding=NORTH, trust=0.15) for n in range(9)]
    ids = sorted(shared_repo.add_many(agent, memories))

    with held(shared_url, agent, ids[6]):
        stopped = stopped_when_it_waits(shared_url, stop, agent=agent, batch_size=2)

    [run] = logged(connection, agent)
    assert isinstance(stopped, psycopg.OperationalError)
    assert re.search("due to (user request|administrator command)", str(stopped))
    assert archived(connection, agent) == ids[:6]
    assert (run["scanned"], run["archived"], run["finished"]) == (6, 6, False)
    assert collect(connection, agent=agent)["archived"] == 3
    assert archived(connection, agent) == ids


def test_a_run_that_is_stopped_at_the_cap_has_logged_what_it_did(
    shared_url: str, connection: Connection, shared_repo: MemoryRepository, agent: str
) -> None:
    trusts = [0.3 + n / 100 for n in range(9)]
    memories = [NewMemory(f"m{n}", embedding=NORTH, trust=t) for n, t in enumerate(trusts)]
    ids = shared_repo.add_many(agent, memories)

    with held(shared_url, agent, ids[5]):
        stopped_when_it_waits(
            shared_url, "pg_terminate_backend", agent=agent, batch_size=2, max_live=1
        )

    [run] = logged(connection, agent)
    assert archived(connection, agent) == sorted(ids[:4])
    assert (run["archived"], run["finished"]) == (4, False)


def test_two_runs_at_once_do_the_work_once(
    shared_url: str, connection: Connection, shared_repo: MemoryRepository, agent: str
) -> None:
    trusts = (0.05, 0.15, 0.5, 0.6)
    memories = [NewMemory(f"m{n}", embedding=NORTH, trust=trusts[n % 4]) for n in range(200)]
    ids = shared_repo.add_many(agent, memories)
    shared_repo.touch(agent, ids)
    options: dict[str, Any] = {"agent": agent, "batch_size": 7, "max_live": 60}

    with ThreadPoolExecutor() as threads:
        runs = [threads.submit(collected_apart, shared_url, **options) for _ in range(3)]
        told = [run.result(timeout=60) for run in runs]

    events = Counter(event for event, _ in happened(connection, agent) if event != "initial")
    assert events == {"deleted": 50, "archived": 50 + 40}
    assert sum(run["deleted"] for run in told) == 50
    assert sum(run["archived"] for run in told) == 90
    assert len(set(happened(connection, agent))) == len(happened(connection, agent))
    assert [row["finished"] for row in logged(connection, agent)] == [True] * 3
    assert shared_repo.count(agent) == 60


# What is refused


NAN = float("nan")
LIMITS: list[dict[str, Any]] = [
    *({"min_trust_threshold": value} for value in (1.01, -0.01, NAN)),
    *({"delete_threshold": value} for value in (1.01, -0.01, NAN, float("inf"))),
    *({"max_age_hours": value} for value in (-1, NAN, 1e9)),
    {"max_live": -1},
]
NOTES: list[dict[str, Any]] = [
    *({"agent": owner} for owner in (None, "")),
    {"actor": ""},
    *({"metadata": value} for value in ([], ["x"], 1, "text")),
]
NO_BATCH: list[dict[str, Any]] = [{"batch_size": size} for size in (-1, 0)]
REFUSED: dict[str, tuple[dict[str, Any], list[dict[str, Any]]]] = {
    "record_outcome": (
        {"outcome": "success"},
        [
            *({"outcome": text} for text in ("maybe", "Success", "", None)),
            *({"query": text} for text in ("", " \t\n")),
            {"touch": None},
            *NOTES,
        ],
    ),
    "adjust_trust": (
        {"delta": 0.1, "reason": "why"},
        [
            *({"delta": delta} for delta in (1.01, -1.01, NAN, float("inf"), None)),
            *({"reason": text} for text in ("", " \n", None)),
            {"actor": None},
            *NOTES,
        ],
    ),
    "record_feedback": (
        {"kind": "useful"},
        [
            *({"kind": text} for text in ("good", "USEFUL", "", None)),
            {"query": ""},
            *NOTES,
        ],
    ),
    "invalidate": ({}, NOTES),
    "revive": ({}, NOTES),
    "clear": ({}, [{"agent": None}]),
    "count_garbage": ({}, [{"agent": None}, *LIMITS]),
    "begin_garbage_run": ({}, [*LIMITS, {"agent": ""}, {"policy": ""}, {"policy": None}]),
    "archive_excess_batch": (
        {"max_live": 0},
        [{"agent": None}, {"max_live": -1}, {"policy": ""}, *NO_BATCH],
    ),
    "sweep_orphans_batch": ({}, [{"agent": None}, *NO_BATCH]),
}
"""By function: arguments that are good, and each that is not."""


@pytest.mark.parametrize("name", REFUSED)
def test_what_makes_no_sense_is_refused_and_changes_nothing(twins: Twins, name: str) -> None:
    twins.add({"m": {"trust": 0.5}})
    good, bad = REFUSED[name]
    arguments: dict[str, Any] = {"agent": twins.two, **good}
    if name in ("record_outcome", "adjust_trust", "record_feedback"):
        arguments["memory_id"] = twins.id("m", 2)
    if name in ("invalidate", "revive"):
        arguments["memory_ids"] = twins.ids("m", 2)

    accepted = [wrong for wrong in bad if accepts(twins.connection, name, arguments | wrong)]

    assert accepted == []


@pytest.mark.parametrize(
    "wrong",
    [
        *LIMITS,
        *NO_BATCH,
        {"batch_size": None},
        {"batch_size": 100_001},
        {"policy": ""},
        {"policy": None},
        {"agent": ""},
        {"dry_run": None},
    ],
    ids=str,
)
def test_the_procedure_refuses_what_the_repository_refuses(
    connection: Connection, shared_repo: MemoryRepository, agent: str, wrong: dict[str, Any]
) -> None:
    shared_repo.add(agent, NewMemory("m", embedding=NORTH, trust=0.15))
    logged_before = call_all(connection, "SELECT count(*) FROM pgrecall.gc_runs")

    with pytest.raises((psycopg.DataError, psycopg.IntegrityError)):
        collect(connection, **{"agent": agent} | wrong)

    assert archived(connection, agent) == []
    assert call_all(connection, "SELECT count(*) FROM pgrecall.gc_runs") == logged_before


@pytest.mark.parametrize("name", ["record_outcome", "adjust_trust", "record_feedback"])
@pytest.mark.parametrize("whose", ["unknown", "another's", "none"])
def test_a_memory_that_is_not_there_is_named(twins: Twins, name: str, whose: str) -> None:
    twins.add({"m": {"trust": 0.5}})
    ids = {"unknown": uuid4(), "another's": twins.id("m"), "none": None}
    given = REFUSED[name][0] | {"memory_id": ids[whose]}
    before = twins.rows(2), twins.rows(1)

    with pytest.raises(psycopg.Error) as refused:
        call(twins.connection, name, agent=twins.two, **given)

    assert refused.value.sqlstate == "PM003"
    assert refused.value.diag.message_primary == (
        f"agent '{twins.two}' has no memory {ids[whose] or 'NULL'}"
    )
    assert (twins.rows(2), twins.rows(1)) == before


def test_trust_that_was_never_assessed_cannot_be_moved_by_hand(twins: Twins) -> None:
    twins.add({"m": {"trust": None}})
    before = twins.rows(2)

    with pytest.raises(psycopg.Error) as refused:
        twins.call("adjust_trust", twins.id("m", 2), 0.1, "why")

    assert refused.value.sqlstate == "PM001"
    assert twins.rows(2) == before


@pytest.mark.parametrize("name", ["invalidate", "revive"])
@pytest.mark.parametrize("ids", [[], None, [None]], ids=str)
def test_no_ids_change_nothing(twins: Twins, name: str, ids: Any) -> None:
    twins.add({"m": {}})
    before = twins.rows(2)

    assert call(twins.connection, name, agent=twins.two, memory_ids=ids) == []
    assert twins.rows(2) == before


# Hostile strings


@each_hostile
def test_hostile_texts_are_kept_as_they_are(
    connection: Connection, shared_repo: MemoryRepository, agent: str, text: str
) -> None:
    owner = f"{agent} {text[:100]}"
    memory_id = shared_repo.add(owner, NewMemory("m", embedding=NORTH, trust=0.25))
    note: dict[str, Any] = {"actor": text, "metadata": {text: [text]}}

    call(connection, "record_outcome", owner, memory_id, "failure", reason=text, **note)
    call(connection, "adjust_trust", owner, memory_id, 0.01, text, **note)
    call(connection, "record_feedback", owner, memory_id, "useful", text, **note)
    call(connection, "invalidate", owner, [memory_id], text, **note)
    call(connection, "revive", owner, [memory_id], reason=text, **note)
    told = collect(connection, agent=owner, policy=text)

    *noted, collected = call(connection, "history", owner, memory_id)[1:]
    assert {(row["reason"], row["actor"]) for row in noted} == {(text, text)}
    assert all(row["metadata"][text] == [text] for row in noted)
    assert (told["archived"], collected["event_type"]) == (1, "archived")
    assert text in collected["reason"]
    assert [row["policy"] for row in logged(connection, owner)] == [text]
    assert call(connection, "clear", owner) == [{"clear": 1}]


@each_hostile
def test_a_hostile_name_is_told_as_it_is(connection: Connection, text: str) -> None:
    with pytest.raises(psycopg.Error, match="has no memory") as refused:
        call(connection, "record_outcome", text[:100], uuid4(), "success")

    message = str(refused.value.diag.message_primary)
    assert message.startswith(f"agent '{text[:100]}' has no memory")


# Where it runs


def every_operation(
    connection: Connection, schema: str, repo: MemoryRepository, agent: str
) -> dict[str, Any]:
    """Runs each function and the procedure once, and what they tell."""
    memories = [NewMemory(f"m{n}", embedding=at(n), trust=0.5) for n in range(8)]
    first, second, *_ = ids = repo.add_many(agent, memories)
    repo.label(agent, first, "x")
    repo.link(agent, first, second)

    def run(name: str, *arguments: Any, **named: Any) -> Rows:
        return call(connection, name, agent, *arguments, schema=schema, **named)

    return {
        "outcome": run("record_outcome", first, "success")[0]["trust"],
        "trust": run("adjust_trust", second, -0.45, "why")[0]["trust"],
        "feedback": run("record_feedback", first, "useful")[0]["usefulness"],
        "touched": run("touch", [first, second]),
        "labelled": run("label", first, ["y", "z"]),
        "unlabelled": run("unlabel", first, ["x", "z"]),
        "linked": run("link", second, first),
        "unlinked": run("unlink", first, second),
        "labels": run("labels", first),
        "links": [row["weight"] for row in run("links", first)],
        "queries": run("recorded_queries"),
        "forgotten": len(run("invalidate", ids[2:4])),
        "revived": len(run("revive", ids[2:4])),
        "history": kinds(run("history", first)),
        "count": run("count_garbage"),
        "batch": run("collect_garbage_batch", one(run("begin_garbage_run")), batch_size=5)[0][
            "archived"
        ],
        "deleted": kinds(run("history", second)),
        "excess": run("archive_excess_batch", 6),
        "swept": run("sweep_orphans_batch"),
        "collected": collect(connection, schema=schema, agent=agent, max_live=4),
        "dry": collect(connection, schema=schema, dry_run=True, max_live=4),
        "owners": call_all(connection, f'SELECT * FROM "{schema}".owners_of_memories()'),
        "cleared": run("clear"),
        "left": repo.count(agent),
    }


def kinds(events: Rows) -> list[str]:
    """But those of labels and links, which other tests are about."""
    kept = {"initial", "reinforcement", "manual", "feedback", "deleted"}
    return [row["event_type"] for row in events if row["event_type"] in kept]


EVERYTHING = {
    "outcome": pytest.approx(0.5 + 0.05 / 1.1),
    "trust": pytest.approx(0.05),
    "feedback": pytest.approx(2 / 3),
    "touched": [{"touch": 2}],
    "labelled": [{"label": 2}],
    "unlabelled": [{"unlabel": 2}],
    "linked": [{"link": ""}],
    "unlinked": [{"unlink": True}],
    "labels": [{"value": "y", "kind": "keyword", "weight": 1}],
    "links": [1],
    "queries": [],
    "forgotten": 2,
    "revived": 2,
    "history": ["initial", "reinforcement", "feedback"],
    "count": [{"scanned": 8, "archived": 0, "deleted": 1, "swept": 0}],
    "batch": 0,
    "deleted": ["initial", "manual", "deleted"],
    "excess": [{"archive_excess_batch": 1}],
    "swept": [{"sweep_orphans_batch": 0}],
    "collected": {"scanned": 6, "archived": 2, "deleted": 0, "swept": 0},
    "dry": {"scanned": 4, "archived": 0, "deleted": 0, "swept": 0},
    "owners": [{"agent_id": "agent-1", "has_memories": True}],
    "cleared": [{"clear": 7}],
    "left": 0,
}


@pytest.mark.parametrize(
    "search_path", ["", "pg_catalog", "elsewhere, public", "pg_temp, elsewhere, pgrecall"]
)
def test_the_search_path_of_the_caller_does_not_matter(own_url: str, search_path: str) -> None:
    repo = MemoryRepository(create_engine(own_url, poolclass=NullPool))
    with psycopg.connect(own_url, autocommit=True, row_factory=dict_row) as connection:
        lay_traps(connection, "elsewhere")
        connection.execute("SELECT set_config('search_path', %s, false)", (search_path,))

        told = every_operation(connection, "pgrecall", repo, "agent-1")

        after = call_all(connection, "SHOW search_path")
        trapped = caught(connection, "elsewhere")
    assert told == EVERYTHING
    assert after == [{"search_path": search_path}]
    assert trapped == []


def test_temporary_tables_of_the_same_names_do_not_matter(own_url: str) -> None:
    """They come first on every search_path that does not name pg_temp."""
    repo = MemoryRepository(create_engine(own_url, poolclass=NullPool))
    with psycopg.connect(own_url, autocommit=True, row_factory=dict_row) as connection:
        lay_traps(connection, "pg_temp")

        told = every_operation(connection, "pgrecall", repo, "agent-1")

        trapped = caught(connection, "pg_temp")
    assert told == EVERYTHING
    assert trapped == []


@pytest.mark.parametrize("schema", ["select", "user"])
def test_a_schema_with_an_odd_name(empty_url: str, schema: str) -> None:
    migrate.upgrade(empty_url, dimensions=DIMENSIONS, schema=schema)
    repo = MemoryRepository(create_engine(empty_url, poolclass=NullPool), schema=schema)

    with psycopg.connect(empty_url, autocommit=True, row_factory=dict_row) as connection:
        told = every_operation(connection, schema, repo, "agent-1")

    assert told == EVERYTHING


def test_two_schemas_in_one_database_do_not_mix(own_url: str) -> None:
    migrate.upgrade(own_url, dimensions=DIMENSIONS, schema="second")
    engine = create_engine(own_url, poolclass=NullPool)
    repo = MemoryRepository(engine)
    repo.add("agent-1", NewMemory("of the first", embedding=NORTH, trust=0.0))

    with psycopg.connect(own_url, autocommit=True, row_factory=dict_row) as connection:
        told = every_operation(
            connection, "second", MemoryRepository(engine, schema="second"), "agent-1"
        )

    assert told == EVERYTHING
    assert repo.count("agent-1") == 1


def test_postgresql_16(postgres_16: str) -> None:
    with new_database(postgres_16) as url:
        migrate.upgrade(url, dimensions=DIMENSIONS)
        repo = MemoryRepository(create_engine(url, poolclass=NullPool))
        with psycopg.connect(url, autocommit=True, row_factory=dict_row) as connection:
            told = every_operation(connection, "pgrecall", repo, "agent-1")

    assert told == EVERYTHING


def test_a_dry_run_leaves_the_search_path_of_a_transaction(connection: Connection) -> None:
    with connection.transaction():
        connection.execute("SET LOCAL search_path = public, pg_temp")
        collect(connection, dry_run=True)
        after = call_all(connection, "SHOW search_path")

    assert after == [{"search_path": "public, pg_temp"}]


def test_a_run_that_failed_leaves_the_search_path(
    shared_url: str, connection: Connection, agent: str
) -> None:
    before = call_all(connection, "SHOW search_path")

    with pytest.raises(psycopg.Error):
        collect(connection, agent=agent, policy=None)

    assert call_all(connection, "SHOW search_path") == before


@pytest.mark.parametrize("name", ["record_outcome", "adjust_trust", "record_feedback"])
def test_the_actor_is_the_sessions_user_unless_named(twins: Twins, name: str) -> None:
    twins.add({"m": {"trust": 0.5}})
    arguments = REFUSED[name][0] | {"agent": twins.two, "memory_id": twins.id("m", 2)}

    call(twins.connection, name, **arguments)
    call(twins.connection, name, **arguments | {"actor": "Ann"})

    user = one(call_all(twins.connection, "SELECT session_user::text"))
    events = twins.repo.history(twins.two, twins.id("m", 2))[1:]
    assert [event.actor for event in events] == [user, "Ann"]


def test_forgetting_reviving_and_collecting_name_the_sessions_user(
    twins: Twins,
) -> None:
    twins.add({"m": {"trust": 0.15}})

    twins.call("invalidate", twins.ids("m", 2))
    twins.call("revive", twins.ids("m", 2))
    twins.collect()

    user = one(call_all(twins.connection, "SELECT session_user::text"))
    events = twins.repo.history(twins.two, twins.id("m", 2))[1:]
    assert [(event.event_type, event.actor) for event in events] == [
        ("forgotten", user),
        ("revived", user),
        ("archived", user),
    ]


# What is installed


@pytest.mark.parametrize("name", ["count_garbage", "begin_garbage_run", "collect_garbage"])
def test_the_defaults_are_those_of_the_policy(connection: Connection, name: str) -> None:
    [row] = call_all(
        connection,
        "SELECT pg_get_function_arguments(oid) AS arguments FROM pg_proc "
        f"WHERE pronamespace = 'pgrecall'::regnamespace AND proname = '{name}'",
    )

    found = dict(re.findall(r"(\w+) [a-z ]+ DEFAULT ([^,]+)", row["arguments"]))
    # As systems.md gives them for system D.
    assert float(found["min_trust_threshold"]) == 0.2
    assert float(found["max_age_hours"]) == 720
    assert float(found["delete_threshold"]) == 0.1
    assert found.get("dry_run", "false") == "false"


# Helpers


class Twins:
    """Two owners of equal memories: the first is worked on by the repository, the other by SQL."""

    def __init__(self, repo: MemoryRepository, connection: Connection, agent: str) -> None:
        self.repo = repo
        self.connection = connection
        self.one, self.two = f"{agent} by Python", f"{agent} by SQL"
        self._ids: dict[int, dict[str, UUID]] = {1: {}, 2: {}}

    def add(self, memories: dict[str, dict[str, Any]]) -> None:
        """By content; in the same order, so that their ids order alike."""
        for number, owner in ((1, self.one), (2, self.two)):
            new = [NewMemory(n, **{"embedding": NORTH} | f) for n, f in memories.items()]
            added = self.repo.add_many(owner, new, check_compliance=False)
            self._ids[number] = dict(zip(memories, map(plain_id, added), strict=True))

    def name(self, ids: dict[str, UUID], number: int) -> None:
        """Memories that were made meanwhile."""
        self._ids[number] |= ids

    def id(self, name: str, number: int = 1) -> UUID:
        return self._ids[number][name]

    def ids(self, names: Any, number: int = 1) -> list[UUID]:
        return [self.id(name, number) for name in names]

    def set_status(self, name: str, status: str) -> None:
        for number in (1, 2):
            self.connection.execute(
                "UPDATE pgrecall.agent_memories SET status = %s WHERE id = %s",
                (status, self.id(name, number)),
            )

    def use_everything(self) -> None:
        """Counters, labels and links for all of them."""
        for number, owner in ((1, self.one), (2, self.two)):
            ids = list(self._ids[number].values())
            self.repo.touch(owner, ids)
            for id_, next_id in pairwise(ids):
                self.repo.label(owner, id_, ["x", "y"])
                self.repo.link(owner, id_, next_id)

    def leave_orphans(self, number: int) -> None:
        """Counters, labels and links of memories that are gone."""
        for owner in (self.one, self.two):
            for _ in range(number):
                for insert in (
                    "memory_usage (agent_id, memory_id) VALUES (%s, %s)",
                    "memory_labels (agent_id, memory_id, kind, value) VALUES (%s, %s, 'tag', 'x')",
                    "memory_links (agent_id, source_id, target_id, kind) "
                    "VALUES (%s, %s, gen_random_uuid(), 'x')",
                ):
                    self.connection.execute(f"INSERT INTO pgrecall.{insert}", (owner, uuid4()))

    def call(self, name: str, *arguments: Any, **named: Any) -> Rows:
        return call(self.connection, name, self.two, *arguments, **named)

    def collect(self, **named: Any) -> dict[str, Any]:
        return collect(self.connection, **{"agent": self.two} | named)

    def memories(self, number: int) -> Rows:
        return read(self.connection, "agent_memories", (self.one, self.two)[number - 1])

    def of_two(self, name: str) -> dict[str, Any]:
        [row] = [row for row in self.memories(2) if row["content"] == name]
        return row

    def rows(self, number: int, *, actors: bool = True) -> dict[str, list[Any]]:
        """All that is stored of one of them, but for ids and the times of what was just done."""
        names = {str(id_): name for name, id_ in self._ids[number].items()}
        owner = (self.one, self.two)[number - 1]
        return snapshot(self.connection, owner, names, actors=actors)


@pytest.fixture(scope="module")
def connection(shared_url: str) -> Iterator[Connection]:
    with psycopg.connect(shared_url, autocommit=True, row_factory=dict_row) as found:
        yield found


@pytest.fixture
def own_connection(database_url: str) -> Iterator[Connection]:
    with psycopg.connect(database_url, autocommit=True, row_factory=dict_row) as found:
        yield found


@pytest.fixture
def twins(shared_repo: MemoryRepository, connection: Connection, agent: str) -> Twins:
    return Twins(shared_repo, connection, agent)


def after_outcome(
    trust: float | None, outcome: str, counted: list[int], touch: bool
) -> float | None:
    """System D's rule as systems.md gives it; `counted`: successes, failures, accesses."""
    counted[0 if outcome == "success" else 1] += 1
    counted[2] += touch
    successes, failures, accesses = counted
    if trust is None:
        return None
    trust += 0.05 / (1 + 0.1 * successes) if outcome == "success" else -0.08 / (1 + 0.05 * failures)
    if accesses > 5 and successes / (successes + failures) > 0.8:
        trust += 0.02
    return min(max(trust, 0.0), 1.0)


def plain_id(id_: UUID) -> UUID:
    return UUID(int=id_.int)


def one(rows: Rows) -> Any:
    [row] = rows
    [value] = row.values()
    return value


def call_all(connection: Connection, statement: str) -> Rows:
    return connection.execute(statement).fetchall()


def call(
    connection: Connection, name: str, *arguments: Any, schema: str = "pgrecall", **named: Any
) -> Rows:
    """Calls a function, with further arguments by name."""
    return connection.execute(
        sql.SQL("SELECT * FROM {}({})").format(
            sql.Identifier(schema, name), given(arguments, named)
        ),
        [*arguments, *(adapted(name, value) for name, value in named.items())],
    ).fetchall()


def collect(connection: Connection, *, schema: str = "pgrecall", **named: Any) -> dict[str, Any]:
    """Calls the procedure."""
    statement = sql.SQL("CALL {}({})").format(
        sql.Identifier(schema, "collect_garbage"), given((), named)
    )
    [row] = connection.execute(statement, list(named.values())).fetchall()
    return row


def accepts(connection: Connection, name: str, arguments: dict[str, Any]) -> bool:
    """Whether a function takes the arguments; nothing of it stays."""
    try:
        with connection.transaction(force_rollback=True):
            call(connection, name, **arguments)
    except psycopg.Error as error:
        if not re.match("22|23514|PM007", str(error.sqlstate)):
            raise
        return False
    return True


def given(arguments: tuple[Any, ...], named: dict[str, Any]) -> sql.Composed:
    return sql.SQL(", ").join(
        [
            *[sql.SQL("%s")] * len(arguments),
            *(sql.SQL("{} => %s").format(sql.Identifier(name)) for name in named),
        ]
    )


def adapted(name: object, value: Any) -> Any:
    return Jsonb(value) if name == "metadata" else value


def read(connection: Connection, table: str, owner: str) -> Rows:
    order = {"memory_events": "occurred_at, id", "gc_runs": "id"}.get(table, "1")
    return [
        row["found"]
        for row in connection.execute(
            f"SELECT to_jsonb(t) AS found FROM (SELECT * FROM pgrecall.{table} "
            f"WHERE agent_id = %s ORDER BY {order}) t",
            (owner,),
        )
    ]


def logged(connection: Connection, owner: str) -> Rows:
    return read(connection, "gc_runs", owner)


def snapshot(
    connection: Connection, owner: str, names: dict[str, str], *, actors: bool = True
) -> dict[str, list[Any]]:
    tables = (
        *("agent_memories", "memory_usage", "memory_labels", "memory_links"),
        "memory_events",
    )
    found = {}
    for table in tables:
        rows = [comparable(row, names) for row in read(connection, table, owner)]
        for row in rows:
            row.pop("agent_id", None)
            if not actors:
                row.pop("actor", None)
        found[table] = sorted(rows, key=lambda row: json.dumps(row, sort_keys=True))
    return found


def comparable(value: Any, names: dict[str, str]) -> Any:
    """With names for ids, and `now` for what was just now."""
    if isinstance(value, dict):
        return {key: comparable(item, names) for key, item in value.items()}
    if isinstance(value, list):
        return [comparable(item, names) for item in value]
    if not isinstance(value, str):
        return value
    if value in names:
        return names[value]
    try:
        return f"an id, {UUID(value).version}"
    except ValueError:
        pass
    try:
        moment = datetime.fromisoformat(value)
    except ValueError:
        return value
    is_now = moment != START and abs(moment - datetime.now(UTC)) < timedelta(minutes=30)
    return "now" if is_now else value


def archived(connection: Connection, agent: str) -> list[UUID]:
    return [
        row["id"]
        for row in connection.execute(
            "SELECT id FROM pgrecall.agent_memories WHERE agent_id = %s AND status = 'archived' "
            "ORDER BY id",
            (agent,),
        )
    ]


def happened(connection: Connection, agent: str) -> list[tuple[str, UUID]]:
    rows = connection.execute(
        "SELECT event_type, memory_id FROM pgrecall.memory_events WHERE agent_id = %s", (agent,)
    )
    return [(row["event_type"], row["memory_id"]) for row in rows]


def collected_apart(url: str, **options: Any) -> dict[str, Any]:
    with psycopg.connect(url, autocommit=True, row_factory=dict_row) as connection:
        return collect(connection, **options)


@contextmanager
def held(url: str, agent: str, memory_id: UUID) -> Iterator[None]:
    """Keeps a memory locked, as a writer in a transaction would."""
    with psycopg.connect(url) as rival:
        rival.execute(
            "SELECT FROM pgrecall.agent_memories WHERE agent_id = %s AND id = %s FOR UPDATE",
            (agent, memory_id),
        )
        yield
        rival.rollback()


def stopped_when_it_waits(url: str, stop: str, **options: Any) -> BaseException | None:
    """Starts a collection that will meet a lock, stops it there, and returns how it ended."""
    with (
        psycopg.connect(url, autocommit=True, row_factory=dict_row) as running,
        psycopg.connect(url, autocommit=True) as watching,
        ThreadPoolExecutor() as threads,
    ):
        pid = running.info.backend_pid
        run: Future[dict[str, Any]] = threads.submit(collect, running, **options)
        deadline = time.monotonic() + 20
        while not run.done() and time.monotonic() < deadline:
            [waiting] = watching.execute(
                "SELECT coalesce(bool_or(wait_event_type = 'Lock'), false) "
                "FROM pg_stat_activity WHERE pid = %s",
                (pid,),
            ).fetchone() or [False]
            if waiting:
                break
            time.sleep(0.01)
        watching.execute(f"SELECT {stop}(%s)", (pid,))
        return run.exception(timeout=20)


TABLES = (
    *("agent_memories", "memory_usage", "memory_events"),
    *("memory_labels", "memory_links", "gc_runs"),
)


def lay_traps(connection: Connection, schema: str) -> None:
    """Tables and functions of our names, elsewhere; a function that is called raises an error."""
    if schema != "pg_temp":
        connection.execute(f"CREATE SCHEMA {schema}")
    for table in TABLES:
        connection.execute(f"CREATE TABLE {schema}.{table} (LIKE pgrecall.{table} INCLUDING ALL)")
    if schema == "pg_temp":
        return  # functions are never looked up there
    signatures = connection.execute(
        "SELECT proname AS name, pg_get_function_identity_arguments(oid) AS arguments, "
        "pg_get_function_result(oid) AS result FROM pg_proc "
        "WHERE pronamespace = 'pgrecall'::regnamespace AND prokind = 'f' AND NOT proretset"
    ).fetchall()
    for row in signatures:
        connection.execute(
            f"CREATE FUNCTION {schema}.{row['name']}({row['arguments']}) RETURNS {row['result']} "
            "LANGUAGE plpgsql AS $$BEGIN RAISE EXCEPTION 'trapped'; END$$"
        )


def caught(connection: Connection, schema: str) -> list[str]:
    """The tables elsewhere into which something was written."""
    return [
        table
        for table in TABLES
        if one(call_all(connection, f"SELECT count(*) FROM {schema}.{table}"))
    ]
