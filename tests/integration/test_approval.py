"""What requires approval is kept out, and changes nothing, until it is approved."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from pgrecall.errors import DuplicateMemory, InvalidMemory
from tests.integration.owner import Owner, north
from tests.integration.support import NORTH, contents

NOTE = {"reason": "why", "actor": "ines"}

SIMILAR = {"similarity": {"$gte": 0.5}}


def awaiting(content: str, **fields: Any) -> Any:
    return north(content, requires_approval=True, **fields)


def test_nothing_returns_a_memory_before_it_is_approved(mine: Owner) -> None:
    _, link = mine.add_many([north("first", session="s", turn=1), north("from")])
    pending = mine.add(awaiting("second", session="s", turn=2))
    mine.links.add(link, pending)

    def returned() -> list[bool]:
        searches = [
            mine.search(NORTH, touch=False),
            mine.search(NORTH, strategy="index", touch=False),
            mine.search(NORTH, k=1, surrounding_turns=1, touch=False, filter=SIMILAR),
            mine.search(NORTH, linked=1, touch=False),
            mine.search(NORTH, as_of=datetime.now(UTC) + timedelta(1), touch=False),
        ]
        ids = [memory.id for memory in mine.list()]
        alike = mine.consolidate(min_size=2, more_than=0, dry_run=True)
        recalled = mine.sql("SELECT id FROM pgrecall.recall(:agent, :query)", query=str(NORTH))
        return [
            *("second" in contents(hits) for hits in searches),
            "second" in mine.context(NORTH, max_tokens=1_000).text,
            *(pending in found for found in (ids, recalled)),
            any(pending in one.source_ids for one in alike),
        ]

    assert returned() == [False] * 9
    assert [
        memory.id for memory in mine.list(filter={"status": "pending"}, include_inactive=True)
    ] == [pending]
    assert mine.approve(pending) == 1
    assert returned() == [True] * 9


def test_approving_and_rejecting_are_in_the_history_and_concern_nothing_else(mine: Owner) -> None:
    good, bad = mine.add_many([awaiting("good"), awaiting("bad")])
    active, forgotten = mine.add_many([north("active"), north("forgotten")])
    mine.invalidate(forgotten)
    theirs = mine.other.add(awaiting("good"))

    assert mine.revive([good, bad]) == 0
    assert mine.approve([good, active, forgotten, theirs], **NOTE) == 1
    assert mine.reject([bad, good, active, theirs], **NOTE) == 1

    for memory_id, kind, status in ((good, "approved", "active"), (bad, "archived", "archived")):
        event = mine.event(memory_id, kind)
        assert (event.reason, event.actor) == ("why", "ines")
        assert event.old_values["status"] == "pending"
        assert event.new_values["status"] == mine.read(memory_id).status == status
    assert mine.event(bad, "archived").new_values["rule"] == "rejected"
    assert mine.recalled() == ["active", "good"]
    assert mine.other.recalled() == []
    assert mine.approve([good, bad]) == mine.reject([good, bad]) == 0
    assert mine.revive(bad) == 1


def test_what_was_called_outdated_is_listed_until_it_is_reviewed(mine: Owner) -> None:
    right, wrong, other = mine.add_many([north("right"), north("wrong"), north("other")])
    for memory_id in (right, wrong):
        mine.feedback(memory_id, "outdated")
    mine.add(north("Right", importance=1), duplicates="replace")

    assert [memory.id for memory in mine.list(filter={"needs_review": True}, order="id")] == [
        right,
        wrong,
    ]
    assert mine.approve([right, other]) == mine.reject([wrong, other]) == 1

    assert list(mine.list(filter={"needs_review": True})) == []
    event = mine.event(right, "approved")
    assert event.old_values == {"status": "active", "needs_review": True}
    assert event.new_values == {"status": "active", "needs_review": False}
    assert mine.recalled() == ["Right", "other"]


@pytest.mark.parametrize(
    "options", [{}, {"duplicates": "replace"}, {"near_duplicates": 0.5}], ids=repr
)
def test_what_waits_changes_nothing_of_what_is_recalled(
    mine: Owner, options: dict[str, Any]
) -> None:
    tea, gone = mine.add_many([north("tea"), north("gone")])
    mine.invalidate(gone)
    rome = mine.add(north("Rome"))
    oslo = mine.supersede(rome, north("Oslo"))
    mine.put(rome, status="archived")
    before = [mine.read(one) for one in (tea, gone, rome, oslo)]

    waiting = [
        mine.add(awaiting(text, importance=1), **options) for text in ("TEA", "gone", "Rome")
    ]

    assert {one.outcome for one in waiting} == {"inserted"}
    assert [mine.read(one) for one in (tea, gone, rome, oslo)] == before
    assert mine.add(north("tea"), duplicates="keep") == tea
    with pytest.raises(
        DuplicateMemory, match=f"{waiting[0]} cannot be approved: memory {tea} says"
    ):
        mine.approve(waiting)
    assert {mine.read(one).status for one in waiting} == {"pending"}
    assert mine.approve(waiting[2]) == 1
    assert mine.recalled() == ["Rome", "tea"]  # no longer Oslo, as if Rome were said again


def test_what_takes_the_place_of_another_is_approved_first(mine: Owner) -> None:
    rome, oslo = mine.add(north("Rome")), mine.add(awaiting("Oslo"))

    with pytest.raises(InvalidMemory, match="approve it, then supersede"):
        mine.supersede(rome, awaiting("Oslo"))
    mine.approve(oslo)

    assert mine.supersede(rome, north("Oslo")) == oslo
    assert mine.recalled() == ["Oslo"]


def test_a_new_text_under_a_key_waits_and_the_same_again_does_not(mine: Owner) -> None:
    first = mine.upsert(north("Rome", key="home"))
    successor = mine.supersede(first, north("Bern"))
    waiting = mine.upsert(awaiting("Oslo", key="home"))

    assert (waiting, waiting.outcome, mine.recalled()) == (first, "replaced", ["Bern"])
    assert mine.approve(waiting) == 1
    assert mine.upsert(awaiting("Oslo", key="home")).outcome == "known"
    assert mine.recalled() == ["Oslo"]
    assert mine.read(successor).superseded_by == first


def test_a_state_that_is_restored_waits_unless_it_says_otherwise(mine: Owner) -> None:
    fields = {"embedding": None, "requires_approval": True}
    restored = [{"content": "a"}, {"content": "b", "status": "active"}]
    mine.transfer.restore([one | fields for one in restored])

    assert {m.content: m.status for m in mine.list(include_inactive=True)} == {
        "a": "pending",
        "b": "active",
    }
