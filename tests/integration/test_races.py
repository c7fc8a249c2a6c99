"""Eight clients at once, each with a connection of its own, on the same few memories.

What must hold however they interleave: no conflict reaches a caller, every count and every event
is there, and each event of a memory begins with the values that the one before it left.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, suppress
from datetime import UTC, datetime
from typing import Any
from uuid import UUID

import pytest
from sqlalchemy import Engine, create_engine
from sqlalchemy.exc import OperationalError

from pgrecall import Added, MemoryRepository, NewMemory
from pgrecall.core.ids import id_of_key
from pgrecall.core.label import Label
from pgrecall.errors import (
    DatabaseConflict,
    DuplicateMemory,
    InvalidMemory,
    MemoryNotFound,
    SupersessionConflict,
)
from pgrecall.lifecycle.event import Event
from pgrecall.lifecycle.garbage import GarbagePolicy
from tests.integration.support import at, read, sql
from tests.migrations.asking import wait_until

CLIENTS, OPERATIONS = 8, 30
A = "agent"
Client = Callable[[int], Any]


@pytest.fixture
def crowd(database_url: str) -> Iterator[Engine]:
    """A connection for each client."""
    made = create_engine(database_url, pool_size=CLIENTS + 2, max_overflow=0)
    yield made
    made.dispose()


@pytest.fixture
def shared(crowd: Engine) -> MemoryRepository:
    return MemoryRepository(crowd)


def new(content: str, **more: Any) -> NewMemory:
    return NewMemory(content, **({"embedding": None} | more))


def at_once(client: Client, clients: int = CLIENTS, *, held: Engine | None = None) -> list[Any]:
    """What each of the clients returns; an error of any of them is raised.

    `held`: the memories are locked until each of the clients waits for one of them.
    """
    with ThreadPoolExecutor(clients) as threads, ExitStack() as holding:
        if held:
            holder = holding.enter_context(held.begin())
            holder.exec_driver_sql(HELD)
        running = [threads.submit(client, n) for n in range(clients)]
        if held:
            wait_until("all wait", lambda: len(sql(held, WAITING)) == clients)
        holding.close()
        return [one.result() for one in running]


HELD = "SELECT FROM pgrecall.agent_memories WHERE agent_id = 'agent' FOR UPDATE"
WAITING = (
    "SELECT FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND datname = current_database()"
)


def total(several: list[Counter[str]]) -> Counter[str]:
    return sum(several, Counter[str]())


# The same text


def test_the_same_text_added_by_all_is_one_row_and_every_hit_is_counted(
    shared: MemoryRepository, engine: Engine
) -> None:
    """One by one, and in batches in any order."""
    spellings, texts = ["Red tea", "red  TEA", " RED tea\n"], [f"text {n}" for n in range(12)]

    def client(n: int) -> list[Added]:
        mine = random.Random(n)
        added = [shared.add(A, new(spellings[(n + i) % 3])) for i in range(OPERATIONS)]
        for _ in range(6):
            added += shared.add_many(A, [new(text) for text in mine.sample(texts, 10)])
        return added

    flat = [UUID(int=one.int) for several in at_once(client) for one in several]

    said = Counter(flat)
    assert len(said) == len(rows(engine, "id")) == 1 + len(texts)
    assert counts(engine) == {memory_id: times - 1 for memory_id, times in said.items()}
    for memory_id, times in said.items():
        assert types(shared, memory_id) == {"initial": 1, "restated": times - 1}
    assert_nothing_is_left_over(shared, engine)


def test_a_key_written_by_all_is_one_row_and_counts_nothing(
    shared: MemoryRepository, engine: Engine
) -> None:
    added = at_once(lambda n: [shared.add(A, new(f"text {i}", key=f"key {i}")) for i in range(8)])

    outcomes = Counter(one.outcome for several in added for one in several)
    assert outcomes == {"inserted": 8, "known": 8 * (CLIENTS - 1)}
    assert counts(engine) == {}
    assert Counter(event_types(engine)) == {"initial": 8}


def test_a_key_upserted_by_all_is_one_row_and_every_write_is_recorded(
    shared: MemoryRepository, engine: Engine
) -> None:
    added = at_once(
        lambda n: [shared.upsert(A, new(f"{n} {i}", key=f"key {i % 2}")) for i in range(8)]
    )

    outcomes = Counter(one.outcome for several in added for one in several)
    assert outcomes == {"inserted": 2, "replaced": 8 * CLIENTS - 2}
    assert Counter(event_types(engine)) == {"initial": 2, "replaced": 8 * CLIENTS - 2}
    for memory_id in {one for several in added for one in several}:
        history = shared.history(A, memory_id)
        assert_chained(history)
        assert read(shared, A, memory_id).content == history[-1].new_values["content"]


def test_a_key_upserted_while_others_delete_it_is_one_row_or_none(
    shared: MemoryRepository, engine: Engine
) -> None:
    key_id = id_of_key(A, "k")

    def client(n: int) -> None:
        for i in range(OPERATIONS):
            if n % 2:
                shared.delete(A, key_id)
            else:
                shared.upsert(A, new(f"{n} {i}", key="k"))

    at_once(client)

    shared.upsert(A, new("last", key="k"))
    assert rows(engine, "content") == ["last"]


def test_rivals_that_look_for_near_duplicates_store_one_of_each(
    shared: MemoryRepository, engine: Engine
) -> None:
    angles = [0.0, 60.0, 120.0, 180.0]

    def client(n: int) -> list[Added]:
        mine = random.Random(n)
        return [
            shared.add(
                A,
                new(f"text {n} {i}", embedding=at(mine.choice(angles) + mine.uniform(-9, 9))),
                near_duplicates=0.92,
            )
            for i in range(8)
        ]

    flat = [one for several in at_once(client) for one in several]

    outcomes = Counter(one.outcome for one in flat)
    assert outcomes == {"inserted": 4, "near_duplicate": len(flat) - 4}
    assert sum(counts(engine).values()) == len(flat) - 4
    assert Counter(event_types(engine)) == {"initial": 4, "restated": len(flat) - 4}


def test_texts_of_random_validities_and_kinds_never_overlap(
    shared: MemoryRepository, engine: Engine
) -> None:
    def memory(mine: random.Random) -> NewMemory:
        start, end = sorted(mine.sample(range(2000, 2012), 2))
        return new(
            mine.choice(["a", "b"]),
            memory_type=mine.choice(["episodic", "entity"]),
            component=mine.choice([None, "x"]),
            valid_from=mine.choice([None, datetime(start, 1, 1, tzinfo=UTC)]),
            valid_until=mine.choice([None, datetime(end, 1, 1, tzinfo=UTC)]),
        )

    def client(n: int) -> None:
        mine = random.Random(n)
        for _ in range(25):
            match mine.randrange(4):
                case 0:
                    shared.add_many(A, [memory(mine) for _ in range(3)])
                case 1:
                    ids = rows(engine, "id")
                    if ids:
                        shared.invalidate(A, mine.sample(ids, 1))
                case 2:
                    ids = rows(engine, "id")
                    with suppress(DuplicateMemory, MemoryNotFound, InvalidMemory):
                        if ids and mine.random() < 0.5:
                            shared.revive(A, mine.choice(ids))
                        elif ids:
                            start = datetime(mine.randrange(2000, 2012), 1, 1, tzinfo=UTC)
                            shared.update(A, mine.choice(ids), valid_from=start)
                case _:
                    shared.add(A, memory(mine))

    at_once(client)

    assert sql(engine, OVERLAPPING) == []
    assert len(rows(engine, "id")) > 8


OVERLAPPING = """
SELECT a.id, b.id
  FROM pgrecall.agent_memories a
  JOIN pgrecall.agent_memories b
    ON a.agent_id = b.agent_id AND a.content_hash = b.content_hash AND a.id < b.id
   AND a.memory_type = b.memory_type AND a.component IS NOT DISTINCT FROM b.component
   AND tstzrange(a.valid_from, greatest(least(a.valid_until, a.invalidated_at), a.valid_from))
    && tstzrange(b.valid_from, greatest(least(b.valid_until, b.invalidated_at), b.valid_from))
 WHERE a.status = 'active' AND b.status = 'active'
   AND a.edition IS NOT NULL AND b.edition IS NOT NULL
"""
"""Pairs of memories that are the same, of those that are known by their text."""


@pytest.mark.parametrize("level", ["REPEATABLE READ", "SERIALIZABLE"])
def test_rivals_at_stricter_levels_store_one_or_are_told_of_the_conflict(
    crowd: Engine, engine: Engine, level: str
) -> None:
    strict = crowd.execution_options(isolation_level=level)

    def client(n: int) -> Counter[str]:
        mine, told = random.Random(n), Counter[str]()
        for i in range(8):
            kind = mine.choice(["episodic", "entity"])
            with strict.connect() as connection:
                repo = MemoryRepository(connection)
                repo.count(A)  # the snapshot is taken
                try:
                    texts = mine.sample([f"text {i // 4} {k}" for k in range(3)], 2)
                    for text in texts:
                        told[repo.add(A, new(text, memory_type=kind)).outcome] += 1
                    connection.commit()
                except DatabaseConflict:
                    told["conflict"] += 1
                except OperationalError as refused:  # by COMMIT, which is the caller's own
                    if getattr(refused.orig, "sqlstate", None) != "40001":
                        raise
                    told["conflict"] += 1
        return told

    told = total(at_once(client, 4))

    assert sql(engine, OVERLAPPING) == []
    assert told["conflict"] > 0
    assert told["inserted"] >= len(rows(engine, "id"))


# Use


def test_touches_of_overlapping_sets_lose_no_count(
    shared: MemoryRepository, engine: Engine
) -> None:
    ids = [UUID(int=one.int) for one in shared.add_many(A, [new(str(n)) for n in range(20)])]

    def client(n: int) -> Counter[UUID]:
        mine, counted = random.Random(n), Counter[UUID]()
        for _ in range(OPERATIONS):
            chosen = mine.sample(ids, mine.randint(1, 10))
            assert shared.touch(A, chosen) == len(chosen)
            counted.update(chosen)
        return counted

    told = sum(at_once(client), Counter[UUID]())

    assert counts(engine) == told
    assert Counter(event_types(engine)) == {"initial": 20}


def test_feedback_and_outcomes_on_one_memory_are_all_counted_and_noted_in_order(
    shared: MemoryRepository, engine: Engine
) -> None:
    memory_id = UUID(int=shared.add(A, new("one", trust=0.5)).int)
    votes = {"useful": (1, 0), "not_useful": (0, 1), "outdated": (0, 1), "incorrect": (0, 3)}

    def client(n: int) -> Counter[str]:
        mine, done = random.Random(n), Counter[str]()
        for _ in range(10):
            what = mine.choice(["success", "failure", *votes])
            if what in votes:
                shared.feedback(A, memory_id, what)  # type: ignore[arg-type]
            else:
                shared.record_outcome(A, memory_id, what)  # type: ignore[arg-type]
            done[what] += 1
        return done

    done = total(at_once(client, held=engine))

    up = sum(votes[kind][0] * done[kind] for kind in votes)
    down = sum(votes[kind][1] * done[kind] for kind in votes)
    memory = read(shared, A, memory_id)
    assert (memory.success_count, memory.failure_count) == (done["success"], done["failure"])
    assert memory.retrieval_count == done["success"] + done["failure"]
    assert (memory.feedback_up, memory.feedback_down) == (up, down)
    assert memory.usefulness == pytest.approx((2 * 0.5 + up) / (2 + up + down), abs=1e-9)
    history = shared.history(A, memory_id)
    assert Counter(one.event_type for one in history) == {
        "initial": 1,
        "reinforcement": done["success"],
        "penalty": done["failure"],
        "feedback": sum(done[kind] for kind in votes),
    }
    assert_chained(history)
    assert memory.trust == pytest.approx(trust_told_by(history), abs=1e-9)


def trust_told_by(history: Sequence[Event]) -> float:
    """One outcome of the history after the other."""
    trust, won, lost = 0.5, 0, 0
    for one in history:
        if one.event_type not in ("reinforcement", "penalty"):
            continue
        if one.event_type == "reinforcement":
            won += 1
            trust += 0.05 / (1 + 0.1 * won)
        else:
            lost += 1
            trust -= 0.08 / (1 + 0.05 * lost)
        if won + lost > 5 and won / (won + lost) > 0.8:
            trust += 0.02
        trust = min(max(trust, 0.0), 1.0)
        assert one.new_values["success_count"] == won
        assert one.new_values["failure_count"] == lost
        assert one.new_values["trust"] == pytest.approx(trust, abs=1e-9)
    return trust


def test_labels_and_links_given_and_taken_by_all_are_told_as_they_were(
    shared: MemoryRepository, engine: Engine
) -> None:
    one, other = (UUID(int=shared.add(A, new(text)).int) for text in ("one", "other"))

    def client(n: int) -> None:
        mine = random.Random(n)
        for _ in range(20):
            match mine.randrange(4):
                case 0:
                    shared.links.add(A, one, other, weight=mine.random())
                case 1:
                    shared.links.remove(A, one, other)
                case 2:
                    shared.labels.add(A, one, Label("x", weight=mine.random()))
                case 3:
                    shared.labels.remove(A, one, "x")

    at_once(client, held=engine)

    weights: dict[str, float | None] = {"link": None, "label": None}
    told = shared.history(A, one)[1:]
    assert {event.event_type for event in told} == {"linked", "unlinked", "labelled", "unlabelled"}
    for change in told:
        what = "link" if "link" in change.event_type else "label"
        assert weight_told(what, change.old_values) == weights[what]
        weights[what] = weight_told(what, change.new_values)
    left: dict[str, list[Any]] = {
        "link": [*shared.links.of(A, one)],
        "label": [*shared.labels.of(A, one)],
    }
    for what, weight in weights.items():
        assert [it.weight for it in left[what]] == ([] if weight is None else [weight])


def weight_told(what: str, values: dict[str, Any]) -> float | None:
    """None: nothing was there."""
    if what == "link":
        return values.get("weight")
    return next((label["weight"] for label in values.get("labels", [])), None)


# Correcting


def test_of_rivals_that_supersede_one_memory_exactly_one_wins(
    shared: MemoryRepository, engine: Engine
) -> None:
    current, rounds = UUID(int=shared.add(A, new("start", importance=0.7)).int), 5
    chain = [current]

    for round_ in range(rounds):

        def client(n: int, round_: int = round_, old: UUID = current) -> Added | None:
            try:
                return shared.supersede(A, old, new(f"round {round_} of {n}"))
            except SupersessionConflict:
                return None

        winners = [one for one in at_once(client, held=engine) if one is not None]
        assert len(winners) == 1
        current = UUID(int=winners[0].int)
        chain.append(current)

    assert sorted(rows(engine, "id")) == sorted(chain)
    followed = dict(
        sql(
            engine,
            "SELECT id, superseded_by FROM pgrecall.agent_memories "
            "WHERE importance = 0.7 AND (superseded_by IS NULL) = (invalidated_at IS NULL)",
        )
    )
    assert followed == dict(zip(chain, [*chain[1:], None], strict=True))
    assert Counter(event_types(engine)) == {"initial": rounds + 1, "superseded": rounds}


def test_of_rivals_that_add_about_one_subject_the_last_one_stays(
    shared: MemoryRepository, engine: Engine
) -> None:
    def client(n: int) -> int:
        memories = [new(f"{n} {place} {s}", subject=s) for place in range(5) for s in "ab"]
        some = shared.add_many(A, memories, supersede_subject=True)
        return sum(len(one.same_subject) for one in some)

    superseded = sum(at_once(client))

    assert superseded == CLIENTS * 10 - 2
    assert Counter(event_types(engine))["superseded"] == superseded
    assert sorted(memory.subject or "" for memory in shared.list(A)) == ["a", "b"]


def test_memories_that_supersede_each_other_at_once_meet_no_deadlock(
    shared: MemoryRepository, engine: Engine
) -> None:
    texts = [f"text {n}" for n in range(4)]
    shared.add_many(A, [new(text) for text in texts])
    ids = dict(zip(texts, rows(engine, "id"), strict=True))

    def client(n: int) -> int:
        mine, done = random.Random(n), 0
        for _ in range(3):
            old, other = mine.sample(texts, 2)
            shared.supersede(A, ids[old], new(other, importance=mine.random()), force=True)
            done += 1
        return done

    done = sum(at_once(client))

    assert len(rows(engine, "id")) == 4
    noted = Counter(event_types(engine))
    in_turn = sql(
        engine,
        "SELECT FROM pgrecall.memory_events WHERE reason = 'what it superseded was said again'",
    )
    assert noted["superseded"] == done + len(in_turn)
    assert noted["restated"] == done
    for memory_id in ids.values():
        assert_chained(shared.history(A, memory_id))


def test_texts_that_are_updated_and_revived_at_once_stay_one_of_each(
    shared: MemoryRepository, engine: Engine
) -> None:
    texts = ["tea", "milk", "rice"]
    ids = [UUID(int=shared.add(A, new(f"text {n}")).int) for n in range(8)]

    def client(n: int) -> Counter[str]:
        mine, done = random.Random(n), Counter[str]()
        for _ in range(25):
            memory_id = mine.choice(ids)
            what = mine.choice(["updated", "updated", "revived", "archived", "forgotten"])
            try:
                match what:
                    case "updated":
                        shared.update(A, memory_id, content=mine.choice(texts), embedding=None)
                        done[what] += 1
                    case "revived":
                        done[what] += shared.revive(A, [memory_id, *mine.sample(ids, 1)])
                    case "archived":
                        with engine.begin() as connection:
                            connection.exec_driver_sql(
                                "SELECT pgrecall.lock_memories(%s, %s::uuid[])", (A, [memory_id])
                            )
                            connection.exec_driver_sql(
                                "SELECT pgrecall.put_away(%s, %s::uuid[], 'archived', '{}', "
                                "NULL, NULL, '{}')",
                                (A, [memory_id]),
                            )
                        done[what] += 1
                    case _:
                        done[what] += shared.invalidate(A, memory_id)
            except DuplicateMemory:
                done["duplicate"] += 1
        return done

    done: Counter[str] = total(at_once(client))

    assert sql(engine, OVERLAPPING) == []
    refused = done.pop("duplicate")
    assert refused > 0
    assert Counter(event_types(engine)) == done | {"initial": len(ids)}
    for memory_id in ids:
        assert_chained(shared.history(A, memory_id))


# Everything beside the garbage collection


def test_garbage_is_collected_beside_writers_and_twice_at_once(
    shared: MemoryRepository, engine: Engine
) -> None:
    bad = [new(f"bad {n}", trust=0.01) for n in range(60)]
    poor = [new(f"poor {n}", trust=0.15) for n in range(60)]
    good = [new(f"good {n}", trust=0.9) for n in range(30)]
    ids = [UUID(int=one.int) for one in shared.add_many(A, [*bad, *poor, *good])]
    runs = []

    def collector() -> Counter[str]:
        for _ in range(4):
            runs.append(shared.upkeep.collect_garbage(agent_id=A, batch_size=7))
        return Counter()

    def writer(n: int) -> Counter[str]:
        mine, done = random.Random(n), Counter[str]()
        for i in range(OPERATIONS):
            chosen = mine.sample(ids, 5)
            match mine.choice(["add", "touch", "touch", "outcome", "delete", "label", "feedback"]):
                case "add":
                    done["initial"] += shared.add(A, new(f"{n} {i}", trust=0.05)).inserted
                case "touch":
                    shared.touch(A, chosen)
                case "delete":
                    done["deleted"] += shared.delete(A, chosen[:1])
                case kind:
                    try:
                        if kind == "label":
                            done["labelled"] += shared.labels.add(A, chosen[0], f"{n} {i}")
                        elif kind == "feedback":
                            done["feedback"] += bool(shared.feedback(A, chosen[0], "useful"))
                        else:
                            shared.record_outcome(A, chosen[0], "failure")
                            done["penalty"] += 1
                    except MemoryNotFound:
                        pass  # it may have been deleted after it was noted
        return done

    every = at_once(lambda n: collector() if n < 2 else writer(n), 2 + CLIENTS)
    done: Counter[str] = total(every)
    last = shared.upkeep.collect_garbage(agent_id=A)

    runs.append(last)
    noted = Counter(event_types(engine))
    assert noted["initial"] == len(ids) + done["initial"]
    assert noted["labelled"] == done["labelled"]
    assert noted["deleted"] == done["deleted"] + sum(run.deleted for run in runs)
    assert noted["archived"] == sum(run.archived for run in runs)
    assert noted["feedback"] == done["feedback"]
    assert noted["penalty"] == done["penalty"]
    assert noted["deleted"] + len(rows(engine, "id")) == noted["initial"]
    twice = (
        "SELECT memory_id FROM pgrecall.memory_events WHERE event_type IN ('deleted', 'archived') "
        "GROUP BY memory_id, event_type HAVING count(*) > 1"
    )
    assert sql(engine, twice) == []
    left = "SELECT FROM pgrecall.agent_memories WHERE status <> 'archived' AND trust < 0.2"
    assert sql(engine, left) == []
    for number in ("scanned", "archived", "deleted", "swept"):
        logged = sql(engine, f"SELECT sum({number}), bool_and(finished) FROM pgrecall.gc_runs")
        assert logged == [(sum(getattr(run, number) for run in runs), True)]
    assert_nothing_is_left_over(shared, engine)


def test_two_collections_at_once_keep_as_many_as_the_cap_says(
    shared: MemoryRepository, engine: Engine
) -> None:
    trusts = [(n + 1) / 400 + 0.3 for n in range(80)]
    shared.add_many(A, [new(str(n), trust=trust) for n, trust in enumerate(trusts)])
    policy = GarbagePolicy(max_live=30)

    at_once(lambda _: shared.upkeep.collect_garbage(policy, agent_id=A, batch_size=9))

    live = sql(engine, "SELECT trust FROM pgrecall.agent_memories WHERE status = 'active'")
    assert sorted(trust for (trust,) in live) == trusts[-30:]
    assert Counter(event_types(engine)) == {"initial": 80, "archived": 50}


# A bit of everything


Change = Callable[[MemoryRepository, list[UUID], random.Random], int]
OPERATIONS_OF_ALL: dict[str, Change] = {
    "promoted": lambda repo, ids, _: repo.upkeep.promote(A, ids),
    "demoted": lambda repo, ids, _: repo.upkeep.demote(A, ids),
    "labelled": lambda repo, ids, mine: (
        repo.labels.add(A, ids[0], [Label(str(n), "tag", mine.random()) for n in range(3)]) > -1
    ),
    "unlabelled": lambda repo, ids, _: repo.labels.remove(A, ids[0], Label("1", "tag")) > 0,
    "linked": lambda repo, ids, mine: (
        repo.links.add(A, ids[0], ids[1], weight=mine.random()) is None
    ),
    "unlinked": lambda repo, ids, _: repo.links.remove(A, ids[0], ids[1]),
    "forgotten": lambda repo, ids, _: repo.invalidate(A, ids),
    "revived": lambda repo, ids, _: repo.revive(A, ids),
    "updated": lambda repo, ids, mine: (
        repo.update(A, ids[0], subject=str(mine.random()), importance=mine.random()) is not None
    ),
}
"""By the events they leave, and how many."""


def test_a_mix_of_all_changes_meets_no_conflict_and_leaves_every_event(
    shared: MemoryRepository, engine: Engine
) -> None:
    ids = [UUID(int=one.int) for one in shared.add_many(A, [new(str(n)) for n in range(12)])]

    def client(n: int) -> Counter[str]:
        mine, done = random.Random(n), Counter[str]()
        for _ in range(OPERATIONS):
            chosen = mine.sample(ids, 4)
            operation = mine.choice([*OPERATIONS_OF_ALL])
            done[operation] += int(OPERATIONS_OF_ALL[operation](shared, chosen, mine))
        return done

    done = total(at_once(client))

    assert Counter(event_types(engine)) == done + Counter(initial=12)
    for memory_id in ids:
        history = shared.history(A, memory_id)
        beside = ("labelled", "unlabelled", "linked", "unlinked")  # tell of several things
        assert_chained([one for one in history if one.event_type not in beside])
        memory = read(shared, A, memory_id)
        last = {name: value for one in history for name, value in one.new_values.items()}
        assert memory.importance == last.get("importance", 0.5)
        assert memory.tier == last["tier"]


def test_what_all_delete_is_deleted_and_noted_once(
    shared: MemoryRepository, engine: Engine
) -> None:
    ids = shared.add_many(A, [new(str(n)) for n in range(5)])

    deleted = at_once(lambda _: shared.delete(A, ids), held=engine)

    assert sorted(deleted) == [0] * (CLIENTS - 1) + [len(ids)]
    assert Counter(event_types(engine)) == {"initial": len(ids), "deleted": len(ids)}


def test_an_owner_is_erased_after_a_build_that_is_under_way(own_engine: Engine) -> None:
    """Which would otherwise bring back the rank index, and the words in it."""
    repo = MemoryRepository(own_engine)
    repo.add(A, new("old"))
    lock = "pg_advisory_xact_lock(hashtextextended('pgrecall rank index pgrecall agent', 0))"

    with ThreadPoolExecutor(1) as threads:
        with own_engine.begin() as connection:
            connection.exec_driver_sql(f"SELECT {lock}")
            erased = threads.submit(repo.upkeep.erase_owner, A)
            waiting = "SELECT FROM pg_locks WHERE locktype = 'advisory' AND NOT granted"
            while not sql(own_engine, waiting):
                assert not erased.done()
            assert repo.count(A) == 0
        assert erased.result().memories == 1


def rows(engine: Engine, column: str) -> list[Any]:
    found = sql(engine, f"SELECT {column} FROM pgrecall.agent_memories ORDER BY id")
    return [value for (value,) in found]


def counts(engine: Engine) -> dict[UUID, int]:
    return dict(sql(engine, "SELECT memory_id, retrieval_count FROM pgrecall.memory_usage"))


def event_types(engine: Engine) -> list[str]:
    return [kind for (kind,) in sql(engine, "SELECT event_type FROM pgrecall.memory_events")]


def types(repo: MemoryRepository, memory_id: UUID) -> Counter[str]:
    return Counter(one.event_type for one in repo.history(A, UUID(int=memory_id.int)))


def assert_chained(history: Sequence[Event]) -> None:
    """Every event begins with what the one before it left."""
    known: dict[str, Any] = {}
    for number, one in enumerate(history):
        for name, value in one.old_values.items():
            if name in known:
                assert known[name] == value, f"event {number}, {one.event_type}: {name}"
        known |= one.new_values


def assert_nothing_is_left_over(repo: MemoryRepository, engine: Engine) -> None:
    """No counter, label or link without its memory once the garbage has been collected."""
    keep_all = GarbagePolicy(min_trust_threshold=None, delete_threshold=None, max_age_hours=None)
    repo.upkeep.collect_garbage(keep_all, agent_id=A)
    there = "SELECT id FROM pgrecall.agent_memories"
    for table, column in (
        ("memory_usage", "memory_id"),
        ("memory_labels", "memory_id"),
        ("memory_links", "source_id"),
        ("memory_links", "target_id"),
    ):
        lost = f"SELECT {column} FROM pgrecall.{table} WHERE {column} NOT IN ({there})"
        assert sql(engine, lost) == [], table
