"""Garbage collection, through the repository and as the procedure of psql."""

from __future__ import annotations

import random
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID, uuid4

import psycopg
import pytest
from psycopg import sql
from psycopg.rows import dict_row
from sqlalchemy import Engine

from pgrecall import Memory, NewMemory
from pgrecall.lifecycle.garbage import GarbagePolicy
from tests.integration.owner import Owner, north, plain
from tests.integration.support import at

HOUR = timedelta(hours=1)
NUMBERS = ("scanned", "archived", "deleted", "swept", "events", "runs")
OFF: dict[str, Any] = dict.fromkeys(
    ("min_trust_threshold", "max_age_hours", "delete_threshold", "max_live")
)


@pytest.fixture
def alone(engine: Engine) -> Owner:
    """In a database where nobody else has anything."""
    return Owner(engine, "agent")


def garbage(content: str, **more: Any) -> NewMemory:
    """Well trusted, young and without an expiry unless told otherwise."""
    return plain(content, **{"trust": 0.5, "expires_at": None} | more)


def several(count: int, trust: float = 0.15) -> list[NewMemory]:
    return [garbage(str(n), trust=trust) for n in range(count)]


def all_of(mine: Owner) -> list[Memory]:
    statuses = ("active", "consolidated", "completed", "archived")
    hits = mine.search(k=1_000, statuses=statuses, include_invalid=True, touch=False)
    return [hit.memory for hit in hits]


def becomes_of(mine: Owner, ids: Sequence[UUID]) -> list[str]:
    """The status of each, or that it is deleted."""
    status = {memory.id: memory.status for memory in all_of(mine)}
    return [status.get(memory_id, "deleted") for memory_id in ids]


def numbers(run: Any) -> dict[str, Any]:
    return {name: getattr(run, name) for name in NUMBERS}


def leave_behind(mine: Owner, gone: UUID) -> None:
    """A counter and three links of a memory that is not there."""
    for values in (
        "usage (agent_id, memory_id, retrieval_count) VALUES (:agent, :gone, 3)",
        *["links VALUES (:agent, :gone, gen_random_uuid(), 'x')"] * 3,
    ):
        mine.sql(f"INSERT INTO pgrecall.memory_{values}", gone=gone)


def runs(bind: Engine) -> list[dict[str, Any]]:
    with bind.connect() as connection:
        found = connection.exec_driver_sql("SELECT * FROM pgrecall.gc_runs ORDER BY id")
        return [dict(row._mapping) for row in found]


# What becomes of a memory


def test_what_becomes_of_each_by_the_default_policy(mine: Owner) -> None:
    """Grace's."""
    policy = GarbagePolicy()
    assert [getattr(policy, name) for name in OFF] == [0.2, 720, 0.1, None]
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
    ids = mine.add_many([garbage(f"{n}", **given) for n, (given, _) in enumerate(fates)])

    run = mine.collect_garbage()

    expected = [fate for _, fate in fates]
    assert becomes_of(mine, ids) == expected
    found = [run.scanned, run.archived, run.deleted]
    assert found == [len(ids), expected.count("archived"), expected.count("deleted")]


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
        ids[place] = mine.add(garbage(str(place), trust=trust, created_at=made))

    for left in range(9, -1, -1):
        mine.collect_garbage(GarbagePolicy(max_live=left))

        gone = max(8 - left, 0)
        expected = ["archived"] * gone + ["active"] * (8 - gone)
        assert becomes_of(mine, [ids[place] for place in range(8)]) == expected


POLICIES: dict[str, dict[str, Any]] = {
    "default": {},
    "off": OFF,
    "capped": {"max_live": 20},
    "cap alone": OFF | {"max_live": 25},
    "strict": {"name": "strict", "min_trust_threshold": 0.6, "delete_threshold": 0.3}
    | {"max_age_hours": 100, "max_live": 7},
    "upside down": {"min_trust_threshold": 0.1, "delete_threshold": 0.4},
    "all": {"min_trust_threshold": 1.0, "delete_threshold": 0.0, "max_age_hours": 0.0},
}


@pytest.mark.parametrize(
    ("policy", "batch_size"), [*((name, 7) for name in POLICIES), ("strict", 1), ("cap alone", 1)]
)
def test_a_run_does_what_an_independent_judge_would_and_what_psql_does(
    mine: Owner, connection: Connection, policy: str, batch_size: int
) -> None:
    limits = GarbagePolicy(**POLICIES[policy])
    memories = fill(mine)
    fill(mine.other)
    expected = judged(memories, limits, datetime.now(UTC))
    stored = mine.everything()

    dry = mine.collect_garbage(limits, dry_run=True)
    assert (mine.everything(), mine.rows("gc_runs")) == (stored, [])
    run = mine.collect_garbage(limits, batch_size=batch_size)

    ids = [memory.id for memory in memories]
    assert dict(zip(ids, becomes_of(mine, ids), strict=True)) == expected
    live = [memory.id for memory in memories if memory.status != "archived"]
    outcome = [expected[memory_id] for memory_id in live]
    archived, deleted = outcome.count("archived"), outcome.count("deleted")
    judges = policy not in ("off", "cap alone")  # otherwise only what has expired is looked at
    now = datetime.now(UTC)
    dates = [memory.expires_at for memory in memories if memory.id in live]
    scanned = sum(judges or (date is not None and date <= now) for date in dates)
    told = {"scanned": scanned, "archived": archived, "deleted": deleted, "swept": 4}
    told |= {"events": 0, "runs": 0}
    assert (numbers(run), numbers(dry), dry.id) == (told, told, None)

    given = {"policy" if name == "name" else name: one for name, one in POLICIES[policy].items()}
    with connection.transaction():  # a dry run can be made where nothing may be written
        connection.execute("SET TRANSACTION READ ONLY")
        assert collect(connection, agent=mine.other.name, dry_run=True, **given) == told
    assert collect(connection, agent=mine.other.name, batch_size=batch_size, **given) == told
    states = [
        sorted((m.content, m.status, of.history(m.id)[-1].reason) for m in all_of(of))
        for of in (mine, mine.other)
    ]
    assert states[0] == states[1]

    again = mine.collect_garbage(limits)
    assert (again.archived, again.deleted, again.swept) == (0, 0, 0)
    assert again.scanned == (len(live) - archived - deleted if judges else 0)


def fill(mine: Owner) -> list[Memory]:
    """Forty memories of every kind, some put away already, and what one that is gone left."""
    around = random.Random(3)
    now = datetime.now(UTC)
    ids = mine.add_many(
        [
            garbage(
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


def judged(memories: list[Memory], policy: GarbagePolicy, now: datetime) -> dict[UUID, str]:
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


# The run


def test_a_run_is_logged_with_its_thresholds_and_numbers(
    mine: Owner, connection: Connection
) -> None:
    """By the repository, and by the procedure, which names the session's user."""
    limits: dict[str, Any] = {"min_trust_threshold": 0.25, "delete_threshold": 0.1}
    limits |= {"max_age_hours": 99.0, "max_live": 30}
    limits |= {"max_event_age_hours": 24.0, "max_run_age_hours": 48.0}
    fill(mine)
    fill(mine.other)
    begun = datetime.now(UTC)

    run = mine.collect_garbage(GarbagePolicy(name="nightly", **limits))
    told = collect(connection, agent=mine.other.name, policy="nightly", **limits)

    assert 0 < run.seconds < 60
    assert min(getattr(run, name) for name in ("scanned", "archived", "deleted", "swept")) > 0
    for owner, said in ((mine, numbers(run)), (mine.other, told)):
        [logged] = [row for row in runs(owner.bind) if row["agent_id"] == owner.name]  # type: ignore[arg-type]
        assert (logged.pop("id") == run.id, logged.pop("seconds") == run.seconds) == (
            (owner is mine,) * 2
        )
        assert begun - timedelta(seconds=1) < logged.pop("started_at") < datetime.now(UTC)
        ours = {"agent_id": owner.name, "policy": "nightly", "finished": True, "tasks": None}
        assert logged == ours | limits | said
    actor = "SELECT actor FROM pgrecall.memory_events WHERE agent_id = :agent AND actor IS NOT NULL"
    assert {*mine.other.sql(f"{actor} AND event_type = 'archived'")} == {
        *mine.sql("SELECT session_user::text")
    }


def test_a_run_goes_through_one_owner_all_agents_or_all_teams(alone: Owner, engine: Engine) -> None:
    repo = alone.repo
    for owner in ("a", "b", "*", "Ω'; --"):
        repo.add_many(owner, several(3, 0.5))
    repo.teams.add_many("a", several(3, 0.5))
    leave_behind(Owner(engine, "gone"), uuid4())
    capped = GarbagePolicy(max_live=2)

    one = repo.upkeep.collect_garbage(capped, agent_id="Ω'; --")
    agents = repo.upkeep.collect_garbage(capped)
    nobody = repo.upkeep.collect_garbage(GarbagePolicy(**OFF), agent_id="nobody")
    team = repo.teams.upkeep.collect_garbage(capped, agent_id="a")
    teams = repo.teams.upkeep.collect_garbage(GarbagePolicy(max_live=1))

    made = (one, agents, nobody, team, teams)
    assert [(run.owners, run.archived, run.swept) for run in made] == [
        *((1, 1, 0), (4, 3, 4), (1, 0, 0), (1, 1, 0), (1, 1, 0))
    ]
    logged = {row["id"]: row for row in runs(engine)}
    assert [logged[run.id]["agent_id"] for run in made] == ["Ω'; --", "", "nobody", "team:a", ""]
    assert [logged[nobody.id][name] for name in OFF] == [None] * 4


# What it leaves


def test_what_was_left_behind_is_swept(mine: Owner) -> None:
    for owner in (mine, mine.team):
        kept = owner.add_many([garbage(text) for text in "ab"])
        owner.touch(kept)
        owner.links.add(kept[0], kept[1])
    stored, of_team = mine.everything(), mine.team.everything()
    gone, [a, b] = uuid4(), [memory.id for memory in all_of(mine)]
    leave_behind(mine, gone)
    only_linked = uuid4()
    for source, target in ((gone, a), (b, gone), (b, only_linked)):
        ends = {"source": source, "target": target}
        mine.sql("INSERT INTO pgrecall.memory_links VALUES (:agent, :source, :target, 'x')", **ends)

    assert mine.collect_garbage(batch_size=1).swept == 7
    assert (mine.everything(), mine.team.everything()) == (stored, of_team)


def test_each_change_is_told_with_the_rule_that_made_it(mine: Owner) -> None:
    now = datetime.now(UTC)
    memories = {
        "delete_threshold": garbage("a", trust=0.05),
        "expires_at": garbage("b", trust=0.5, expires_at=now - HOUR),
        "min_trust_threshold": garbage("c", trust=0.15),
        "max_age_hours": garbage("d", created_at=now - 800 * HOUR),
        "max_live": garbage("e", trust=0.25),
        "kept": garbage("f", trust=0.9),
    }
    ids = {rule: mine.add(memory) for rule, memory in memories.items()}

    mine.collect_garbage(GarbagePolicy(name="nightly", max_live=1))

    history = {rule: mine.history(memory_id)[1:] for rule, memory_id in ids.items()}
    assert history.pop("kept") == []
    for rule, [told] in history.items():
        assert "nightly" in (told.reason or "")
        assert told.actor == "garbage collection"
        if rule == "delete_threshold":
            assert told.event_type == "deleted"
            assert (told.old_values["trust"], told.old_values["status"]) == (0.05, "active")
        else:
            assert (told.event_type, told.old_values) == ("archived", {"status": "active"})
            assert told.new_values == {"status": "archived", "rule": rule}


# The procedure of psql, and batches by hand

Connection = psycopg.Connection[dict[str, Any]]


def collect(connection: Connection, **named: Any) -> dict[str, Any]:
    given = sql.SQL(", ").join(sql.SQL("{} => %s").format(sql.Identifier(name)) for name in named)
    statement = sql.SQL("CALL pgrecall.collect_garbage({})").format(given)
    [row] = connection.execute(statement, list(named.values())).fetchall()
    return row


def call(connection: Connection, name: str, *given: Any) -> dict[str, Any]:
    marks = ", ".join(["%s"] * len(given))
    [row] = connection.execute(f"SELECT * FROM pgrecall.{name}({marks})", given).fetchall()
    return row


def archived(mine: Owner) -> list[UUID]:
    return mine.sql(
        "SELECT id FROM pgrecall.agent_memories "
        "WHERE agent_id = :agent AND status = 'archived' ORDER BY id"
    )


def test_a_batch_goes_on_after_the_id_given(mine: Owner, connection: Connection) -> None:
    ids = sorted(mine.add_many(several(5)))
    run = call(connection, "begin_garbage_run", mine.name)["begin_garbage_run"]

    batch = call(connection, "collect_garbage_batch", mine.name, run, ids[1], 2)

    done = dict.fromkeys(NUMBERS, 0) | {"scanned": 2, "archived": 2}
    assert batch == done | {"last_id": ids[3], "more": True}
    assert archived(mine) == ids[2:4]
    ended = call(connection, "end_garbage_run", mine.name, run)
    assert (ended["archived"], ended["finished"]) == (2, True)


@pytest.mark.parametrize("whose", ["unknown", "another's", "none"])
def test_a_batch_belongs_to_a_run_of_the_owner_or_of_all(
    mine: Owner, connection: Connection, whose: str
) -> None:
    mine.add_many(several(1))
    [others] = call(connection, "begin_garbage_run", mine.other.name).values()
    run = {"unknown": uuid4(), "another's": others, "none": None}[whose]

    with pytest.raises(psycopg.errors.InvalidParameterValue, match="begin_garbage_run"):
        call(connection, "collect_garbage_batch", mine.name, run)

    assert archived(mine) == []
    [of_all] = call(connection, "begin_garbage_run").values()
    assert call(connection, "collect_garbage_batch", mine.name, of_all)["archived"] == 1


def test_the_procedure_without_an_agent_goes_through_all_of_them(
    alone: Owner, engine: Engine, database_url: str
) -> None:
    for owner in ("b", "a", "*"):
        alone.repo.add_many(owner, several(3))
    alone.repo.teams.add_many("red", several(2, 0.05))
    leave_behind(Owner(engine, "gone"), uuid4())

    with psycopg.connect(database_url, autocommit=True, row_factory=dict_row) as connection:
        told = collect(connection, batch_size=2)

    done = {"scanned": 11, "archived": 9, "deleted": 2, "swept": 4}
    assert told == dict.fromkeys(NUMBERS, 0) | done
    [logged] = runs(engine)
    assert (logged["agent_id"], logged["scanned"], logged["finished"]) == ("", 11, True)


@contextmanager
def held(url: str, mine: Owner, memory_id: UUID) -> Iterator[None]:
    """Keeps a memory locked, as a writer in a transaction would."""
    with psycopg.connect(url) as rival:
        one = "WHERE agent_id = %s AND id = %s FOR UPDATE"
        rival.execute(f"SELECT FROM pgrecall.agent_memories {one}", (mine.name, memory_id))
        yield
        rival.rollback()


def stopped_when_it_waits(url: str, **options: Any) -> BaseException | None:
    """Starts a collection that will meet a lock, stops it there, and returns how it ended."""
    with (
        psycopg.connect(url, autocommit=True, row_factory=dict_row) as running,
        psycopg.connect(url, autocommit=True) as watching,
        ThreadPoolExecutor() as threads,
    ):
        pid = running.info.backend_pid
        waits = "SELECT FROM pg_stat_activity WHERE pid = %s AND wait_event_type = 'Lock'"
        run: Future[dict[str, Any]] = threads.submit(collect, running, **options)
        deadline = time.monotonic() + 20
        while not run.done() and time.monotonic() < deadline:
            if watching.execute(waits, (pid,)).rowcount:
                break
        watching.execute("SELECT pg_terminate_backend(%s)", (pid,))
        return run.exception(timeout=20)


@pytest.mark.parametrize(
    ("trust", "cap", "done"), [(0.15, None, 6), (0.3, 1, 4)], ids=["by rule", "at the cap"]
)
def test_a_run_that_is_stopped_keeps_and_has_logged_the_batches_it_did(
    shared_url: str, mine: Owner, connection: Connection, trust: float, cap: int | None, done: int
) -> None:
    ids = sorted(mine.add_many(several(9, trust)))

    with held(shared_url, mine, ids[done]):
        options: dict[str, Any] = {"agent": mine.name, "batch_size": 2, "max_live": cap}
        stopped = stopped_when_it_waits(shared_url, **options)

    assert isinstance(stopped, psycopg.OperationalError)
    assert archived(mine) == ids[:done]
    log = "SELECT archived, finished FROM pgrecall.gc_runs WHERE agent_id = :agent"
    assert mine.sql(log) == [(done, False)]
    left = 9 - done - (cap or 0)
    assert collect(connection, agent=mine.name, max_live=cap)["archived"] == left


# How long it leaves events and the log of its own runs

KEEP: dict[str, Any] = dict.fromkeys(
    ("min_trust_threshold", "max_age_hours", "delete_threshold"), None
)
A_WEEK = GarbagePolicy(max_event_age_hours=168, max_run_age_hours=168, **KEEP)


def age(mine: Owner, days: float) -> None:
    """Makes all that happened so far happen earlier, and indexes be built earlier."""
    for table, column in (
        *(("memory_events", "occurred_at"), ("gc_runs", "started_at")),
        ("rank_indexes", "written_until"),
    ):
        mine.sql(
            f"UPDATE pgrecall.{table} SET {column} = {column} - make_interval(hours => :hours)",
            hours=round(24 * days),
        )


@pytest.mark.parametrize("batch_size", [1, 2, 1_000])
def test_old_events_go_and_the_first_of_a_memory_stays(alone: Owner, batch_size: int) -> None:
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

    counted = alone.collect_garbage(A_WEEK, dry_run=True)
    run = alone.collect_garbage(A_WEEK, batch_size=batch_size)

    # Two of gone with its first one, one of stays, and one of what is back, whose first ones stay.
    assert (counted.events, run.events) == (5, 5)
    assert [alone.kinds(one) for one in (stays, gone, back, late)] == [
        ["initial", "feedback"],
        [],
        ["initial", "initial"],
        ["initial", "deleted"],
    ]
    assert alone.other.kinds(other) == ["initial", "feedback"]
    assert alone.collect_garbage(A_WEEK).events == 0


def test_events_that_a_rank_index_needs_stay(alone: Owner) -> None:
    """Which of its memories have changed since it was built: those are scored beside it."""
    before, since = alone.add_many([north("a", embedding=at(1)), north("b", embedding=at(2))])
    alone.feedback(before, "useful")
    age(alone, 1)
    alone.repo.rank_indexes.build(agent_id=alone.name, at_least=1)
    alone.feedback(since, "useful")
    age(alone, 8)

    assert alone.collect_garbage(A_WEEK, dry_run=True).events == 1
    assert alone.collect_garbage(A_WEEK).events == 1

    assert [alone.kinds(one) for one in (before, since)] == [["initial"], ["initial", "feedback"]]
    alone.repo.rank_indexes.drop(alone.name)
    assert alone.collect_garbage(A_WEEK).events == 1


def test_the_log_says_how_much_of_it_and_of_the_history_went(alone: Owner) -> None:
    """Runs of one owner, and of all; also of owners who have nothing but history left."""
    every = GarbagePolicy(**KEEP)
    for owner in (alone, alone.other):
        one = owner.add(north("a"))
        owner.collect_garbage(every)
        owner.delete(one)
    alone.repo.upkeep.collect_garbage(every)
    age(alone, 8)
    alone.repo.upkeep.collect_garbage(every)

    counted = alone.repo.upkeep.collect_garbage(A_WEEK, dry_run=True)
    run = alone.repo.upkeep.collect_garbage(A_WEEK)

    assert (counted.events, counted.runs) == (run.events, run.runs) == (4, 3)
    logged = "SELECT max_event_age_hours, max_run_age_hours, events, runs FROM pgrecall.gc_runs"
    assert alone.sql(f"{logged} ORDER BY id") == [(None, None, 0, 0), (168, 168, 4, 3)]


def test_nothing_goes_unless_a_policy_says_so(alone: Owner) -> None:
    one = alone.add(north("a"))
    alone.feedback(one, "useful")
    alone.collect_garbage(GarbagePolicy(**KEEP))
    age(alone, 9_999)

    run = alone.collect_garbage(GarbagePolicy(**KEEP))

    assert (run.events, run.runs, len(alone.rows("gc_runs"))) == (0, 0, 2)
    assert alone.kinds(one) == ["initial", "feedback"]


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
@pytest.mark.parametrize("more", [{}, {"max_live": 9}])
def test_a_run_ends_though_nothing_can_be_archived(alone: Owner, more: dict[str, Any]) -> None:
    past = datetime.now(UTC) - HOUR
    expired = [alone.add(garbage(str(n), expires_at=past)) for n in range(5)]

    run = alone.collect_garbage(GarbagePolicy(**OFF | more), batch_size=2)

    assert run.scanned == len(expired)
    assert becomes_of(alone, expired) == ["active"] * len(expired)
