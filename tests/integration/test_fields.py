"""What is stored comes back as it was given: every field, at any size, in any layout."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict, fields, replace
from datetime import UTC, datetime, timedelta, timezone
from typing import Any
from uuid import UUID

import numpy as np
import pytest
from sqlalchemy import Engine

from pgrecall import Memory, MemoryRepository, NewMemory, migrate
from pgrecall.core.limits import MAX_DEPTH
from pgrecall.core.memory import UNSET
from pgrecall.errors import InvalidVector
from pgrecall.testing import new_database
from tests.conftest import DIMENSIONS
from tests.integration.conftest import repository_on
from tests.integration.owner import north, plain
from tests.integration.support import NORTH, at, contents, read, sql

FULL = NewMemory(
    "The reef closes at noon.",
    id=UUID("01936f2a-0000-7000-8000-000000000001"),
    embedding=[0.5, -0.25, 0.125, 1.0, 0.0, -1.0, 2.0, 0.75],
    embedding_model="model-1",
    memory_type="factual",
    additional_types=["procedural", "preference"],
    memory_nature="semantic",
    content_type="text/markdown",
    tier="medium",
    subject="reef",
    tags=["sea", "opening hours"],
    entities=["Reef", "Anna O'Neil"],
    metadata={"n": 1, "deep": {"list": [1, 2.5, None, True, "x"]}, "": {}},
    importance=0.1,
    usefulness=0.2,
    confidence=0.3,
    trust=0.4,
    trust_provenance=0.41,
    trust_consensus=0.42,
    trust_governance=0.43,
    trust_usage=0.44,
    trust_curve="hyperbolic",
    trust_half_life_hours=168.5,
    component="specialist",
    output_type="reasoning",
    domain="diving",
    category="hours",
    loop="main",
    quality_score=0.9,
    compliant=False,
    requires_approval=True,
    has_errors=True,
    violates_policy=True,
    under_policy_review=True,
    created_at=datetime(2024, 3, 1, 1, 2, 3, 456789, tzinfo=timezone(timedelta(hours=5.5))),
    observed_at=datetime(2024, 2, 29, tzinfo=UTC),
    valid_from=datetime(1, 1, 2, tzinfo=UTC),
    valid_until=datetime(9999, 12, 30, tzinfo=UTC),
    expires_at=datetime(2035, 1, 1, tzinfo=UTC),
    tokens=77,
    session="call 7",
    turn=3,
)
DEFAULT = plain("plain")
DECIDED = {
    "tier": "long",
    "trust": 0.3 * 0.74 + 0.25 * 0.8 + 0.3 * 1,
    "trust_provenance": 0.6 * 0.7 + 0.4 * 0.8,
    "trust_consensus": 0.8,
    "trust_governance": 1.0,
    "trust_usage": 0.0,
    "trust_curve": "hyperbolic",
    "trust_half_life_hours": 168.0,
    "expires_at": None,
}
"""What the database decides of a memory that says nothing."""
NAMES = {field.name for field in fields(NewMemory)} - {"key"}
"""Of what is stored; a key is not, an id is made from it."""


WAYS = ("add", "add a dict", "add_many", "supersede", "upsert", "update")


@pytest.mark.parametrize("way", WAYS)
def test_every_field_comes_back_as_it_was_given(repo: MemoryRepository, way: str) -> None:
    memory = _stored(repo, FULL, way)

    given = {name: getattr(FULL, name) for name in NAMES}
    if way == "upsert":
        given["id"] = memory.id
    elif way == "supersede":
        given |= {"valid_from": memory.valid_from, "requires_approval": False}
    assert {name: getattr(memory, name) for name in NAMES} == given
    assert [name for name in NAMES if getattr(FULL, name) == getattr(DEFAULT, name)] == []


@pytest.mark.parametrize("way", ["add", "add_many"])
def test_the_database_decides_what_is_left_unset(repo: MemoryRepository, way: str) -> None:
    """And a new memory is active, unused and stands."""
    memory = asdict(_stored(repo, DEFAULT, way))

    unset = {name for name in NAMES if getattr(DEFAULT, name) is UNSET}
    assert unset - DECIDED.keys() == {"created_at"}
    assert memory["created_at"] is not None
    for name, value in DECIDED.items():
        expected = pytest.approx(value) if isinstance(value, float) else value
        assert memory[name] == expected, name
    assert (memory["status"], memory["needs_review"]) == ("active", False)
    counters = ("retrieval_count", "success_count", "failure_count", "feedback_up", "feedback_down")
    assert [memory[name] for name in counters] == [0] * 5
    moments = ("last_accessed_at", "invalidated_at", "invalidation_reason", "superseded_by")
    assert [memory[name] for name in moments] == [None] * 4
    tagged = replace(DEFAULT, content="tagged", tags=("b", "a", "b"))
    assert _stored(repo, tagged, way).tags == ["b", "a", "b"]


LARGEST = "x" * 2_097_152
AS_LARGE = "🙂" * 524_288
NESTED: dict[str, Any] = {}
for _ in range(MAX_DEPTH - 2):
    NESTED = {"n": NESTED}
MUCH = {"deep": NESTED, "large": "x" * 1_000_000, "number": 10**100, "float": 1e-300}


@pytest.mark.parametrize("way", ["add", "add_many"])
def test_what_is_as_large_as_may_be_is_stored(shared_repo: MemoryRepository, way: str) -> None:
    for memory in (plain(LARGEST), plain(AS_LARGE), plain(way, metadata=MUCH)):
        stored = _stored(shared_repo, memory, way, agent=f"{way} " + "🙂" * 190)

        assert (stored.content == memory.content, stored.metadata == memory.metadata) == (True,) * 2


def _stored(repo: MemoryRepository, memory: NewMemory, way: str, agent: str = "agent") -> Memory:
    named: Any = {name: getattr(memory, name) for name in NAMES}
    beside: Any = {name: value for name, value in named.items() if name != "content"}
    memory_id: UUID
    if way == "add":
        memory_id = repo.add(agent, memory, check_compliance=False)
    elif way == "add a dict":
        memory_id = repo.add(agent, named, check_compliance=False)
    elif way == "add_many":
        [memory_id] = repo.add_many(agent, [memory], check_compliance=False)
    elif way == "supersede":
        old = repo.add(agent, north("old", importance=0.1, created_at=None))
        beside |= {"valid_from": None, "requires_approval": False}
        memory_id = repo.supersede(agent, old, memory.content, check_compliance=False, **beside)
    elif way == "upsert":
        beside |= {"id": None, "key": "key"}
        memory_id = repo.upsert(agent, memory.content, check_compliance=False, **beside)
    else:
        bare = NewMemory("bare", id=memory.id, embedding=NORTH, trust=None)
        memory_id = repo.add(agent, bare)
        changes = {name: getattr(memory, name) for name in NAMES - {"id"}}
        repo.update(agent, memory_id, check_compliance=False, **changes)
    found = repo.get(agent, memory_id, include_embedding=True)
    assert found is not None
    return found


# Layouts


def _uses_everything(repo: MemoryRepository, agent: str) -> None:
    memory_id = repo.add(agent, NewMemory("one", embedding=at(10)))
    ids = repo.add_many(agent, [NewMemory("two", embedding=at(50)), plain("x")])
    repo.update(agent, memory_id, importance=0.9)
    repo.delete(agent, ids[1])
    assert contents(repo.search(agent, NORTH, filter={"similarity": {"$gte": 0.1}})) == [
        "one",
        "two",
    ]
    assert repo.count(agent) == 2
    memory = read(repo, agent, memory_id, include_embedding=True)
    assert memory.embedding == pytest.approx(at(10), abs=1e-3)
    assert memory.retrieval_count == 1


@pytest.fixture(scope="module")
def halfvec_url(server_url: str) -> Iterator[str]:
    with new_database(server_url) as url:
        migrate.upgrade(url, dimensions=DIMENSIONS, embedding_type="halfvec")
        yield url


def test_halfvec_components_come_back_in_half_precision(halfvec_url: str, agent: str) -> None:
    repo = repository_on("sync", halfvec_url)
    _uses_everything(repo, f"{agent} everything")
    vector = [0.1, -0.333, 65504.0, 6e-5, 0.0, 1.0, 2.0, 3.0]
    half = [float(np.float16(x)) for x in vector]

    ids = [
        repo.add(agent, NewMemory("a", embedding=vector)),
        *repo.add_many(agent, [NewMemory("b", embedding=vector)]),
    ]

    for memory_id in ids:
        assert read(repo, agent, memory_id, include_embedding=True).embedding == half


def test_what_half_precision_cannot_hold_is_refused(halfvec_url: str, agent: str) -> None:
    repo = repository_on("sync", halfvec_url)
    for component in (70_000.0, -65_520.0, 1e39):
        vector = [component, *[0.0] * 7]
        with pytest.raises(InvalidVector, match=f"{component:g}.*halfvec".replace("+", r"\+")):
            repo.add(agent, NewMemory("a", embedding=vector))
        with pytest.raises(InvalidVector, match="halfvec"):
            repo.search(agent, vector)
    with pytest.raises(InvalidVector, match=r"zero.*halfvec"):
        repo.add(agent, NewMemory("a", embedding=[1e-9] * 8))

    assert repo.count(agent) == 0


def test_two_schemas_in_one_database_keep_apart(own_url: str, own_engine: Engine) -> None:
    migrate.upgrade(own_url, dimensions=3, embedding_type="halfvec", schema="small")
    large, small = MemoryRepository(own_engine), MemoryRepository(own_engine, schema="small")
    short = [1.0, 0.0, 0.0]

    large_id = large.add("agent", north("large"))
    [small_id] = small.add_many("agent", [NewMemory("small", embedding=short)])

    assert contents(large.search("agent", NORTH)) == ["large"]
    assert contents(small.search("agent", short)) == ["small"]
    assert (large.delete("agent", small_id), small.touch("agent", large_id)) == (0, 0)


def test_the_callers_search_path_does_not_matter(own_url: str, own_engine: Engine) -> None:
    for name in ("agent_memories", "memory_usage", "pgrecall_staging"):
        sql(own_engine, f"CREATE TABLE public.{name} (n integer)")
    long = "a" * 63
    migrate.upgrade(own_url, dimensions=DIMENSIONS, schema=long)
    for path, schema in (("", "pgrecall"), ("pg_catalog", "pgrecall"), ("public", long)):
        options = {"options": f"-c search_path={path}"}
        repo = repository_on("sync", own_url, schema=schema, connect_args=options)

        _uses_everything(repo, f"agent {path}")
