from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID, uuid4

import pytest
from sqlalchemy import Engine, text

from pgrecall import MemoryRepository, NewMemory
from pgrecall.errors import MemoryNotFound
from pgrecall.scoring.profiles import BUILT_IN
from tests.integration.owner import Owner, plain
from tests.integration.support import at

NOW = datetime(2026, 6, 1, tzinfo=UTC)


@pytest.fixture(scope="module")
def repo(module_engine: Engine) -> MemoryRepository:
    return MemoryRepository(module_engine)


@pytest.fixture(scope="module")
def ids(repo: MemoryRepository) -> list[UUID]:
    """Twelve memories of an agent, best first for a query along the first axis."""
    memories = [
        NewMemory(
            f"memory {n}",
            embedding=at(5 * n),
            created_at=NOW - timedelta(days=1),
            tags=["even"] if n % 2 == 0 else ["odd"],
            metadata={"n": n},
            trust=None,
        )
        for n in range(12)
    ]
    return [*repo.add_many("agent", memories)]


@pytest.mark.parametrize("profile", BUILT_IN)
def test_every_memory_is_explained_as_the_search_ranks_it(
    repo: MemoryRepository, ids: list[UUID], profile: str
) -> None:
    asked: dict[str, Any] = {"profile": profile, "as_of": NOW}
    everything = repo.search("agent", at(7), k=100, touch=False, **asked)

    for k in (3, 50):
        returned = repo.search("agent", at(7), k=k, touch=False, **asked)
        for rank, hit in enumerate(everything, start=1):
            if rank in (1, 3, 4, 12):
                why = repo.explain("agent", hit.memory.id, at(7), k=k, **asked)

                assert (why.rank, why.ranked) == (rank, len(everything))
                assert why.hit == hit
                assert why.returned == (hit in returned)
                assert bool(why.reasons) != why.returned
                assert why.needed_score == (returned[-1].score if len(returned) == k else None)
                assert sum(s.share for s in why.signals) == pytest.approx(1)
                assert sum(s.contribution for s in why.signals) == pytest.approx(hit.score)


def test_an_outranked_memory_is_told_what_it_would_have_needed(
    repo: MemoryRepository, ids: list[UUID]
) -> None:
    why = repo.explain("agent", ids[5], at(0), k=3)

    last = repo.search("agent", at(0), k=3, touch=False)[-1]
    assert why.reasons[0].startswith("outranked: 5 memories come before it and 3 are returned")
    assert why.needed_score == pytest.approx(last.score, abs=1e-6)
    assert why.loses_most_in == "similarity"
    [similarity] = [signal for signal in why.signals if signal.name == "similarity"]
    assert similarity.behind == pytest.approx(
        last.contributions["similarity"] - why.hit.contributions["similarity"], abs=1e-9
    )
    above = repo.explain("agent", ids[9], at(0), k=5, min_score=0.9)
    assert above.needed_score == 0.9, "a threshold above the last hit"
    record = repo.explain("agent", ids[4], at(0), k=2).record()
    assert json.loads(json.dumps(record)) == record
    assert record["rank"] == 5
    assert [entry["signal"] for entry in record["account"]] == list(record["signals"])


@pytest.mark.parametrize(
    ("filters", "reason"),
    [
        ({"tags": ["even"]}, "filtered by tags: its tags is ['odd'], the filter requires ['even']"),
        ({"all_tags": ["odd", "even"]}, "filtered by all_tags: its tags is ['odd']"),
        ({"memory_types": ["task"]}, "filtered by memory_types: its memory_type is 'episodic'"),
        ({"tiers": ["short"]}, "filtered by tiers: its tier is 'long'"),
        ({"entities": ["Ann"]}, "filtered by entities: its entities is []"),
        ({"statuses": ["archived"]}, "filtered by statuses: its status is 'active'"),
        (
            {"metadata": {"n": 2}},
            "filtered by metadata: its metadata is {'n': 1}, the filter requires {'n': 2}",
        ),
        ({"created_after": NOW}, "filtered by created_after: its created_at is"),
        ({"created_before": NOW - timedelta(days=9)}, "filtered by created_before"),
        ({"as_of": NOW - timedelta(days=2)}, "after as_of"),
        ({"components": ["x"]}, "filtered by components: its component is None"),
        ({"compliant": True}, "filtered by compliant: its compliant is None"),
        ({"min_trust": 0.5}, "filtered by min_trust: its trust is None"),
        ({"where": text("false")}, "does not meet the condition where 1: false"),
        ({"min_similarity": 0.999}, "is below 0.999"),
        ({"min_score": 0.99}, "is below min_score 0.99"),
    ],
)
def test_a_memory_kept_out_is_told_by_what(
    repo: MemoryRepository, ids: list[UUID], filters: dict[str, Any], reason: str
) -> None:
    why = repo.explain("agent", ids[1], at(0), **filters)

    assert not why.returned
    assert any(reason in said for said in why.reasons), why.reasons
    found = repo.search("agent", at(0), k=100, touch=False, **filters)
    assert ids[1] not in [hit.memory.id for hit in found]


def test_what_does_not_hold_is_told_since_when(mine: Owner) -> None:
    """And by a profile that needs an embedding, that there is none."""
    for column in ("valid_from", "valid_until", "expires_at", "invalidated_at"):
        year = 2030 if column == "valid_from" else 2020
        id_ = mine.add(plain(column))
        mine.put(id_, **{column: datetime(year, 1, 1, tzinfo=UTC)})

        [reason, *_] = mine.explain(id_).reasons

        assert "not valid at now" in reason
        assert f"{column} {year}-01-01" in reason
    bare = mine.explain(mine.add(plain("no embedding")), at(0), profile="last_access")
    assert bare.reasons == ("it has no embedding, which profile last_access requires",)


def test_a_memory_of_a_team_is_explained_in_the_same_ranking(
    repo: MemoryRepository, ids: list[UUID]
) -> None:
    shared = repo.teams.add("red", NewMemory("shared", embedding=at(12)))
    asked: dict[str, Any] = {"teams": ["red"], "k": 2}

    why = repo.explain("agent", shared, at(0), **asked)
    ranked = repo.search("agent", at(0), teams=["red"], k=100, touch=False)

    assert why.hit.memory.team_id == "red"
    assert [hit.memory.id for hit in ranked].index(shared) + 1 == why.rank
    for agent, id_ in (("agent", shared), ("agent", uuid4()), ("another", ids[0])):
        with pytest.raises(MemoryNotFound, match=str(id_)):
            repo.explain(agent, id_, at(0))


def test_one_id_in_several_stores_is_the_agents_own(repo: MemoryRepository) -> None:
    memory = NewMemory("same id", id=uuid4(), embedding=at(0))
    same = repo.add("same", memory)
    for team in ("green", "blue"):
        repo.teams.add(team, memory)

    why = repo.explain("same", same, at(0), teams=["green", "blue"], k=2)

    assert (why.hit.memory.agent_id, why.ranked) == ("same", 3)
    found = repo.get("same", same)
    assert found is not None
    assert found.retrieval_count == 0, "explaining counts nothing"


def test_of_three_comparisons_each_that_is_not_met_is_named(mine: Owner) -> None:
    """A statement has the last of them twice."""
    memory_id = mine.add(plain("m", metadata={"a": 5, "b": "x"}))
    metadata = {"a": {"$gte": 9, "$lt": 10}, "b": {"$ne": "x"}}

    reasons = mine.explain(memory_id, at(0), metadata=metadata).reasons

    assert len([one for one in reasons if one.startswith("filtered by metadata")]) == 2
