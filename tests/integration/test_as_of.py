"""The moment asked about: what was there, what held, how old it was; and what moves the clock."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from datetime import UTC, datetime, timedelta, timezone
from typing import Any

import pytest
from sqlalchemy import Engine

from pgrecall import JudgedQuery, Memory, MemoryRepository, NewMemory, Profile, profiles
from tests.integration.support import NORTH, NOW, at, before, contents, sql

TICK = timedelta(microseconds=1)
FROM, UNTIL = before(20), before(10)
FAR = datetime(2999, 1, 1, tzinfo=NOW.tzinfo)


def test_an_explicit_moment_hides_what_was_created_later(
    shared_repo: MemoryRepository, agent: str
) -> None:
    for text, created in (("earlier", before(1)), ("now", NOW), ("later", NOW + TICK)):
        shared_repo.add(agent, NewMemory(text, embedding=NORTH, created_at=created))

    assert contents(shared_repo.search(agent, NORTH, as_of=NOW)) == ["now", "earlier"]
    assert shared_repo.search(agent, NORTH, as_of=datetime(1, 1, 2, tzinfo=NOW.tzinfo)) == []
    assert shared_repo.count(agent, as_of=NOW) == 2
    elsewhere = NOW.astimezone(timezone(timedelta(hours=-9, minutes=-30)))
    assert shared_repo.count(agent, as_of=elsewhere) == 2


@pytest.mark.parametrize("profile", profiles.BUILT_IN)
def test_what_is_dated_ahead_is_seen_now_with_age_zero(
    shared_repo: MemoryRepository, shared_engine: Engine, agent: str, profile: str
) -> None:
    added = shared_repo.add(agent, NewMemory("ahead", embedding=NORTH, created_at=FAR, trust=0.5))
    sql(
        shared_engine,
        "INSERT INTO pgrecall.memory_usage (agent_id, memory_id, last_accessed_at) "
        "VALUES (:agent, :id, :far)",
        agent=agent,
        id=added,
        far=FAR,
    )

    [hit] = shared_repo.search(agent, NORTH, profile=profile)

    assert hit.signals["recency"] == 1.0
    assert hit.signals.get("trust", 0.5) == 0.5
    assert shared_repo.count(agent) == 1


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
    queries = [JudgedQuery(NORTH, [id_]) for id_ in ids]
    at_their_own = [replace(query, as_of=before(n / 4)) for n, query in enumerate(queries, 1)]

    def answers() -> list[object]:
        hits = shared_repo.search(agent, NORTH, touch=False, min_trust=0.1, **asked)
        explained = shared_repo.explain(agent, ids[0], NORTH, **asked)
        return [
            [(hit.memory.id, hit.score, hit.signals) for hit in hits],
            (explained.rank, explained.needed_score, explained.signals),
            shared_repo.evaluation.evaluate(agent, queries, profiles=[profile], as_of=before(0.5)),
            shared_repo.evaluation.evaluate(agent, at_their_own, profiles=[profile]),
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


VALID: tuple[tuple[Mapping[str, Any], datetime, bool], ...] = (
    *(
        ({"valid_from": FROM, "valid_until": UNTIL}, as_of, seen)
        for as_of, seen in (
            *((FROM - TICK, False), (FROM, True), (UNTIL - TICK, True), (UNTIL, False)),
        )
    ),
    ({"valid_from": FROM}, FROM - TICK, False),
    ({"valid_from": FROM}, NOW, True),
    *(
        ({end: FROM}, as_of, seen)
        for end in ("valid_until", "expires_at", "invalidated_at")
        for as_of, seen in ((FROM - TICK, True), (FROM, False))
    ),
    *(({"status": status}, NOW, False) for status in ("consolidated", "completed", "archived")),
)


def test_what_does_not_hold_at_a_moment_is_not_seen(
    shared_repo: MemoryRepository, shared_engine: Engine, agent: str
) -> None:
    for number, (columns, as_of, seen) in enumerate(VALID):
        owner = f"{agent} {number}"
        shared_repo.add(owner, NewMemory("a", embedding=NORTH, created_at=None))
        written = ", ".join(f"{name} = :{name}" for name in columns)
        change = f"UPDATE pgrecall.agent_memories SET {written} WHERE agent_id = :owner"
        sql(shared_engine, change, owner=owner, **columns)

        def found(owner: str = owner, as_of: datetime = as_of, **filters: Any) -> bool:
            hits = shared_repo.search(owner, NORTH, as_of=as_of, touch=False, **filters)
            assert shared_repo.count(owner, as_of=as_of, **filters) == len(hits)
            return bool(hits)

        assert found() is seen, columns
        status = columns.get("status", "active")
        assert found(include_invalid=True) is (status == "active")
        assert found(include_invalid=True, statuses=[status])


def test_validity_is_judged_now_unless_a_moment_is_given(
    shared_repo: MemoryRepository, agent: str
) -> None:
    ends: dict[str, dict[str, Any]] = {
        "valid": {"valid_from": before(9), "valid_until": FAR},
        "not yet": {"valid_from": FAR},
        "no longer": {"valid_until": before(1000)},
        "expired": {"expires_at": before(1000)},
    }
    for text, columns in ends.items():
        shared_repo.add(agent, NewMemory(text, embedding=NORTH, **columns))

    assert contents(shared_repo.search(agent, NORTH)) == ["valid"]


DAYS = timedelta(days=1)
Search = Callable[[MemoryRepository, Engine, str], Any]

SEARCHES: dict[str, Search] = {
    "search": lambda repo, _, agent: repo.search(agent, NORTH, profile="trust"),
    "context": lambda repo, _, agent: repo.context(agent, NORTH, profile="trust"),
    "expand": lambda repo, _, agent: repo.search(agent, NORTH, profile="trust", expand=1),
    "recall": lambda _, engine, agent: sql(
        engine,
        "SELECT id FROM pgrecall.recall(:agent, CAST(:query AS vector), profile => 'trust', "
        "touch => true)",
        agent=agent,
        query=str(NORTH),
    ),
}
"""Each way to find memories by the profile trust and to count that."""


@pytest.fixture
def repo(shared_repo: MemoryRepository) -> MemoryRepository:
    return shared_repo


def used(repo: MemoryRepository, engine: Engine, agent: str, days: int) -> Memory:
    """A memory whose trust decays since it was used so many days ago."""
    new = NewMemory(
        "tea",
        embedding=NORTH,
        trust=0.8,
        trust_curve="exponential",
        trust_half_life_hours=24.0,
        created_at=datetime.now(UTC) - 10 * DAYS,
    )
    id_ = repo.add(agent, new)
    sql(
        engine,
        "INSERT INTO pgrecall.memory_usage (agent_id, memory_id, last_accessed_at) "
        "VALUES (:agent, :id, now() - :days * interval '1 day')",
        agent=agent,
        id=id_,
        days=days,
    )
    return read(repo, agent)


def read(repo: MemoryRepository, agent: str) -> Memory:
    [hit] = repo.search(agent, None, profile="trust", touch=False)
    return hit.memory


def trusted(repo: MemoryRepository, agent: str) -> float:
    [hit] = repo.search(agent, NORTH, profile="trust", touch=False)
    return hit.signals["trust"]


@pytest.mark.parametrize("search", SEARCHES)
def test_a_search_by_trust_does_not_reset_the_decay_that_it_ranks_by(
    repo: MemoryRepository, shared_engine: Engine, agent: str, search: str
) -> None:
    before = used(repo, shared_engine, agent, days=1)
    assert trusted(repo, agent) == pytest.approx(0.4, abs=1e-3)

    for age in (2, 3):
        SEARCHES[search](repo, shared_engine, agent)
        assert read(repo, agent) == replace(before, retrieval_count=age - 1)
        # A day later: what a row knows is a day older.
        sql(
            shared_engine,
            "UPDATE pgrecall.memory_usage "
            "SET last_accessed_at = last_accessed_at - interval '1 day' WHERE agent_id = :agent",
            agent=agent,
        )
        before = read(repo, agent)
        assert trusted(repo, agent) == pytest.approx(0.8 / 2**age, abs=1e-3)


def test_what_was_never_used_does_not_begin_to_decay_by_being_found(
    repo: MemoryRepository, shared_engine: Engine, agent: str
) -> None:
    repo.add(agent, NewMemory("tea", embedding=NORTH, trust=0.8))

    for search in SEARCHES.values():
        search(repo, shared_engine, agent)

    memory = read(repo, agent)
    assert (memory.retrieval_count, memory.last_accessed_at) == (len(SEARCHES), None)


@pytest.mark.parametrize("outcome", ["success", "failure"])
def test_a_recorded_use_moves_the_clock(
    repo: MemoryRepository, shared_engine: Engine, agent: str, outcome: Any
) -> None:
    memory = used(repo, shared_engine, agent, days=3)

    after = repo.record_outcome(agent, memory.id, outcome, touch=outcome == "failure")

    assert after.last_accessed_at is not None
    assert datetime.now(UTC) - after.last_accessed_at < DAYS / 24
    assert after.trust is not None
    assert trusted(repo, agent) == pytest.approx(after.trust, abs=1e-3)


def test_feedback_is_an_opinion_and_a_touch_of_the_callers_a_use(
    repo: MemoryRepository, shared_engine: Engine, agent: str
) -> None:
    memory = used(repo, shared_engine, agent, days=3)

    after = repo.feedback(agent, memory.id, "useful")
    assert after.last_accessed_at == memory.last_accessed_at

    repo.touch(agent, memory.id)
    assert trusted(repo, agent) == pytest.approx(0.8, abs=1e-3)


def test_a_profile_says_what_moves_the_clock(repo: MemoryRepository, agent: str) -> None:
    repo.add(agent, NewMemory("tea", embedding=NORTH))

    for accessed_by in ("use", "retrieval"):
        profile: Profile = replace(profiles.half_life, accessed_by=accessed_by)
        repo.search(agent, NORTH, profile=profile)
        memory = read(repo, agent)
        assert (memory.last_accessed_at is None) is (accessed_by == "use")
    assert memory.retrieval_count == 2
