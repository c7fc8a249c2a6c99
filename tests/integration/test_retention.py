"""How long the garbage collection leaves events and the log of its own runs."""

from __future__ import annotations

from typing import Any
from uuid import UUID

import pytest
from sqlalchemy import Engine

from pgrecall import GarbagePolicy
from pgrecall.errors import InputError
from tests.integration.owner import Owner, north
from tests.integration.support import at

KEEP: dict[str, Any] = dict.fromkeys(
    ("min_trust_threshold", "max_age_hours", "delete_threshold"), None
)
A_WEEK = GarbagePolicy(max_event_age_hours=168, max_run_age_hours=168, **KEEP)


@pytest.fixture
def alone(engine: Engine) -> Owner:
    """In a database where nobody else has anything."""
    return Owner(engine, "agent")


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


def kinds(mine: Owner, *ids: UUID) -> list[list[str]]:
    return [mine.kinds(one) for one in ids]


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
    assert kinds(alone, stays, gone, back, late) == [
        ["initial", "feedback"],
        [],
        ["initial", "initial"],
        ["initial", "deleted"],
    ]
    assert kinds(alone.other, other) == [["initial", "feedback"]]
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

    assert kinds(alone, before, since) == [["initial"], ["initial", "feedback"]]
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
    assert kinds(alone, one) == [["initial", "feedback"]]


@pytest.mark.parametrize("name", ["max_event_age_hours", "max_run_age_hours"])
@pytest.mark.parametrize("value", [23.9, 0, -1, 8_766_001, "1", float("nan")])
def test_an_age_is_a_day_or_more(mine: Owner, name: str, value: Any) -> None:
    with pytest.raises(InputError, match=name):
        GarbagePolicy(**{name: value})
    if not isinstance(value, str):
        with pytest.raises(Exception, match=name):
            mine.sql(f"SELECT pgrecall.begin_garbage_run(:agent, {name} => :value)", value=value)
