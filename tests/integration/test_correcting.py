"""Superseding, invalidating, reviving, importance and tiers: when, and what the history says.

That each operation changes what it should and no more is tested by random lives: test_life_model.
"""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import uuid4

import pytest
from sqlalchemy import Engine

from pgrecall import GarbagePolicy, Memory, NewMemory
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

TICK, DAY = timedelta(microseconds=1), timedelta(days=1)
NOTE = {"reason": "why", "actor": "ines"}


def told(mine: Owner, memory_id: Any, kind: str) -> tuple[dict[str, Any], dict[str, Any]]:
    """What changed by the only event of its kind, which has to bear the note."""
    event = mine.event(memory_id, kind)
    assert (event.reason, event.actor) == ("why", "ines")
    return event.old_values, event.new_values


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


def test_the_subject_is_taken_over_where_the_new_memory_names_none(mine: Owner) -> None:
    for old, new, kept in (("tea", None, "tea"), ("tea", "milk", "milk"), (None, None, None)):
        first = mine.add(plain(f"old {old} {new}", subject=old))
        ends = {"valid_from": before(3), "valid_until": NOW + 3650 * DAY}

        memory = mine.read(mine.supersede(first, plain(f"new {old} {new}", subject=new, **ends)))

        assert (memory.subject, memory.valid_until) == (kept, ends["valid_until"])


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


def test_a_refusal_changes_nothing_and_leaves_a_transaction_usable(
    shared_engine: Engine, mine: Owner
) -> None:
    """The caller may catch the error and commit the rest of its work."""
    old, gone, forgotten, put_away = mine.add_many(map(north, ["Old", "gone", "away", "same"]))
    successor = mine.supersede(gone, north("B"))
    mine.invalidate(forgotten)
    mine.put(put_away, status="archived")
    same = mine.add(north("Same"))
    bad: list[tuple[Any, NewMemory, type[Exception], str]] = [
        (old, north(" OLD  "), InvalidMemory, "nothing to supersede"),
        (old, north("new", compliant=False), NotCompliant, ""),
        (old, NewMemory("new", embedding=[1.0, 2.0]), InvalidVector, ""),
        (old, north("new", valid_until=NOW, valid_from=None), InvalidMemory, ""),
        (old, plain("C", id=gone), SupersessionConflict, ""),  # not recalled any longer
        (gone, north("C"), SupersessionConflict, str(successor)),
        (forgotten, north("C"), SupersessionConflict, "forgotten"),
        (mine.other.add(north("hers")), north("C"), MemoryNotFound, ""),
        (mine.team.add(north("theirs")), north("C"), MemoryNotFound, ""),
    ]
    stored = mine.everything()

    with shared_engine.begin() as connection:
        inside = mine.within(connection)
        for one, new, error, message in bad:
            with pytest.raises(error, match=message or None):
                inside.supersede(one, new)
        with pytest.raises(DuplicateMemory, match=f"{same} says the same"):
            inside.revive([forgotten, put_away])

    assert mine.everything() == stored


def test_what_is_superseded_forgotten_and_revived_is_in_the_history(mine: Owner) -> None:
    old, gone = mine.add_many([north("old"), north("gone")])
    new = mine.supersede(old, north("new"), **NOTE)
    assert mine.invalidate([gone, uuid4()], **NOTE) == 1

    assert mine.recalled() == ["new"]
    assert sorted(contents(mine.search(NORTH, include_invalid=True))) == ["gone", "new", "old"]
    of_old, of_gone = mine.read(old), mine.read(gone)
    assert (of_old.status, of_old.superseded_by) == ("active", new)
    assert of_old.invalidated_at == mine.read(new).valid_from
    initial = mine.event(new, "initial")
    assert (initial.reason, initial.actor) == (None, "ines")
    reasons = ("superseded", str(new)), ("forgotten", None)
    for memory, (reason, by) in zip((of_old, of_gone), reasons, strict=True):
        then, now = told(mine, memory.id, reason)
        assert datetime.fromisoformat(now.pop("invalidated_at")) == memory.invalidated_at
        assert now == {"invalidation_reason": reason} | ({"superseded_by": by} if by else {})
        assert then == dict.fromkeys(["invalidated_at", *now])

    assert mine.revive(old, force=True, **NOTE) == 1
    then, now = told(mine, old, "revived")
    assert datetime.fromisoformat(then.pop("invalidated_at")) == of_old.invalidated_at
    cleared = dict.fromkeys(("invalidation_reason", "superseded_by", "expires_at"))
    gone_by = {"invalidation_reason": "superseded", "superseded_by": str(new)}
    assert then == cleared | gone_by | {"status": "active"}
    assert now == cleared | {"status": "active", "invalidated_at": None}
    assert mine.recalled() == ["new", "old"]


def test_what_is_to_be_superseded_tomorrow_can_be_forgotten_today(mine: Owner) -> None:
    old = mine.add(north("old"))
    mine.supersede(old, north("new", valid_from=datetime.now(UTC) + DAY))

    assert mine.invalidate(old) == 1
    assert mine.recalled() == []


def test_two_put_away_memories_of_one_text_are_not_revived_together(mine: Owner) -> None:
    ids = []
    for _ in range(2):
        ids.append(mine.add(plain("tea", trust=0.15)))
        mine.collect_garbage(GarbagePolicy(max_age_hours=None))

    with pytest.raises(DuplicateMemory, match="says the same"):
        mine.revive(ids)
    assert mine.revive(ids[0]) == 1


def test_importance_and_tiers_are_in_the_history(mine: Owner) -> None:
    memory_id = mine.add(north("a", importance=0.2, tier="medium", expires_at=NOW + 365 * DAY))

    assert mine.update(memory_id, importance=0.9, **NOTE) == mine.read(memory_id)
    mine.upkeep.demote(memory_id, **NOTE)

    assert told(mine, memory_id, "updated") == ({"importance": 0.2}, {"importance": 0.9})
    old, new = told(mine, memory_id, "demoted")
    expiries = [datetime.fromisoformat(one.pop("expires_at")) for one in (old, new)]
    assert (old, new) == ({"tier": "medium"}, {"tier": "short"})
    assert expiries == [NOW + 365 * DAY, mine.read(memory_id).expires_at]
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


@pytest.mark.parametrize("by_psql", [False, True])
def test_an_update_to_another_tier_sets_what_promote_and_demote_set(
    mine: Owner, by_psql: bool
) -> None:
    """The expiry of the tier, from now on, with both in the history."""
    demoted, updated = mine.add_many([north(text, tier="medium") for text in "ab"])
    kept = NOW + 365 * DAY

    def update(**changes: Any) -> Memory:
        if by_psql:
            mine.sql(
                "SELECT id FROM pgrecall.update_memory(:agent, :id, cast(:changes AS jsonb))",
                id=updated,
                changes=json.dumps(changes, default=str),
            )
        else:
            mine.update(updated, **changes)
        return mine.read(updated)

    mine.upkeep.demote(demoted)
    expires_at = mine.read(demoted).expires_at
    short = update(tier="short")

    assert expires_at is not None
    assert short.expires_at is not None
    assert abs(short.expires_at - expires_at) < timedelta(minutes=1)
    new_values = mine.event(updated, "updated").new_values
    assert new_values["tier"] == "short"
    assert datetime.fromisoformat(new_values["expires_at"]) == short.expires_at
    assert update(tier="short").expires_at == short.expires_at, "nothing moved"
    assert update(tier="long").expires_at is None
    assert update(tier="short", expires_at=kept).expires_at == kept
    assert update(importance=0.9).expires_at == kept


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
