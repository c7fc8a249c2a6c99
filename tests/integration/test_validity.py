from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any

import pytest
from sqlalchemy import Engine

from pgrecall import MemoryRepository, NewMemory
from tests.integration.support import NORTH, NOW, before, contents, sql

TICK = timedelta(microseconds=1)
FROM, UNTIL = before(20), before(10)


def _seen(repo: MemoryRepository, agent: str, as_of: datetime, **filters: Any) -> bool:
    hits = repo.search(agent, NORTH, as_of=as_of, touch=False, **filters)
    assert repo.count(agent, as_of=as_of, **filters) == len(hits)
    return bool(hits)


@pytest.mark.parametrize(
    ("as_of", "seen"),
    [(FROM - TICK, False), (FROM, True), (UNTIL - TICK, True), (UNTIL, False)],
)
def test_validity_is_half_open(
    shared_repo: MemoryRepository, agent: str, as_of: datetime, *, seen: bool
) -> None:
    shared_repo.add(
        agent,
        NewMemory("a", embedding=NORTH, created_at=None, valid_from=FROM, valid_until=UNTIL),
    )

    assert _seen(shared_repo, agent, as_of) is seen
    assert _seen(shared_repo, agent, as_of, include_invalid=True) is True


@pytest.mark.parametrize(
    ("field", "as_of", "seen"),
    [
        ("valid_from", FROM - TICK, False),
        ("valid_from", NOW, True),
        ("valid_until", FROM - TICK, True),
        ("valid_until", FROM, False),
        ("expires_at", FROM - TICK, True),
        ("expires_at", FROM, False),
    ],
)
def test_an_open_end_has_no_limit(
    shared_repo: MemoryRepository, agent: str, field: str, as_of: datetime, *, seen: bool
) -> None:
    shared_repo.add(agent, NewMemory("a", embedding=NORTH, created_at=None, **{field: FROM}))  # type: ignore[arg-type]

    assert _seen(shared_repo, agent, as_of) is seen


@pytest.mark.parametrize(("as_of", "seen"), [(FROM - TICK, True), (FROM, False)])
def test_an_invalidated_memory_is_seen_before_its_invalidation_only(
    shared_repo: MemoryRepository, shared_engine: Engine, agent: str, as_of: datetime, *, seen: bool
) -> None:
    shared_repo.add(agent, NewMemory("a", embedding=NORTH, created_at=None))
    sql(
        shared_engine,
        "UPDATE pgrecall.agent_memories SET invalidated_at = :moment, "
        "invalidation_reason = 'superseded' WHERE agent_id = :agent",
        moment=FROM,
        agent=agent,
    )

    assert _seen(shared_repo, agent, as_of) is seen
    assert _seen(shared_repo, agent, as_of, include_invalid=True) is True


@pytest.mark.parametrize("status", ["consolidated", "completed", "archived"])
def test_only_active_memories_are_seen_unless_others_are_asked_for(
    shared_repo: MemoryRepository, shared_engine: Engine, agent: str, status: str
) -> None:
    shared_repo.add(agent, NewMemory("a", embedding=NORTH, created_at=None))
    sql(
        shared_engine,
        "UPDATE pgrecall.agent_memories SET status = :status WHERE agent_id = :agent",
        status=status,
        agent=agent,
    )

    assert _seen(shared_repo, agent, NOW) is False
    assert _seen(shared_repo, agent, NOW, include_invalid=True) is False
    assert _seen(shared_repo, agent, NOW, statuses=[status]) is True


def test_validity_is_judged_now_unless_a_moment_is_given(either: MemoryRepository) -> None:
    far = datetime.max.replace(year=2900, tzinfo=NOW.tzinfo)
    either.add_many(
        "agent",
        [
            NewMemory("valid", embedding=NORTH, valid_from=before(9), valid_until=far),
            NewMemory("not yet", embedding=NORTH, valid_from=far),
            NewMemory("no longer", embedding=NORTH, valid_until=before(1000)),
            NewMemory("expired", embedding=NORTH, expires_at=before(1000)),
        ],
    )

    assert contents(either.search("agent", NORTH)) == ["valid"]
