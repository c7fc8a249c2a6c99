"""Taste: the mean of what did well, against numpy."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID

import psycopg
import pytest
from psycopg.rows import dict_row
from sqlalchemy import Engine

from pgrecall import (
    Hits,
    Importance,
    JudgedQuery,
    MemoryRepository,
    NewMemory,
    Profile,
    Similarity,
    Taste,
    migrate,
    score,
)
from pgrecall.testing import new_database
from tests.integration.conftest import repository_on
from tests.integration.owner import Owner, plain
from tests.integration.recalling import installed, recall
from tests.integration.support import NORTH
from tests.integration.test_shift import Vectors, directions, unit

ALONE = Profile("alone", {Taste(): 1.0})
HALVES = Profile("halves", {Similarity(): 0.5, Taste(): 0.5})
REDISTRIBUTED = Profile("redistributed", {Importance(): 0.5, Taste(): 0.5}, redistribute=True)
TASTE = "SELECT taste FROM pgrecall.owner_vectors WHERE agent_id = :agent"


def stored(owner: Owner, vectors: Vectors) -> dict[str, UUID]:
    new = [NewMemory(text, embedding=vector) for text, vector in vectors.items()]
    return dict(zip(vectors, owner.add_many(new), strict=True))


def outcomes(owner: Owner, ids: dict[str, UUID], net: dict[str, int]) -> None:
    for text, number in net.items():
        for _ in range(abs(number)):
            owner.record_outcome(ids[text], "success" if number > 0 else "failure")


def wanted(vectors: Vectors, net: dict[str, int]) -> dict[str, float]:
    mean = sum(number * unit(vectors[text]) for text, number in net.items() if number > 0)
    return {text: max(float(unit(vector) @ unit(mean)), 0.0) for text, vector in vectors.items()}


def tastes(hits: Hits) -> dict[str, float]:
    return {hit.memory.content: hit.signals["taste"] for hit in hits}


def close(expected: dict[str, float], within: float = 1e-6) -> Any:
    return pytest.approx(expected, abs=within)


def searched(owner: Owner, profile: Profile = ALONE, query: Any = None, **arguments: Any) -> Hits:
    hits: Hits = owner.search(query, k=1_000, profile=profile, touch=False, **arguments)
    return hits


NET = {"a 0": 1, "a 1": 3, "a 2": -2, "a 3": 2}


def test_it_is_the_cosine_with_what_did_well_weighted_by_outcomes(mine: Owner) -> None:
    """At once, without a query and with one, in the explanation and the scorer."""
    vectors = directions(8, "a")
    ids = stored(mine, vectors | {"opposite": [-x for x in vectors["a 1"]]})
    ids["no embedding"] = mine.add(plain("no embedding"))
    outcomes(mine, ids, NET | {"no embedding": 2})
    expected = wanted(vectors, NET) | {"opposite": 0.0, "no embedding": 0.0}

    assert tastes(searched(mine)) == close(expected)
    both = searched(mine, HALVES, NORTH)
    assert tastes(both) == close(expected)
    for hit in both:
        values = {"taste": expected[hit.memory.content], "similarity": hit.similarity}
        assert hit.score == pytest.approx(score(HALVES, values).score, abs=1e-6)
    explained = mine.explain(ids["a 5"], profile=ALONE)
    assert explained.signals[0].value == pytest.approx(expected["a 5"], abs=1e-6)


def test_without_any_its_weight_goes_to_the_others_or_counts_nothing(mine: Owner) -> None:
    ids = stored(mine, directions(3, "a"))
    without = searched(mine, REDISTRIBUTED)
    mine.record_outcome(ids["a 0"], "failure")

    assert {hit.score for hit in without} == {0.5}
    assert without[0].contributions == {"importance": 0.5, "taste": 0.0}
    assert {hit.score for hit in searched(mine)} == {0.0}
    assert mine.sql(TASTE) == [None]
    assert score(REDISTRIBUTED, {}).score == 0.5 == 2 * score(REDISTRIBUTED, {"taste": 0}).score


def test_opposites_that_did_well_are_no_taste(mine: Owner) -> None:
    ids = stored(mine, {"a": NORTH, "b": [-x for x in NORTH]})
    outcomes(mine, ids, {"a": 1, "b": 1})

    assert mine.sql(TASTE) == [None]


def test_a_search_as_of_earlier_than_it_knows_none(mine: Owner) -> None:
    ids = stored(mine, directions(3, "a"))
    mine.record_outcome(ids["a 0"], "success")
    moment = datetime.now(UTC)

    earlier = searched(mine, as_of=moment - timedelta(hours=1), include_invalid=True)
    later = searched(mine, as_of=moment + timedelta(hours=1))

    assert {hit.score for hit in earlier} <= {0.0}
    assert later[0].score == pytest.approx(1.0)


def test_as_of_a_moment_only_the_tastes_known_then_count(mine: Owner) -> None:
    for repo in (mine.repo, mine.repo.teams):
        id_ = repo.add(mine.name, NewMemory("one", embedding=NORTH))
        repo.record_outcome(mine.name, id_, "success")
    mine.sql(
        "UPDATE pgrecall.owner_vectors SET taste_at = now() + interval '1 day'"
        " WHERE agent_id = 'team:' || :agent RETURNING 1"
    )
    moment = datetime.now(UTC) + timedelta(hours=1)

    hits = searched(mine, as_of=moment, teams=[mine.name])

    assert {hit.memory.owner_id: hit.score for hit in hits} == {
        mine.name: pytest.approx(1.0),
        f"team:{mine.name}": 0.0,
    }


def test_each_owner_s_memories_are_compared_with_that_owner_s(shared_engine: Engine) -> None:
    repo = MemoryRepository(shared_engine)
    all_expected: dict[str, float] = {}
    for owner, seed in ((Owner(shared_engine, "taster"), "a"), (None, "b")):
        vectors = directions(4, seed)
        where = repo if owner else repo.teams
        ids = where.add_many("taster", [NewMemory(t, embedding=v) for t, v in vectors.items()])
        where.record_outcome("taster", ids[0], "success")
        all_expected |= wanted(vectors, {f"{seed} 0": 1})

    hits = repo.search("taster", teams=["taster"], profile=ALONE, k=100, touch=False)

    assert tastes(hits) == close(all_expected)


def test_psql_ranks_by_it_as_python_does(module_url: str) -> None:
    repo = repository_on("sync", module_url)
    vectors = directions(20, "a")
    ids = repo.add_many("ada", [NewMemory(t, embedding=v) for t, v in vectors.items()])
    repo.record_outcome("ada", ids[3], "success")
    repo.add("bob", NewMemory("b", embedding=NORTH))
    moments: tuple[dict[str, Any], ...] = {}, {"as_of": datetime(2026, 1, 1, tzinfo=UTC)}
    with psycopg.connect(module_url, autocommit=True, row_factory=dict_row) as connection:
        for profile in (ALONE, HALVES, REDISTRIBUTED):
            for agent in ("ada", "bob"):
                for given in moments:
                    with installed(connection, profile):
                        rows = recall(connection, profile.name, agent, query=NORTH, **given)
                    hits = repo.search(agent, NORTH, profile=profile, touch=False, **given)
                    found = [(row["id"], row["score"], row["signals"]) for row in rows]
                    assert found == [(hit.memory.id, hit.score, hit.signals) for hit in hits]


def test_an_erasure_leaves_nothing_of_it(mine: Owner) -> None:
    vectors = directions(6, "a")
    ids = stored(mine, vectors)
    outcomes(mine, ids, NET)
    mine.erase([ids["a 1"]])
    left = {text: net for text, net in NET.items() if text != "a 1"}
    del vectors["a 1"]

    assert tastes(searched(mine)) == close(wanted(vectors, left))
    mine.erase([ids["a 0"], ids["a 3"]])
    assert mine.sql(TASTE) == [None]


def test_with_many_successes_it_is_computed_now_and_then(mine: Owner) -> None:
    ids = stored(mine, directions(4, "a"))
    mine.record_outcome(ids["a 0"], "success")
    mine.sql(
        "UPDATE pgrecall.memory_usage SET success_count = 1000000 WHERE agent_id = :agent"
        " RETURNING 1"
    )
    mine.record_outcome(ids["a 0"], "success")
    mine.record_outcome(ids["a 1"], "success")

    [known] = mine.sql("SELECT successes FROM pgrecall.owner_vectors WHERE agent_id = :agent")
    assert known == 1_000_001, "the last one left it, with all but a chance of one in 100,000"


def test_evaluations_rank_by_it(mine: Owner) -> None:
    vectors = directions(30, "a")
    ids = stored(mine, vectors)
    mine.record_outcome(ids["a 7"], "success")
    queries = [JudgedQuery(NORTH, [id_]) for id_ in ids.values()]
    hits = searched(mine, HALVES, NORTH)

    evaluated = mine.evaluation.evaluate(queries, profiles=[HALVES])

    ranks = {hit.memory.id: rank for rank, hit in enumerate(hits, start=1)}
    found = [one.per_query["mrr"] for one in evaluated.compared if one.profile == HALVES]
    assert [*found[0]] == [pytest.approx(1 / ranks[id_]) for id_ in ids.values()]


def test_it_has_the_type_of_the_embeddings(server_url: str) -> None:
    with new_database(server_url) as url:
        migrate.upgrade(url, dimensions=len(NORTH), embedding_type="halfvec")
        repo = repository_on("sync", url)
        vectors = directions(5, "a")
        ids = repo.add_many("ada", [NewMemory(t, embedding=v) for t, v in vectors.items()])
        repo.record_outcome("ada", ids[0], "success")
        hits = repo.search("ada", profile=ALONE, touch=False)
    assert tastes(hits) == close(wanted(vectors, {"a 0": 1}), 1e-2)
