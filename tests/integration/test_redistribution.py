"""Weights of signals that a query gives nothing to compare with go to the others."""

from __future__ import annotations

import json
import math
import pickle
from dataclasses import replace
from typing import Any

import pytest

from pgrecall import JudgedQuery, NewMemory, Profile, profiles, score
from pgrecall.errors import InvalidProfile
from pgrecall.scoring.profile_file import load, save
from pgrecall.scoring.signals import EntityOverlap, Importance, Keyword, Similarity, Time
from tests.integration.owner import Owner, north
from tests.integration.recalling import Connection, recall
from tests.integration.support import NORTH, NOW, at, before

EXACT = 1e-12
STOP_WORDS, SIGNS = "the and of", "!&| 🙂 …"
MIXED = Profile(
    "mixed",
    {Similarity(): 0.3, Keyword(): 0.2, EntityOverlap(): 0.3, Time(): 0.1, Importance(): 0.1},
    redistribute=True,
)
PERIOD = (before(4), before(2))
ASKED: dict[str, dict[str, Any]] = {
    "nothing": {},
    "a vector": {"query": NORTH},
    "words": {"query_text": "tea"},
    "words that do not count": {"query_text": STOP_WORDS},
    "no words": {"query_text": ""},
    "signs": {"query_text": SIGNS},
    "a vector and words that do not count": {"query": NORTH, "query_text": STOP_WORDS},
    "a vector and words": {"query": NORTH, "query_text": "tea lamp"},
    "entities": {"query_entities": ["Ada"]},
    "a period": {"query_time": (before(10), before(8))},
    "all": {"query": NORTH, "query_text": "lamp", "query_entities": ["Ada"], "query_time": PERIOD},
}
TOLD = {
    "query": "similarity",
    "query_text": "keyword",
    "query_entities": "entity_overlap",
    "query_time": "time",
}
each_question = pytest.mark.parametrize("asked", ASKED.values(), ids=list(ASKED))


@pytest.fixture
def told(mine: Owner) -> Owner:
    mine.add_many(
        [
            north("tea", importance=0.9, created_at=before(days=3)),
            NewMemory("lamp", embedding=at(70), entities=["Ada"], created_at=before(days=9)),
            NewMemory("tea lamp", embedding=at(150), importance=0.1, created_at=before(days=1)),
        ]
    )
    return mine


def weights(profile: Profile, asked: dict[str, Any]) -> dict[str, float]:
    """By hand: those of what is told, divided by their sum."""
    untold = {name for given, name in TOLD.items() if not asked.get(given)}
    if asked.get("query_text") in (STOP_WORDS, SIGNS):
        untold.add("keyword")
    kept = {n: 0.0 if n in untold else w for n, w in profile.weights.items()}
    return {name: weight / math.fsum(kept.values()) for name, weight in kept.items()}


@each_question
def test_what_a_query_does_not_tell_gives_its_weight_to_the_others(
    told: Owner, connection: Connection, asked: dict[str, Any]
) -> None:
    """In searches, in explanations, in psql, and in evaluations, where a floor leaves out the
    same memories."""
    for profile in (MIXED, profiles.hybrid):
        hits = told.search(**asked, profile=profile, touch=False, as_of=NOW)

        wanted = weights(profile, asked)
        assert len(hits) == 3
        for hit in hits:
            assert hit.contributions == pytest.approx(
                {name: wanted[name] * value for name, value in hit.signals.items()},
                rel=0,
                abs=EXACT,
            )
            assert hit.score == pytest.approx(math.fsum(hit.contributions.values()), abs=EXACT)
        why = told.explain(hits[-1].memory.id, **asked, profile=profile, as_of=NOW)
        assert why.hit == hits[-1]
        assert {one.name: one.weight for one in why.signals} == pytest.approx(wanted, abs=EXACT)

        query = JudgedQuery(
            asked.get("query"),
            {hit.memory.id: 1.0 for hit in hits},
            query_text=asked.get("query_text"),
            query_entities=asked.get("query_entities") or [],
            query_time=asked.get("query_time"),
        )
        for hit in hits:
            floor = max(hit.score - 1e-9, 0.0)
            [found] = told.evaluation.evaluate(
                [query], profiles=[profile], min_score=floor, as_of=NOW, k=3
            ).profiles
            [recalled] = found.per_query["recall"]
            assert recalled == pytest.approx(sum(one.score >= floor for one in hits) / 3)

    rows = recall(connection, "hybrid", told.name, **asked, as_of=NOW)
    assert [row["id"] for row in rows] == [hit.memory.id for hit in hits]
    assert [row["score"] for row in rows] == pytest.approx([hit.score for hit in hits], abs=EXACT)
    explained: dict[str, Any] = {"function": "explain", "memory_id": hits[0].memory.id}
    [shown] = recall(connection, "hybrid", told.name, **explained, as_of=NOW, **asked)
    told_weights = {one["signal"]: one["weight"] for one in shown["signals"]}
    assert told_weights == pytest.approx(weights(profiles.hybrid, asked), abs=EXACT)


def test_the_scorer_gives_away_what_is_not_named() -> None:
    values = {"similarity": 0.5, "importance": 0.2}

    found = score(MIXED, values)

    assert found.score == pytest.approx((0.3 * 0.5 + 0.1 * 0.2) / 0.4)
    none_there = score(MIXED, {**values, "similarity": None, "keyword": None})
    assert none_there.score == pytest.approx(0.1 * 0.2 / 0.6), "asked, but the memory has nothing"


def test_where_no_other_signal_weighs_anything_nothing_is_given_away(
    told: Owner, connection: Connection
) -> None:
    alone = Profile("alone", {Keyword(): 1.0, Importance(): 0.0}, redistribute=True)

    for text in (STOP_WORDS, None):
        hits = told.search(query_text=text, profile=alone, touch=False)
        assert [hit.score for hit in hits] == [0.0, 0.0, 0.0]
    only_words = {"keyword": 1.0}
    rows = recall(connection, "hybrid", told.name, query_text=STOP_WORDS, weights=only_words)
    assert [row["score"] for row in rows] == [0.0, 0.0, 0.0]


def test_it_is_a_part_of_the_profile(tmp_path: Any) -> None:
    path = tmp_path / "mixed.toml"
    save(MIXED, path)

    assert load(path) == MIXED == pickle.loads(pickle.dumps(MIXED))
    assert replace(MIXED, redistribute=False) != MIXED
    assert MIXED.renamed("other").redistribute
    with pytest.raises(InvalidProfile, match="redistribute must be True or False, got 1"):
        replace(MIXED, redistribute=1)  # type: ignore[arg-type]
    file = tmp_path / "bad.json"
    file.write_text(
        json.dumps({"name": "a", "redistribute": "yes", "signals": {"keyword": {"weight": 1}}})
    )
    with pytest.raises(InvalidProfile, match="redistribute must be True or False"):
        load(file)
