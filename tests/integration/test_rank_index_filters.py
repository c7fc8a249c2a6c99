"""Filtered searches through a rank index against exact ones."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, event, given, settings
from hypothesis import strategies as st
from sqlalchemy import ColumnElement, Engine, func

from pgrecall import Hits, MemoryRepository, NewMemory, profiles
from tests.integration import test_rank_index_search as search
from tests.integration.rank_indexes import build, recall
from tests.integration.support import sql
from tests.integration.test_rank_index_search import MOMENT, QUERIES, SOON, TIERS, memories_of

pytestmark = pytest.mark.hnsw

AGENT, MANY = "agent", 1_200
SHARES = (0.5, 0.1, 0.02, 0.002)
"""Of memories tagged `share 0.5` and so on."""
TYPES = ("episodic", "fact", "task", "preference")
TAGS = {"red": 0.5, "green": 0.2, "blue": 0.05, "rare": 0.004}
PROJECTS = ("north", "south", "west")


def memory(number: int, one: NewMemory, rng: np.random.Generator) -> NewMemory:
    """What filters look at is at random; only half of it has nothing to do with the score."""
    tags = [tag for tag, share in TAGS.items() if rng.uniform() < share]
    shares = [f"share {share}" for share in SHARES if number % round(1 / share) == 0]
    return replace(
        one,
        content=f"{number}",
        memory_type=TYPES[min(int(rng.exponential(0.8)), 3)],
        additional_types=["task"] if rng.uniform() < 0.1 else [],
        tags=[*tags, *shares],
        entities=["Ada"] if rng.uniform() < 0.02 else [],
        metadata={"project": str(rng.choice(PROJECTS)), "priority": int(rng.integers(100))},
    )


@pytest.fixture(scope="module")
def repo(module_engine: Engine) -> MemoryRepository:
    """An agent's memories and their index; nothing changes them."""
    rng = np.random.default_rng(2)
    repository = MemoryRepository(module_engine)
    several = enumerate(memories_of(AGENT, MANY))
    repository.add_many(AGENT, [memory(number, one, rng) for number, one in several])
    build(repository, AGENT)
    sql(module_engine, "ANALYZE")
    return repository


def both(repo: MemoryRepository, query: Any, **asked: Any) -> tuple[Hits, Hits]:
    return search.both(repo, AGENT, query, **({"as_of": SOON} | asked))


some = st.lists(st.sampled_from([*TAGS]), min_size=1, max_size=2, unique=True)
moments = st.floats(-1, 150).map(lambda days: MOMENT - timedelta(days=days))
numbers = st.integers(-1, 101)
operators = st.one_of(
    st.fixed_dictionaries({"$gte": numbers}),
    st.fixed_dictionaries({"$lt": numbers}),
    st.fixed_dictionaries({"$gt": numbers, "$lte": numbers}),
    st.fixed_dictionaries({"$ne": numbers}),
    st.fixed_dictionaries({"$in": st.lists(numbers, min_size=1, max_size=5)}),
    st.fixed_dictionaries({"$exists": st.booleans()}),
    numbers,
)
conditions = st.sampled_from(["importance", "usefulness", "hash", "content", "unembedded"])
FILTERS: dict[str, st.SearchStrategy[Any]] = {
    "memory_type": st.lists(st.sampled_from(TYPES), min_size=1, max_size=3),
    "tier": st.lists(st.sampled_from(TIERS), min_size=1, max_size=2),
    "tags": st.one_of(some, st.fixed_dictionaries({"$all": some})),
    "entities": st.just(["Ada", "Grace"]),
    "metadata.project": st.sampled_from([*PROJECTS, "none"]),
    "metadata.priority": operators,
    "created_at": st.fixed_dictionaries({}, optional={"$gte": moments, "$lt": moments}).filter(
        bool
    ),
    "decayed_trust": st.fixed_dictionaries({"$gte": st.floats(0.01, 1)}),
}
mappings = st.lists(st.sampled_from(list(FILTERS)), min_size=1, max_size=3, unique=True).flatmap(
    lambda names: st.fixed_dictionaries({name: FILTERS[name] for name in names})
)
groups = st.one_of(
    mappings,
    st.lists(mappings, min_size=1, max_size=2).map(lambda several: {"$or": several}),
    mappings.map(lambda one: {"$not": one}),
)
filters = st.tuples(
    st.lists(groups, max_size=2), st.none() | st.tuples(conditions, st.floats(0, 1))
)


def expression(repo: MemoryRepository, kind: str, share: float) -> ColumnElement[bool]:
    """What a share of the memories passes, at random or by what the score depends on."""
    columns = repo.memories.c
    match kind:
        case "importance":
            return columns.importance <= share
        case "usefulness":
            return columns.usefulness > share
        case "hash":
            return func.abs(func.hashtext(columns.content) % 1_000) < 1_000 * share
        case "content":
            return columns.content.like(f"{int(9 * share)}%")
        case _:
            return columns.embedding.is_(None)


@settings(
    deadline=None, max_examples=30, derandomize=True, suppress_health_check=[HealthCheck.too_slow]
)
@given(
    chosen=filters,
    k=st.sampled_from([1, 5, 10, 25, 60]),
    query=st.sampled_from(QUERIES),
    name=st.sampled_from(list(profiles.BUILT_IN)),
)
def test_never_fewer_hits_than_there_are_and_hardly_ever_others(
    repo: MemoryRepository, chosen: tuple[Any, Any], k: int, query: list[float], name: str
) -> None:
    mappings, condition = chosen
    parts = mappings if condition is None else [*mappings, expression(repo, *condition)]
    asked: dict[str, Any] = {"filter": {"$and": parts}} if parts else {}
    found, exact = both(repo, query, k=k, profile=name, **asked)
    there = repo.count(AGENT, as_of=SOON, **asked)
    event(f"by {found.strategy}, {'all' if there > MANY // 2 else 'many' if there > k else 'few'}")

    required = name == "last_access"  # which leaves out what has no embedding
    assert len(exact) <= min(k, there)
    assert len(exact) == min(k, there) or required
    assert recall(found, exact) >= (0.8 if k >= 5 else 0.0)
    if found.strategy == "exact":
        assert found == exact


def test_the_index_is_asked_for_more_until_that_would_be_all(repo: MemoryRepository) -> None:
    cases: tuple[tuple[dict[str, Any], str], ...] = (
        *(({}, "index"), ({"tags": "share 0.5"}, "index"), ({"tags": "green"}, "index")),
        ({"$or": [{"tags": "share 0.5"}, {"metadata.priority": {"$gte": 50}}]}, "index"),
        *(({"tags": "share 0.002"}, "exact"), ({"similarity": {"$gte": 0.999}}, "exact")),
    )
    for asked, strategy in cases:
        found, exact = both(repo, QUERIES[0], filter=asked)
        assert (found.strategy, len(found)) == (strategy, len(exact)), asked
    assert both(repo, QUERIES[0], filter={"tags": "nobody has this"})[0] == []
    assert both(repo, QUERIES[0], filter=repo.memories.c.importance > 2)[0] == []


def test_filters_hold_for_what_was_written_since(module_engine: Engine) -> None:
    with module_engine.connect() as connection:
        undone = MemoryRepository(connection)
        tags = ["green", "red"]
        new = [NewMemory(f"new {n}", embedding=QUERIES[0], tags=[tags[n % 2]]) for n in range(20)]
        undone.add_many(AGENT, new)

        asked: dict[str, Any] = {
            "filter": {"tags": "green"},
            "as_of": MOMENT + timedelta(days=2),
            "k": 30,
        }
        found, exact = both(undone, QUERIES[0], **asked)

        assert found.strategy == "index"
        assert sum(hit.memory.content.startswith("new") for hit in found) == 10
        assert all("green" in hit.memory.tags for hit in found)
        assert recall(found, exact) >= 0.9
