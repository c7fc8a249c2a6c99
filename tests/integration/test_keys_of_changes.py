"""Outcomes, feedback and touches that are repeated under the caller's key count once."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any
from uuid import UUID

import pytest
from sqlalchemy import Engine

from pgrecall import MemoryRepository, NewMemory
from pgrecall.errors import InputError
from tests.integration.support import NORTH, read, sql

Change = Callable[[MemoryRepository, UUID, str | None], Any]
CHANGES: dict[str, Change] = {
    "record_outcome": lambda repo, id_, key: repo.record_outcome("agent", id_, "failure", key=key),
    "feedback": lambda repo, id_, key: repo.feedback("agent", id_, "useful", key=key),
    "touch": lambda repo, id_, key: repo.touch("agent", [id_], key=key),
}
COUNTED = "retrieval_count", "failure_count", "feedback_up"
each_change = pytest.mark.parametrize("name", CHANGES)


@pytest.fixture
def memory_id(engine: Engine) -> UUID:
    memory = NewMemory("tea", embedding=NORTH, trust=0.5)
    return MemoryRepository(engine).add("agent", memory)


def counts(repo: MemoryRepository, memory_id: UUID) -> list[int]:
    found = read(repo, "agent", memory_id)
    return [getattr(found, name) for name in COUNTED]


@each_change
def test_what_is_repeated_counts_once(either: MemoryRepository, memory_id: UUID, name: str) -> None:
    change = CHANGES[name]
    first = change(either, memory_id, "a key")
    once, events = counts(either, memory_id), either.history("agent", memory_id)

    assert change(either, memory_id, "a key") == first
    assert counts(either, memory_id) == once
    assert either.history("agent", memory_id) == events

    change(either, memory_id, "another")
    assert counts(either, memory_id) == [2 * number for number in once]
    change(either, memory_id, None)
    assert counts(either, memory_id) == [3 * number for number in once]


@each_change
def test_of_many_at_once_one_counts(engine: Engine, memory_id: UUID, name: str) -> None:
    repo = MemoryRepository(engine)
    with ThreadPoolExecutor(4) as pool:
        done = [pool.submit(CHANGES[name], repo, memory_id, "a key") for _ in range(8)]
        [one.result() for one in done]

    assert max(counts(repo, memory_id)) == 1


def test_a_touch_counts_those_that_it_did_not_count_before(engine: Engine) -> None:
    repo = MemoryRepository(engine)
    ids = [repo.add("agent", NewMemory(text, embedding=NORTH)) for text in ("tea", "milk")]
    assert repo.touch("agent", ids[:1], key="a key") == 1

    assert repo.touch("agent", ids, key="a key") == 2
    assert [counts(repo, one)[0] for one in ids] == [1, 1]
    [event] = [one for one in repo.history("agent", ids[1]) if one.event_type == "retrieved"]
    assert event.new_values == {}


@each_change
def test_psql_has_it_too(engine: Engine, memory_id: UUID, name: str) -> None:
    call = {
        "record_outcome": "record_outcome('agent', '{}', 'failure', key => '{}')",
        "feedback": "record_feedback('agent', '{}', 'useful', key => '{}')",
        "touch": "touch_once('agent', ARRAY['{}']::uuid[], '{}')",
    }[name]
    repo = MemoryRepository(engine)
    CHANGES[name](repo, memory_id, "a key")
    sql(engine, f"SELECT FROM pgrecall.{call.format(memory_id, 'a key')}")

    assert max(counts(repo, memory_id)) == 1


@each_change
@pytest.mark.parametrize("key", ["", "\u200b", "x" * 201, 7])
def test_a_key_is_a_name(either: MemoryRepository, memory_id: UUID, name: str, key: Any) -> None:
    with pytest.raises(InputError, match="key"):
        CHANGES[name](either, memory_id, key)
    assert counts(either, memory_id) == [0, 0, 0]
