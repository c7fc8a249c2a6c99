"""A search and pgrecall.score: two ways to a ranking, and they agree.

The oracle reads the rows back with plain SELECTs, filters and sorts them in Python, and computes
similarity in double precision. Components are small whole numbers, whose products pgvector sums
without rounding, so that similarity too is held to 1e-9. psql runs the statements of a search
(test_statements); what words count is in test_keyword_signal, filters in test_filters.
"""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

import psycopg
import pytest
from psycopg.rows import dict_row
from sqlalchemy import create_engine

from pgrecall import (
    Decay,
    MemoryRepository,
    NewMemory,
    Profile,
    ScoredMemory,
    migrate,
    profiles,
    score,
)
from pgrecall.core.limits import SMALLEST_SHARE
from pgrecall.scoring.attribute import Attribute
from pgrecall.scoring.profile import SMALLEST_WEIGHT
from pgrecall.scoring.scored_memory import Breakdown
from pgrecall.scoring.signals import (
    LONGEST_HALF_LIFE,
    MAX_RATE,
    SHORTEST_HALF_LIFE,
    Clock,
    Confidence,
    Curve,
    EntityOverlap,
    Frequency,
    Importance,
    Recency,
    Similarity,
    Time,
    Trust,
    Usefulness,
)
from pgrecall.testing import new_database
from tests.conftest import DIMENSIONS
from tests.integration.recalling import Connection
from tests.integration.support import NOW, before

EXACT = 1e-9
ROUNDING = 1e-12
"""Scores closer than this may stand either way: the two sides add in different orders."""
AGENT, TEAMS = "agent", ["red", "blue"]
SIZES = {AGENT: 250, "red": 60, "blue": 40, "stranger": 20}
TYPES = ("episodic", "factual", "procedural", "preference", "behavioural", "note")
WORDS = ("tea", "milk", "café", "fire", "great", "rain", "dancing", "Zoë", "1,000", "the", "東京")
ENTITIES = ("Ann", "Bob", "Sir W.", "Zoë", 'C++ "lib"', "Ann ")
EVERYTHING = 10_000

Row = Mapping[str, Any]
Weigh = Callable[[Profile], dict[str, float]]


@dataclass(frozen=True)
class World:
    """A database full of random memories, and the same rows in Python."""

    repository: MemoryRepository
    connection: Connection
    rows: Mapping[str, Sequence[Row]] = field(repr=False)
    """By owner, as they were read back."""


def whole_vector(dice: random.Random) -> list[float]:
    while not any(found := [float(dice.randint(-8, 8)) for _ in range(DIMENSIONS)]):
        pass
    return found


def share(dice: random.Random) -> float:
    return dice.choice([0.0, 1.0, 1e-100, *(dice.random() for _ in range(9))])


def random_memory(dice: random.Random) -> NewMemory:
    """Also with what no signal reads, since others move such memories."""

    def maybe(value: Any, chance: float = 0.5) -> Any:
        return value if dice.random() < chance else None

    def some(values: Sequence[str], at_most: int) -> list[str]:
        return dice.sample(values, dice.randint(0, at_most))

    age = dice.choice([dice.uniform(-10, 30), dice.uniform(0, 400), 0.0, 14.0, 3_000.0])
    return NewMemory(
        " ".join(dice.choices(WORDS, k=dice.randint(0, 6))),
        embedding=maybe(whole_vector(dice), 0.85),
        created_at=maybe(before(age), 0.9),
        observed_at=maybe(before(dice.uniform(-20, 400)), 0.2),
        memory_type=dice.choice(TYPES),
        additional_types=some(TYPES, 2),
        tier=dice.choice(["short", "medium", "long"]),
        tags=some(["a", "b", "c", "%s"], 3),
        entities=some(ENTITIES, 4),
        metadata={"n": dice.randint(0, 3), "deep": {"x": [dice.randint(0, 2), "y"]}},
        component=maybe(dice.choice(["hunter", "meta"])),
        output_type=maybe(dice.choice(["action", "decision"])),
        domain=maybe(dice.choice(["law", "art"])),
        category=maybe(dice.choice(["x", "y"])),
        loop=maybe(dice.choice(["inner", "outer"])),
        memory_nature=maybe(dice.choice(["semantic", "own"])),
        content_type=maybe(dice.choice(["text/html", "json"])),
        compliant=dice.choice([None, True, False]),
        importance=share(dice),
        usefulness=share(dice),
        confidence=share(dice),
        trust=maybe(share(dice), 0.8),
        trust_curve=dice.choice([None, *map(str, Curve)]),
        trust_half_life_hours=dice.choice([None, 168.0, 24.0, dice.uniform(1, 500), 1e-3, 1e9]),
        valid_from=maybe(before(dice.uniform(-20, 200)), 0.1),
        valid_until=maybe(before(-dice.uniform(21, 400)), 0.1),
        expires_at=maybe(before(dice.uniform(-200, 20)), 0.1),
    )


def random_memories(dice: random.Random, count: int) -> list[NewMemory]:
    """One in ten is there three times over but for its text, so that equal scores are certain."""
    found: list[NewMemory] = []
    while len(found) < count:
        found += [random_memory(dice)] * dice.choice([1] * 9 + [3])
    return [replace(one, content=f"{one.content} no{n}") for n, one in enumerate(found[:count])]


def fill(repository: MemoryRepository, connection: Connection) -> None:
    dice = random.Random("profiles agree")
    usage = "INSERT INTO pgrecall.memory_usage VALUES (%s, %s, %s, %s)"
    for owner, size in SIZES.items():
        where = repository.teams if owner in TEAMS else repository
        ids = where.add_many(owner, random_memories(dice, size), check_compliance=False)
        stored = f"team:{owner}" if owner in TEAMS else owner
        for id_ in ids:
            if dice.random() < 0.5:
                count = dice.choice([0, 1, 20, 50, 51, 2**31 - 1, dice.randint(0, 60)])
                accessed = dice.choice([None, *(before(d) for d in (-5, 0, 3, 40, 300))])
                connection.execute(usage, (stored, id_, count, accessed))
            if dice.random() < 0.2:
                connection.execute(
                    "UPDATE pgrecall.agent_memories SET status = %s, invalidated_at = %s "
                    "WHERE id = %s",
                    (
                        dice.choice(["archived", "active"]),
                        dice.choice([None, before(dice.uniform(-50, 50))]),
                        id_,
                    ),
                )
    connection.execute("ANALYZE")


READ = """
SELECT m.*, m.embedding::text AS vector, u.retrieval_count, u.last_accessed_at
  FROM pgrecall.agent_memories m
  LEFT JOIN pgrecall.memory_usage u ON u.agent_id = m.agent_id AND u.memory_id = m.id
"""


@contextmanager
def world_at(url: str) -> Iterator[World]:
    engine = create_engine(url)
    repository = MemoryRepository(engine)
    with psycopg.connect(url, autocommit=True, row_factory=dict_row) as connection:
        fill(repository, connection)
        rows: dict[str, list[Row]] = {owner: [] for owner in SIZES}
        for row in connection.execute(READ):
            components = row["vector"] and [float(x) for x in row["vector"][1:-1].split(",")]
            rows[row["agent_id"].removeprefix("team:")].append({**row, "vector": components})
        assert {owner: len(found) for owner, found in rows.items()} == SIZES
        yield World(repository, connection, rows)
    engine.dispose()


@pytest.fixture(scope="module")
def world(module_url: str) -> Iterator[World]:
    with world_at(module_url) as found:
        yield found


# The oracle


def cosine(a: Sequence[float], b: Sequence[float]) -> float:
    dot = math.fsum(x * y for x, y in zip(a, b, strict=True))
    return dot / (math.hypot(*a) * math.hypot(*b))


OF_SCORER = (
    *("created_at", "observed_at", "last_accessed_at", "retrieval_count", "usefulness"),
    *("importance", "confidence", "trust", "trust_curve", "trust_half_life_hours", "tier"),
    *("memory_type", "additional_types", "entities", "metadata"),
)


@dataclass(frozen=True)
class Expected:
    id: UUID
    owner: str
    similarity: float | None
    breakdown: Breakdown


def expected(world: World, profile: Profile, arguments: Mapping[str, Any]) -> list[Expected]:
    """What Python alone finds: all that pass, best first."""
    query, moment = arguments.get("query"), arguments["as_of"]
    needs_embedding = query is not None and any(
        isinstance(signal, Similarity) and signal.required for signal in profile.signals
    )
    floor = arguments.get("filter", {}).get("similarity", {}).get("$gte")
    found = []
    for owner in dict.fromkeys([AGENT, *arguments.get("teams", ())]):
        for row in world.rows.get(owner, ()):
            vector = row["vector"]
            similarity = None if vector is None or query is None else cosine(vector, query)
            if (
                row["status"] != "active"
                or (row["created_at"] is not None and row["created_at"] > moment)
                or not holds(row, moment)
                or (needs_embedding and vector is None)
                or not reaches(similarity, floor)
            ):
                continue
            values = {name: row[name] for name in OF_SCORER} | {"similarity": similarity}
            values |= {
                "query_entities": arguments.get("entities"),
                "period": arguments.get("period"),
            }
            breakdown = score(profile, values, as_of=moment)
            if reaches(breakdown.score, arguments.get("min_score")):
                found.append(Expected(row["id"], row["agent_id"], similarity, breakdown))
    return sorted(found, key=lambda one: (-one.breakdown.score, one.id))


def reaches(value: float | None, floor: float | None) -> bool:
    return floor is None or (value is not None and value >= floor)


def holds(row: Row, moment: datetime) -> bool:
    return (row["valid_from"] is None or row["valid_from"] <= moment) and all(
        row[end] is None or moment < row[end]
        for end in ("valid_until", "expires_at", "invalidated_at")
    )


def assert_as_wanted(found: Sequence[ScoredMemory], wanted: Sequence[Expected]) -> None:
    by_id = {one.id: one for one in wanted}
    assert len({hit.memory.id for hit in found}) == len(found)
    for hit, at_this_place in zip(found, wanted[: len(found)], strict=True):
        one = by_id[hit.memory.id]
        if hit.memory.id != at_this_place.id:
            assert abs(one.breakdown.score - at_this_place.breakdown.score) <= ROUNDING
        assert hit.memory.owner_id == one.owner
        assert hit.score == pytest.approx(one.breakdown.score, abs=EXACT)
        assert hit.signals == pytest.approx(one.breakdown.signals, abs=EXACT)
        assert math.fsum(hit.contributions.values()) == pytest.approx(hit.score, abs=EXACT)
        similarity = one.similarity
        assert hit.similarity == (
            similarity if similarity is None else pytest.approx(max(similarity, 0), abs=EXACT)
        )
    keys = [(-hit.score, hit.memory.id) for hit in found]
    assert keys == sorted(keys)


def assert_agree(
    world: World,
    profile: Profile,
    arguments: Mapping[str, Any],
    weigh: Weigh | None = None,
) -> int:
    """How many memories there were to find, k aside."""
    asked: dict[str, Any] = {"as_of": NOW, "strategy": "exact", **arguments}
    scored, weights = profile, None
    if weigh is not None:
        weights = weigh(profile)
        scored = profile.with_weights(**weights)
    wanted = expected(world, scored, asked)

    hits = world.repository.search(AGENT, profile=profile, weights=weights, touch=False, **asked)

    assert len(hits) == len(wanted[: asked.get("k", 10)])
    assert_as_wanted(hits, wanted)
    return len(wanted)


DICE = random.Random("questions")


def about(**arguments: Any) -> dict[str, Any]:
    return {"query": whole_vector(DICE), "k": EVERYTHING, **arguments}


QUESTIONS: dict[str, dict[str, Any]] = {
    "one best": about(k=1),
    "k by default": {"query": whole_vector(DICE)},
    "everything": about(),
    "no query vector": about(query=None, k=40),
    "no query vector, everything": about(query=None),
    "as of a month ago": about(as_of=before(30)),
    "as of a year ago": about(as_of=before(365)),
    "as of before almost all": about(as_of=before(2_999)),
    "as of in three days": about(as_of=before(-3)),
    "as of in a year": about(as_of=before(-365)),
    "as of in thirty years": about(as_of=before(-11_000)),
    "min_score": about(min_score=0.4137),
    "min_score nobody reaches": about(min_score=1.0),
    "similarity": about(filter={"similarity": {"$gte": 0.3137}}),
    "both thresholds": about(filter={"similarity": {"$gte": 0.2137}}, min_score=0.3637),
    "one team": about(teams=["red"]),
    "two teams": about(teams=TEAMS),
    "a team twice and one unknown": about(teams=["red", "red", "green"]),
    "teams, few": about(teams=TEAMS, k=7),
    "entities": about(entities=["Ann", "Zoë", "Sir W."]),
    "entities, each counted once": about(entities=["Ann", "Ann", "Bob"]),
    "entities nobody has": about(entities=["Nemo", "Bob"]),
    "entities of 32": about(entities=[*map(str, range(26)), *ENTITIES]),
    "no entities": about(entities=[]),
    "several, teams, future": about(
        teams=TEAMS,
        entities=["Ann"],
        filter={"similarity": {"$gte": 0.1137}},
        as_of=before(-100),
    ),
    "several, no query vector": about(query=None, teams=TEAMS, min_score=0.2137),
}
SYSTEMS = {name: one for name, one in profiles.BUILT_IN.items() if one is not profiles.hybrid}
WEIGHED: dict[str, Weigh] = {
    "reversed": lambda p: dict(zip(p.weights, reversed(p.weights.values()), strict=True)),
    "all equal": lambda p: dict.fromkeys(p.weights, 1 / len(p.weights)),
    "on similarity alone": lambda _: {"similarity": 1.0},
    "on the last signal alone": lambda p: {list(p.weights)[-1]: 1.0},
    "one tiny": lambda _: {"recency": 1 - 1e-12, "similarity": 1e-12},
    "rising": lambda p: {
        name: n / math.fsum(range(1, len(p.weights) + 1))
        for n, name in enumerate(p.weights, start=1)
    },
}


@pytest.mark.parametrize("name", SYSTEMS)
def test_a_search_ranks_as_the_scorer_does(world: World, name: str) -> None:
    for question, asked in QUESTIONS.items():
        found = assert_agree(world, SYSTEMS[name], asked)
        assert (found == 0) == (question == "min_score nobody reaches")
    for weigh in WEIGHED.values():
        asked = QUESTIONS["entities"] | {"teams": TEAMS}
        assert assert_agree(world, SYSTEMS[name], asked, weigh) > 0


def test_a_search_ranks_as_the_scorer_does_on_halfvec(server_url: str) -> None:
    with new_database(server_url) as url:
        migrate.upgrade(url, dimensions=DIMENSIONS, embedding_type="halfvec")
        with world_at(url) as half_world:
            for profile in SYSTEMS.values():
                for name in ("two teams", "similarity", "no query vector"):
                    assert assert_agree(half_world, profile, QUESTIONS[name]) > 0


def test_the_view_shows_the_signals_of_the_scorer_and_values_as_stored(world: World) -> None:
    query = "SELECT v.*, now() AS as_of FROM pgrecall.memory_signals v"
    shown = {row["id"]: row for row in world.connection.execute(query)}
    stored = [row for rows in world.rows.values() for row in rows]
    assert shown.keys() == {row["id"] for row in stored}
    same = (
        *("agent_id", "memory_type", "tier", "status", "trust", "usefulness", "importance"),
        *("confidence", "last_accessed_at"),
    )

    for row in stored:
        found = shown[row["id"]]
        now, accessed = found["as_of"], row["last_accessed_at"]
        values = {name: row[name] for name in OF_SCORER}
        values["last_accessed_at"] = accessed and min(accessed, now)
        assert [found[name] for name in same] == [row[name] for name in same]
        assert found["retrieval_count"] == (row["retrieval_count"] or 0)
        assert found["valid"] == holds(row, now)
        for profile in SYSTEMS.values():
            signals = score(profile, values, as_of=now).signals
            for name in {"recency", "frequency"} & signals.keys():
                signal = found[f"{name}_{profile.name.removesuffix('_stored')}"]
                assert signal == pytest.approx(signals[name], rel=1e-9, abs=1e-9)
        decayed = score(profiles.trust, values, as_of=now).signals["trust"]
        expected = None if row["trust"] is None else pytest.approx(decayed, rel=1e-9)
        assert found["decayed_trust"] == expected
        for age, clock in (("age_days", "created_at"), ("days_since_access", "last_accessed_at")):
            days = row[clock] and max(0.0, (now - row[clock]) / timedelta(days=1))
            assert found[age] == (days if days is None else pytest.approx(days, rel=1e-9))


DERIVED = {
    "half_life_1e9": profiles.half_life.with_half_life(1e9),
    "five_factor_half_life": profiles.five_factor.with_half_life(14),
    "tiered_one_half_life": profiles.tiered.with_half_life(2.5),
    "last_access_both": profiles.last_access.with_half_life(3).with_weights(
        similarity=0.1, recency=0.9
    ),
}
NO_HALF_LIVES: dict[str, Any] = {}
HALF_LIVES: tuple[dict[str, Any], ...] = (
    NO_HALF_LIVES,
    {"half_lives_by_type": {"factual": 180, "procedural": 120, "episodic": 14, "note": 0.5}},
    {"half_lives_by_type": {"factual": 180.0, 'it\'s "q"; %s': 1.0}},
    {"half_lives_by_tier": {"short": 0.25, "medium": 7.0}},
    {"half_lives_by_tier": {"medium": 1e9}},
)


def random_profile(dice: random.Random, name: str) -> Profile:
    """Any signals in any order, with parameters and weights random or extreme."""

    def parameter() -> float:
        return dice.choice([0.0, SMALLEST_SHARE, 1.0, dice.random()])

    recency = random_recency(dice)
    decay = Decay(random_recency(dice), parameter()) if dice.random() < 0.5 else None
    trust = Trust(decay=dice.random() < 0.5, missing=parameter())
    frequency = Frequency(cap=dice.choice([1.0, 1e9, 1 + 99 * dice.random()]))
    paths = ("n", "deep.x.0", "deep.x.1", "deep.x.-2", "deep", 'it\'s: "%s" of pgrecall\\.x')
    ends = sorted(dice.sample([-1e18, -2.5, -1e-100, 0, 1, 1.7, 3, 1e18], 2))
    own = Attribute(
        name="own",
        metadata=dice.choice(paths),
        least=ends[0],
        most=ends[1],
        falling=dice.random() < 0.5,
        missing=parameter(),
    )
    signals = [
        *(own, Similarity(missing=parameter()), trust, frequency, Time(unknown=parameter())),
        *(Usefulness(), Importance(), Confidence(), EntityOverlap()),
    ]
    chosen = [recency, *dice.sample(signals, dice.randint(0, len(signals)))]
    dice.shuffle(chosen)
    total = math.fsum(parts := [dice.random() for _ in chosen])
    weights = [part / total for part in parts]
    if dice.random() < 0.5:  # one has almost all, the others nothing or next to it
        # A period for which nothing weighs is not looked at.
        least = [SMALLEST_WEIGHT if isinstance(one, Time) else 0.0 for one in chosen[1:]]
        small = [dice.choice([weight, SMALLEST_WEIGHT]) for weight in least]
        weights = [1 - math.fsum(small), *small]
    return Profile(name, dict(zip(chosen, weights, strict=True)), decay=decay)


def random_recency(dice: random.Random) -> Recency:
    clock = dice.choice(list(Clock))
    half_life = dice.choice([SHORTEST_HALF_LIFE, 1.0, 400.0, LONGEST_HALF_LIFE, 99 * dice.random()])
    by_half_life: dict[str, Any] = {"half_life": half_life, "curve": dice.choice(list(Curve))}
    by_rate: dict[str, Any] = {"rate": dice.choice([0.0, 1e-12, MAX_RATE, dice.random()])}
    speed = by_half_life | dice.choice(HALF_LIVES) if dice.random() < 0.8 else by_rate
    unknown = dice.choice([0.0, SMALLEST_SHARE, 1.0, dice.random()])
    return Recency(clock=clock, unknown=unknown, **speed)


DICE_OF_PROFILES = random.Random("profiles")
OTHERS = [
    *(profile.renamed(name) for name, profile in DERIVED.items()),
    *(random_profile(DICE_OF_PROFILES, f"random_{number}") for number in range(36)),
]


def test_other_profiles_rank_as_the_scorer_does(world: World) -> None:
    for number, profile in enumerate(OTHERS):
        asked = QUESTIONS["entities"] | {"teams": TEAMS, "k": 200}
        asked |= {"period": (before(100), before(60)), "as_of": before(-365 * (number % 2))}
        assert assert_agree(world, profile, asked) > 0
    alone = Profile("time_alone", {Time(unknown=0.25): 1.0})
    for seconds in (1e-6, 3_600, 86_400, 40 * 86_400):
        period = (before(14), before(14) + timedelta(seconds=seconds))
        assert assert_agree(world, alone, {"k": EVERYTHING, "period": period}) > 0
