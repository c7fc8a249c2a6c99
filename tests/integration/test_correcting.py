"""Superseding, invalidating, reviving, importance and tiers: when, and what the history says.

That each operation changes what it should and no more is tested by random lives: test_life_model.
"""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import uuid4

import pytest
from sqlalchemy import Engine

from pgrecall import NewMemory
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


@pytest.mark.parametrize(
    ("old", "new", "kept"), [("tea", None, "tea"), ("tea", "milk", "milk"), (None, None, None)]
)
def test_the_subject_is_taken_over_where_the_new_memory_names_none(
    mine: Owner, old: str | None, new: str | None, kept: str | None
) -> None:
    first = mine.add(plain("old", subject=old))
    ends = {"valid_from": before(3), "valid_until": NOW + 3650 * DAY}

    memory = mine.read(mine.supersede(first, plain("new", subject=new, **ends)))

    assert (memory.subject, memory.valid_until) == (kept, ends["valid_until"])


@pytest.mark.parametrize(
    ("valid_from", "valid_until", "overlaps"),
    [
        *((None, NOW + TICK, True), (NOW, None, True), (NOW + DAY, None, True)),
        *((NOW - DAY, NOW + DAY, True), (None, NOW, False), (NOW - TICK, None, False)),
        (NOW - DAY, NOW, False),
    ],
)
def test_an_overlap_is_reported_unless_forced(
    mine: Owner, valid_from: datetime | None, valid_until: datetime | None, overlaps: bool
) -> None:
    old = mine.add(north("old", valid_from=valid_from, valid_until=valid_until))
    new = north("new", valid_from=NOW)

    if overlaps:
        with pytest.raises(SupersessionConflict, match="overlap"):
            mine.supersede(old, new)

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
    assert sorted(contents(mine.search(NORTH, include_inactive=True))) == ["gone", "new", "old"]
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


def test_another_tier_has_the_expiry_of_its_table_and_is_in_the_history(mine: Owner) -> None:
    kept = NOW + 365 * DAY
    updated = mine.add(north("a", tier="medium", expires_at=kept))

    mine.update(updated, tier="short", **NOTE)

    old, new = told(mine, updated, "updated")
    expires_at = mine.read(updated).expires_at
    assert abs(expires_at - datetime.now(UTC) - DAY) < timedelta(minutes=1)  # type: ignore[operator]
    expiries = [datetime.fromisoformat(one.pop("expires_at")) for one in (old, new)]
    assert (old, new) == ({"tier": "medium"}, {"tier": "short"})
    assert expiries == [kept, expires_at]
    assert mine.update(updated, tier="short").expires_at == mine.read(updated).expires_at
    assert mine.update(updated, tier="long").expires_at is None
    assert mine.update(updated, tier="short", expires_at=kept).expires_at == kept
    assert mine.update(updated, importance=0.9).expires_at == kept


def test_several_change_at_once_and_those_of_others_are_passed_over(mine: Owner) -> None:
    for verb, kind in (
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


def test_expiry_moves_to_a_later_time_and_nothing_else_changes(mine: Owner) -> None:
    soon, later, latest, past = (datetime.now(UTC) + days * DAY for days in (1, 2, 3, -1))
    expiring = {"soon": soon, "latest": latest, "never": None, "past": past}
    ids = {text: mine.add(north(text, expires_at=at)) for text, at in expiring.items()}
    other = mine.other.add(north("soon", expires_at=soon))
    old = {text: mine.read(memory_id) for text, memory_id in ids.items()}

    assert mine._extend_expiry([*ids.values(), other], expires_at=later) == 1
    assert mine._extend_expiry([], expires_at=later) == 0

    new = {text: mine.read(memory_id) for text, memory_id in ids.items()}
    assert new == old | {"soon": replace(old["soon"], expires_at=later)}
    assert mine.kinds(ids["soon"]) == ["initial"]
    assert mine.other.read(other).expires_at == soon
