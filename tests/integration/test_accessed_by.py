"""What moves the clock of a memory: its retrieval, or by a profile like trust its use alone."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from sqlalchemy import Engine

from pgrecall import Memory, MemoryRepository, NewMemory, Profile, profiles
from tests.integration.support import NORTH, sql

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
