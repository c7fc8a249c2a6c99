from __future__ import annotations

from datetime import datetime, timedelta, timezone
from math import exp

import pytest

from pgrecall import MemoryRepository, NewMemory
from tests.integration.support import NORTH, NOW, before, contents


def test_an_explicit_moment_hides_what_was_created_later(either: MemoryRepository) -> None:
    either.add_many(
        "agent",
        [
            NewMemory("earlier", embedding=NORTH, created_at=before(1)),
            NewMemory("at that moment", embedding=NORTH, created_at=NOW),
            NewMemory("later", embedding=NORTH, created_at=NOW + timedelta(microseconds=1)),
        ],
    )

    assert contents(either.search("agent", NORTH, as_of=NOW)) == ["at that moment", "earlier"]
    assert either.count("agent", as_of=NOW) == 2


@pytest.mark.parametrize("as_of", [datetime(1, 1, 2, tzinfo=NOW.tzinfo), NOW, None])
def test_a_memory_of_unknown_age_is_seen_at_every_moment(
    either: MemoryRepository, as_of: datetime | None
) -> None:
    either.add("agent", NewMemory("undated", embedding=NORTH, created_at=None))

    [hit] = either.search("agent", NORTH, as_of=as_of)

    assert hit.signals["recency"] == 0.5


def test_a_row_dated_ahead_is_seen_now_with_age_zero(either: MemoryRepository) -> None:
    ahead = datetime(2999, 1, 1, tzinfo=NOW.tzinfo)
    either.add("agent", NewMemory("ahead", embedding=NORTH, created_at=ahead))

    [hit] = either.search("agent", NORTH)

    assert hit.signals["recency"] == 1.0
    assert either.count("agent") == 1


@pytest.mark.parametrize("days", [0, 1, 14, 10_000])
def test_ages_are_those_of_the_moment_asked_about(
    shared_repo: MemoryRepository, agent: str, days: int
) -> None:
    shared_repo.add(agent, NewMemory("a", embedding=NORTH, created_at=before(days)))

    [hit] = shared_repo.search(agent, NORTH, as_of=NOW, touch=False)

    assert hit.signals["recency"] == pytest.approx(exp(-0.05 * days), rel=1e-12)


def test_a_moment_means_the_same_in_every_time_zone(
    shared_repo: MemoryRepository, agent: str
) -> None:
    shared_repo.add(agent, NewMemory("a", embedding=NORTH, created_at=before(3)))
    elsewhere = NOW.astimezone(timezone(timedelta(hours=-9, minutes=-30)))

    hits = [shared_repo.search(agent, NORTH, as_of=t, touch=False) for t in (NOW, elsewhere)]

    assert hits[0] == hits[1]


def test_the_moment_asked_about_does_not_move_the_last_retrieval(
    shared_repo: MemoryRepository, agent: str
) -> None:
    memory_id = shared_repo.add(agent, NewMemory("a", embedding=NORTH, created_at=before(3)))

    shared_repo.search(agent, NORTH, as_of=before(1))

    memory = shared_repo.get(agent, memory_id)
    assert memory is not None
    assert memory.last_accessed_at is not None
    assert memory.last_accessed_at > before(0.5)
