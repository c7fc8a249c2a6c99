"""Several searches in one call."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from sqlalchemy import Engine

from pgrecall import Hits, MemoryRepository, NewMemory
from pgrecall.errors import InputError
from tests.integration.compass import Compass
from tests.integration.support import at, contents, sql


@pytest.fixture
def repo(engine: Engine) -> MemoryRepository:
    made = MemoryRepository(engine, embedder=Compass())
    for owner in ("ada", "bob"):
        made.add_many(owner, [NewMemory(str(angle)) for angle in (0, 40, 80, 120)])
    made.teams.add("crew", NewMemory("60"))
    one, other = (hit.memory.id for hit in made.search("ada", "0", k=2, touch=False))
    made.links.add("ada", one, other)
    return made


def scores(hits: Hits) -> list[tuple[str, float, int]]:
    return [(hit.memory.content, hit.score, hit.hops) for hit in hits]


@pytest.mark.parametrize(
    "arguments",
    [{}, {"teams": ["crew"], "k": 2}, {"profile": "five_factor", "min_score": 0.2}, {"linked": 1}],
    ids=str,
)
def test_each_result_is_that_of_a_search(repo: MemoryRepository, arguments: dict[str, Any]) -> None:
    queries = ["0", at(90), None, "0"]
    owners = ["ada", "bob", "ada", "bob"]
    ranked: dict[str, Any] = {"touch": False, "as_of": repo.list("bob")[0].updated_at} | arguments

    of_one = repo.search_many("ada", queries, **ranked)
    of_each = repo.search_many(owners, queries, **ranked)

    assert [*map(scores, of_one)] == [scores(repo.search("ada", q, **ranked)) for q in queries]
    assert [*map(scores, of_each)] == [
        scores(repo.search(owner, query, **ranked))
        for owner, query in zip(owners, queries, strict=True)
    ]
    assert [hits.touched for hits in of_each] == [False] * 4


def test_a_text_is_embedded_once_and_a_memory_is_counted_once(
    repo: MemoryRepository, engine: Engine
) -> None:
    compass = Compass()
    asking = MemoryRepository(engine, embedder=compass)

    found = asking.search_many(["ada", "ada", "bob"], ["0", "10", "0"], k=1)

    assert [contents(hits) for hits in found] == [["0"]] * 3
    assert [hits.touched for hits in found] == [True] * 3
    assert compass.queries == ["0", "10"]
    counted = "SELECT agent_id, retrieval_count FROM pgrecall.memory_usage ORDER BY 1"
    assert sql(engine, counted) == [("ada", 1), ("bob", 1)]


LIMIT: Any = {"limit": 3}
REFUSED: dict[str, tuple[Callable[[MemoryRepository], Any], str]] = {
    "text": (lambda repo: repo.search_many("ada", "tea"), "queries must be a list, got str"),
    "owners": (
        lambda repo: repo.search_many(["ada"], ["0", "1"]),
        "one owner, or one for each query: got 1 owners for 2 queries",
    ),
    "owner": (lambda repo: repo.search_many(["ada", ""], ["0", "1"]), "query 1: agent_id must not"),
    "query": (lambda repo: repo.search_many("ada", ["0", " "]), "query 1: "),
    "vector": (lambda repo: repo.search_many("ada", ["0", [1.0]]), "query 1: the vector has 1 dim"),
    "argument": (lambda repo: repo.search_many("ada", ["0"], **LIMIT), "did you mean k"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_is_wrong_with_one_is_said_before_any_runs(
    repo: MemoryRepository, engine: Engine, name: str
) -> None:
    call, message = REFUSED[name]
    with pytest.raises(InputError, match=message):
        call(repo)
    assert sql(engine, "SELECT * FROM pgrecall.memory_usage") == []


def test_no_queries_have_no_results(repo: MemoryRepository) -> None:
    assert repo.search_many("ada", []) == []
