from __future__ import annotations

from dataclasses import replace
from datetime import datetime, timedelta, timezone
from math import exp
from typing import Any

import pytest
from sqlalchemy import Engine

from pgrecall import LabelledQuery, MemoryRepository, NewMemory, profiles
from tests.integration.support import NORTH, NOW, at, before, contents, sql


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

    [hit] = shared_repo.search(agent, NORTH, profile="five_factor", as_of=NOW, touch=False)

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


@pytest.mark.parametrize("profile", profiles.BUILT_IN)
def test_a_retrieval_after_the_moment_asked_about_is_not_seen(
    shared_repo: MemoryRepository, shared_engine: Engine, agent: str, profile: str
) -> None:
    for degrees, days in ((0, 30), (20, 3), (40, 1)):
        new = NewMemory(f"{days} days", embedding=at(degrees), created_at=before(days), trust=0.8)
        shared_repo.add(agent, new)
    ids = [hit.memory.id for hit in shared_repo.search(agent, NORTH, touch=False)]
    asked: dict[str, Any] = {"profile": profile, "as_of": before(0.5)}
    queries = [LabelledQuery(NORTH, [id_]) for id_ in ids]
    at_their_own = [replace(query, as_of=before(n / 4)) for n, query in enumerate(queries, 1)]

    def answers() -> list[object]:
        hits = shared_repo.search(agent, NORTH, touch=False, min_trust=0.1, **asked)
        explained = shared_repo.explain(agent, ids[0], NORTH, **asked)
        return [
            [(hit.memory.id, hit.score, hit.signals) for hit in hits],
            (explained.rank, explained.needed_score, explained.signals),
            shared_repo.evaluate(agent, queries, profiles=[profile], as_of=before(0.5)),
            shared_repo.evaluate(agent, at_their_own, profiles=[profile]),
            sql(
                shared_engine,
                "SELECT id, score, signals FROM pgrecall.recall(:agent, CAST(:query AS vector), "
                "profile => :profile, as_of => :as_of, min_trust => 0.1)",
                **asked,
                agent=agent,
                query=str(NORTH),
            ),
        ]

    known = answers()
    sql(
        shared_engine,
        "INSERT INTO pgrecall.memory_usage (agent_id, memory_id, retrieval_count, last_accessed_at)"
        " SELECT :agent, unnest(CAST(:ids AS uuid[])), 0, now()",
        agent=agent,
        ids=ids[1:],
    )

    assert all(known)
    assert answers() == known
