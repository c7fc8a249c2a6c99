from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID, uuid4

import pytest
from sqlalchemy import Engine

from pgrecall import Memory, MemoryRepository, NewMemory
from pgrecall.errors import (
    DuplicateMemory,
    InputError,
    InvalidMemory,
    InvalidVector,
    MemoryNotFound,
    NotCompliant,
    PgRecallError,
    SupersessionConflict,
)
from pgrecall.event import Event
from tests.integration.support import NORTH, NOW, before, contents, sql

TICK = timedelta(microseconds=1)
DAY = timedelta(days=1)
YEAR = timedelta(days=365)


def test_the_successor_is_recalled_in_the_place_of_the_old_memory(
    either: MemoryRepository,
) -> None:
    old = either.add("agent", NewMemory("old", embedding=NORTH))

    new = either.supersede("agent", old, NewMemory("new", embedding=NORTH))

    assert new.inserted
    assert contents(either.search("agent", NORTH)) == ["new"]
    both = either.search("agent", NORTH, include_invalid=True)
    assert sorted(contents(both)) == ["new", "old"]
    was = read(either, "agent", old)
    assert (was.status, was.invalidation_reason, was.superseded_by) == ("active", "superseded", new)
    assert was.invalidated_at == read(either, "agent", new).valid_from


def test_recall_changes_over_at_the_very_moment(shared_repo: MemoryRepository, agent: str) -> None:
    old = shared_repo.add(agent, NewMemory("old", embedding=NORTH, created_at=before(9)))
    shared_repo.supersede(agent, old, NewMemory("new", embedding=NORTH))
    moment = read(shared_repo, agent, old).invalidated_at
    assert moment is not None

    seen = [recalled(shared_repo, agent, moment + by) for by in (-DAY, -TICK, 0 * DAY, TICK, YEAR)]

    assert seen == [["old"], ["old"], ["new"], ["new"], ["new"]]


@pytest.mark.parametrize("created", [None, -5, -3], ids=lambda day: f"created {day}")
@pytest.mark.parametrize("begins", [None, -5, -3, 5], ids=lambda day: f"begins {day}")
def test_at_every_moment_one_of_the_two_is_recalled(
    shared_repo: MemoryRepository, agent: str, created: int | None, begins: int | None
) -> None:
    now = datetime.now(UTC)
    dated: dict[str, Any] = {} if created is None else {"created_at": now + created * DAY}
    from_ = None if begins is None else now + begins * DAY
    old = shared_repo.add(agent, NewMemory("old", embedding=NORTH, created_at=now - 20 * DAY))

    shared_repo.supersede(agent, old, NewMemory("new", embedding=NORTH, valid_from=from_, **dated))

    changeover = max(created or 0, begins or 0)
    days = [-10, -5.01, -4.99, -4, -3.01, -2.99, -1, 1, 4.99, 5.01, 100]
    seen = {day: recalled(shared_repo, agent, now + day * DAY) for day in days}
    assert seen == {day: ["old" if day < changeover else "new"] for day in days}


def test_a_successor_of_tomorrow_leaves_the_old_memory_until_then(either: MemoryRepository) -> None:
    tomorrow = datetime.now(UTC) + DAY
    old = either.add("agent", NewMemory("old", embedding=NORTH))

    new = either.supersede(
        "agent", old, NewMemory("new", embedding=NORTH, valid_from=tomorrow), reason="moves"
    )

    assert contents(either.search("agent", NORTH)) == ["old"]
    assert read(either, "agent", old).invalidated_at == tomorrow
    assert read(either, "agent", new).valid_from == tomorrow
    assert recalled(either, "agent", tomorrow - TICK) == ["old"]
    assert recalled(either, "agent", tomorrow) == ["new"]


@pytest.mark.parametrize(
    ("old", "new", "kept"), [(0.3, 0.7, 0.7), (0.9, 0.2, 0.9), (0.4, 0.4, 0.4), (1.0, 0.0, 1.0)]
)
def test_the_new_importance_is_the_greater_of_the_two(
    shared_repo: MemoryRepository, agent: str, old: float, new: float, kept: float
) -> None:
    first = shared_repo.add(agent, NewMemory("old", embedding=None, importance=old))

    second = shared_repo.supersede(agent, first, NewMemory("new", embedding=None, importance=new))

    assert read(shared_repo, agent, second).importance == kept
    assert read(shared_repo, agent, first).importance == old


@pytest.mark.parametrize(
    ("old", "new", "kept"),
    [("tea", None, "tea"), ("tea", "coffee", "coffee"), (None, "tea", "tea"), (None, None, None)],
)
def test_the_subject_is_taken_over_where_the_new_memory_names_none(
    shared_repo: MemoryRepository, agent: str, old: str | None, new: str | None, kept: str | None
) -> None:
    first = shared_repo.add(agent, NewMemory("old", embedding=None, subject=old))

    second = shared_repo.supersede(agent, first, NewMemory("new", embedding=None, subject=new))

    assert read(shared_repo, agent, second).subject == kept


def test_a_given_valid_from_and_valid_until_are_kept(
    shared_repo: MemoryRepository, agent: str
) -> None:
    old = shared_repo.add(agent, NewMemory("old", embedding=None))
    between = {"valid_from": before(3), "valid_until": NOW + 10 * YEAR}

    new = shared_repo.supersede(agent, old, NewMemory("new", embedding=None, **between))  # type: ignore[arg-type]

    memory = read(shared_repo, agent, new)
    assert (memory.valid_from, memory.valid_until) == (before(3), NOW + 10 * YEAR)


OVERLAPPING: list[dict[str, Any]] = [
    {"valid_until": NOW + TICK},
    {"valid_until": NOW + YEAR},
    {"valid_from": NOW},
    {"valid_from": NOW + DAY},
    {"valid_from": NOW - DAY, "valid_until": NOW + DAY},
    {"valid_from": NOW + DAY, "valid_until": NOW + 2 * DAY},
]


@pytest.mark.parametrize("validity", OVERLAPPING, ids=repr)
def test_an_overlap_is_reported_and_nothing_is_changed(
    shared_repo: MemoryRepository, shared_engine: Engine, agent: str, validity: dict[str, Any]
) -> None:
    old = shared_repo.add(agent, NewMemory("old", embedding=NORTH, **validity))
    stored = everything(shared_engine, agent)

    with pytest.raises(SupersessionConflict, match="overlap"):
        shared_repo.supersede(agent, old, NewMemory("new", embedding=NORTH, valid_from=NOW))

    assert everything(shared_engine, agent) == stored


@pytest.mark.parametrize("validity", OVERLAPPING, ids=repr)
def test_an_overlap_may_be_forced(
    shared_repo: MemoryRepository, agent: str, validity: dict[str, Any]
) -> None:
    old = shared_repo.add(agent, NewMemory("old", embedding=NORTH, **validity))

    new = shared_repo.supersede(
        agent, old, NewMemory("new", embedding=NORTH, valid_from=NOW), force=True
    )

    assert read(shared_repo, agent, old).superseded_by == new
    assert contents(shared_repo.search(agent, NORTH)) == ["new"]


@pytest.mark.parametrize(
    "validity",
    [
        {},
        {"valid_until": NOW},
        {"valid_until": NOW - DAY},
        {"valid_from": NOW - TICK},
        {"valid_from": NOW - DAY, "valid_until": NOW},
    ],
    ids=repr,
)
def test_what_ends_as_the_other_begins_does_not_overlap(
    shared_repo: MemoryRepository, agent: str, validity: dict[str, Any]
) -> None:
    old = shared_repo.add(agent, NewMemory("old", embedding=NORTH, **validity))

    new = shared_repo.supersede(agent, old, NewMemory("new", embedding=NORTH, valid_from=NOW))

    assert read(shared_repo, agent, old).superseded_by == new


def test_superseding_twice_is_a_conflict_that_names_the_successor(
    shared_repo: MemoryRepository, shared_engine: Engine, agent: str
) -> None:
    old = shared_repo.add(agent, NewMemory("old", embedding=NORTH))
    new = shared_repo.supersede(agent, old, NewMemory("new", embedding=NORTH))
    stored = everything(shared_engine, agent)

    with pytest.raises(SupersessionConflict, match=str(new)):
        shared_repo.supersede(agent, old, NewMemory("newer", embedding=NORTH))

    assert everything(shared_engine, agent) == stored


def test_superseding_twice_may_be_forced(shared_repo: MemoryRepository, agent: str) -> None:
    old = shared_repo.add(agent, NewMemory("old", embedding=NORTH))
    shared_repo.supersede(agent, old, NewMemory("new", embedding=NORTH))

    newer = shared_repo.supersede(agent, old, NewMemory("newer", embedding=NORTH), force=True)

    assert read(shared_repo, agent, old).superseded_by == newer


def test_a_forgotten_memory_is_superseded_by_force_only(
    shared_repo: MemoryRepository, shared_engine: Engine, agent: str
) -> None:
    old = shared_repo.add(agent, NewMemory("old", embedding=NORTH))
    shared_repo.invalidate(agent, old)
    stored = everything(shared_engine, agent)

    with pytest.raises(SupersessionConflict, match="forgotten"):
        shared_repo.supersede(agent, old, NewMemory("new", embedding=NORTH))
    assert everything(shared_engine, agent) == stored

    new = shared_repo.supersede(agent, old, NewMemory("new", embedding=NORTH), force=True)
    memory = read(shared_repo, agent, old)
    assert (memory.invalidation_reason, memory.superseded_by) == ("superseded", new)


def test_a_chain_recalls_its_last_link_and_each_at_its_time(either: MemoryRepository) -> None:
    ids = [either.add("agent", NewMemory("0", embedding=NORTH, created_at=before(9)))]
    for n in (1, 2, 3):
        ids.append(either.supersede("agent", ids[-1], NewMemory(str(n), embedding=NORTH)))

    memories = [read(either, "agent", memory_id) for memory_id in ids]
    assert [memory.superseded_by for memory in memories] == [*ids[1:], None]
    assert contents(either.search("agent", NORTH)) == ["3"]
    ends = [memory.invalidated_at for memory in memories[:-1]]
    for n, end in enumerate(ends):
        assert end is not None
        assert recalled(either, "agent", end - TICK) == [str(n)]
        assert recalled(either, "agent", end) == [str(n + 1)]


@pytest.mark.parametrize("text", ["old", " OLD  "])
def test_nothing_is_superseded_by_what_says_the_same(
    shared_repo: MemoryRepository, shared_engine: Engine, agent: str, text: str
) -> None:
    old = shared_repo.add(agent, NewMemory("Old", embedding=NORTH))
    stored = everything(shared_engine, agent)

    with pytest.raises(InvalidMemory, match="says the same"):
        shared_repo.supersede(agent, old, NewMemory(text, embedding=NORTH))

    assert everything(shared_engine, agent) == stored


def test_a_refusal_leaves_a_transaction_of_the_callers_own_as_it_was(engine: Engine) -> None:
    """The caller may catch the error and commit the rest of its work."""
    with engine.begin() as connection:
        repo = MemoryRepository(connection)
        old = repo.add("agent", NewMemory("old", embedding=NORTH))
    stored = everything(engine, "agent")

    with engine.begin() as connection:
        repo = MemoryRepository(connection)
        with pytest.raises(InvalidMemory):
            repo.supersede("agent", old, NewMemory("old", embedding=NORTH))

    assert everything(engine, "agent") == stored


def test_a_memory_that_says_it_already_becomes_the_successor(either: MemoryRepository) -> None:
    old = either.add("agent", NewMemory("old", embedding=NORTH, importance=0.8))
    there = either.add("agent", NewMemory("There", embedding=NORTH, importance=0.3))

    added = either.supersede(
        "agent", old, NewMemory("there", embedding=NORTH, importance=0.1), actor="ines"
    )

    assert (added, added.outcome) == (there, "duplicate")
    assert read(either, "agent", old).superseded_by == there
    assert read(either, "agent", there).importance == 0.8
    assert read(either, "agent", there).retrieval_count == 0
    raised = event(either, "agent", there, "importance")
    assert (raised.old_values, raised.new_values) == ({"importance": 0.3}, {"importance": 0.8})
    assert raised.actor == "ines"


def test_an_existing_successor_that_matters_more_keeps_its_importance(
    shared_repo: MemoryRepository, agent: str
) -> None:
    old = shared_repo.add(agent, NewMemory("old", embedding=NORTH, importance=0.2))
    there = shared_repo.add(agent, NewMemory("there", embedding=NORTH, importance=0.9))

    shared_repo.supersede(agent, old, NewMemory("there", embedding=NORTH))

    assert read(shared_repo, agent, there).importance == 0.9
    assert "importance" not in kinds(shared_repo, agent, there)


def test_superseding_back_revives_what_was_superseded(
    shared_repo: MemoryRepository, agent: str
) -> None:
    old = shared_repo.add(agent, NewMemory("old", embedding=NORTH))
    new = shared_repo.supersede(agent, old, NewMemory("new", embedding=NORTH))

    back = shared_repo.supersede(agent, new, NewMemory("old", embedding=NORTH))

    assert (back, back.outcome) == (old, "revived")
    assert contents(shared_repo.search(agent, NORTH)) == ["old"]
    memory = read(shared_repo, agent, old)
    assert (memory.invalidated_at, memory.superseded_by) == (None, None)
    assert read(shared_repo, agent, new).superseded_by == old


def test_teams_supersede_their_own_memories(shared_repo: MemoryRepository, agent: str) -> None:
    mine = shared_repo.add(agent, NewMemory("old", embedding=NORTH))
    theirs = shared_repo.teams.add(agent, NewMemory("old", embedding=NORTH))

    shared_repo.teams.supersede(agent, theirs, NewMemory("new", embedding=NORTH))

    assert contents(shared_repo.teams.search(agent, NORTH)) == ["new"]
    assert contents(shared_repo.search(agent, NORTH)) == ["old"]
    with pytest.raises(MemoryNotFound):
        shared_repo.teams.supersede(agent, mine, NewMemory("newer", embedding=NORTH))


BAD: dict[type[PgRecallError], NewMemory] = {
    NotCompliant: NewMemory("new", embedding=NORTH, compliant=False),
    InvalidVector: NewMemory("new", embedding=[1.0, 2.0]),
    InvalidMemory: NewMemory("new", embedding=NORTH, valid_until=NOW, valid_from=None),
}


@pytest.mark.parametrize(
    ("error", "new"), BAD.items(), ids=lambda one: getattr(one, "__name__", "")
)
def test_nothing_is_changed_where_the_new_memory_is_bad(
    shared_repo: MemoryRepository,
    shared_engine: Engine,
    agent: str,
    error: type[PgRecallError],
    new: NewMemory,
) -> None:
    old = shared_repo.add(agent, NewMemory("old", embedding=NORTH))
    stored = everything(shared_engine, agent)

    with pytest.raises(error):
        shared_repo.supersede(agent, old, new)

    assert everything(shared_engine, agent) == stored


def test_a_memory_that_is_not_there_is_not_superseded(
    shared_repo: MemoryRepository, shared_engine: Engine, agent: str
) -> None:
    others = shared_repo.add(f"{agent} too", NewMemory("old", embedding=NORTH))

    for unknown in (uuid4(), others):
        with pytest.raises(MemoryNotFound):
            shared_repo.supersede(agent, unknown, NewMemory("new", embedding=NORTH))

    assert not any(everything(shared_engine, agent).values())


def test_a_supersession_is_told_with_old_and_new_values(
    shared_repo: MemoryRepository, agent: str
) -> None:
    old = shared_repo.add(agent, NewMemory("old", embedding=NORTH, importance=0.7))

    new = shared_repo.supersede(
        agent, old, NewMemory("new", embedding=NORTH), reason="moved", actor="ines"
    )

    told = event(shared_repo, agent, old, "superseded")
    nothing = dict.fromkeys(("invalidated_at", "invalidation_reason", "superseded_by"))
    assert told.old_values == nothing
    assert (
        moment(told.new_values.pop("invalidated_at"))
        == read(shared_repo, agent, old).invalidated_at
    )
    assert told.new_values == {"invalidation_reason": "superseded", "superseded_by": str(new)}
    assert (told.reason, told.actor) == ("moved", "ines")
    initial = event(shared_repo, agent, new, "initial")
    assert (initial.reason, initial.actor) == (None, "ines")


def test_an_invalidated_memory_is_recalled_when_asked_for_only(either: MemoryRepository) -> None:
    gone, kept = (either.add("agent", NewMemory(text, embedding=NORTH)) for text in ("a", "b"))

    assert either.invalidate("agent", [gone, uuid4()], reason="wrong", actor="ines") == 1

    assert contents(either.search("agent", NORTH)) == ["b"]
    assert either.count("agent") == 1
    both = either.search("agent", NORTH, include_invalid=True)
    assert sorted(contents(both)) == ["a", "b"]
    memory = read(either, "agent", gone)
    assert (memory.status, memory.invalidation_reason) == ("active", "forgotten")
    told = event(either, "agent", gone, "forgotten")
    assert (told.reason, told.actor) == ("wrong", "ines")
    assert told.old_values == {"invalidated_at": None, "invalidation_reason": None}
    assert told.new_values["invalidation_reason"] == "forgotten"
    assert moment(told.new_values["invalidated_at"]) == memory.invalidated_at
    assert kinds(either, "agent", kept) == ["initial"]


def test_what_is_invalidated_already_is_passed_over(
    shared_repo: MemoryRepository, shared_engine: Engine, agent: str
) -> None:
    forgotten = shared_repo.add(agent, NewMemory("a", embedding=NORTH))
    superseded = shared_repo.add(agent, NewMemory("b", embedding=NORTH))
    shared_repo.invalidate(agent, forgotten)
    shared_repo.supersede(agent, superseded, NewMemory("c", embedding=NORTH))
    stored = everything(shared_engine, agent)

    assert shared_repo.invalidate(agent, [forgotten, superseded]) == 0

    assert everything(shared_engine, agent) == stored


def test_what_is_to_be_superseded_tomorrow_can_be_forgotten_today(
    shared_repo: MemoryRepository, agent: str
) -> None:
    tomorrow = datetime.now(UTC) + DAY
    old = shared_repo.add(agent, NewMemory("old", embedding=NORTH))
    shared_repo.supersede(agent, old, NewMemory("new", embedding=NORTH, valid_from=tomorrow))

    assert shared_repo.invalidate(agent, old) == 1

    assert contents(shared_repo.search(agent, NORTH)) == []


def test_a_revived_memory_is_recalled_again(either: MemoryRepository, engine: Engine) -> None:
    ids = {
        text: either.add("agent", NewMemory(text, embedding=NORTH))
        for text in ("forgotten", "superseded", "archived", "completed", "expired", "well")
    }
    either.invalidate("agent", ids["forgotten"])
    either.supersede("agent", ids["superseded"], NewMemory("successor", embedding=NORTH))
    for status in ("archived", "completed"):
        change(engine, ids[status], "status = :value", status)
    change(engine, ids["expired"], "expires_at = :value", before(1000))
    assert sorted(contents(either.search("agent", NORTH))) == ["successor", "well"]

    assert either.revive("agent", [*ids.values(), uuid4()], actor="ines", force=True) == 5

    assert sorted(contents(either.search("agent", NORTH))) == sorted([*ids, "successor"])
    for text, memory_id in ids.items():
        memory = read(either, "agent", memory_id)
        assert (memory.status, memory.invalidated_at, memory.superseded_by) == (
            "active",
            None,
            None,
        )
        assert (memory.invalidation_reason, memory.expires_at) == (None, None)
        assert kinds(either, "agent", memory_id).count("revived") == (text != "well")


def test_a_revival_is_told_with_old_and_new_values(
    shared_repo: MemoryRepository, agent: str
) -> None:
    old = shared_repo.add(agent, NewMemory("old", embedding=NORTH))
    new = shared_repo.supersede(agent, old, NewMemory("new", embedding=NORTH))

    shared_repo.revive(agent, old, reason="was right", actor="ines", force=True)

    told = event(shared_repo, agent, old, "revived")
    assert (told.reason, told.actor) == ("was right", "ines")
    assert moment(told.old_values.pop("invalidated_at")) <= datetime.now(UTC)
    assert told.old_values == {
        "status": "active",
        "invalidation_reason": "superseded",
        "superseded_by": str(new),
        "expires_at": None,
    }
    cleared = ("invalidated_at", "invalidation_reason", "superseded_by", "expires_at")
    assert told.new_values == {"status": "active", **dict.fromkeys(cleared)}


def test_reviving_keeps_validity_and_an_expiry_to_come(
    shared_repo: MemoryRepository, agent: str
) -> None:
    kept = {"valid_from": before(9), "valid_until": NOW + YEAR, "expires_at": NOW + 2 * YEAR}
    memory_id = shared_repo.add(agent, NewMemory("a", embedding=NORTH, **kept))  # type: ignore[arg-type]
    shared_repo.invalidate(agent, memory_id)

    shared_repo.revive(agent, memory_id)

    memory = read(shared_repo, agent, memory_id)
    assert {name: getattr(memory, name) for name in kept} == kept


def test_nothing_is_revived_where_another_says_the_same_by_now(
    shared_repo: MemoryRepository, shared_engine: Engine, agent: str
) -> None:
    put_away, forgotten = (
        shared_repo.add(agent, NewMemory(text, embedding=NORTH)) for text in ("same", "other")
    )
    change(shared_engine, put_away, "status = :value", "archived")
    shared_repo.invalidate(agent, forgotten)
    shared_repo.add(agent, NewMemory("Same", embedding=NORTH))
    stored = everything(shared_engine, agent)

    with pytest.raises(DuplicateMemory):
        shared_repo.revive(agent, [forgotten, put_away])

    assert everything(shared_engine, agent) == stored


@pytest.mark.parametrize("policy", ["bump", "keep", "replace"])
def test_restating_revives_what_was_forgotten(either: MemoryRepository, policy: Any) -> None:
    memory_id = either.add("agent", NewMemory("Said", embedding=NORTH))
    either.invalidate("agent", memory_id)

    again = either.add("agent", NewMemory("said", embedding=NORTH), duplicates=policy)

    assert (again, again.outcome) == (memory_id, "revived")
    assert len(either.search("agent", NORTH)) == either.count("agent", include_invalid=True) == 1
    memory = read(either, "agent", memory_id)
    assert (memory.invalidated_at, memory.invalidation_reason) == (None, None)


def test_restating_what_is_archived_stores_it_anew(
    shared_repo: MemoryRepository, shared_engine: Engine, agent: str
) -> None:
    archived = shared_repo.add(agent, NewMemory("said", embedding=NORTH))
    change(shared_engine, archived, "status = :value", "archived")

    again = shared_repo.add(agent, NewMemory("said", embedding=NORTH))

    assert again.inserted
    assert read(shared_repo, agent, archived).status == "archived"


def test_importance_is_overridden(either: MemoryRepository) -> None:
    memory_id = either.add("agent", NewMemory("a", embedding=NORTH, importance=0.2))

    memory = either.set_importance("agent", memory_id, 0.9, reason="said so", actor="ines")

    assert memory == read(either, "agent", memory_id)
    assert memory.importance == 0.9
    told = event(either, "agent", memory_id, "importance")
    assert (told.old_values, told.new_values) == ({"importance": 0.2}, {"importance": 0.9})
    assert (told.reason, told.actor) == ("said so", "ines")
    assert told.delta("importance") == pytest.approx(0.7)


@pytest.mark.parametrize("importance", [-0.1, 1.1, float("nan"), None, "0.5", True])
def test_an_importance_that_is_no_share_is_refused(
    shared_repo: MemoryRepository, agent: str, importance: Any
) -> None:
    memory_id = shared_repo.add(agent, NewMemory("a", embedding=NORTH, importance=0.2))

    with pytest.raises(InvalidMemory):
        shared_repo.set_importance(agent, memory_id, importance)

    assert read(shared_repo, agent, memory_id).importance == 0.2


def test_the_importance_of_what_is_not_there_cannot_be_set(
    shared_repo: MemoryRepository, agent: str
) -> None:
    others = shared_repo.add(f"{agent} too", NewMemory("a", embedding=NORTH))

    for unknown in (uuid4(), others):
        with pytest.raises(MemoryNotFound):
            shared_repo.set_importance(agent, unknown, 0.9)

    assert read(shared_repo, f"{agent} too", others).importance == 0.5


def test_promotion_and_demotion_go_tier_by_tier(either: MemoryRepository) -> None:
    memory_id = either.add("agent", NewMemory("a", embedding=NORTH, tier="short"))

    moved = [
        (move("agent", memory_id), read(either, "agent", memory_id).tier)
        for move in (*[either.promote] * 3, *[either.demote] * 3)
    ]

    assert moved == [
        *((1, "medium"), (1, "long"), (0, "long")),
        *((1, "medium"), (1, "short"), (0, "short")),
    ]
    assert kinds(either, "agent", memory_id) == [
        "initial",
        *["promoted"] * 2,
        *["demoted"] * 2,
    ]


def test_only_the_short_tier_expires_after_a_day(shared_repo: MemoryRepository, agent: str) -> None:
    """System E's default: tier short with an expiry of 24 hours."""
    memory_id = shared_repo.add(
        agent, NewMemory("a", embedding=NORTH, tier="medium", expires_at=NOW + YEAR)
    )
    earliest = datetime.now(UTC) + DAY

    shared_repo.demote(agent, memory_id, reason="passing", actor="ines")

    expires_at = read(shared_repo, agent, memory_id).expires_at
    assert expires_at is not None
    assert earliest - timedelta(seconds=1) <= expires_at <= datetime.now(UTC) + DAY
    told = event(shared_repo, agent, memory_id, "demoted")
    assert (told.old_values["tier"], told.new_values["tier"]) == ("medium", "short")
    assert moment(told.old_values["expires_at"]) == NOW + YEAR
    assert moment(told.new_values["expires_at"]) == expires_at
    assert (told.reason, told.actor) == ("passing", "ines")

    shared_repo.promote(agent, memory_id)

    assert read(shared_repo, agent, memory_id).expires_at is None


def test_tiers_expire_as_their_table_says(own_engine: Engine) -> None:
    repo = MemoryRepository(own_engine)
    sql(
        own_engine,
        "UPDATE pgrecall.tier_defaults SET expires_after_hours = 240 WHERE tier = 'medium'",
    )
    memory_id = repo.add("agent", NewMemory("a", embedding=NORTH, tier="long"))

    repo.demote("agent", memory_id)

    expires_at = read(repo, "agent", memory_id).expires_at
    assert expires_at is not None
    assert abs(expires_at - datetime.now(UTC) - 10 * DAY) < timedelta(minutes=1)


def test_several_move_at_once_and_what_cannot_is_passed_over(
    shared_repo: MemoryRepository, agent: str
) -> None:
    tiers = ("short", "medium", "long", "short")
    ids = [
        shared_repo.add(agent, NewMemory(str(n), embedding=NORTH, tier=tier))
        for n, tier in enumerate(tiers)
    ]
    others = shared_repo.add(f"{agent} too", NewMemory("a", embedding=NORTH, tier="short"))

    assert shared_repo.promote(agent, [*ids[:3], others, uuid4()]) == 2

    after = [read(shared_repo, agent, memory_id).tier for memory_id in ids]
    assert after == ["medium", "long", "long", "short"]
    assert read(shared_repo, f"{agent} too", others).tier == "short"


@pytest.mark.parametrize("name", ["invalidate", "revive", "promote", "demote"])
def test_no_ids_change_nothing_and_bad_ones_are_refused(
    shared_repo: MemoryRepository, agent: str, name: str
) -> None:
    change_several = getattr(shared_repo, name)

    assert change_several(agent, []) == 0
    for bad in ("not an id", ["not an id"], None):
        with pytest.raises(InputError):
            change_several(agent, bad)


def test_teams_correct_their_own_memories_only(shared_repo: MemoryRepository, agent: str) -> None:
    mine = shared_repo.add(agent, NewMemory("a", embedding=NORTH, tier="medium"))
    theirs = shared_repo.teams.add(agent, NewMemory("a", embedding=NORTH, tier="medium"))
    stored = read(shared_repo, agent, mine)

    for change_several in (
        *(shared_repo.teams.promote, shared_repo.teams.demote),
        *(shared_repo.teams.invalidate, shared_repo.teams.revive),
    ):
        assert change_several(agent, [mine, theirs]) == 1
    shared_repo.teams.set_importance(agent, theirs, 0.9)

    assert read(shared_repo, agent, mine) == stored
    assert kinds(shared_repo.teams, agent, theirs) == [
        *("initial", "promoted", "demoted", "forgotten", "revived", "importance")
    ]


def read(repo: MemoryRepository, agent: str, memory_id: UUID) -> Memory:
    memory = repo.get(agent, memory_id)
    assert memory is not None
    return memory


def recalled(repo: MemoryRepository, agent: str, as_of: datetime) -> list[str]:
    return sorted(contents(repo.search(agent, NORTH, as_of=as_of, touch=False)))


def kinds(repo: MemoryRepository, agent: str, memory_id: UUID) -> list[str]:
    return [one.event_type for one in repo.history(agent, memory_id)]


def event(repo: MemoryRepository, agent: str, memory_id: UUID, kind: str) -> Event:
    """The only one of its kind."""
    [found] = [one for one in repo.history(agent, memory_id) if one.event_type == kind]
    return found


def moment(told: str) -> datetime:
    return datetime.fromisoformat(told)


def change(engine: Engine, memory_id: UUID, assignment: str, value: Any) -> None:
    sql(
        engine,
        f"UPDATE pgrecall.agent_memories SET {assignment} WHERE id = :id",
        value=value,
        id=UUID(int=memory_id.int),
    )


def everything(engine: Engine, agent: str) -> dict[str, list[str]]:
    """All that is stored of an agent."""
    tables = ("agent_memories", "memory_usage", "memory_events", "memory_labels", "memory_links")
    return {
        table: sorted(
            text
            for (text,) in sql(
                engine,
                f"SELECT to_jsonb(t)::text FROM pgrecall.{table} t WHERE agent_id = :agent",
                agent=agent,
            )
        )
        for table in tables
    }
