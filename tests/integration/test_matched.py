"""Statements over matched agree with each other: ranks, scores and every signal."""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from typing import Any

import pytest
from sqlalchemy import Connection, NullPool, create_engine, text

from pgrecall import Decay, MemoryRepository, Profile, migrate, profiles
from pgrecall.schema import tables
from pgrecall.scoring.attribute import Attribute
from pgrecall.scoring.signals import (
    Clock,
    EntityOverlap,
    Keyword,
    Recency,
    Similarity,
    Time,
    Trust,
    Usefulness,
)
from pgrecall.testing import new_database
from tests.conftest import DIMENSIONS
from tests.integration.support import before
from tests.integration.test_profiles_agree import random_memories

WORDS = [
    "tea",
    "milk",
    "coffee",
    "rain",
    "river",
    "tram",
    "Zoë",
    "Acme",
    "Anna",
    "Robert",
    "the",
    "harbour",
    "meeting",
    "blue",
]
NAMES = ("Anna Lind", "Robert", "Acme", "Zoë", "C++", "Harbour Tram")
OWN = (
    Profile(
        "by_type",
        {
            Similarity(shift=0.3, missing=0.25): 0.4,
            Recency(half_life=9, half_lives_by_type=(("task", 2.0), ("it's", 30.0))): 0.2,
            Attribute(name="views", metadata="stats.views", most=50, falling=True): 0.2,
            Keyword(b=0.3, pivot=10): 0.2,
        },
        decay=Decay(Recency(half_life=30, clock=Clock.LATEST), 0.2),
    ),
    Profile("words", {Keyword(): 0.7, EntityOverlap(): 0.3}, redistribute=True),
    Profile("names", {EntityOverlap(): 1.0}, redistribute=True),
    Profile(
        "spread",
        {
            Time(unknown=0.1): 0.2,
            Trust(missing=0.4): 0.4,
            Usefulness(): 0.1,
            Similarity(required=True, shift=0.5): 0.3,
        },
        redistribute=True,
        decay=Decay(Recency(rate=0.01)),
    ),
)

FILTERS: list[Any] = [
    {"tags": ["a", "%s"]},
    {"memory_type": ["factual", "note"]},
    {"entities": ["Bob", "Acme"]},
    {"entities": {"$all": ["Bob"]}, "status": "archived"},
    {"decayed_trust": {"$gte": 0.4}},
    {"content": {"$match": "tea -rain"}},
    {"$or": [{"retrieval_count": {"$gte": 20}}, {"metadata.stats.views": {"$lt": 30}}]},
    {"$not": {"last_accessed_at": {"$gt": before(3)}}, "importance": {"$lt": 0.9}},
    tables("pgrecall").memories.c.subject.is_not(None),
]
TEAMS = ("red", "blue")
approx = partial(pytest.approx, abs=1e-9)


def fill(repository: MemoryRepository, connection: Connection, dice: random.Random) -> None:
    """Memories of an agent, two teams and a stranger, with names, aliases and use."""
    usage = text("INSERT INTO pgrecall.memory_usage VALUES (:owner, :id, :count, :accessed)")
    for owner, size in {"agent": 120, "red": 40, "blue": 30, "stranger": 20}.items():
        memories = [
            replace(
                one,
                content=" ".join(dice.choices(WORDS, k=dice.choice((1, 4, 9, 90)))) + f" {number}",
                entities=dice.sample(NAMES, dice.randint(0, 3)),
                subject=dice.choice([None, None, *NAMES[:2], "it's"]),
                metadata={"stats": {"views": dice.choice([3, 20.5, 90, "many"])}},
            )
            for number, one in enumerate(random_memories(dice, size))
        ]
        where = repository.teams if owner in TEAMS else repository
        for id_ in where.add_many(owner, memories, check_compliance=False):
            if dice.random() < 0.5:
                stored = f"team:{owner}" if owner in TEAMS else owner
                accessed = dice.choice([None, *map(before, (-5, 0, 3, 40, 300))])
                count = dice.choice([0, 1, 20, 60])
                values = {"owner": stored, "id": id_, "count": count, "accessed": accessed}
                connection.execute(usage, values)
        where.names.alias(owner, "Bob", "Robert")


@pytest.fixture(scope="module", params=["vector", "halfvec"])
def connection(request: pytest.FixtureRequest, server_url: str) -> Iterator[Connection]:
    """One transaction, so that all statements have the same now()."""
    with new_database(server_url) as url:
        migrate.upgrade(url, dimensions=DIMENSIONS, embedding_type=request.param)
        with create_engine(url, poolclass=NullPool).connect() as made:
            fill(MemoryRepository(made), made, random.Random("matched"))
            yield made


def question(dice: random.Random) -> dict[str, Any]:
    """The arguments of a random search."""

    def maybe(name: str, chance: float, value: Any) -> dict[str, Any]:
        return {name: value} if dice.random() < chance else {}

    has_vector, has_text = dice.random() < 0.85, dice.random() < 0.7
    said = dice.choice([" ".join(dice.choices(WORDS, k=4)), "Bob at Acme with C++", "the", "xyzzy"])
    period = before(40), before(3)
    floors = maybe("min_relevance", 0.3, 0.1) if has_vector or has_text else {}
    return {
        "query": [dice.uniform(-0.5, 1) for _ in range(DIMENSIONS)] if has_vector else None,
        "k": dice.choice([3, 10, 1000]),
        "profile": dice.choice([*profiles.BUILT_IN.values(), *OWN]),
        **({"keywords": said} if has_text else {}),
        **maybe("teams", 0.4, dice.choice([["red"], ["red", "blue"], ["green"]])),
        **maybe("as_of", 0.3, before(dice.choice([-100, 0, 30]))),
        **maybe("period", 0.3, period),
        **maybe("entities", 0.2, dice.sample(("Bob", *NAMES), dice.randint(0, 3))),
        **floors,
        **maybe("min_score", 0.2, 0.3),
        **maybe("filter", 0.4, dice.choice(FILTERS)),
        **maybe("include_inactive", 0.2, True),
    }


def test_a_memory_is_explained_as_a_search_ranks_it(connection: Connection) -> None:
    """Two statements over matched agree, for random questions."""
    repository = MemoryRepository(connection)
    dice = random.Random("questions")
    returned = 0
    for _ in range(300):
        asked = question(dice)
        ranked = repository.search("agent", touch=False, strategy="exact", **asked | {"k": 1000})
        if not ranked:
            continue
        rank = dice.randint(1, len(ranked))
        hit, its_id = ranked[rank - 1], ranked[rank - 1].memory.id

        why = repository.explain("agent", its_id, **asked)

        assert why.rank == rank, asked
        assert why.ranked >= len(ranked), asked
        assert why.returned == (rank <= asked["k"]), asked
        assert (why.passes, why.hit.memory) == (True, hit.memory), asked
        assert why.hit.score == approx(hit.score), asked
        assert why.hit.signals == approx(hit.signals), asked
        assert why.hit.contributions == approx(hit.contributions), asked
        assert hit.relevance is None or why.hit.relevance == approx(hit.relevance), asked
        assert why.hit.cosine == approx(hit.cosine), asked
        returned += why.returned
    assert 100 < returned < 250
