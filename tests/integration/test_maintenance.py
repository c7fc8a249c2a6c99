"""Maintenance: retention and what is due, by the repository and as the procedure of psql."""

from __future__ import annotations

import json
import random
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID, uuid4

import psycopg
import pytest
from psycopg.rows import dict_row
from sqlalchemy import Engine

from pgrecall import Memory, MemoryRepository, NewMemory, RetentionPolicy
from pgrecall.errors import DatabaseError
from pgrecall.lifecycle import maintenance
from tests.integration.owner import Owner, north, plain
from tests.integration.support import at, sql

pytestmark = pytest.mark.usefixtures("analysed")
FEW = 20
"""Memories from which an agent has a rank index here."""
HOUR = timedelta(hours=1)
COUNTS = ("scanned", "archived", "deleted", "completed", "orphans", "events", "runs")
Connection = psycopg.Connection[dict[str, Any]]
Maintain = Callable[..., dict[str, Any]]
"""Runs it; returns its numbers, and how many tasks of each kind it did as `tasks`."""


@pytest.fixture
def alone(engine: Engine) -> Owner:
    """In a database where nobody else has anything."""
    return Owner(engine, "agent")


@pytest.fixture(params=["python", "psql"])
def maintain(request: pytest.FixtureRequest, engine: Engine, database_url: str) -> Maintain:
    repo = MemoryRepository(engine)

    def by_python(dry_run: bool = False, **options: Any) -> dict[str, Any]:
        return numbers(repo.maintenance.run(dry_run=dry_run, at_least=FEW, **options))

    def by_psql(dry_run: bool = False, **options: Any) -> dict[str, Any]:
        with psycopg.connect(database_url, autocommit=True, row_factory=dict_row) as connection:
            return called(connection, dry_run=dry_run, at_least=FEW, **options)

    return by_python if request.param == "python" else by_psql


def numbers(run: Any) -> dict[str, Any]:
    return {name: getattr(run, name) for name in COUNTS} | {"tasks": run.tasks}


def called(connection: Connection, **options: Any) -> dict[str, Any]:
    """The result of the procedure with these options of the method."""
    policy = options.pop("policy", RetentionPolicy())
    given = {
        {"agent_id": "agent", "within": "within_seconds"}.get(name, name): value
        for name, value in options.items()
    }
    named = "".join(f", {name} => %({name})s" for name in given)
    given["policy"] = json.dumps(policy.record())
    row = connection.execute(
        f"CALL pgrecall.maintain(policy => %(policy)s{named})", given
    ).fetchone()
    assert row is not None
    result: dict[str, Any] = row["result"]
    assert result.pop("dry_run") == options.get("dry_run", True)
    return result


def memory(content: str, **more: Any) -> NewMemory:
    """Well trusted, young and without an expiry unless told otherwise."""
    return plain(content, **{"trust": 0.5, "expires_at": None} | more)


def expire(engine: Engine, owner: str) -> None:
    """Stores a memory that has expired."""
    repo = MemoryRepository(engine)
    past = datetime.now(UTC) - HOUR
    of = repo.teams if owner.startswith("team:") else repo
    of.add(owner.removeprefix("team:"), plain(f"of {owner}", expires_at=past))


def all_of(mine: Owner) -> list[Memory]:
    hits = mine.search(k=1_000, include_inactive=True, touch=False)
    return [hit.memory for hit in hits]


def leave_behind(mine: Owner, gone: UUID) -> None:
    """A counter, and two links of a memory that is not there."""
    mine.sql(
        "INSERT INTO pgrecall.memory_usage (agent_id, memory_id, retrieval_count) "
        "VALUES (:agent, :gone, 3)",
        gone=gone,
    )
    for kind in "xy":
        mine.sql(
            "INSERT INTO pgrecall.memory_links "
            f"VALUES (:agent, :gone, gen_random_uuid(), '{kind}')",
            gone=gone,
        )


def logged(bind: Engine) -> list[dict[str, Any]]:
    with bind.connect() as connection:
        found = connection.exec_driver_sql("SELECT * FROM pgrecall.maintenance_runs ORDER BY id")
        return [dict(row._mapping) for row in found]


# What becomes of a memory


def test_what_becomes_of_each_by_the_rules_of_grace(mine: Owner) -> None:
    now = datetime.now(UTC)
    fates: list[tuple[dict[str, Any], str]] = [
        *(({"trust": trust}, "deleted") for trust in (0.0, 0.0999999)),
        *(({"trust": trust}, "archived") for trust in (0.1, 0.15, 0.1999999)),
        *(({"trust": trust}, "active") for trust in (0.2, 1.0, None)),
        *(({"created_at": now - age * HOUR}, "active") for age in (719.9, -5)),
        *(({"created_at": now - age * HOUR}, "archived") for age in (720.1, 9_999)),
        ({"created_at": None}, "active"),
        *(({"expires_at": now + left * HOUR}, "archived") for left in (-1, 0)),
        ({"expires_at": now + HOUR}, "active"),
        # Trust as it is stored, not as it has decayed.
        ({"created_at": now - 99 * HOUR, "trust_half_life_hours": 0.01}, "active"),
        # Deletion wins over archiving.
        ({"trust": 0.05, "expires_at": now - HOUR, "created_at": now - 999 * HOUR}, "deleted"),
    ]
    ids = mine.add_many([memory(f"{n}", **given) for n, (given, _) in enumerate(fates)])

    run = mine.maintain(RetentionPolicy.grace())

    status = {memory.id: memory.status for memory in all_of(mine)}
    expected = [fate for _, fate in fates]
    assert [status.get(one, "deleted") for one in ids] == expected
    found = [run.scanned, run.archived, run.deleted]
    assert found == [len(ids), expected.count("archived"), expected.count("deleted")]


def test_tasks_that_nobody_touches_are_completed(mine: Owner) -> None:
    """Siestai's rule: those created and last accessed more than a week ago."""
    week_ago = datetime.now(UTC) - timedelta(days=7)
    task: dict[str, Any] = {"memory_type": "task", "created_at": week_ago - HOUR}
    also: dict[str, Any] = {"memory_type": "fact", "additional_types": ["task"]}
    stale = [memory("a", **task), memory("b", **task | also)]
    kept = [
        memory("c", **task | {"created_at": week_ago + HOUR}),
        memory("d", **task | {"memory_type": "fact"}),
        memory("used", **task),
        memory("e", **task | {"created_at": None}),
    ]
    ids, others = mine.add_many(stale), mine.add_many(kept)
    mine.touch(others[2])
    archived = mine.add(memory("f", **task))
    mine.put(archived, status="archived")
    policy = RetentionPolicy(stale_tasks_after=timedelta(days=7))

    planned, run = mine.maintain(policy, dry_run=True), mine.maintain(policy)

    assert (planned.completed, run.completed, run.archived) == (2, 2, 0)
    assert [mine.read(one).status for one in ids] == ["completed"] * 2
    assert [mine.read(one).status for one in (*others, archived)] == ["active"] * 4 + ["archived"]
    told = mine.event(ids[0], "completed")
    assert (told.old_values, told.actor) == ({"status": "active"}, "maintenance")
    assert told.new_values == {"status": "completed", "rule": "stale_tasks_after"}
    assert mine.maintain(policy).done == []


def test_the_least_trusted_go_first_beyond_the_cap(mine: Owner) -> None:
    """Never assessed counts as 0.5; of equals the older goes first, of unknown age before all."""
    now = datetime.now(UTC)
    worst_first: list[tuple[float | None, datetime | None]] = [
        *((0.3, now - HOUR), (0.49, now), (0.5, None), (None, now - 9 * HOUR)),
        *((0.5, now - 8 * HOUR), (None, now - HOUR), (0.51, now - 99 * HOUR), (0.9, now - HOUR)),
    ]
    ids: dict[int, UUID] = {}
    for place in random.Random(5).sample(range(8), 8):
        trust, made = worst_first[place]
        ids[place] = mine.add(memory(str(place), trust=trust, created_at=made))

    for left in range(9, -1, -1):
        mine.maintain(RetentionPolicy(max_live=left))

        gone = max(8 - left, 0)
        expected = ["archived"] * gone + ["active"] * (8 - gone)
        assert [mine.read(ids[place]).status for place in range(8)] == expected


GRACE = RetentionPolicy.grace().record()
POLICIES: dict[str, dict[str, Any]] = {
    "grace": GRACE,
    "off": {},
    "cap alone": {"max_live": 25},
    "strict": {"name": "strict", "min_trust_threshold": 0.6, "delete_threshold": 0.3}
    | {"max_age_hours": 100, "max_live": 7},
}


@pytest.mark.parametrize(
    ("policy", "batch_size"), [("grace", 7), ("off", 7), ("cap alone", 1), ("strict", 7)]
)
def test_a_run_does_what_an_independent_judge_would_and_what_psql_does(
    mine: Owner,
    connection: Connection,
    monkeypatch: pytest.MonkeyPatch,
    policy: str,
    batch_size: int,
) -> None:
    limits = RetentionPolicy(**POLICIES[policy])
    memories = fill(mine)
    fill(mine.other)
    expected = judged(memories, limits, datetime.now(UTC))
    stored = mine.everything()
    monkeypatch.setattr(maintenance, "BATCH_SIZE", batch_size)

    dry = mine.maintain(limits, dry_run=True)
    assert (mine.everything(), mine.rows("maintenance_runs")) == (stored, [])
    run = mine.maintain(limits)

    status = {memory.id: memory.status for memory in all_of(mine)}
    assert {one.id: status.get(one.id, "deleted") for one in memories} == expected
    live = [memory.id for memory in memories if memory.status != "archived"]
    outcome = [expected[memory_id] for memory_id in live]
    archived, deleted = outcome.count("archived"), outcome.count("deleted")
    judges = policy not in ("off", "cap alone")  # otherwise only what has expired is looked at
    now = datetime.now(UTC)
    dates = [memory.expires_at for memory in memories if memory.id in live]
    scanned = sum(judges or (date is not None and date <= now) for date in dates)
    told = dict.fromkeys(COUNTS, 0) | {"tasks": {"retention": 1}}
    told |= {"scanned": scanned, "archived": archived, "deleted": deleted, "orphans": 3}
    assert (numbers(run), numbers(dry), dry.id) == (told, told, None)

    with connection.transaction():  # a dry run can be made where nothing may be written
        connection.execute("SET TRANSACTION READ ONLY")
        assert called(connection, agent_id=mine.other.name, policy=limits) == told
    assert called(connection, agent_id=mine.other.name, policy=limits, dry_run=False) == told
    states = [
        sorted((m.content, m.status, of.history(m.id)[-1].reason) for m in all_of(of))
        for of in (mine, mine.other)
    ]
    assert states[0] == states[1]
    again = mine.maintain(limits)
    assert (again.archived, again.deleted, again.orphans, again.done) == (0, 0, 0, [])


def fill(mine: Owner) -> list[Memory]:
    """Forty memories of every kind, some put away already, and what one that is gone left."""
    around = random.Random(3)
    now = datetime.now(UTC)
    ids = mine.add_many(
        [
            memory(
                str(n),
                id=UUID(int=0) if n == 5 else None,  # the lowest, looked at once
                trust=None if n % 9 == 0 else around.random() * 0.8,
                created_at=None if n % 11 == 0 else now - around.uniform(0, 1_500) * HOUR,
                expires_at=None if n % 3 else now + around.uniform(-5, 5) * HOUR,
            )
            for n in range(40)
        ]
    )
    for status, some in (("archived", ids[::10]), ("completed", ids[3::10])):
        for memory_id in some:
            mine.put(memory_id, status=status)
    leave_behind(mine, uuid4())
    return all_of(mine)


def judged(memories: list[Memory], policy: RetentionPolicy, now: datetime) -> dict[UUID, str]:
    """Grace's rules, read anew."""
    verdicts: dict[UUID, str] = {}
    for memory in memories:
        trust, made = memory.trust, memory.created_at
        archive_below, delete_below = policy.min_trust_threshold, policy.delete_threshold
        hours = policy.max_age_hours
        verdicts[memory.id] = memory.status
        if memory.status == "archived":
            continue
        if trust is not None and delete_below is not None and trust < delete_below:
            verdicts[memory.id] = "deleted"
        elif (
            (memory.expires_at is not None and memory.expires_at <= now)
            or (trust is not None and archive_below is not None and trust < archive_below)
            or (made is not None and hours is not None and now - made > hours * HOUR)
        ):
            verdicts[memory.id] = "archived"
    if policy.max_live is not None:
        live = [m for m in memories if verdicts[m.id] not in ("archived", "deleted")]
        early = datetime.min.replace(tzinfo=UTC)
        live.sort(key=lambda m: (0.5 if m.trust is None else m.trust, m.created_at or early, m.id))
        for memory in live[: max(len(live) - policy.max_live, 0)]:
            verdicts[memory.id] = "archived"
    return verdicts


def test_each_change_is_told_with_the_rule_that_made_it(mine: Owner) -> None:
    now = datetime.now(UTC)
    memories = {
        "delete_threshold": memory("a", trust=0.05),
        "expires_at": memory("b", trust=0.5, expires_at=now - HOUR),
        "min_trust_threshold": memory("c", trust=0.15),
        "max_age_hours": memory("d", created_at=now - 800 * HOUR),
        "max_live": memory("e", trust=0.25),
        "kept": memory("f", trust=0.9),
    }
    ids = {rule: mine.add(memory) for rule, memory in memories.items()}

    mine.maintain(RetentionPolicy(**GRACE | {"name": "nightly", "max_live": 1}))

    history = {rule: mine.history(memory_id)[1:] for rule, memory_id in ids.items()}
    assert history.pop("kept") == []
    for rule, [told] in history.items():
        assert (told.reason, told.actor) == ("retention policy nightly", "maintenance")
        if rule == "delete_threshold":
            assert told.event_type == "deleted"
            assert (told.old_values["trust"], told.old_values["status"]) == (0.05, "active")
        else:
            assert (told.event_type, told.old_values) == ("archived", {"status": "active"})
            assert told.new_values == {"status": "archived", "rule": rule}


# What it removes besides


def test_rows_of_memories_that_are_gone_are_removed(
    mine: Owner, monkeypatch: pytest.MonkeyPatch
) -> None:
    for owner in (mine, mine.team):
        kept = owner.add_many([memory(text) for text in "ab"])
        owner.touch(kept)
        owner.links.add(kept[0], kept[1])
    stored, of_team = mine.everything(), mine.team.everything()
    gone, [a, b] = uuid4(), [memory.id for memory in all_of(mine)]
    leave_behind(mine, gone)
    for source, target in ((gone, a), (b, gone), (b, uuid4())):
        ends = {"source": source, "target": target}
        mine.sql("INSERT INTO pgrecall.memory_links VALUES (:agent, :source, :target, 'x')", **ends)
    monkeypatch.setattr(maintenance, "BATCH_SIZE", 1)

    assert mine.maintain().orphans == 6
    assert (mine.everything(), mine.team.everything()) == (stored, of_team)


A_WEEK = RetentionPolicy(max_event_age_hours=168, max_run_age_hours=168)


def age(mine: Owner, days: float) -> None:
    """Makes all that happened so far happen earlier, and indexes be built earlier."""
    for table, column in (
        *(("memory_events", "occurred_at"), ("maintenance_runs", "started_at")),
        ("rank_indexes", "written_until"),
    ):
        mine.sql(
            f"UPDATE pgrecall.{table} SET {column} = {column} - make_interval(hours => :hours)",
            hours=round(24 * days),
        )


def test_old_events_go_and_the_first_of_a_memory_stays(
    alone: Owner, monkeypatch: pytest.MonkeyPatch
) -> None:
    stays, gone, back = alone.add_many([north(text, key=text) for text in ("a", "b", "c")])
    for one in (stays, gone):
        alone.feedback(one, "useful")
    alone.delete([gone, back])
    assert alone.add(north("c", key="c")) == back
    late = alone.add(north("deleted later"))
    other = alone.other.add(north("another's"))
    alone.other.feedback(other, "useful")
    age(alone, 8)
    alone.feedback(stays, "not_useful")
    alone.delete(late)
    monkeypatch.setattr(maintenance, "BATCH_SIZE", 2)

    counted = alone.maintain(A_WEEK, dry_run=True)
    run = alone.maintain(A_WEEK)

    # Two of gone with its first one, one of stays, and one of what is back, whose first ones stay.
    assert (counted.events, run.events) == (5, 5)
    assert [alone.kinds(one) for one in (stays, gone, back, late)] == [
        ["initial", "feedback"],
        [],
        ["initial", "initial"],
        ["initial", "deleted"],
    ]
    assert alone.other.kinds(other) == ["initial", "feedback"]
    assert alone.maintain(A_WEEK).events == 0


def test_events_that_a_rank_index_needs_stay(alone: Owner) -> None:
    """Which of its memories have changed since it was built: those are scored beside it."""
    before, since = alone.add_many([north("a", embedding=at(1)), north("b", embedding=at(2))])
    alone.feedback(before, "useful")
    age(alone, 1)
    alone.repo.rank_indexes.build(agent_id=alone.name, at_least=1)
    alone.feedback(since, "useful")
    age(alone, 8)

    assert alone.maintain(A_WEEK, dry_run=True).events == 1
    assert alone.maintain(A_WEEK, within=0.0).events == 0
    assert alone.repo.maintenance.run(A_WEEK, agent_id="agent").events == 1

    assert [alone.kinds(one) for one in (before, since)] == [["initial"], ["initial", "feedback"]]
    alone.repo.rank_indexes.drop(alone.name)
    assert alone.maintain(A_WEEK).events == 1


def test_old_runs_go(alone: Owner, maintain: Maintain) -> None:
    """Runs of one agent, and of all; also of agents who have nothing but history left."""
    for owner in (alone, alone.other):
        one = owner.add(north("a"))
        owner.maintain()
        owner.delete(one)
    alone.repo.maintenance.run()
    age(alone, 8)
    age(alone.other, 8)
    sql(alone.bind, "UPDATE pgrecall.maintenance_runs SET started_at = now() - interval '8 days'")  # type: ignore[arg-type]
    alone.repo.maintenance.run()

    assert alone.maintain(A_WEEK, dry_run=True).runs == 1
    counted, done = maintain(policy=A_WEEK, dry_run=True), maintain(policy=A_WEEK)

    gone = {"events": 4, "runs": 3, "tasks": {"retention": 2, "old runs": 1}}
    assert counted == done == dict.fromkeys(COUNTS, 0) | gone
    assert [(run["events"], run["runs"]) for run in logged(alone.bind)] == [(0, 0), (4, 3)]  # type: ignore[arg-type]


# The run


@pytest.mark.hnsw
def test_it_does_what_is_due_and_then_nothing(engine: Engine, maintain: Maintain) -> None:
    repo = MemoryRepository(engine)
    expire(engine, "zoe")
    expire(engine, "team:red")
    repo.add("max", plain("stays", expires_at=datetime.now(UTC) + timedelta(days=1)))
    for of in (repo, repo.teams):
        of.add_many("large", [north(f"number {n}") for n in range(FEW)])
    due = {"retention": 2, "build index": 2}

    planned = maintain(dry_run=True)
    assert logged(engine) == []
    assert maintain() == planned
    assert planned == dict.fromkeys(COUNTS, 0) | {"scanned": 2, "archived": 2, "tasks": due}

    [run] = logged(engine)
    assert (run["agent_id"], run["policy"], run["tasks"]) == ("", {"name": "default"}, due)
    assert (run["archived"], run["finished"]) == (2, True)
    assert [memory.status for memory in repo.list("max")] == ["active"]
    assert indexes(repo) == [("large", None, 0), ("team:large", None, 0)]
    assert maintain()["tasks"] == {}
    repo.teams.add("large", north("one more"))
    assert maintain(agent_id="large")["tasks"] == {}
    assert maintain()["tasks"] == {"place": 1}
    assert indexes(repo) == [("large", None, 0), ("team:large", None, 0)]
    sql(engine, "UPDATE pgrecall.agent_memories SET status = 'archived' WHERE agent_id = 'large'")
    assert maintain()["tasks"] == {"drop index": 1}
    assert maintain()["tasks"] == {}
    assert indexes(repo) == [("team:large", None, 0)]


def indexes(repo: MemoryRepository) -> list[tuple[str, str | None, int]]:
    both = (repo.rank_indexes, repo.teams.rank_indexes)
    states = [one for of in both for one in of.status(at_least=FEW)]
    return [(one.agent_id, one.due, one.beside) for one in states]


def test_statistics_are_taken_of_tables_that_changed_much(
    engine: Engine, maintain: Maintain
) -> None:
    with engine.begin() as connection:
        repo = MemoryRepository(connection)
        repo.add_many("zoe", [plain(f"number {n}") for n in range(2_000)])
        connection.exec_driver_sql("SELECT pg_stat_force_next_flush()")

    assert maintain()["tasks"]["statistics"] >= 1

    assert "statistics" not in maintain()["tasks"]
    with pytest.raises(Exception, match="relation must be one of agent_memories"):
        sql(engine, "SELECT pgrecall._take_statistics('pg_class')")


@pytest.mark.hnsw
def test_a_writer_that_does_not_end_leaves_indexes_and_nothing_else(
    engine: Engine, maintain: Maintain
) -> None:
    repo = MemoryRepository(engine)
    repo.add_many("large", [north(f"number {n}") for n in range(FEW)])
    expire(engine, "zoe")
    with engine.connect() as hanging:
        MemoryRepository(hanging).add("max", plain("not committed"))
        assert maintain(within=1.0)["tasks"] == {"retention": 1, "left": 1}
        hanging.rollback()
    assert logged(engine)[-1]["tasks"] == {"retention": 1, "left": 1}
    assert maintain()["tasks"] == {"build index": 1}


# What interrupts it


def test_an_interrupted_run_is_told(engine: Engine) -> None:
    def stop(*_: object) -> None:
        raise KeyboardInterrupt

    repo = MemoryRepository(engine)
    repo.maintenance.run(at_least=FEW)
    expire(engine, "zoe")
    with pytest.raises(KeyboardInterrupt):
        repo.maintenance.run(at_least=FEW, on_progress=stop)
    problems = "SELECT problem, why FROM pgrecall.health(max_age => %s)"
    told = [dict(sql(engine, problems % age)) for age in ("'1 day'", "'0 s'")]
    assert "maintenance" not in told[0]  # one was finished within a day
    assert told[1]["maintenance"] == "the last one has not ended"


@pytest.mark.parametrize(
    ("trust", "rules", "done"),
    [(0.15, GRACE, 6), (0.3, {"max_live": 1}, 4)],
    ids=["by rule", "at the cap"],
)
def test_a_run_that_is_stopped_keeps_and_has_logged_the_batches_it_did(
    shared_url: str,
    mine: Owner,
    monkeypatch: pytest.MonkeyPatch,
    trust: float,
    rules: dict[str, Any],
    done: int,
) -> None:
    ids = sorted(mine.add_many([memory(str(n), trust=trust) for n in range(9)]))
    monkeypatch.setattr(maintenance, "BATCH_SIZE", 2)
    policy = RetentionPolicy(**rules)
    stop = (
        "SELECT pg_terminate_backend(pid) FROM pg_stat_activity "
        "WHERE query LIKE '%%_retain_batch%%' AND %s = ANY (pg_blocking_pids(pid))"
    )

    with (
        psycopg.connect(shared_url) as rival,
        psycopg.connect(shared_url, autocommit=True) as watching,
        ThreadPoolExecutor() as threads,
    ):
        one = "WHERE agent_id = %s AND id = %s FOR UPDATE"
        rival.execute(f"SELECT FROM pgrecall.agent_memories {one}", (mine.name, ids[done]))
        run = threads.submit(mine.maintain, policy)
        deadline = time.monotonic() + 20
        while not watching.execute(stop, (rival.info.backend_pid,)).rowcount:
            assert time.monotonic() < deadline
        stopped = run.exception(timeout=20)
        rival.rollback()

    assert isinstance(stopped, DatabaseError)
    assert f"{done} memories were archived" in str(stopped)
    archived = "SELECT id FROM pgrecall.agent_memories WHERE agent_id = :agent AND status = "
    assert mine.sql(f"{archived} 'archived' ORDER BY id") == ids[:done]
    log = "SELECT archived, finished FROM pgrecall.maintenance_runs WHERE agent_id = :agent"
    assert mine.sql(log) == [(done, False)]
    assert mine.maintain(policy).archived == 9 - done - rules.get("max_live", 0)


@pytest.fixture
def kept(engine: Engine) -> Iterator[None]:
    """A trigger lets nobody change a memory."""
    with engine.begin() as connection:
        connection.exec_driver_sql(
            "CREATE FUNCTION public.keep() RETURNS trigger LANGUAGE plpgsql "
            "AS 'BEGIN RETURN NULL; END'; "
            "CREATE TRIGGER keep BEFORE UPDATE ON pgrecall.agent_memories "
            "FOR EACH ROW EXECUTE FUNCTION public.keep()"
        )
    yield
    with engine.begin() as connection:
        connection.exec_driver_sql("DROP FUNCTION public.keep() CASCADE")


@pytest.mark.usefixtures("kept")
def test_a_run_ends_though_nothing_can_be_archived(
    alone: Owner, monkeypatch: pytest.MonkeyPatch
) -> None:
    past = datetime.now(UTC) - HOUR
    expired = [alone.add(memory(str(n), expires_at=past)) for n in range(5)]
    monkeypatch.setattr(maintenance, "BATCH_SIZE", 2)

    for policy in (RetentionPolicy(), RetentionPolicy(max_live=9)):
        assert alone.maintain(policy).scanned == len(expired)
    assert [alone.read(one).status for one in expired] == ["active"] * len(expired)


# What is refused


@pytest.mark.parametrize(
    ("policy", "message"),
    [
        ('{"max_age": 5}', "unknown rule of a policy 'max_age'; known are name, min_trust"),
        ('{"max_age_hours": "5"}', "max_age_hours must be a number"),
        ('{"delete_threshold": 1.1}', "delete_threshold must lie within 0 and 1, got 1.1"),
        ('{"max_event_age_hours": 23}', "max_event_age_hours must lie within 24 and"),
        ('{"stale_tasks_after": 7}', "stale_tasks_after must be text"),
        ('{"stale_tasks_after": "-1 day"}', "stale_tasks_after must lie within 0"),
        (None, "policy must be a JSON object"),
    ],
)
def test_a_wrong_policy_is_refused_and_leaves_no_run(
    mine: Owner, connection: Connection, policy: str | None, message: str
) -> None:
    for dry_run in (True, False):
        with pytest.raises(psycopg.Error, match=message):
            connection.execute("CALL pgrecall.maintain(%s, %s, %s)", (mine.name, policy, dry_run))
    assert mine.rows("maintenance_runs") == []


def test_wrong_arguments_of_the_procedure_leave_no_run(database_url: str, engine: Engine) -> None:
    with psycopg.connect(database_url, autocommit=True) as connection:
        for wrong in ("at_least => 0", "at_least => NULL", "agent => ''", "dry_run => NULL"):
            with pytest.raises(psycopg.Error):
                connection.execute(f"CALL pgrecall.maintain({wrong})".encode())
        expire(engine, "zoe")
        for within, done in (("-1", "left"), ("NULL", "retention"), ("'NaN'", ""), ("5", "")):
            call = f"CALL pgrecall.maintain(dry_run => false, within_seconds => {within})"
            row = connection.execute(call.encode()).fetchone()
            assert row is not None
            assert [*row[0]["tasks"]] == [done] * bool(done)
    assert len(logged(engine)) == 4


def test_a_batch_belongs_to_a_run_of_the_agent_or_of_all(
    mine: Owner, connection: Connection
) -> None:
    mine.add(memory("a", trust=0.15))
    begin = "SELECT pgrecall._begin_maintenance(%s, '{\"min_trust_threshold\": 0.2}') AS run"
    others, of_all = (
        connection.execute(begin, [of]).fetchall()[0]["run"] for of in (mine.other.name, None)
    )
    batch = "SELECT archived FROM pgrecall._retain_batch(%s, %s)"
    for run in (uuid4(), others, None):
        with pytest.raises(psycopg.errors.InvalidParameterValue, match="_begin_maintenance"):
            connection.execute(batch, (mine.name, run))

    assert connection.execute(batch, (mine.name, of_all)).fetchall() == [{"archived": 1}]
