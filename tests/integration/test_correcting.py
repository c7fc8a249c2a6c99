"""Superseding, invalidating, reviving, importance and tiers."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import uuid4

import pytest
from sqlalchemy import Engine

from pgrecall import GarbagePolicy, NewMemory
from pgrecall.errors import (
    DuplicateMemory,
    InvalidMemory,
    InvalidVector,
    MemoryNotFound,
    NotCompliant,
    SupersessionConflict,
)
from tests.integration.owner import Owner, north, plain
from tests.integration.support import NORTH, NOW, before, contents
from tests.methods import method

TICK = timedelta(microseconds=1)
DAY = timedelta(days=1)
YEAR = timedelta(days=365)


@pytest.fixture
def mine(shared_engine: Engine, agent: str) -> Owner:
    return Owner(shared_engine, agent)


def moment(told: str) -> datetime:
    return datetime.fromisoformat(told)


# Superseding


def test_the_successor_is_recalled_in_the_place_of_the_old_memory(mine: Owner) -> None:
    old = mine.add(north("old"))

    new = mine.supersede(old, north("new"))

    assert new.inserted
    assert mine.recalled() == ["new"]
    assert len(mine.search(NORTH, include_invalid=True)) == 2
    was = mine.read(old)
    assert (was.status, was.invalidation_reason, was.superseded_by) == ("active", "superseded", new)
    assert was.invalidated_at == mine.read(new).valid_from


@pytest.mark.parametrize("created", [None, -5, -3], ids=lambda day: f"created {day}")
@pytest.mark.parametrize("begins", [None, -5, -3, 5], ids=lambda day: f"begins {day}")
def test_at_every_moment_one_of_the_two_is_recalled(
    mine: Owner, created: int | None, begins: int | None
) -> None:
    now = datetime.now(UTC)
    dated: dict[str, Any] = {} if created is None else {"created_at": now + created * DAY}
    from_ = None if begins is None else now + begins * DAY
    old = mine.add(north("old", created_at=now - 20 * DAY))

    mine.supersede(old, north("new", valid_from=from_, **dated))

    changeover = max(created or 0, begins or 0)
    days = [-10, -5.01, -4.99, -3.01, -2.99, -1, 1, 4.99, 5.01]
    seen = {day: mine.recalled(now + day * DAY) for day in days}
    assert seen == {day: ["old" if day < changeover else "new"] for day in days}
    at = mine.read(old).invalidated_at
    assert at is not None
    assert [mine.recalled(at - TICK), mine.recalled(at)] == [["old"], ["new"]]


def test_a_chain_recalls_its_last_link_and_each_at_its_time(mine: Owner) -> None:
    ids = [mine.add(north("0", created_at=before(9)))]
    for n in (1, 2, 3):
        ids.append(mine.supersede(ids[-1], north(str(n))))

    memories = [mine.read(memory_id) for memory_id in ids]
    assert [memory.superseded_by for memory in memories] == [*ids[1:], None]
    for n, memory in enumerate(memories[:-1]):
        end = memory.invalidated_at
        assert end is not None
        assert (mine.recalled(end - TICK), mine.recalled(end)) == ([str(n)], [str(n + 1)])


@pytest.mark.parametrize(("old", "new", "kept"), [(0.3, 0.7, 0.7), (0.9, 0.2, 0.9)])
def test_the_new_importance_is_the_greater_of_the_two(
    mine: Owner, old: float, new: float, kept: float
) -> None:
    first = mine.add(plain("old", importance=old))

    second = mine.supersede(first, plain("new", importance=new))

    assert (mine.read(second).importance, mine.read(first).importance) == (kept, old)


@pytest.mark.parametrize(
    ("old", "new", "kept"), [("tea", None, "tea"), ("tea", "milk", "milk"), (None, None, None)]
)
def test_the_subject_is_taken_over_where_the_new_memory_names_none(
    mine: Owner, old: str | None, new: str | None, kept: str | None
) -> None:
    first = mine.add(plain("old", subject=old))

    assert mine.read(mine.supersede(first, plain("new", subject=new))).subject == kept


def test_a_given_valid_from_and_valid_until_are_kept(mine: Owner) -> None:
    between = {"valid_from": before(3), "valid_until": NOW + 10 * YEAR}

    new = mine.supersede(mine.add(plain("old")), plain("new", **between))

    memory = mine.read(new)
    assert {name: getattr(memory, name) for name in between} == between


@pytest.mark.parametrize(
    ("validity", "overlaps"),
    [
        ({"valid_until": NOW + TICK}, True),
        ({"valid_from": NOW}, True),
        ({"valid_from": NOW + DAY}, True),
        ({"valid_from": NOW - DAY, "valid_until": NOW + DAY}, True),
        ({"valid_until": NOW}, False),
        ({"valid_from": NOW - TICK}, False),
        ({"valid_from": NOW - DAY, "valid_until": NOW}, False),
    ],
    ids=repr,
)
def test_an_overlap_is_reported_unless_forced(
    mine: Owner, validity: dict[str, Any], overlaps: bool
) -> None:
    old = mine.add(north("old", **validity))
    stored = mine.everything()
    new = north("new", valid_from=NOW)

    if overlaps:
        with pytest.raises(SupersessionConflict, match="overlap"):
            mine.supersede(old, new)
        assert mine.everything() == stored

    assert mine.supersede(old, new, force=overlaps).inserted
    assert mine.recalled() == ["new"]


def test_what_is_over_is_superseded_by_force_only(mine: Owner) -> None:
    superseded, forgotten = mine.add(north("a")), mine.add(north("b"))
    new = mine.supersede(superseded, north("c"))
    mine.invalidate(forgotten)
    stored = mine.everything()

    for old, message in ((superseded, str(new)), (forgotten, "forgotten")):
        with pytest.raises(SupersessionConflict, match=message):
            mine.supersede(old, north("newer"))
    assert mine.everything() == stored

    for old in (superseded, forgotten):
        newer = mine.supersede(old, north(f"after {old}"), force=True)
        memory = mine.read(old)
        assert (memory.invalidation_reason, memory.superseded_by) == ("superseded", newer)


def test_a_refusal_changes_nothing_and_leaves_a_transaction_usable(
    shared_engine: Engine, mine: Owner
) -> None:
    """The caller may catch the error and commit the rest of its work."""
    old = mine.add(north("Old"))
    gone = mine.add(north("gone"))
    mine.supersede(gone, north("B"))
    stored = mine.everything()
    bad: list[tuple[type[Exception], NewMemory]] = [
        (InvalidMemory, north(" OLD  ")),  # says the same
        (NotCompliant, north("new", compliant=False)),
        (InvalidVector, NewMemory("new", embedding=[1.0, 2.0])),
        (InvalidMemory, north("new", valid_until=NOW, valid_from=None)),
        (SupersessionConflict, plain("C", id=gone)),  # which is not recalled any longer
    ]

    with shared_engine.begin() as connection:
        for error, new in bad:
            with pytest.raises(error):
                mine.within(connection).supersede(old, new)

    assert mine.everything() == stored
    for unknown in (uuid4(), mine.other.add(north("hers"))):
        with pytest.raises(MemoryNotFound):
            mine.supersede(unknown, north("new"))
    assert mine.everything() == stored


def test_a_memory_that_says_it_already_becomes_the_successor(mine: Owner) -> None:
    old = mine.add(north("old", importance=0.8))
    there = mine.add(north("There", importance=0.3))

    added = mine.supersede(old, north("there", importance=0.1), actor="ines")

    assert (added, added.outcome) == (there, "duplicate")
    assert mine.read(old).superseded_by == there
    assert (mine.read(there).importance, mine.read(there).retrieval_count) == (0.8, 0)
    raised = mine.event(there, "importance")
    assert (raised.old_values, raised.new_values) == ({"importance": 0.3}, {"importance": 0.8})
    assert raised.actor == "ines"

    greater = mine.add(north("greater", importance=0.9))
    mine.supersede(there, north("greater"))
    assert mine.read(greater).importance == 0.9
    assert "importance" not in mine.kinds(greater)


def test_superseding_back_revives_what_was_superseded(mine: Owner) -> None:
    old = mine.add(north("old"))
    new = mine.supersede(old, north("new"))

    back = mine.supersede(new, north("old"))

    assert (back, back.outcome) == (old, "revived")
    assert mine.recalled() == ["old"]
    memory = mine.read(old)
    assert (memory.invalidated_at, memory.superseded_by) == (None, None)
    assert mine.read(new).superseded_by == old


def test_a_supersession_is_told_with_old_and_new_values(mine: Owner) -> None:
    old = mine.add(north("old"))

    new = mine.supersede(old, north("new"), reason="moved", actor="ines")

    told = mine.event(old, "superseded")
    keys = ("invalidated_at", "invalidation_reason", "superseded_by")
    assert told.old_values == dict.fromkeys(keys)
    assert moment(told.new_values.pop("invalidated_at")) == mine.read(old).invalidated_at
    assert told.new_values == {"invalidation_reason": "superseded", "superseded_by": str(new)}
    assert (told.reason, told.actor) == ("moved", "ines")
    initial = mine.event(new, "initial")
    assert (initial.reason, initial.actor) == (None, "ines")


# Forgetting and reviving


def test_an_invalidated_memory_is_recalled_when_asked_for_only(mine: Owner) -> None:
    gone, kept = (mine.add(north(text)) for text in "ab")

    assert mine.invalidate([gone, uuid4()], reason="wrong", actor="ines") == 1

    assert (mine.recalled(), mine.count()) == (["b"], 1)
    assert sorted(contents(mine.search(NORTH, include_invalid=True))) == ["a", "b"]
    memory = mine.read(gone)
    assert (memory.status, memory.invalidation_reason) == ("active", "forgotten")
    told = mine.event(gone, "forgotten")
    assert (told.reason, told.actor) == ("wrong", "ines")
    assert told.old_values == {"invalidated_at": None, "invalidation_reason": None}
    assert told.new_values["invalidation_reason"] == "forgotten"
    assert moment(told.new_values["invalidated_at"]) == memory.invalidated_at
    assert mine.kinds(kept) == ["initial"]


def test_what_is_invalidated_already_is_passed_over(mine: Owner) -> None:
    forgotten, superseded = mine.add(north("a")), mine.add(north("b"))
    mine.invalidate(forgotten)
    mine.supersede(superseded, north("c"))
    stored = mine.everything()

    assert mine.invalidate([forgotten, superseded]) == 0

    assert mine.everything() == stored


def test_what_is_to_be_superseded_tomorrow_can_be_forgotten_today(mine: Owner) -> None:
    old = mine.add(north("old"))
    mine.supersede(old, north("new", valid_from=datetime.now(UTC) + DAY))

    assert mine.invalidate(old) == 1

    assert mine.recalled() == []


def test_a_revived_memory_is_recalled_again(mine: Owner) -> None:
    texts = ("forgotten", "superseded", "archived", "completed", "expired", "well")
    ids = {text: mine.add(north(text)) for text in texts}
    mine.invalidate(ids["forgotten"])
    new = mine.supersede(ids["superseded"], north("successor"))
    for status in ("archived", "completed"):
        mine.put(ids[status], status=status)
    mine.put(ids["expired"], expires_at=before(1000))
    assert mine.recalled() == ["successor", "well"]

    several = [*ids.values(), uuid4()]
    assert mine.revive(several, reason="was right", actor="ines", force=True) == 5

    assert mine.recalled() == sorted([*ids, "successor"])
    for text, memory_id in ids.items():
        memory = mine.read(memory_id)
        assert (memory.status, memory.invalidation_reason) == ("active", None)
        assert (memory.invalidated_at, memory.superseded_by, memory.expires_at) == (None,) * 3
        assert mine.kinds(memory_id).count("revived") == (text != "well")
    told = mine.event(ids["superseded"], "revived")
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


def test_reviving_keeps_validity_and_an_expiry_to_come(mine: Owner) -> None:
    kept = {"valid_from": before(9), "valid_until": NOW + YEAR, "expires_at": NOW + 2 * YEAR}
    memory_id = mine.add(north("a", **kept))
    mine.invalidate(memory_id)

    mine.revive(memory_id)

    memory = mine.read(memory_id)
    assert {name: getattr(memory, name) for name in kept} == kept


def test_nothing_is_revived_where_another_says_the_same_by_now(
    shared_engine: Engine, mine: Owner
) -> None:
    put_away, forgotten = mine.add(north("same")), mine.add(north("other"))
    mine.put(put_away, status="archived")
    mine.invalidate(forgotten)
    new = mine.add(north("Same"))
    stored = mine.everything()

    with shared_engine.begin() as connection:
        inside = mine.within(connection)
        with pytest.raises(DuplicateMemory, match=f"{new} says the same"):
            inside.revive([forgotten, put_away])

    assert mine.everything() == stored


def test_two_put_away_memories_of_one_text_are_not_revived_together(mine: Owner) -> None:
    ids = []
    for _ in range(2):
        ids.append(mine.add(plain("tea", trust=0.15)))
        mine.collect_garbage(GarbagePolicy(max_age_hours=None))

    with pytest.raises(DuplicateMemory, match="says the same"):
        mine.revive(ids)
    assert mine.revive(ids[0]) == 1


# Importance and tiers


def test_importance_is_overridden(mine: Owner) -> None:
    memory_id = mine.add(north("a", importance=0.2))

    memory = mine.upkeep.set_importance(memory_id, 0.9, reason="said so", actor="ines")

    assert memory == mine.read(memory_id)
    assert memory.importance == 0.9
    told = mine.event(memory_id, "importance")
    assert (told.old_values, told.new_values) == ({"importance": 0.2}, {"importance": 0.9})
    assert (told.reason, told.actor) == ("said so", "ines")
    for unknown in (uuid4(), mine.other.add(north("a"))):
        with pytest.raises(MemoryNotFound):
            mine.upkeep.set_importance(unknown, 0.9)


def test_promotion_and_demotion_go_tier_by_tier(mine: Owner) -> None:
    memory_id = mine.add(north("a", tier="short"))

    moves = (*[mine.upkeep.promote] * 3, *[mine.upkeep.demote] * 3)
    moved = [(move(memory_id), mine.read(memory_id).tier) for move in moves]

    assert moved == [
        *((1, "medium"), (1, "long"), (0, "long")),
        *((1, "medium"), (1, "short"), (0, "short")),
    ]
    assert mine.kinds(memory_id) == ["initial", *["promoted"] * 2, *["demoted"] * 2]


def test_only_the_short_tier_expires_after_a_day(mine: Owner) -> None:
    """System E's default: tier short with an expiry of 24 hours."""
    memory_id = mine.add(north("a", tier="medium", expires_at=NOW + YEAR))
    earliest = datetime.now(UTC) + DAY

    mine.upkeep.demote(memory_id, reason="passing", actor="ines")

    expires_at = mine.read(memory_id).expires_at
    assert expires_at is not None
    assert earliest - timedelta(seconds=1) <= expires_at <= datetime.now(UTC) + DAY
    told = mine.event(memory_id, "demoted")
    assert (told.old_values["tier"], told.new_values["tier"]) == ("medium", "short")
    assert moment(told.old_values["expires_at"]) == NOW + YEAR
    assert moment(told.new_values["expires_at"]) == expires_at
    assert (told.reason, told.actor) == ("passing", "ines")
    mine.upkeep.promote(memory_id)
    assert mine.read(memory_id).expires_at is None


def test_tiers_expire_as_their_table_says(shared_engine: Engine, mine: Owner) -> None:
    edited = "UPDATE pgrecall.tier_defaults SET expires_after_hours = 240 WHERE tier = 'medium'"
    with shared_engine.connect() as connection:
        connection.exec_driver_sql(edited)
        inside = mine.within(connection)
        memory_id = inside.add(north("a", tier="long"))
        inside.upkeep.demote(memory_id)
        expires_at = inside.read(memory_id).expires_at
        connection.rollback()

    assert expires_at is not None
    assert abs(expires_at - datetime.now(UTC) - 10 * DAY) < timedelta(minutes=1)


# Whose


def test_several_change_at_once_and_those_of_others_are_passed_over(mine: Owner) -> None:
    for verb, kind in (
        *(("upkeep.promote", "promoted"), ("upkeep.demote", "demoted")),
        *(("invalidate", "forgotten"), ("revive", "revived"), ("delete", "deleted")),
    ):
        team, other = mine.team, mine.other
        owners = (mine, team, other)
        ids = {of: [of.add(north(f"{verb} {n}", tier="medium")) for n in "ab"] for of in owners}
        if verb == "revive":
            mine.invalidate(ids[mine])
        several = [*ids[mine], *ids[team], *ids[other], ids[mine][0], uuid4()]

        changes = method(mine, verb)
        assert (changes(several), changes([])) == (2, 0)

        assert [mine.kinds(one)[-1] for one in ids[mine]] == [kind] * 2
        assert [of.kinds(one) for of in (team, other) for one in ids[of]] == [["initial"]] * 4


def test_teams_supersede_their_own_memories(mine: Owner) -> None:
    of_agent, of_team = mine.add(north("old")), mine.team.add(north("old"))

    mine.team.supersede(of_team, north("new"))
    mine.team.upkeep.set_importance(of_team, 0.9)

    assert (mine.team.recalled(), mine.recalled()) == (["new"], ["old"])
    with pytest.raises(MemoryNotFound):
        mine.team.supersede(of_agent, north("newer"))
