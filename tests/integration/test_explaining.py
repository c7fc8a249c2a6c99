from __future__ import annotations

import asyncio
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID, uuid4

import pytest
from sqlalchemy import Engine, text
from sqlalchemy.ext.asyncio import create_async_engine

from pgrecall import Added, AsyncMemoryRepository, MemoryRepository, NewMemory
from pgrecall.errors import InputError, MemoryNotFound
from pgrecall.profiles import BUILT_IN
from tests.conftest import Direction

NOW = datetime(2026, 6, 1, tzinfo=UTC)


@pytest.fixture
def ids(repo: MemoryRepository, direction: Direction) -> list[Added]:
    """Twelve memories of an agent, best first for a query along the first axis."""
    return repo.add_many(
        "agent",
        [
            NewMemory(
                f"memory {n}",
                embedding=direction(5 * n),
                created_at=NOW - timedelta(days=1),
                tags=["even"] if n % 2 == 0 else ["odd"],
                metadata={"n": n},
                trust=None,
            )
            for n in range(12)
        ],
    )


@pytest.mark.parametrize("profile", BUILT_IN)
@pytest.mark.parametrize("k", [1, 3, 12, 50])
def test_every_memory_is_explained_as_the_search_ranks_it(
    repo: MemoryRepository, direction: Direction, ids: list[UUID], profile: str, k: int
) -> None:
    asked: dict[str, Any] = {"profile": profile, "as_of": NOW}
    everything = repo.search("agent", direction(7), k=100, touch=False, **asked)
    returned = repo.search("agent", direction(7), k=k, touch=False, **asked)

    for rank, hit in enumerate(everything, start=1):
        why = repo.explain("agent", hit.memory.id, direction(7), k=k, **asked)

        assert (why.rank, why.ranked) == (rank, len(everything))
        assert why.hit == hit
        assert why.returned == (hit in returned)
        assert bool(why.reasons) != why.returned
        assert why.needed_score == (returned[-1].score if len(returned) == k else None)
        assert sum(s.share for s in why.signals) == pytest.approx(1)
        assert sum(s.contribution for s in why.signals) == pytest.approx(hit.score)


def test_an_outranked_memory_is_told_what_it_would_have_needed(
    repo: MemoryRepository, direction: Direction, ids: list[UUID]
) -> None:
    why = repo.explain("agent", ids[5], direction(0), k=3)

    last = repo.search("agent", direction(0), k=3, touch=False)[-1]
    assert why.reasons[0].startswith("outranked: 5 memories come before it and 3 are returned")
    assert why.needed_score == pytest.approx(last.score, abs=1e-6)
    assert why.loses_most_in == "similarity"
    [similarity] = [signal for signal in why.signals if signal.name == "similarity"]
    assert similarity.behind == pytest.approx(
        last.contributions["similarity"] - why.hit.contributions["similarity"], abs=1e-9
    )


@pytest.mark.parametrize(
    ("filters", "reason"),
    [
        ({"tags": ["even"]}, "filtered by tags: its tags is ['odd'], asked for ['even']"),
        ({"all_tags": ["odd", "even"]}, "filtered by all_tags: its tags is ['odd']"),
        ({"memory_types": ["task"]}, "filtered by memory_types: its memory_type is 'episodic'"),
        ({"tiers": ["short"]}, "filtered by tiers: its tier is 'long'"),
        ({"entities": ["Ann"]}, "filtered by entities: its entities is []"),
        ({"statuses": ["archived"]}, "filtered by statuses: its status is 'active'"),
        (
            {"metadata": {"n": 2}},
            "filtered by metadata: its metadata is {'n': 1}, asked for {'n': 2}",
        ),
        ({"created_after": NOW}, "filtered by created_after: its created_at is"),
        ({"created_before": NOW - timedelta(days=9)}, "filtered by created_before"),
        ({"components": ["x"]}, "filtered by components: its component is None"),
        ({"compliant": True}, "filtered by compliant: its compliant is None"),
        ({"min_trust": 0.5}, "filtered by min_trust: its trust is None"),
        ({"where": text("false")}, "does not meet the condition where 1: false"),
        ({"min_similarity": 0.999}, "is below 0.999"),
        ({"min_score": 0.99}, "is below min_score 0.99"),
    ],
)
def test_a_memory_kept_out_is_told_by_what(
    repo: MemoryRepository,
    direction: Direction,
    ids: list[UUID],
    filters: dict[str, Any],
    reason: str,
) -> None:
    why = repo.explain("agent", ids[1], direction(0), **filters)

    assert not why.returned
    assert any(reason in said for said in why.reasons), why.reasons
    assert ids[1] not in [
        hit.memory.id for hit in repo.search("agent", direction(0), k=100, touch=False, **filters)
    ]


@pytest.mark.parametrize(
    ("column", "value", "said"),
    [
        ("valid_from", "2030-01-01", "valid_from 2030-01-01"),
        ("valid_until", "2020-01-01", "valid_until 2020-01-01"),
        ("expires_at", "2020-01-01", "expires_at 2020-01-01"),
        ("invalidated_at", "2020-01-01", "invalidated_at 2020-01-01"),
    ],
)
def test_what_does_not_hold_is_told_since_when(
    repo: MemoryRepository, engine: Engine, ids: list[UUID], column: str, value: str, said: str
) -> None:
    with engine.begin() as connection:
        connection.execute(
            text(f"UPDATE pgrecall.agent_memories SET {column} = :value WHERE id = :id"),
            {"value": f"{value} 00:00+00", "id": ids[0]},
        )

    why = repo.explain("agent", ids[0])

    assert "not valid at now" in why.reasons[0]
    assert said in why.reasons[0]


def test_what_was_created_later_is_told_so(repo: MemoryRepository, ids: list[UUID]) -> None:
    why = repo.explain("agent", ids[0], as_of=NOW - timedelta(days=2))

    assert "after as_of" in why.reasons[0]


def test_a_profile_that_needs_an_embedding_says_so(
    repo: MemoryRepository, direction: Direction
) -> None:
    bare = repo.add("agent", NewMemory("no embedding", embedding=None))

    why = repo.explain("agent", bare, direction(0), profile="last_access")

    assert why.reasons == ("it has no embedding, which profile last_access requires",)


def test_a_memory_of_a_team_is_explained_in_the_same_ranking(
    repo: MemoryRepository, direction: Direction, ids: list[UUID]
) -> None:
    shared = repo.teams.add("red", NewMemory("shared", embedding=direction(12)))
    asked: dict[str, Any] = {"teams": ["red"], "k": 2}

    why = repo.explain("agent", shared, direction(0), **asked)
    ranked = repo.search("agent", direction(0), teams=["red"], k=100, touch=False)

    assert why.hit.memory.team_id == "red"
    assert [hit.memory.id for hit in ranked].index(shared) + 1 == why.rank
    with pytest.raises(MemoryNotFound):
        repo.explain("agent", shared, direction(0))


def test_a_memory_of_nobody_asked_is_not_found(
    repo: MemoryRepository, direction: Direction, ids: list[UUID]
) -> None:
    for agent, memory_id in (("agent", uuid4()), ("another", ids[0])):
        with pytest.raises(MemoryNotFound, match=str(memory_id)):
            repo.explain(agent, memory_id, direction(0))


def test_explaining_counts_nothing(repo: MemoryRepository, ids: list[UUID]) -> None:
    repo.explain("agent", ids[0])

    memory = repo.get("agent", ids[0])
    assert memory is not None
    assert memory.retrieval_count == 0


def test_an_id_that_is_none_is_refused(repo: MemoryRepository) -> None:
    with pytest.raises(InputError, match=r"uuid\.UUID"):
        repo.explain("agent", "7")  # type: ignore[arg-type]


def test_the_record_is_plain_json(
    repo: MemoryRepository, direction: Direction, ids: list[UUID]
) -> None:
    import json

    record = repo.explain("agent", ids[4], direction(0), k=2).record()

    assert json.loads(json.dumps(record)) == record
    assert record["rank"] == 5
    assert [entry["signal"] for entry in record["account"]] == list(record["signals"])


def test_the_asynchronous_repository_explains_the_same(
    repo: MemoryRepository, engine: Engine, direction: Direction, ids: list[UUID]
) -> None:
    async def explained() -> object:
        made = create_async_engine(engine.url)
        try:
            return await AsyncMemoryRepository(made).explain(
                "agent", ids[3], direction(0), k=2, as_of=NOW
            )
        finally:
            await made.dispose()

    assert asyncio.run(explained()) == repo.explain("agent", ids[3], direction(0), k=2, as_of=NOW)


def test_one_id_in_several_stores_is_the_agents_own(
    repo: MemoryRepository, direction: Direction
) -> None:
    memory = NewMemory("same id", id=uuid4(), embedding=direction(0))
    same = repo.add("agent", memory)
    for team in ("red", "blue"):
        repo.teams.add(team, memory)

    why = repo.explain("agent", same, direction(0), teams=["red", "blue"], k=2)

    assert why.hit.memory.agent_id == "agent"
    assert why.ranked == 3


def test_a_threshold_above_the_last_hit_is_what_was_needed(
    repo: MemoryRepository, direction: Direction, ids: list[UUID]
) -> None:
    why = repo.explain("agent", ids[9], direction(0), k=5, min_score=0.9)

    assert why.needed_score == 0.9
