"""What is active about a subject: reported by adding, and superseded on request."""

from __future__ import annotations

from typing import Any

import pytest
from sqlalchemy import Engine

from pgrecall import NewMemory
from pgrecall.errors import InputError, InvalidMemory, SupersessionConflict
from tests.integration.owner import Owner
from tests.integration.support import NORTH, before

HOME = "where Ines lives"


def home(text: str, **fields: Any) -> NewMemory:
    return NewMemory(text, **({"embedding": NORTH, "subject": HOME} | fields))


def active(mine: Owner) -> set[str]:
    return {memory.content for memory in mine.list()}


def test_adding_reports_what_is_active_about_the_subject_newest_first(mine: Owner) -> None:
    old, now = mine.add(home("Oslo")), mine.add(home("Bergen"))
    mine.add_many([home("Rome", subject="plans"), home("Paris", subject=None)])
    forgotten, ended, expired, archived = mine.add_many(
        [home("1"), home("2", valid_until=before(1)), home("3", expires_at=before(1)), home("4")]
    )
    mine.invalidate(forgotten)
    mine.sql("UPDATE pgrecall.agent_memories SET status = 'archived' WHERE id = :id", id=archived)
    mine.other.add(home("elsewhere"))

    assert (old.same_subject, now.same_subject) == ((), (old,))
    assert ended.same_subject == ()
    assert expired.same_subject == (archived, forgotten, now, old)
    one, two = mine.add_many([home("Porto"), home("Faro")])
    assert one.same_subject == (two, now, old)
    assert two.same_subject == (one, now, old)
    assert mine.add(home("  OSLO ")).same_subject == (two, one, now)
    assert mine.add(home("Lima", subject=HOME.upper())).same_subject == ()
    assert mine.add(home("Paris", subject=None)).same_subject == ()


def test_a_new_memory_supersedes_those_of_its_subject(mine: Owner) -> None:
    old = [mine.add(home(text, importance=share)) for text, share in (("Oslo", 0.9), ("Rome", 0.2))]
    others = mine.add_many([home("x", subject="plans"), home("y", subject=None)])

    new = mine.add(home("Porto", tags=["city"]), supersede_subject=True, actor="ines")

    assert new.outcome == "inserted"
    assert new.same_subject == tuple(reversed(old))
    assert {memory.id for memory in mine.list()} == {*others, new}
    for memory_id in old:
        event = mine.event(memory_id, "superseded")
        assert (event.actor, event.new_values["superseded_by"]) == ("ines", str(new))
    stored = mine.read(new)
    assert stored.importance == 0.9
    assert stored.valid_from == mine.read(old[0]).invalidated_at
    assert stored.tags == ["city"]


def test_the_last_of_a_batch_stays(mine: Owner) -> None:
    texts = ["Oslo", "Rome", "Porto"]
    added = mine.add_many([home(text) for text in texts], supersede_subject=True)

    assert [one.same_subject for one in added] == [(), (added[0],), (added[1],)]
    assert active(mine) == {"Porto"}
    again = mine.add_many([home("Oslo"), home("a", subject=None)], supersede_subject=True)
    assert [one.outcome for one in again] == ["revived", "inserted"]
    assert active(mine) == {"Oslo", "a"}


def test_a_repeated_add_supersedes_nothing_new(mine: Owner) -> None:
    first = home("Oslo", key="1")
    mine.add(first, supersede_subject=True)
    mine.add(home("Rome"), supersede_subject=True)

    again = mine.add(first, supersede_subject=True)

    assert (again.outcome, again.same_subject) == ("known", ())
    assert active(mine) == {"Rome"}


@pytest.mark.parametrize("near_duplicates", [None, 0.9])
def test_what_says_the_same_stays_and_takes_the_place(
    mine: Owner, near_duplicates: float | None
) -> None:
    text = "Oslo" if near_duplicates is None else "Oslo!"
    same = mine.add(home("Oslo", importance=0.1))
    other = mine.add(home("Rome", embedding=[-one for one in NORTH], importance=0.8))

    added = mine.add(home(text), supersede_subject=True, near_duplicates=near_duplicates)

    assert (added, added.same_subject) == (same, (other,))
    assert active(mine) == {"Oslo"}
    assert mine.read(same).importance == 0.8


def test_claims_about_the_same_time_are_a_conflict_and_store_nothing(mine: Owner) -> None:
    later = before(-3650)
    mine.add(home("Oslo", valid_until=later))
    before_it = mine.everything()

    with pytest.raises(SupersessionConflict, match="overlaps the new one"):
        mine.add(home("Rome"), supersede_subject=True)
    with pytest.raises(InvalidMemory, match="requires approval cannot take the place"):
        mine.add(home("Rome", requires_approval=True), supersede_subject=True)
    assert mine.everything() == before_it

    past = mine.add(home("Rome", valid_until=before(400)), supersede_subject=True)
    future = mine.add(home("Lima", valid_from=later), supersede_subject=True)
    assert past.same_subject == future.same_subject == ()
    assert active(mine) >= {"Oslo"}


def test_isolation_that_hides_what_others_store_is_refused(
    mine: Owner, shared_engine: Engine
) -> None:
    with shared_engine.connect() as connection:
        connection = connection.execution_options(isolation_level="REPEATABLE READ")
        with connection.begin(), pytest.raises(InputError, match="supersede_subject cannot see"):
            mine.within(connection).add(home("Oslo"), supersede_subject=True)
