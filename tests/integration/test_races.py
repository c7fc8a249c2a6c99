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
from pgrecall.core.limits import TIERS
from pgrecall.errors import (
    DatabaseConflict,
    DuplicateMemory,
    InvalidMemory,
    MemoryNotFound,
    SupersessionConflict,
)
from pgrecall.lifecycle import maintenance
from pgrecall.lifecycle.event import Event
from pgrecall.lifecycle.retention import RetentionPolicy
from tests.integration.owner import Owner
from tests.integration.support import at
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
def mine(crowd: Engine) -> Owner:
    return Owner(crowd, A)


def new(content: str, **more: Any) -> NewMemory:
    return NewMemory(content, **({"embedding": None} | more))


def at_once(client: Client, clients: int = CLIENTS, *, held: Owner | None = None) -> list[Any]:
    """What each of the clients returns; an error of any of them is raised.

    `held`: the memories are locked until each of the clients waits for one of them.
    """
    with ThreadPoolExecutor(clients) as threads, ExitStack() as holding:
        if held:
            assert isinstance(held.bind, Engine)
            holder = holding.enter_context(held.bind.begin())
            holder.exec_driver_sql(HELD)
        running = [threads.submit(client, n) for n in range(clients)]
        if held:
            wait_until("all wait", lambda: held.sql(WAITING) == [clients])
        holding.close()
        return [one.result() for one in running]


HELD = "SELECT FROM pgrecall.agent_memories WHERE agent_id = 'agent' FOR UPDATE"
WAITING = (
    "SELECT count(*) FROM pg_stat_activity "
    "WHERE wait_event_type = 'Lock' AND datname = current_database()"
)


def total(several: list[Counter[str]]) -> Counter[str]:
    return sum(several, Counter[str]())


# The same text


def test_the_same_text_added_by_all_is_one_row_and_every_hit_is_counted(mine: Owner) -> None:
    """One by one, and in batches in any order."""
    spellings, texts = ["Red tea", "red  TEA", " RED tea\n"], [f"text {n}" for n in range(12)]

    def client(n: int) -> list[Added]:
        chance = random.Random(n)
        added = [mine.add(new(spellings[(n + i) % 3])) for i in range(OPERATIONS)]
        for _ in range(6):
            added += mine.add_many([new(text) for text in chance.sample(texts, 10)])
        return added

    flat = [UUID(int=one.int) for several in at_once(client) for one in several]

    said = Counter(flat)
    assert len(said) == len(rows(mine, "id")) == 1 + len(texts)
    assert counts(mine) == {memory_id: times - 1 for memory_id, times in said.items()}
    for memory_id, times in said.items():
        assert Counter(mine.kinds(memory_id)) == {"initial": 1, "restated": times - 1}
    assert_nothing_is_left_over(mine)


def test_a_key_written_by_all_is_one_row_and_counts_nothing(mine: Owner) -> None:
    added = at_once(lambda n: [mine.add(new(f"text {i}", key=f"key {i}")) for i in range(8)])

    outcomes = Counter(one.outcome for several in added for one in several)
    assert outcomes == {"inserted": 8, "known": 8 * (CLIENTS - 1)}
    assert counts(mine) == {}
    assert Counter(event_types(mine)) == {"initial": 8}


def test_a_key_upserted_by_all_is_one_row_and_every_write_is_recorded(mine: Owner) -> None:
    added = at_once(lambda n: [mine.upsert(new(f"{n} {i}", key=f"key {i % 2}")) for i in range(8)])

    outcomes = Counter(one.outcome for several in added for one in several)
    assert outcomes == {"inserted": 2, "replaced": 8 * CLIENTS - 2}
    assert Counter(event_types(mine)) == {"initial": 2, "replaced": 8 * CLIENTS - 2}
    for memory_id in {one for several in added for one in several}:
        history = mine.history(memory_id)
        assert_chained(history)
        assert mine.read(memory_id).content == history[-1].new_values["content"]


def test_a_key_upserted_while_others_delete_it_is_one_row_or_none(mine: Owner) -> None:
    key_id = id_of_key(mine.name, "k")

    def client(n: int) -> None:
        for i in range(OPERATIONS):
            if n % 2:
                mine.delete(key_id)
            else:
                mine.upsert(new(f"{n} {i}", key="k"))

    at_once(client)

    mine.upsert(new("last", key="k"))
    assert rows(mine, "content") == ["last"]


def test_rivals_that_look_for_near_duplicates_store_one_of_each(mine: Owner) -> None:
    angles = [0.0, 60.0, 120.0, 180.0]

    def client(n: int) -> list[Added]:
        chance = random.Random(n)
        return [
            mine.add(
                new(f"text {n} {i}", embedding=at(chance.choice(angles) + chance.uniform(-9, 9))),
                near_duplicates=0.92,
            )
            for i in range(8)
        ]

    flat = [one for several in at_once(client) for one in several]

    outcomes = Counter(one.outcome for one in flat)
    assert outcomes == {"inserted": 4, "near_duplicate": len(flat) - 4}
    assert sum(counts(mine).values()) == len(flat) - 4
    assert Counter(event_types(mine)) == {"initial": 4, "restated": len(flat) - 4}


def test_texts_of_random_validities_and_kinds_never_overlap(mine: Owner) -> None:
    def memory(chance: random.Random) -> NewMemory:
        start, end = sorted(chance.sample(range(2000, 2012), 2))
        return new(
            chance.choice(["a", "b"]),
            memory_type=chance.choice(["episodic", "entity"]),
            component=chance.choice([None, "x"]),
            valid_from=chance.choice([None, datetime(start, 1, 1, tzinfo=UTC)]),
            valid_until=chance.choice([None, datetime(end, 1, 1, tzinfo=UTC)]),
        )

    def client(n: int) -> None:
        chance = random.Random(n)
        for _ in range(25):
            match chance.randrange(4):
                case 0:
                    mine.add_many([memory(chance) for _ in range(3)])
                case 1:
                    ids = rows(mine, "id")
                    if ids:
                        mine.invalidate(chance.sample(ids, 1))
                case 2:
                    ids = rows(mine, "id")
                    with suppress(DuplicateMemory, MemoryNotFound, InvalidMemory):
                        if ids and chance.random() < 0.5:
                            mine.revive(chance.choice(ids))
                        elif ids:
                            start = datetime(chance.randrange(2000, 2012), 1, 1, tzinfo=UTC)
                            mine.update(chance.choice(ids), valid_from=start)
                case _:
                    mine.add(memory(chance))

    at_once(client)

    assert mine.sql(OVERLAPPING) == []
    assert len(rows(mine, "id")) > 8


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
    crowd: Engine, mine: Owner, level: str
) -> None:
    strict = crowd.execution_options(isolation_level=level)

    def client(n: int) -> Counter[str]:
        chance, told = random.Random(n), Counter[str]()
        for i in range(8):
            kind = chance.choice(["episodic", "entity"])
            with strict.connect() as connection:
                repo = MemoryRepository(connection)
                repo.count(A)  # the snapshot is taken
                try:
                    texts = chance.sample([f"text {i // 4} {k}" for k in range(3)], 2)
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

    assert mine.sql(OVERLAPPING) == []
    assert told["conflict"] > 0
    assert told["inserted"] >= len(rows(mine, "id"))


# Use


def test_touches_of_overlapping_sets_lose_no_count(mine: Owner) -> None:
    ids = [UUID(int=one.int) for one in mine.add_many([new(str(n)) for n in range(20)])]

    def client(n: int) -> Counter[UUID]:
        chance, counted = random.Random(n), Counter[UUID]()
        for _ in range(OPERATIONS):
            chosen = chance.sample(ids, chance.randint(1, 10))
            assert mine.touch(chosen) == len(chosen)
            counted.update(chosen)
        return counted

    told = sum(at_once(client), Counter[UUID]())

    assert counts(mine) == told
    assert Counter(event_types(mine)) == {"initial": 20}


def test_feedback_and_outcomes_on_one_memory_are_all_counted_and_noted_in_order(
    mine: Owner,
) -> None:
    memory_id = UUID(int=mine.add(new("one", trust=0.5)).int)
    votes = {"useful": (1, 0), "not_useful": (0, 1), "outdated": (0, 1), "incorrect": (0, 3)}

    def client(n: int) -> Counter[str]:
        chance, done = random.Random(n), Counter[str]()
        for _ in range(10):
            what = chance.choice(["success", "failure", *votes])
            if what in votes:
                mine.feedback(memory_id, what)
            else:
                mine.record_outcome(memory_id, what)
            done[what] += 1
        return done

    done = total(at_once(client, held=mine))

    up = sum(votes[kind][0] * done[kind] for kind in votes)
    down = sum(votes[kind][1] * done[kind] for kind in votes)
    memory = mine.read(memory_id)
    assert (memory.success_count, memory.failure_count) == (done["success"], done["failure"])
    assert memory.retrieval_count == done["success"] + done["failure"]
    assert (memory.feedback_up, memory.feedback_down) == (up, down)
    assert memory.usefulness == pytest.approx((2 * 0.5 + up) / (2 + up + down), abs=1e-9)
    history = mine.history(memory_id)
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


def test_links_given_and_taken_by_all_are_told_as_they_were(mine: Owner) -> None:
    one, other = (UUID(int=mine.add(new(text)).int) for text in ("one", "other"))

    def client(n: int) -> None:
        chance = random.Random(n)
        for _ in range(20):
            if chance.randrange(2):
                mine.links.add(one, other, weight=chance.random())
            else:
                mine.links.remove(one, other)

    at_once(client, held=mine)

    weight: float | None = None  # None: nothing is there
    told = mine.history(one)[1:]
    assert {event.event_type for event in told} == {"linked", "unlinked"}
    for change in told:
        assert change.old_values.get("weight") == weight
        weight = change.new_values.get("weight")
    assert [it.weight for it in mine.links.of(one)] == ([] if weight is None else [weight])


# Correcting


def test_of_rivals_that_supersede_one_memory_exactly_one_wins(mine: Owner) -> None:
    current, rounds = UUID(int=mine.add(new("start", importance=0.7)).int), 5
    chain = [current]

    for round_ in range(rounds):

        def client(n: int, round_: int = round_, old: UUID = current) -> Added | None:
            try:
                added: Added = mine.supersede(old, new(f"round {round_} of {n}"))
                return added
            except SupersessionConflict:
                return None

        winners = [one for one in at_once(client, held=mine) if one is not None]
        assert len(winners) == 1
        current = UUID(int=winners[0].int)
        chain.append(current)

    assert sorted(rows(mine, "id")) == sorted(chain)
    followed = dict(
        mine.sql(
            "SELECT id, superseded_by FROM pgrecall.agent_memories "
            "WHERE importance = 0.7 AND (superseded_by IS NULL) = (invalidated_at IS NULL)"
        )
    )
    assert followed == dict(zip(chain, [*chain[1:], None], strict=True))
    assert Counter(event_types(mine)) == {"initial": rounds + 1, "superseded": rounds}


def test_of_rivals_that_add_about_one_subject_the_last_one_stays(mine: Owner) -> None:
    def client(n: int) -> int:
        memories = [new(f"{n} {place} {s}", subject=s) for place in range(5) for s in "ab"]
        some = mine.add_many(memories, supersede_subject=True)
        return sum(len(one.same_subject) for one in some)

    superseded = sum(at_once(client))

    assert superseded == CLIENTS * 10 - 2
    assert Counter(event_types(mine))["superseded"] == superseded
    assert sorted(memory.subject or "" for memory in mine.list()) == ["a", "b"]


def test_who_adds_about_a_subject_waits_for_who_does_so_already(crowd: Engine, mine: Owner) -> None:
    with ThreadPoolExecutor(1) as threads, crowd.connect() as connection:
        first = MemoryRepository(connection).add(A, new("one", subject="s"), supersede_subject=True)
        second = threads.submit(mine.add, new("two", subject="s"), supersede_subject=True)
        wait_until("it waits", lambda: mine.sql(WAITING) == [1])
        connection.commit()

        assert second.result().same_subject == (first,)


def test_memories_that_supersede_each_other_at_once_meet_no_deadlock(mine: Owner) -> None:
    texts = [f"text {n}" for n in range(4)]
    mine.add_many([new(text) for text in texts])
    ids = dict(zip(texts, rows(mine, "id"), strict=True))

    def client(n: int) -> int:
        chance, done = random.Random(n), 0
        for _ in range(3):
            old, other = chance.sample(texts, 2)
            mine.supersede(ids[old], new(other, importance=chance.random()), force=True)
            done += 1
        return done

    done = sum(at_once(client))

    assert len(rows(mine, "id")) == 4
    noted = Counter(event_types(mine))
    in_turn = mine.sql(
        "SELECT id FROM pgrecall.memory_events WHERE reason = 'what it superseded was said again'"
    )
    assert noted["superseded"] == done + len(in_turn)
    assert noted["restated"] == done
    for memory_id in ids.values():
        assert_chained(mine.history(memory_id))


def test_texts_that_are_updated_and_revived_at_once_stay_one_of_each(
    crowd: Engine, mine: Owner
) -> None:
    texts = ["tea", "milk", "rice"]
    ids = [UUID(int=mine.add(new(f"text {n}")).int) for n in range(8)]

    def client(n: int) -> Counter[str]:
        chance, done = random.Random(n), Counter[str]()
        for _ in range(25):
            memory_id = chance.choice(ids)
            what = chance.choice(["updated", "updated", "revived", "archived", "forgotten"])
            try:
                match what:
                    case "updated":
                        mine.update(memory_id, content=chance.choice(texts), embedding=None)
                        done[what] += 1
                    case "revived":
                        done[what] += mine.revive([memory_id, *chance.sample(ids, 1)])
                    case "archived":
                        with crowd.begin() as connection:
                            connection.exec_driver_sql(
                                "SELECT pgrecall.lock_memories(%s, %s::uuid[])", (A, [memory_id])
                            )
                            connection.exec_driver_sql(
                                "SELECT pgrecall.archive_memories("
                                "%s, %s::uuid[], 'archived', '{}', NULL, NULL, '{}')",
                                (A, [memory_id]),
                            )
                        done[what] += 1
                    case _:
                        done[what] += mine.invalidate(memory_id)
            except DuplicateMemory:
                done["duplicate"] += 1
        return done

    done: Counter[str] = total(at_once(client))

    assert mine.sql(OVERLAPPING) == []
    refused = done.pop("duplicate")
    assert refused > 0
    assert Counter(event_types(mine)) == done | {"initial": len(ids)}
    for memory_id in ids:
        assert_chained(mine.history(memory_id))


def test_an_upsert_locks_successors_in_the_order_of_all(crowd: Engine, mine: Owner) -> None:
    low, high = sorted(["a", "b"], key=lambda key: id_of_key(A, key))
    mine.supersede(mine.add(new("old", key=high)), new("new", key=low))

    def in_transaction(call: Callable[[MemoryRepository], Any]) -> Any:
        with crowd.begin() as connection:  # it is not retried after a deadlock
            return call(MemoryRepository(connection))

    with ThreadPoolExecutor(2) as threads:
        with crowd.begin() as holding:
            holding.exec_driver_sql(HELD.replace(" FOR", f" AND key = '{low}' FOR"))
            both = [id_of_key(A, low), id_of_key(A, high)]
            revived = threads.submit(in_transaction, lambda repo: repo.revive(A, both, force=True))
            wait_until("one waits", lambda: mine.sql(WAITING) == [1])
            again = new("older", key=high)
            upserted = threads.submit(in_transaction, lambda repo: repo.upsert(A, again))
            wait_until("both wait", lambda: mine.sql(WAITING) == [2])

        assert (revived.result(), upserted.result().outcome) == (1, "replaced")


# Everything beside maintenance


KINDS = ("add", "touch", "touch", "outcome", "delete", "feedback")


def test_maintenance_runs_beside_writers_and_twice_at_once(
    mine: Owner, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(maintenance, "BATCH_SIZE", 7)
    bad = [new(f"bad {n}", trust=0.01) for n in range(60)]
    poor = [new(f"poor {n}", trust=0.15) for n in range(60)]
    good = [new(f"good {n}", trust=0.9) for n in range(30)]
    ids = [UUID(int=one.int) for one in mine.add_many([*bad, *poor, *good])]
    runs = []

    def maintainer() -> Counter[str]:
        for _ in range(4):
            runs.append(mine.maintain(RetentionPolicy.grace()))
        return Counter()

    def writer(n: int) -> Counter[str]:
        chance, done = random.Random(n), Counter[str]()
        for i in range(OPERATIONS):
            chosen = chance.sample(ids, 5)
            match chance.choice(["add", "touch", "touch", "outcome", "delete", "feedback"]):
                case "add":
                    done["initial"] += mine.add(new(f"{n} {i}", trust=0.05)).inserted
                case "touch":
                    mine.touch(chosen)
                case "delete":
                    done["deleted"] += mine.delete(chosen[:1])
                case kind:
                    try:
                        if kind == "feedback":
                            done["feedback"] += bool(mine.feedback(chosen[0], "useful"))
                        else:
                            mine.record_outcome(chosen[0], "failure")
                            done["penalty"] += 1
                    except MemoryNotFound:
                        pass  # it may have been deleted after it was noted
        return done

    every = at_once(lambda n: maintainer() if n < 2 else writer(n), 2 + CLIENTS)
    done: Counter[str] = total(every)
    runs.append(mine.maintain(RetentionPolicy.grace()))

    noted = Counter(event_types(mine))
    assert noted["initial"] == len(ids) + done["initial"]
    assert noted["deleted"] == done["deleted"] + sum(run.deleted for run in runs)
    assert noted["archived"] == sum(run.archived for run in runs)
    assert noted["feedback"] == done["feedback"]
    assert noted["penalty"] == done["penalty"]
    assert noted["deleted"] + len(rows(mine, "id")) == noted["initial"]
    twice = (
        "SELECT memory_id FROM pgrecall.memory_events WHERE event_type IN ('deleted', 'archived') "
        "GROUP BY memory_id, event_type HAVING count(*) > 1"
    )
    assert mine.sql(twice) == []
    left = "SELECT id FROM pgrecall.agent_memories WHERE status <> 'archived' AND trust < 0.2"
    assert mine.sql(left) == []
    for number in ("scanned", "archived", "deleted", "orphans"):
        logged = mine.sql(
            f"SELECT sum({number}), bool_and(finished) FROM pgrecall.maintenance_runs"
        )
        assert logged == [(sum(getattr(run, number) for run in runs), True)]
    assert_nothing_is_left_over(mine)


def test_two_runs_at_once_keep_as_many_as_the_cap_says(
    mine: Owner, monkeypatch: pytest.MonkeyPatch
) -> None:
    trusts = [(n + 1) / 400 + 0.3 for n in range(80)]
    mine.add_many([new(str(n), trust=trust) for n, trust in enumerate(trusts)])
    policy = RetentionPolicy(max_live=30)
    monkeypatch.setattr(maintenance, "BATCH_SIZE", 9)

    at_once(lambda _: mine.maintain(policy))

    live = mine.sql("SELECT trust FROM pgrecall.agent_memories WHERE status = 'active'")
    assert sorted(live) == trusts[-30:]
    assert Counter(event_types(mine)) == {"initial": 80, "archived": 50}


# A bit of everything


Change = Callable[[Owner, list[UUID], random.Random], int]
OPERATIONS_OF_ALL: dict[str, Change] = {
    "linked": lambda mine, ids, chance: mine.links.add(*ids[:2], weight=chance.random()) is None,
    "unlinked": lambda mine, ids, _: mine.links.remove(ids[0], ids[1]),
    "forgotten": lambda mine, ids, _: mine.invalidate(ids),
    "revived": lambda mine, ids, _: mine.revive(ids),
    "updated": lambda mine, ids, chance: (
        mine.update(ids[0], tier=chance.choice(TIERS), importance=chance.random()) is not None
    ),
}
"""By the events they leave, and how many."""


def test_a_mix_of_all_changes_meets_no_conflict_and_leaves_every_event(mine: Owner) -> None:
    ids = [UUID(int=one.int) for one in mine.add_many([new(str(n)) for n in range(12)])]

    def client(n: int) -> Counter[str]:
        chance, done = random.Random(n), Counter[str]()
        for _ in range(OPERATIONS):
            chosen = chance.sample(ids, 4)
            operation = chance.choice([*OPERATIONS_OF_ALL])
            done[operation] += int(OPERATIONS_OF_ALL[operation](mine, chosen, chance))
        return done

    done = total(at_once(client))

    assert Counter(event_types(mine)) == done + Counter(initial=12)
    for memory_id in ids:
        history = mine.history(memory_id)
        beside = ("linked", "unlinked")  # tell of several things
        assert_chained([one for one in history if one.event_type not in beside])
        memory = mine.read(memory_id)
        last = {name: value for one in history for name, value in one.new_values.items()}
        assert memory.importance == last.get("importance", 0.5)
        assert memory.tier == last.get("tier", memory.tier)


def test_what_all_delete_is_deleted_and_noted_once(mine: Owner) -> None:
    ids = mine.add_many([new(str(n)) for n in range(5)])

    deleted = at_once(lambda _: mine.delete(ids), held=mine)

    assert sorted(deleted) == [0] * (CLIENTS - 1) + [len(ids)]
    assert Counter(event_types(mine)) == {"initial": len(ids), "deleted": len(ids)}


def test_an_owner_is_erased_after_a_build_that_is_under_way(own_engine: Engine) -> None:
    """Which would otherwise bring back the rank index, and the words in it."""
    mine = Owner(own_engine, A)
    mine.add(new("old"))
    lock = "pg_advisory_xact_lock(hashtextextended('pgrecall rank index pgrecall agent', 0))"
    waiting = "SELECT pid FROM pg_locks WHERE locktype = 'advisory' AND NOT granted"

    with ThreadPoolExecutor(1) as threads:
        with own_engine.begin() as connection:
            connection.exec_driver_sql(f"SELECT {lock}")
            erased = threads.submit(mine.erase_owner)
            while not mine.sql(waiting):
                assert not erased.done()
            assert mine.count() == 0
        assert erased.result().memories == 1


def rows(mine: Owner, column: str) -> list[Any]:
    return mine.sql(f"SELECT {column} FROM pgrecall.agent_memories ORDER BY id")


def counts(mine: Owner) -> dict[UUID, int]:
    return dict(mine.sql("SELECT memory_id, retrieval_count FROM pgrecall.memory_usage"))


def event_types(mine: Owner) -> list[str]:
    return mine.sql("SELECT event_type FROM pgrecall.memory_events")


def assert_chained(history: Sequence[Event]) -> None:
    """Every event begins with what the one before it left."""
    known: dict[str, Any] = {}
    for number, one in enumerate(history):
        for name, value in one.old_values.items():
            if name in known:
                assert known[name] == value, f"event {number}, {one.event_type}: {name}"
        known |= one.new_values


def assert_nothing_is_left_over(mine: Owner) -> None:
    """No counter or link without its memory after maintenance."""
    mine.maintain()
    there = "SELECT id FROM pgrecall.agent_memories"
    for table, column in (
        ("memory_usage", "memory_id"),
        *(("memory_links", "source_id"), ("memory_links", "target_id")),
    ):
        lost = f"SELECT {column} FROM pgrecall.{table} WHERE {column} NOT IN ({there})"
        assert mine.sql(lost) == [], table
