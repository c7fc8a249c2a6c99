from __future__ import annotations

import asyncio
import random
from collections.abc import Sequence
from dataclasses import fields
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID, uuid4

import pytest
from sqlalchemy import Engine, NullPool
from sqlalchemy.ext.asyncio import create_async_engine

from pgrecall import AsyncMemoryRepository, Memory, MemoryRepository, NewMemory
from pgrecall.errors import InputError
from pgrecall.garbage import GarbagePolicy, GarbageRun
from tests.integration.support import NOW, sql

HOUR = timedelta(hours=1)
OFF: dict[str, Any] = {
    "min_trust_threshold": None,
    "max_age_hours": None,
    "delete_threshold": None,
    "max_live": None,
}
TABLES = (
    *("agent_memories", "memory_usage", "memory_events"),
    *("memory_labels", "memory_links", "gc_runs"),
)


def test_the_default_policy_is_system_ds() -> None:
    policy = GarbagePolicy()

    assert (policy.min_trust_threshold, policy.max_age_hours) == (0.2, 720)
    assert (policy.delete_threshold, policy.max_live) == (0.1, None)


@pytest.mark.parametrize(
    ("trust", "becomes"),
    [
        *((0.0, "deleted"), (0.0999999, "deleted")),
        *((0.1, "archived"), (0.15, "archived"), (0.1999999, "archived")),
        *((0.2, "active"), (1.0, "active"), (None, "active")),
    ],
)
def test_trust_decides(
    either: MemoryRepository, engine: Engine, trust: float | None, becomes: str
) -> None:
    memory_id = either.add("agent", garbage("a", trust=trust))

    run = either.collect_garbage()

    assert becomes_of(either, "agent", [memory_id]) == [becomes]
    assert (run.scanned, run.archived, run.deleted) == (
        *(1, becomes == "archived", becomes == "deleted"),
    )


@pytest.mark.parametrize(
    ("age_hours", "becomes"),
    [(719.9, "active"), (720.1, "archived"), (9_999, "archived"), (None, "active"), (-5, "active")],
)
def test_what_is_older_than_its_time_is_archived(
    shared_repo: MemoryRepository, agent: str, age_hours: float | None, becomes: str
) -> None:
    made = None if age_hours is None else datetime.now(UTC) - age_hours * HOUR
    memory_id = shared_repo.add(agent, garbage("a", created_at=made))

    shared_repo.collect_garbage(agent_id=agent)

    assert becomes_of(shared_repo, agent, [memory_id]) == [becomes]


@pytest.mark.parametrize(
    ("in_hours", "becomes"), [(-1, "archived"), (0, "archived"), (1, "active"), (None, "active")]
)
def test_what_has_expired_is_archived_whatever_the_policy(
    shared_repo: MemoryRepository, agent: str, in_hours: float | None, becomes: str
) -> None:
    expires_at = None if in_hours is None else datetime.now(UTC) + in_hours * HOUR
    memory_id = shared_repo.add(agent, garbage("a", trust=0.9, expires_at=expires_at))

    shared_repo.collect_garbage(GarbagePolicy(**OFF), agent_id=agent)

    assert becomes_of(shared_repo, agent, [memory_id]) == [becomes]


@pytest.mark.parametrize(
    "also",
    [
        {"expires_at": NOW - HOUR},
        {"created_at": NOW - 9_999 * HOUR},
        {"expires_at": NOW - HOUR, "created_at": NOW - 9_999 * HOUR},
    ],
    ids=lambda also: " and ".join(also),
)
def test_deletion_wins_over_archiving(
    shared_repo: MemoryRepository, agent: str, also: dict[str, datetime]
) -> None:
    memory_id = shared_repo.add(agent, garbage("a", trust=0.05, **also))

    run = shared_repo.collect_garbage(GarbagePolicy(max_live=0), agent_id=agent)

    assert becomes_of(shared_repo, agent, [memory_id]) == ["deleted"]
    assert (run.archived, run.deleted) == (0, 1)


@pytest.mark.parametrize(
    ("rule", "memory"),
    [
        ("delete_threshold", {"trust": 0.0}),
        ("min_trust_threshold", {"trust": 0.15}),
        ("max_age_hours", {"created_at": NOW - 99_999 * HOUR}),
        ("max_live", {}),
    ],
)
def test_none_switches_a_rule_off(
    shared_repo: MemoryRepository, agent: str, rule: str, memory: dict[str, Any]
) -> None:
    on = {"delete_threshold": 0.1, "min_trust_threshold": 0.2, "max_age_hours": 720, "max_live": 0}
    only = GarbagePolicy(**OFF | {rule: on[rule]})
    memory_id = shared_repo.add(agent, garbage("a", **memory))

    shared_repo.collect_garbage(GarbagePolicy(**OFF), agent_id=agent)
    assert becomes_of(shared_repo, agent, [memory_id]) == ["active"]

    shared_repo.collect_garbage(only, agent_id=agent)
    assert becomes_of(shared_repo, agent, [memory_id]) != ["active"]


def test_without_the_deleting_rule_the_least_trusted_are_archived(
    shared_repo: MemoryRepository, agent: str
) -> None:
    memory_id = shared_repo.add(agent, garbage("a", trust=0.0))

    shared_repo.collect_garbage(GarbagePolicy(delete_threshold=None), agent_id=agent)

    assert becomes_of(shared_repo, agent, [memory_id]) == ["archived"]


def test_trust_is_judged_as_stored_not_as_decayed(
    shared_repo: MemoryRepository, shared_engine: Engine, agent: str
) -> None:
    decaying = {"trust_curve": "exponential", "trust_half_life_hours": 1.0}
    memory_id = shared_repo.add(agent, garbage("a", trust=0.5, **decaying))
    shared_repo.touch(agent, memory_id)
    sql(
        shared_engine,
        "UPDATE pgrecall.memory_usage SET last_accessed_at = now() - interval '20 days' "
        "WHERE agent_id = :agent",
        agent=agent,
    )
    assert shared_repo.count(agent, min_trust=0.01) == 0

    shared_repo.collect_garbage(agent_id=agent)

    assert becomes_of(shared_repo, agent, [memory_id]) == ["active"]


@pytest.mark.parametrize("max_live", [0, 1, 3, 5, 6, 8, 9, 100])
def test_the_least_trusted_go_first_beyond_the_cap(
    shared_repo: MemoryRepository, agent: str, max_live: int
) -> None:
    """Never assessed counts as 0.5; of equals the older goes first, of unknown age before all."""
    now = datetime.now(UTC)
    worst_first: list[tuple[float | None, datetime | None]] = [
        *(
            (0.3, now - HOUR),
            (0.49, now),
            (0.5, None),
            (None, now - 9 * HOUR),
            (0.5, now - 8 * HOUR),
        ),
        *((None, now - HOUR), (0.51, now - 99 * HOUR), (0.9, now - HOUR)),
    ]
    shuffled = random.Random(5).sample(range(8), 8)
    ids: dict[int, UUID] = {}
    for place in shuffled:
        trust, made = worst_first[place]
        ids[place] = shared_repo.add(agent, garbage(str(place), trust=trust, created_at=made))

    run = shared_repo.collect_garbage(GarbagePolicy(max_live=max_live), agent_id=agent)

    gone = max(8 - max_live, 0)
    expected = ["archived"] * gone + ["active"] * (8 - gone)
    assert becomes_of(shared_repo, agent, [ids[place] for place in range(8)]) == expected
    assert run.archived == gone


def test_the_cap_counts_what_the_other_rules_leave(
    shared_repo: MemoryRepository, agent: str
) -> None:
    trusts = (0.05, 0.15, 0.3, 0.6, 0.9)
    ids = [shared_repo.add(agent, garbage(str(trust), trust=trust)) for trust in trusts]

    run = shared_repo.collect_garbage(GarbagePolicy(max_live=2), agent_id=agent)

    assert becomes_of(shared_repo, agent, ids) == [
        "deleted",
        "archived",
        "archived",
        *["active"] * 2,
    ]
    assert (run.scanned, run.archived, run.deleted) == (5, 2, 1)


def test_the_cap_holds_for_each_agent(shared_repo: MemoryRepository, engine: Engine) -> None:
    repo = MemoryRepository(engine)
    for agent, count in (("a", 5), ("b", 2), ("c", 3)):
        repo.add_many(agent, [garbage(str(n), trust=0.5) for n in range(count)])

    run = repo.collect_garbage(GarbagePolicy(max_live=2))

    assert [repo.count(agent) for agent in ("a", "b", "c")] == [2, 2, 2]
    assert (run.owners, run.scanned, run.archived) == (3, 10, 4)


POLICIES = {
    "default": GarbagePolicy(),
    "off": GarbagePolicy(**OFF),
    "capped": GarbagePolicy(max_live=20),
    "cap alone": GarbagePolicy(**OFF | {"max_live": 25}),
    "strict": GarbagePolicy(
        name="strict", min_trust_threshold=0.6, delete_threshold=0.3, max_age_hours=100, max_live=7
    ),
    "upside down": GarbagePolicy(min_trust_threshold=0.1, delete_threshold=0.4),
}


@pytest.mark.parametrize(
    ("policy", "batch_size"),
    [
        *((name, size) for name in POLICIES for size in (7, 1_000)),
        *(("strict", 1), ("cap alone", 1)),
    ],
)
def test_a_run_does_what_an_independent_judge_would(
    repo: MemoryRepository, engine: Engine, policy: str, batch_size: int
) -> None:
    memories = fill(repo, engine)
    expected = judged(memories, POLICIES[policy], datetime.now(UTC))

    run = repo.collect_garbage(POLICIES[policy], batch_size=batch_size)

    ids = [memory.id for memory in memories]
    assert dict(zip(ids, becomes_of(repo, "agent", ids), strict=True)) == expected
    was = {memory.id: memory.status for memory in memories}
    live = [memory_id for memory_id in ids if was[memory_id] != "archived"]
    outcome = [expected[memory_id] for memory_id in live]
    assert (run.scanned, run.archived, run.deleted) == (
        *(len(live), outcome.count("archived"), outcome.count("deleted")),
    )


@pytest.mark.parametrize("policy", POLICIES.values(), ids=POLICIES)
def test_a_dry_run_tells_what_the_run_does_and_changes_nothing(
    either: MemoryRepository, engine: Engine, policy: GarbagePolicy
) -> None:
    fill(either, engine)
    stored = everything(engine)

    dry = either.collect_garbage(policy, dry_run=True)

    assert everything(engine) == stored
    assert (dry.id, dry.dry_run) == (None, True)
    run = either.collect_garbage(policy)
    assert numbers(dry) == numbers(run)


def test_a_dry_run_tells_what_would_be_swept(repo: MemoryRepository, engine: Engine) -> None:
    """Everything that a run would remove is counted, what was left behind too."""
    repo.add("agent", garbage("a"))
    leave_behind(engine, "agent", uuid4())

    dry = repo.collect_garbage(dry_run=True)

    assert numbers(dry) == numbers(repo.collect_garbage())


def test_a_run_is_logged_with_its_thresholds_and_numbers(
    either: MemoryRepository, engine: Engine
) -> None:
    fill(either, engine)
    leave_behind(engine, "agent", uuid4())
    policy = GarbagePolicy(name="nightly", min_trust_threshold=0.25, max_age_hours=99, max_live=30)
    begun = datetime.now(UTC)

    run = either.collect_garbage(policy)

    [logged] = runs(engine)
    assert logged == {
        "agent_id": "",
        "id": run.id,
        "policy": "nightly",
        "min_trust_threshold": 0.25,
        "delete_threshold": 0.1,
        "max_age_hours": 99,
        "max_live": 30,
        "scanned": run.scanned,
        "archived": run.archived,
        "deleted": run.deleted,
        "swept": run.swept,
        "started_at": logged["started_at"],
        "seconds": run.seconds,
        "finished": True,
    }
    assert begun - timedelta(seconds=1) < logged["started_at"] < datetime.now(UTC)
    assert 0 < run.seconds < 60
    assert min(run.scanned, run.archived, run.deleted) > 0
    assert run.swept == 4


def test_each_run_leaves_a_row_that_names_whose_memories(
    repo: MemoryRepository, engine: Engine
) -> None:
    repo.add("agent", garbage("a"))
    repo.teams.add("red", garbage("a"))

    made = [
        repo.collect_garbage(agent_id="agent"),
        repo.teams.collect_garbage(),
        repo.teams.collect_garbage(agent_id="red"),
        repo.collect_garbage(GarbagePolicy(**OFF), agent_id="nobody"),
    ]

    logged = {row["id"]: row for row in runs(engine)}
    assert [logged[run.id]["agent_id"] for run in made] == ["agent", "", "team:red", "nobody"]
    assert [logged[made[3].id][name] for name in OFF] == [None] * 4


def test_the_log_of_a_run_in_a_callers_transaction_tells_how_long_it_took(engine: Engine) -> None:
    with engine.begin() as connection:
        repo = MemoryRepository(connection)
        repo.add_many("agent", [garbage(str(n), trust=0.15) for n in range(50)])

        run = repo.collect_garbage(batch_size=5)

    assert run.archived == 50
    assert run.seconds > 0
    assert [row["seconds"] for row in runs(engine)] == [run.seconds]


def test_a_run_takes_part_in_the_callers_transaction(engine: Engine) -> None:
    MemoryRepository(engine).add_many(
        "agent", [garbage("archived", trust=0.15), garbage("deleted", trust=0.0)]
    )
    stored = everything(engine)

    with engine.connect() as connection:
        run = MemoryRepository(connection).collect_garbage(batch_size=1)
        connection.rollback()
    assert (run.archived, run.deleted) == (1, 1)
    assert everything(engine) == stored

    with engine.begin() as connection:
        MemoryRepository(connection).collect_garbage(batch_size=1)
    assert MemoryRepository(engine).count("agent") == 0


def test_batches_change_nothing_but_how_often_progress_is_told(
    repo: MemoryRepository, engine: Engine
) -> None:
    repo.add_many("agent", [garbage(str(n), trust=0.15) for n in range(10)])
    told: list[GarbageRun] = []

    run = repo.collect_garbage(batch_size=4, on_progress=told.append)

    assert [one.scanned for one in told][:3] == [4, 8, 10]
    assert [one.archived for one in told][:3] == [4, 8, 10]
    assert numbers(told[-1]) == numbers(run)
    assert {one.id for one in told} == {run.id}


def test_each_batch_is_a_transaction_of_its_own(repo: MemoryRepository, engine: Engine) -> None:
    """What was done stays done when the run is cut off, and the log shows that it was."""
    repo.add_many("agent", [garbage(str(n), trust=0.15) for n in range(10)])

    def on_progress(run: GarbageRun) -> None:
        if run.scanned >= 4:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        repo.collect_garbage(batch_size=2, on_progress=on_progress)

    assert repo.count("agent") == 6
    [logged] = runs(engine)
    assert (logged["finished"], logged["scanned"], logged["archived"]) == (False, 4, 4)
    assert repo.collect_garbage().archived == 6


def test_a_coroutine_may_be_told_of_progress(database_url: str) -> None:
    async def run() -> list[int]:
        repo = AsyncMemoryRepository(create_async_engine(database_url, poolclass=NullPool))
        await repo.add_many("agent", [garbage(str(n), trust=0.15) for n in range(3)])
        told: list[int] = []

        async def on_progress(run: GarbageRun) -> None:
            await asyncio.sleep(0)
            told.append(run.scanned)

        await repo.collect_garbage(batch_size=1, on_progress=on_progress)
        return told

    assert asyncio.run(run())[:3] == [1, 2, 3]


def test_one_agent_or_all_of_them(either: MemoryRepository) -> None:
    for agent in ("a", "b", "Ω'; --"):
        either.add(agent, garbage("x", trust=0.0))

    one = either.collect_garbage(agent_id="Ω'; --")
    assert (one.owners, one.deleted) == (1, 1)
    assert [either.count(agent) for agent in ("a", "b")] == [1, 1]

    rest = either.collect_garbage()
    assert (rest.owners, rest.deleted) == (2, 2)


def test_agents_and_teams_are_collected_apart(repo: MemoryRepository) -> None:
    mine = repo.add("red", garbage("a", trust=0.0))
    theirs = repo.teams.add("red", garbage("a", trust=0.15))
    repo.teams.touch("red", theirs)

    assert repo.teams.collect_garbage(agent_id="red").archived == 1
    assert becomes_of(repo, "red", [mine]) == ["active"]

    assert repo.collect_garbage().deleted == 1
    assert repo.teams.collect_garbage().archived == 0
    memory = repo.teams.get("red", theirs)
    assert memory is not None
    assert (memory.status, memory.retrieval_count) == ("archived", 1)
    assert repo.get("red", mine) is None


def test_what_was_left_behind_is_swept(either: MemoryRepository, engine: Engine) -> None:
    kept = [either.add("agent", garbage(text)) for text in ("a", "b")]
    team = [either.add("red", garbage(text)) for text in ("c", "d")]
    for owner, ids in (("agent", kept), ("red", team)):
        either.touch(owner, ids)
        either.label(owner, ids[0], "x")
        either.link(owner, ids[0], ids[1])
    stored = everything(engine)
    gone = uuid4()
    leave_behind(engine, "agent", gone)
    for source, target in ((gone, kept[0]), (kept[1], gone)):
        insert_link(engine, "agent", source, target)

    run = either.collect_garbage(batch_size=1)

    assert run.swept == 6
    assert {**everything(engine), "gc_runs": []} == stored


def test_what_belongs_to_teams_is_not_swept(repo: MemoryRepository, engine: Engine) -> None:
    repo.add("red", garbage("mine"))
    theirs = [repo.teams.add("red", garbage(text)) for text in ("a", "b")]
    repo.teams.touch("red", theirs)
    repo.teams.label("red", theirs[0], "x")
    repo.teams.link("red", theirs[0], theirs[1])

    runs = [repo.collect_garbage(), repo.collect_garbage(agent_id="red")]

    assert [run.swept for run in runs] == [0, 0]
    assert len(repo.teams.links("red", theirs[0])) == 1


def test_what_the_last_memory_of_an_agent_left_behind_is_swept(
    repo: MemoryRepository, engine: Engine
) -> None:
    """Such as the counter of a search that came with a deletion."""
    leave_behind(engine, "gone", uuid4())

    run = repo.collect_garbage()

    assert run.swept == 4
    for table in ("memory_usage", "memory_labels", "memory_links"):
        assert sql(engine, f"SELECT * FROM pgrecall.{table}") == []


def test_an_archived_memory_is_not_touched_again(repo: MemoryRepository, engine: Engine) -> None:
    worthless = garbage("a", trust=0.0, expires_at=NOW - HOUR, created_at=NOW - 9_999 * HOUR)
    memory_id = repo.add("agent", worthless)
    sql(engine, "UPDATE pgrecall.agent_memories SET status = 'archived'")
    stored = everything(engine)

    run = repo.collect_garbage(GarbagePolicy(max_live=0))

    assert (run.scanned, run.archived, run.deleted) == (0, 0, 0)
    assert {**everything(engine), "gc_runs": []} == stored
    assert repo.get("agent", memory_id) is not None


@pytest.mark.parametrize("status", ["completed", "consolidated"])
def test_what_was_put_away_otherwise_is_collected_too(
    repo: MemoryRepository, engine: Engine, status: str
) -> None:
    memory_id = repo.add("agent", garbage("a", trust=0.15))
    sql(engine, "UPDATE pgrecall.agent_memories SET status = :status", status=status)

    repo.collect_garbage()

    assert becomes_of(repo, "agent", [memory_id]) == ["archived"]
    told = repo.history("agent", memory_id)[-1]
    assert told.old_values == {"status": status}


def test_each_change_is_told_with_the_rule_that_made_it(either: MemoryRepository) -> None:
    now = datetime.now(UTC)
    ids = {
        "delete_threshold": either.add("agent", garbage("a", trust=0.05)),
        "expires_at": either.add("agent", garbage("b", trust=0.5, expires_at=now - HOUR)),
        "min_trust_threshold": either.add("agent", garbage("c", trust=0.15)),
        "max_age_hours": either.add("agent", garbage("d", created_at=now - 800 * HOUR)),
        "max_live": either.add("agent", garbage("e", trust=0.25)),
        "kept": either.add("agent", garbage("f", trust=0.9)),
    }

    either.collect_garbage(GarbagePolicy(name="nightly", max_live=1))

    history = {rule: either.history("agent", memory_id) for rule, memory_id in ids.items()}
    assert [len(history[rule]) for rule in ids] == [2, 2, 2, 2, 2, 1]
    for rule in ("expires_at", "min_trust_threshold", "max_age_hours", "max_live"):
        told = history[rule][-1]
        assert told.event_type == "archived"
        assert told.old_values == {"status": "active"}
        assert told.new_values == {"status": "archived", "rule": rule}
        assert "nightly" in (told.reason or "")
    told = history["delete_threshold"][-1]
    assert told.event_type == "deleted"
    assert (told.old_values["trust"], told.old_values["status"]) == (0.05, "active")
    assert "nightly" in (told.reason or "")


def test_what_is_deleted_is_gone_with_its_traces(either: MemoryRepository, engine: Engine) -> None:
    gone, kept = (
        either.add("agent", garbage(text, trust=trust)) for text, trust in (("a", 0.0), ("b", 0.9))
    )
    either.touch("agent", [gone, kept])
    either.label("agent", gone, ["x", "y"])
    either.link("agent", gone, kept)
    either.link("agent", kept, gone, "other")

    either.collect_garbage()

    assert either.get("agent", gone) is None
    assert sql(engine, "SELECT memory_id FROM pgrecall.memory_usage") == [(UUID(int=kept.int),)]
    assert sql(engine, "SELECT * FROM pgrecall.memory_labels") == []
    assert sql(engine, "SELECT * FROM pgrecall.memory_links") == []


@pytest.mark.parametrize("policy", POLICIES.values(), ids=POLICIES)
def test_a_second_run_finds_nothing_more(
    repo: MemoryRepository, engine: Engine, policy: GarbagePolicy
) -> None:
    fill(repo, engine)
    leave_behind(engine, "agent", uuid4())
    first = repo.collect_garbage(policy)
    stored = everything(engine)

    second = repo.collect_garbage(policy)

    assert (second.archived, second.deleted, second.swept) == (0, 0, 0)
    assert second.scanned == first.scanned - first.archived - first.deleted
    assert {**everything(engine), "gc_runs": stored["gc_runs"]} == stored
    assert len(runs(engine)) == 2


@pytest.mark.parametrize(
    "bad",
    [
        *({"name": ""}, {"name": None}, {"min_trust_threshold": 1.1}, {"delete_threshold": -0.1}),
        *(
            {"delete_threshold": float("nan")},
            {"max_age_hours": -1},
            {"max_age_hours": float("inf")},
        ),
        *({"max_age_hours": float("nan")}, {"max_live": -1}, {"max_live": 1.5}, {"max_live": True}),
        *({"min_trust_threshold": "0.2"}, {"max_age_hours": timedelta(hours=3)}),
    ],
    ids=repr,
)
def test_a_policy_that_makes_no_sense_is_refused(bad: dict[str, Any]) -> None:
    with pytest.raises(InputError):
        GarbagePolicy(**bad)


@pytest.mark.parametrize(
    "bad",
    [
        *({"batch_size": 0}, {"batch_size": 1.5}, {"dry_run": 1}, {"agent_id": ""}),
        *({"policy": "default"}, {"policy": {"name": "x"}}),
    ],
    ids=repr,
)
def test_a_run_that_makes_no_sense_is_refused(
    repo: MemoryRepository, engine: Engine, bad: dict[str, Any]
) -> None:
    with pytest.raises(InputError):
        repo.collect_garbage(**bad)

    assert runs(engine) == []


def fill(repo: MemoryRepository, engine: Engine) -> list[Memory]:
    """Forty memories of every kind, some put away already."""
    around = random.Random(3)
    now = datetime.now(UTC)
    ids = repo.add_many(
        "agent",
        [
            garbage(
                str(n),
                trust=None if n % 9 == 0 else around.random() * 0.8,
                created_at=None if n % 11 == 0 else now - around.uniform(0, 1_500) * HOUR,
                expires_at=None if n % 3 else now + around.uniform(-5, 5) * HOUR,
            )
            for n in range(40)
        ],
    )
    for status, some in (("archived", ids[::10]), ("completed", ids[3::10])):
        sql(
            engine,
            "UPDATE pgrecall.agent_memories SET status = :status WHERE id = ANY(:ids)",
            status=status,
            ids=[UUID(int=one.int) for one in some],
        )
    return all_of(repo, "agent")


def judged(memories: list[Memory], policy: GarbagePolicy, now: datetime) -> dict[UUID, str]:
    """System D's rules, read anew."""
    verdicts: dict[UUID, str] = {}
    for memory in memories:
        trust, made = memory.trust, memory.created_at
        archive = [
            memory.expires_at is not None and memory.expires_at <= now,
            trust is not None
            and policy.min_trust_threshold is not None
            and trust < policy.min_trust_threshold,
            made is not None
            and policy.max_age_hours is not None
            and now - made > policy.max_age_hours * HOUR,
        ]
        verdicts[memory.id] = memory.status
        if memory.status == "archived":
            continue
        delete_below = policy.delete_threshold
        if trust is not None and delete_below is not None and trust < delete_below:
            verdicts[memory.id] = "deleted"
        elif any(archive):
            verdicts[memory.id] = "archived"
    if policy.max_live is not None:
        live = [m for m in memories if verdicts[m.id] not in ("archived", "deleted")]
        live.sort(
            key=lambda m: (
                0.5 if m.trust is None else m.trust,
                m.created_at is not None,
                m.created_at or now,
                m.id,
            )
        )
        for memory in live[: max(len(live) - policy.max_live, 0)]:
            verdicts[memory.id] = "archived"
    return verdicts


def garbage(content: str, **fields_: Any) -> NewMemory:
    """Well trusted, young and without an expiry unless told otherwise."""
    return NewMemory(content, embedding=None, **{"trust": 0.5, "expires_at": None} | fields_)


def becomes_of(repo: MemoryRepository, owner: str, ids: Sequence[UUID]) -> list[str]:
    """The status of each, or that it is deleted."""
    status = {memory.id: memory.status for memory in all_of(repo, owner)}
    return [status.get(memory_id, "deleted") for memory_id in ids]


def all_of(repo: MemoryRepository, owner: str) -> list[Memory]:
    """Every memory whatever its state."""
    statuses = ("active", "consolidated", "completed", "archived")
    hits = repo.search(owner, k=1_000, statuses=statuses, include_invalid=True, touch=False)
    return [hit.memory for hit in hits]


def numbers(run: GarbageRun) -> dict[str, Any]:
    other = ("id", "dry_run", "seconds")
    return {
        field.name: getattr(run, field.name) for field in fields(run) if field.name not in other
    }


def leave_behind(engine: Engine, owner: str, gone: UUID) -> None:
    """A counter, two labels and a link of a memory that is not there."""
    sql(
        engine,
        "INSERT INTO pgrecall.memory_usage (agent_id, memory_id, retrieval_count) "
        "VALUES (:owner, :gone, 3)",
        owner=owner,
        gone=gone,
    )
    sql(
        engine,
        "INSERT INTO pgrecall.memory_labels (agent_id, memory_id, kind, value) "
        "VALUES (:owner, :gone, 'tag', 'x'), (:owner, :gone, 'tag', 'y')",
        owner=owner,
        gone=gone,
    )
    insert_link(engine, owner, gone, uuid4())


def insert_link(engine: Engine, owner: str, source: UUID, target: UUID) -> None:
    sql(
        engine,
        "INSERT INTO pgrecall.memory_links (agent_id, source_id, target_id, kind) "
        "VALUES (:owner, :source, :target, 'x')",
        owner=owner,
        source=UUID(int=source.int),
        target=UUID(int=target.int),
    )


def runs(engine: Engine) -> list[dict[str, Any]]:
    with engine.connect() as connection:
        found = connection.exec_driver_sql("SELECT * FROM pgrecall.gc_runs ORDER BY id")
        return [dict(row._mapping) for row in found]


def everything(engine: Engine) -> dict[str, list[str]]:
    return {
        table: sorted(
            row for (row,) in sql(engine, f"SELECT to_jsonb(t)::text FROM pgrecall.{table} t")
        )
        for table in TABLES
    }
