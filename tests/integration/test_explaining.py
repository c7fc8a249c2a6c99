"""How many hits come back, in what order, above which thresholds, what each tells, and why a memory
is among them or not."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from math import cos, radians
from typing import Any
from uuid import UUID, uuid4

import pytest
from sqlalchemy import Engine, text

from pgrecall import MemoryRepository, NewMemory, Profile, ScoredMemory
from pgrecall.errors import MemoryNotFound
from pgrecall.scoring.profiles import BUILT_IN
from tests.integration.owner import Owner, plain
from tests.integration.recalling import DECAYING
from tests.integration.support import NORTH, NOW, at, before, contents, similar

ASKED: dict[str, Any] = {"profile": "five_factor", "as_of": NOW, "touch": False}


def test_a_floor_of_similarity_leaves_out_what_is_less_similar(
    shared_repo: MemoryRepository, agent: str
) -> None:
    same: dict[str, Any] = {"created_at": NOW, "usefulness": 0.0, "confidence": 0.0}
    shared_repo.add_many(
        agent,
        [
            NewMemory("near", embedding=similar(0.9), **same),
            NewMemory("far", embedding=[3.0, 4.0, *[0.0] * 6], **same),
            NewMemory("opposite", embedding=at(180), created_at=NOW, usefulness=1, confidence=1),
            plain("not embedded"),
        ],
    )

    def found(least: float, **arguments: Any) -> list[str]:
        asked = {**ASKED, "filter": {"similarity": {"$gte": least}}, **arguments}
        return contents(shared_repo.search(agent, NORTH, **asked))

    assert found(0.65) == ["near"]
    assert found(0.6) == ["near", "far"], "itself is included"
    assert found(0.6 + 1e-9) == ["near"]
    assert sorted(found(0)) == ["far", "near"], "the cosine of the opposite is negative"
    assert sorted(found(-1)) == ["far", "near", "opposite"]
    shared_repo.add(agent, NewMemory("best", embedding=at(59), created_at=NOW, usefulness=1))
    assert contents(shared_repo.search(agent, NORTH, k=1, **ASKED)) == ["best"]
    assert found(0.65, k=1) == ["near"], "applied before the limit"


def hit_of(repo: MemoryRepository, agent: str, memory: NewMemory) -> ScoredMemory:
    repo.add(agent, memory)
    [hit] = repo.search(agent, NORTH, **ASKED)
    return hit


def test_a_negative_cosine_is_seen_and_filtered(mine: Owner) -> None:
    """Similarity is at least 0; also in psql, and where an explanation says why not."""
    memory_id = mine.add(NewMemory("a", embedding=at(120), created_at=NOW))
    none = mine.add(plain("b"))
    asked: dict[str, Any] = {**ASKED, "profile": "last_access"}

    [hit] = mine.search(NORTH, filter={"similarity": {"$gte": -0.6}}, **asked)
    above: dict[str, Any] = {"filter": {"similarity": {"$gte": -0.4}}}
    explained = mine.explain(memory_id, NORTH, as_of=NOW, **above)

    assert (hit.similarity, hit.signals["similarity"]) == (0, 0)
    assert hit.cosine == pytest.approx(-0.5, abs=1e-6)
    assert hit.record()["cosine"] == -0.5
    assert mine.search(NORTH, **above, **asked) == []
    assert explained.hit.cosine == pytest.approx(-0.5, abs=1e-6)
    assert explained.reasons[0].startswith(
        "filtered by 'similarity', which requires {'$gte': -0.4}"
    )
    assert "it has -0.5" in explained.reasons[0]
    assert mine.explain(none, NORTH, as_of=NOW).hit.cosine is None
    raw = "SELECT pgrecall.cosine(embedding, :vector) FROM pgrecall.memory_records WHERE id = :id"
    assert mine.sql(raw, vector=str(NORTH), id=memory_id) == [pytest.approx(-0.5, abs=1e-6)]


def test_similarity_is_none_without_an_embedding_and_does_not_depend_on_length(
    shared_repo: MemoryRepository, agent: str
) -> None:
    bare = hit_of(shared_repo, agent, plain("a", created_at=None))

    assert (bare.similarity, bare.signals["similarity"]) == (None, 0)
    assert (bare.record()["similarity"], bare.record()["created_at"]) == (None, None)
    assert bare.memory == shared_repo.get(agent, bare.memory.id)
    for length in (1e-12, 0.5, 3.0, 1e12):
        scaled = NewMemory("a", embedding=[x * length for x in at(60)], created_at=NOW)
        found = hit_of(shared_repo, f"{agent} {length}", scaled)
        assert found.similarity == pytest.approx(0.5, abs=1e-6)


def test_a_record_is_plain_json_rounded_to_six_decimals_and_the_order_is_not(
    shared_repo: MemoryRepository, agent: str
) -> None:
    hit = hit_of(shared_repo, agent, NewMemory("a", embedding=at(33), created_at=before(7)))

    record = hit.record()

    assert record == {
        "id": str(hit.memory.id),
        "content": "a",
        "score": round(hit.score, 6),
        "similarity": round(cos(radians(33)), 6),
        "signals": {name: round(value, 6) for name, value in hit.signals.items()},
        "contributions": {name: round(value, 6) for name, value in hit.contributions.items()},
        "created_at": "2026-05-25T12:00:00+00:00",
    }
    assert record["score"] != hit.score
    assert json.loads(json.dumps(record)) == record
    for content, importance in (("first", 0.1 + 2e-9), ("second", 0.1)):
        shared_repo.add(f"{agent} 2", plain(content, importance=importance))
    close = shared_repo.search(f"{agent} 2", profile="half_life", weights={"importance": 1})
    assert contents(close) == ["first", "second"]
    assert [hit.record()["score"] for hit in close] == [0.1, 0.1]


# Why


THEN = datetime(2026, 6, 1, tzinfo=UTC)


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
            created_at=THEN - timedelta(days=1),
            tags=["even"] if n % 2 == 0 else ["odd"],
            metadata={"n": n},
            trust=None,
        )
        for n in range(12)
    ]
    return [*repo.add_many("agent", memories)]


@pytest.mark.parametrize("profile", [*BUILT_IN, DECAYING], ids=str)
def test_every_memory_is_explained_as_the_search_ranks_it(
    repo: MemoryRepository, ids: list[UUID], profile: Profile | str
) -> None:
    asked: dict[str, Any] = {"profile": profile, "as_of": THEN}
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
                named = [entry["signal"] for entry in why.record()["account"]]
                assert named == list(hit.signals), "and the decay, if there is one"


def test_an_outranked_memory_is_told_what_it_would_have_needed(
    repo: MemoryRepository, ids: list[UUID]
) -> None:
    why = repo.explain("agent", ids[5], at(0), k=3)

    last = repo.search("agent", at(0), k=3, touch=False)[-1]
    assert why.reasons[0].startswith("outranked: it is number 6, and k is 3")
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


FILTERED: list[tuple[Any, str]] = [
    ({"tags": ["even"]}, "filtered by 'tags', which requires ['even']; it has ['odd']"),
    ({"tags": {"$all": ["odd", "even"]}}, "requires {'$all': ['odd', 'even']}; it has ['odd']"),
    ({"tier": "short"}, "filtered by 'tier', which requires 'short'; it has 'long'"),
    ({"metadata.n": 2}, "filtered by 'metadata.n', which requires 2; it has 1"),
    ({"metadata.x.y": {"$exists": True}}, "requires {'$exists': True}; it has 'missing'"),
    ({"created_at": {"$gte": THEN}}, "filtered by 'created_at', which requires {'$gte'"),
    ({"retrieval_count": {"$gt": 5}}, "requires {'$gt': 5}; it has 0"),
    ({"last_accessed_at": {"$exists": True}}, "requires {'$exists': True}; it has None"),
    ({"embedding": {"$exists": False}}, "filtered by 'embedding', which requires"),
    ({"provenance.constitutional_compliance": True}, "compliance', which requires True; it has"),
    ({"decayed_trust": {"$gte": 0.9}}, "filtered by 'decayed_trust', which requires {'$gte': 0.9}"),
    ({"content": {"$match": "tea"}}, "filtered by 'content', which requires {'$match': 'tea'}"),
    ({"similarity": {"$gte": 0.999}}, "requires {'$gte': 0.999}; it has 0.9961"),
    ({"$or": [{"tags": "even"}, {"metadata.n": 2}]}, "filtered by '$or', which requires [{'tags'"),
    ({"NOT": {"tags": "odd"}}, "filtered by 'NOT', which requires {'tags': 'odd'}"),
    ({"tier": {"$in": ["long"], "$ne": "long"}}, "'tier', which requires {'$in': ['long'], '$ne'"),
    ({"$and": [text("false")]}, "it does not meet a condition of the filter: false"),
    (text("false"), "it does not meet a condition of the filter: false"),
]


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        *(({"filter": asked}, reason) for asked, reason in FILTERED),
        ({"as_of": THEN - timedelta(days=2)}, "after as_of"),
        ({"min_score": 0.99}, "is below min_score 0.99"),
    ],
)
def test_a_memory_kept_out_is_told_by_what(
    repo: MemoryRepository, ids: list[UUID], arguments: dict[str, Any], reason: str
) -> None:
    why = repo.explain("agent", ids[1], at(0), **arguments)

    assert not why.returned
    assert any(reason in said for said in why.reasons), why.reasons
    found = repo.search("agent", at(0), k=100, touch=False, **arguments)
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


def test_each_part_of_a_filter_that_is_not_met_is_named(mine: Owner) -> None:
    memory_id = mine.add(plain("m", metadata={"a": 5, "b": "x"}))
    parts: list[Any] = [{"metadata.a": {"$gte": 9, "$lt": 10}}, {"metadata.b": {"$ne": "x"}}]
    met = {"metadata.a": {"$gt": 4}}

    reasons = mine.explain(memory_id, at(0), filter={"$and": [*parts, met], "tags": "a"}).reasons

    filtered = [one for one in reasons if one.startswith("filtered by")]
    assert len(filtered) == 3
    assert filtered[0].startswith("filtered by 'metadata.a', which requires {'$gte': 9")
    assert filtered[1] == "filtered by 'metadata.b', which requires {'$ne': 'x'}; it has 'x'"
    mine.put(memory_id, status="archived")
    status = "its status is archived, which only include_inactive=True looks at"
    assert status in mine.explain(memory_id, at(0)).reasons
    assert status not in mine.explain(memory_id, at(0), include_inactive=True).reasons
