"""Repository, SQL function and pgrecall.score: three ways to a ranking, and they agree.

The oracle reads the rows back with plain SELECTs, filters and sorts them in Python, and computes
similarity in double precision. Components are small whole numbers, whose products pgvector sums
without rounding, so that similarity too is held to 1e-9. Where words count, which the scorer does
not compute, the repository and the SQL function are compared alone.
"""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from itertools import product
from typing import Any
from uuid import UUID

import psycopg
import pytest
from psycopg.rows import dict_row
from sqlalchemy import create_engine

from pgrecall import MemoryRepository, NewMemory, Profile, migrate, profiles, score
from pgrecall.core.limits import SMALLEST_SHARE
from pgrecall.ranking.filters import FilterArguments
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
from tests.integration.recalling import Connection, installed, recall
from tests.integration.support import NOW, before

EXACT = 1e-9
ROUNDING = 1e-12
"""Scores closer than this may stand either way: the two sides add in different orders."""

AGENT, TEAMS = "agent", ["red", "blue"]
SIZES = {AGENT: 250, "red": 60, "blue": 40, "stranger": 20}
TYPES = ("episodic", "factual", "procedural", "preference", "behavioural", "note")
ENTITIES = ("Ann", "Bob", "Sir W.", "Zoë", 'C++ "lib"', "Ann ")
WORDS = ("tea", "milk", "café", "fire", "great", "rain", "dancing", "Zoë", "1,000", "the", "東京")
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


def maybe(dice: random.Random, value: Any, chance: float = 0.5) -> Any:
    return value if dice.random() < chance else None


def some(dice: random.Random, values: Sequence[str], at_most: int) -> list[str]:
    return dice.sample(values, dice.randint(0, at_most))


def random_memory(dice: random.Random) -> NewMemory:
    age = dice.choice([dice.uniform(-10, 30), dice.uniform(0, 400), 0.0, 14.0, 3_000.0])
    return NewMemory(
        " ".join(dice.choices(WORDS, k=dice.randint(0, 6))),
        embedding=maybe(dice, whole_vector(dice), 0.85),
        created_at=maybe(dice, before(age), 0.9),
        observed_at=maybe(dice, before(dice.uniform(-20, 400)), 0.2),
        memory_type=dice.choice(TYPES),
        additional_types=some(dice, TYPES, 2),
        tier=dice.choice(["short", "medium", "long"]),
        tags=some(dice, ["a", "b", "c", "%s"], 3),
        entities=some(dice, ENTITIES, 4),
        metadata={"n": dice.randint(0, 3), "deep": {"x": [dice.randint(0, 2), "y"]}},
        importance=share(dice),
        usefulness=share(dice),
        confidence=share(dice),
        trust=maybe(dice, share(dice), 0.8),
        trust_curve=dice.choice([None, *map(str, Curve)]),
        trust_half_life_hours=dice.choice([None, 168.0, 24.0, dice.uniform(1, 500), 1e-3, 1e9]),
        component=maybe(dice, dice.choice(["hunter", "meta"])),
        output_type=maybe(dice, dice.choice(["action", "decision"])),
        domain=maybe(dice, dice.choice(["law", "art"])),
        category=maybe(dice, dice.choice(["x", "y"])),
        loop=maybe(dice, dice.choice(["inner", "outer"])),
        compliant=dice.choice([None, True, False]),
        valid_from=maybe(dice, before(dice.uniform(-20, 200)), 0.1),
        valid_until=maybe(dice, before(-dice.uniform(21, 400)), 0.1),
        expires_at=maybe(dice, before(dice.uniform(-200, 20)), 0.1),
        memory_nature=maybe(dice, dice.choice(["semantic", "own"])),
        content_type=maybe(dice, dice.choice(["text/html", "json"])),
    )


def random_memories(dice: random.Random, count: int) -> list[NewMemory]:
    """One in ten is there three times over but for its text, so that equal scores are certain."""
    found: list[NewMemory] = []
    while len(found) < count:
        found += [random_memory(dice)] * dice.choice([1] * 9 + [3])
    return [replace(one, content=f"{one.content} no{n}") for n, one in enumerate(found[:count])]


def stored_id(owner: str) -> str:
    return f"team:{owner}" if owner in TEAMS else owner


def fill(repository: MemoryRepository, connection: Connection) -> None:
    dice = random.Random("profiles agree")
    for owner, size in SIZES.items():
        where = repository.teams if owner in TEAMS else repository
        ids = where.add_many(owner, random_memories(dice, size), check_compliance=False)
        stored = stored_id(owner)
        for id_ in ids:
            if dice.random() < 0.5:
                connection.execute(
                    "INSERT INTO pgrecall.memory_usage VALUES (%s, %s, %s, %s)",
                    (
                        *(stored, id_),
                        dice.choice([0, 1, 20, 50, 51, 2**31 - 1, dice.randint(0, 60)]),
                        maybe(dice, before(dice.choice([-5, 0, dice.uniform(0, 300)])), 0.9),
                    ),
                )
            for kind, value in product(("keyword", "concept"), ("tea", "%s")):
                if dice.random() < 0.2:
                    label = "INSERT INTO pgrecall.memory_labels VALUES (%s, %s, %s, %s)"
                    connection.execute(label, (stored, id_, kind, value))
            if dice.random() < 0.2:
                status = dice.choice(["archived", "completed", "active", "active"])
                connection.execute(
                    "UPDATE pgrecall.agent_memories SET status = %s, needs_review = %s, "
                    "invalidated_at = %s WHERE id = %s",
                    (status, dice.random() < 0.5, maybe(dice, before(dice.uniform(-50, 50))), id_),
                )
    connection.execute("ANALYZE")


READ = """
SELECT m.*, m.embedding::text AS vector,
       u.retrieval_count, u.last_accessed_at,
       ARRAY(SELECT l.kind || ':' || l.value FROM pgrecall.memory_labels l
              WHERE l.agent_id = m.agent_id AND l.memory_id = m.id) AS labels
  FROM pgrecall.agent_memories m
  LEFT JOIN pgrecall.memory_usage u ON u.agent_id = m.agent_id AND u.memory_id = m.id
"""


def read_back(connection: Connection) -> dict[str, list[Row]]:
    found: dict[str, list[Row]] = {owner: [] for owner in SIZES}
    for row in connection.execute(READ):
        components = row["vector"] and [float(x) for x in row["vector"][1:-1].split(",")]
        found[row["agent_id"].removeprefix("team:")].append({**row, "vector": components})
    return found


@contextmanager
def world_at(url: str) -> Iterator[World]:
    engine = create_engine(url)
    repository = MemoryRepository(engine)
    with psycopg.connect(url, autocommit=True, row_factory=dict_row) as connection:
        fill(repository, connection)
        rows = read_back(connection)
        assert {owner: len(found) for owner, found in rows.items()} == SIZES
        yield World(repository, connection, rows)
    engine.dispose()


@pytest.fixture(scope="module")
def world(module_url: str) -> Iterator[World]:
    with world_at(module_url) as found:
        yield found


@pytest.fixture(scope="module")
def half_world(server_url: str) -> Iterator[World]:
    with new_database(server_url) as url:
        migrate.upgrade(url, dimensions=DIMENSIONS, embedding_type="halfvec")
        with world_at(url) as found:
            yield found


# The oracle


def cosine(a: Sequence[float], b: Sequence[float]) -> float:
    dot = math.fsum(x * y for x, y in zip(a, b, strict=True))
    return dot / (math.hypot(*a) * math.hypot(*b))


OF_SCORER = (
    *("created_at", "observed_at", "last_accessed_at", "retrieval_count", "usefulness"),
    *("importance", "confidence", "trust", "trust_curve", "trust_half_life_hours", "tier"),
    *("memory_type", "additional_types", "entities"),
)


@dataclass(frozen=True)
class Expected:
    id: UUID
    owner: str
    similarity: float | None
    breakdown: Breakdown


def expected(
    world: World, profile: Profile, arguments: Mapping[str, Any], moment: datetime
) -> list[Expected]:
    """What Python alone finds: all that pass, best first."""
    query = arguments.get("query")
    decay = arguments.get("apply_decay", True)
    if not decay:
        profile = profile.without_trust_decay()
    needs_embedding = query is not None and any(
        isinstance(signal, Similarity) and signal.required for signal in profile.signals
    )
    found = []
    for owner in dict.fromkeys([AGENT, *arguments.get("teams", ())]):
        for row in world.rows.get(owner, ()):
            vector = row["vector"]
            similarity = None if vector is None or query is None else cosine(vector, query)
            if (
                not passes(row, arguments, moment)
                or (needs_embedding and vector is None)
                or not reaches(similarity, arguments.get("min_similarity"))
            ):
                continue
            values = {name: row[name] for name in OF_SCORER} | {"similarity": similarity}
            values |= {name: arguments.get(name) for name in ("query_entities", "query_time")}
            breakdown = score(profile, values, as_of=moment)
            if reaches(breakdown.score, arguments.get("min_score")):
                found.append(Expected(row["id"], row["agent_id"], similarity, breakdown))
    return sorted(found, key=lambda one: (-one.breakdown.score, one.id))


def reaches(value: float | None, floor: float | None) -> bool:
    return floor is None or (value is not None and value >= floor)


def passes(row: Row, arguments: Mapping[str, Any], moment: datetime) -> bool:
    """Every filter as FilterArguments describes it, once more in Python."""
    created: datetime | None = row["created_at"]
    if created is not None and created > moment:
        return False
    if row["status"] not in arguments.get("statuses", ["active"]):
        return False
    if not arguments.get("include_invalid") and not holds(row, moment):
        return False
    tests: dict[str, Callable[[Any], bool]] = {
        "memory_types": lambda w: bool({row["memory_type"], *row["additional_types"]} & set(w)),
        "tiers": lambda w: row["tier"] in w,
        "tags": lambda w: bool(set(row["tags"]) & set(w)),
        "all_tags": lambda w: set(row["tags"]) >= set(w),
        "entities": lambda w: bool(set(row["entities"]) & set(w)),
        "all_entities": lambda w: set(row["entities"]) >= set(w),
        "labels": lambda w: any(
            f"{kind}:{value}" in row["labels"]
            for kind in arguments.get("label_kinds", ["keyword", "tag", "concept", "component"])
            for value in w
        ),
        "metadata": lambda w: contains(row["metadata"], w),
        "created_after": lambda w: created is not None and created >= w,
        "created_before": lambda w: created is not None and created < w,
        "components": lambda w: row["component"] in w,
        "memory_natures": lambda w: row["memory_nature"] in w,
        "content_types": lambda w: row["content_type"] in w,
        "needs_review": lambda w: row["needs_review"] is w,
        "output_types": lambda w: row["output_type"] in w,
        "domains": lambda w: row["domain"] in w,
        "categories": lambda w: row["category"] in w,
        "loops": lambda w: row["loop"] in w,
        "compliant": lambda w: row["compliant"] is w,
        "min_trust": lambda w: (
            row["trust"] is not None
            and trust_of(row, moment, decay=arguments.get("apply_decay", True)) >= w
        ),
    }
    return all(test(arguments[name]) for name, test in tests.items() if name in arguments)


def holds(row: Row, moment: datetime) -> bool:
    return (row["valid_from"] is None or row["valid_from"] <= moment) and all(
        row[end] is None or moment < row[end]
        for end in ("valid_until", "expires_at", "invalidated_at")
    )


def contains(whole: Any, part: Any) -> bool:
    """jsonb @> for what is stored here."""
    if isinstance(part, Mapping):
        return all(key in whole and contains(whole[key], item) for key, item in part.items())
    if isinstance(part, list):
        return all(item in whole for item in part)
    return bool(whole == part)


def trust_of(row: Row, moment: datetime, *, decay: bool) -> float:
    names = ("trust", "trust_curve", "trust_half_life_hours", "last_accessed_at")
    values = {name: row[name] for name in names}
    return score(Profile("of trust", {Trust(decay=decay): 1}), values, as_of=moment).score


# The two others


@dataclass(frozen=True)
class Found:
    """A hit, from the repository or from the SQL function."""

    id: UUID
    owner: str
    score: float
    similarity: float | None
    signals: Mapping[str, float]


def through_repository(world: World, profile: Profile, **arguments: Any) -> list[Found]:
    hits = world.repository.search(AGENT, profile=profile, touch=False, **arguments)
    return [
        Found(hit.memory.id, hit.memory.owner_id, hit.score, hit.similarity, hit.signals)
        for hit in hits
    ]


def through_function(world: World, profile: Profile, **arguments: Any) -> list[Found]:
    rows = recall(world.connection, profile.name, AGENT, **arguments)
    return [
        Found(row["id"], row["agent_id"], row["score"], row["similarity"], row["signals"])
        for row in rows
    ]


def assert_agree(found: Sequence[Found], wanted: Sequence[Expected]) -> None:
    by_id = {one.id: one for one in wanted}
    best = wanted[: len(found)]
    assert len({hit.id for hit in found}) == len(found)
    for hit, at_this_place in zip(found, best, strict=True):
        one = by_id[hit.id]
        if hit.id != at_this_place.id:
            assert abs(one.breakdown.score - at_this_place.breakdown.score) <= ROUNDING
        assert hit.owner == one.owner
        assert abs(hit.score - one.breakdown.score) <= EXACT
        assert hit.signals.keys() == one.breakdown.signals.keys()
        for name, signal in one.breakdown.signals.items():
            assert abs(hit.signals[name] - signal) <= EXACT, name
        if one.similarity is None or hit.similarity is None:
            assert hit.similarity == one.similarity
        else:
            assert abs(hit.similarity - max(one.similarity, 0)) <= EXACT
    keys = [(-hit.score, hit.id) for hit in found]
    assert keys == sorted(keys)


def assert_three_agree(
    world: World,
    profile: Profile,
    arguments: Mapping[str, Any],
    *,
    weigh: Weigh | None = None,
    normalise: bool = False,
) -> int:
    """Asks all three; returns how many memories there were to find, k aside."""
    asked = {"as_of": NOW, "strategy": "exact", **arguments}
    in_search, in_recall, scored = dict(asked), dict(asked), profile
    if weigh is not None:
        weights = weigh(profile)
        in_search |= {"weights": weights, "normalise_weights": normalise}
        if normalise:
            total = math.fsum(weights.values())
            weights = {name: weight / total for name, weight in weights.items()}
        scored = profile.with_weights(**weights)
        in_recall["weights"] = {**dict.fromkeys(profile.weights, 0.0), **weights}
    wanted = expected(world, scored, asked, asked["as_of"])

    in_repository = through_repository(world, profile, **in_search)
    with installed(world.connection, profile):
        in_function = through_function(world, profile, **in_recall)

    in_python = wanted[: asked.get("k", 10)]
    assert len(in_repository) == len(in_function) == len(in_python)
    assert_agree(in_repository, wanted)
    assert_agree(in_function, wanted)
    return len(wanted)


def assert_two_agree(world: World, profile: Profile, **arguments: Any) -> int:
    """Asks the repository and the function; returns how many both found."""
    asked = {"as_of": NOW, **arguments}
    in_repository = through_repository(world, profile, **asked)
    with installed(world.connection, profile):
        in_function = through_function(world, profile, **asked)

    assert [hit.id for hit in in_function] == [hit.id for hit in in_repository]
    for one, other in zip(in_function, in_repository, strict=True):
        assert one.owner == other.owner
        assert one.score == pytest.approx(other.score, abs=ROUNDING)
        assert one.similarity == pytest.approx(other.similarity, abs=ROUNDING)
        assert one.signals == pytest.approx(other.signals, abs=ROUNDING)
    return len(in_function)


# Questions


@dataclass(frozen=True)
class Question:
    """Arguments of a search, and the weights, which depend on the profile."""

    arguments: Mapping[str, Any]
    weigh: Weigh | None = None
    normalise: bool = False


def reversed_weights(profile: Profile) -> dict[str, float]:
    return dict(zip(profile.weights, reversed(profile.weights.values()), strict=True))


def equal_weights(profile: Profile) -> dict[str, float]:
    return dict.fromkeys(profile.weights, 1 / len(profile.weights))


def rising_weights(profile: Profile) -> dict[str, float]:
    return {name: float(n) for n, name in enumerate(profile.weights, start=1)}


def last_alone(profile: Profile) -> dict[str, float]:
    return {list(profile.weights)[-1]: 1.0}


def recency_and_tiny(_: Profile) -> dict[str, float]:
    return {"recency": 1 - 1e-12, "similarity": 1e-12}


def questions() -> dict[str, Question]:
    dice = random.Random("questions")

    def about(**arguments: Any) -> Question:
        given = {"query": whole_vector(dice), "k": dice.choice([5, 40, 200]), **arguments}
        return Question(given)

    both = {"teams": TEAMS, "k": 300}
    whose = {"query_entities": ["Ann", "Zoë", "Sir W."]}
    found = {
        "one best": about(k=1),
        "k by default": Question({"query": whole_vector(dice)}),
        "everything": about(k=EVERYTHING),
        "no query vector": about(query=None),
        "no query vector, everything": about(query=None, k=EVERYTHING),
        "as of a month ago": about(as_of=before(30), k=300),
        "as of a year ago": about(as_of=before(365), k=300),
        "as of before almost all": about(as_of=before(2_999), k=300),
        "as of in three days": about(as_of=before(-3), k=300),
        "as of in a year": about(as_of=before(-365), k=EVERYTHING),
        "as of in thirty years": about(as_of=before(-11_000), k=EVERYTHING),
        "min_score": about(min_score=0.4137, k=EVERYTHING),
        "min_score nobody reaches": about(min_score=1.0),
        "min_similarity": about(min_similarity=0.3137, k=EVERYTHING),
        "both thresholds": about(min_similarity=0.2137, min_score=0.3637, k=EVERYTHING),
        "one team": about(teams=["red"], k=300),
        "two teams": about(**both),
        "a team twice and one unknown": about(teams=["red", "red", "green"], k=300),
        "teams, few": about(teams=TEAMS, k=7),
        "query_entities": about(**whose, k=300),
        "query_entities, each counted once": about(query_entities=["Ann", "Ann", "Bob"], k=300),
        "query_entities nobody has": about(query_entities=["Nemo", "Bob"], k=300),
        "query_entities of 32": about(query_entities=[*map(str, range(26)), *ENTITIES], k=300),
        "no query_entities": about(query_entities=[], k=300),
        "trust as stored": about(apply_decay=False, k=300),
        "memory_types": about(memory_types=["factual", "note"], k=EVERYTHING),
        "tiers": about(tiers=["short", "medium"], k=EVERYTHING),
        "tags": about(tags=["a", "%s"], k=EVERYTHING),
        "labels": about(labels=["tea"], k=EVERYTHING),
        "labels of a kind": about(labels=["%s", "tea"], label_kinds=["concept"], k=EVERYTHING),
        "all_tags": about(all_tags=["a", "b"], k=EVERYTHING),
        "entities": about(entities=["Ann", "Ann "], k=EVERYTHING),
        "all_entities": about(all_entities=["Ann", 'C++ "lib"'], k=EVERYTHING),
        "metadata": about(metadata={"n": 1, "deep": {"x": [2]}}, k=EVERYTHING),
        "created_after": about(created_after=before(100), k=EVERYTHING),
        "created_before": about(created_before=before(14), k=EVERYTHING),
        "components": about(components=["hunter"], k=EVERYTHING),
        "output_types": about(output_types=["action", "other"], k=EVERYTHING),
        "memory_natures": about(memory_natures=["semantic"], k=EVERYTHING),
        "content_types": about(content_types=["text/html"], k=EVERYTHING),
        "needs_review": about(needs_review=True, k=EVERYTHING),
        "not needs_review": about(needs_review=False, k=EVERYTHING),
        "domains": about(domains=["law"], k=EVERYTHING),
        "categories": about(categories=["x"], k=EVERYTHING),
        "loops": about(loops=["inner"], k=EVERYTHING),
        "compliant": about(compliant=True, k=EVERYTHING),
        "not compliant": about(compliant=False, k=EVERYTHING),
        "min_trust": about(min_trust=0.2137, k=EVERYTHING),
        "min_trust as stored": about(min_trust=0.2137, apply_decay=False, k=EVERYTHING),
        "statuses": about(statuses=["archived", "completed"], k=EVERYTHING),
        "include_invalid": about(include_invalid=True, k=EVERYTHING),
        "several filters, teams, past": about(
            **{**both, **whose},
            memory_types=["factual", "episodic", "note"],
            created_after=before(300),
            min_trust=0.1,
            include_invalid=True,
            as_of=before(10),
        ),
        "several filters, teams, future": about(
            **{**both, **whose},
            tiers=["short", "long"],
            tags=["a", "b"],
            metadata={"n": 2},
            statuses=["active", "archived"],
            min_similarity=0.1137,
            as_of=before(-100),
        ),
        "no query vector, teams, filters": about(
            **{**both, "query": None}, compliant=True, min_score=0.2137
        ),
    }
    weighed: dict[str, tuple[Weigh, bool]] = {
        "weights reversed": (reversed_weights, False),
        "weights all equal": (equal_weights, False),
        "weight on similarity alone": (lambda _: {"similarity": 1.0}, False),
        "weight on the last signal alone": (last_alone, False),
        "weights one tiny": (recency_and_tiny, False),
        "weights normalised": (rising_weights, True),
    }
    for name, (weigh, normalise) in weighed.items():
        found[name] = replace(about(**both, **whose), weigh=weigh, normalise=normalise)
    return found


QUESTIONS = questions()
SYSTEMS = {name: one for name, one in profiles.BUILT_IN.items() if one is not profiles.hybrid}
OF_ALL = (
    *("everything", "two teams", "as of in a year", "no query vector", "query_entities"),
    *("trust as stored", "min_similarity"),
)
"""Questions to every profile; of the others, each is asked of two, and those of entities of the
profile that looks at them."""
CASES = [
    (name, profile)
    for number, name in enumerate(QUESTIONS)
    for place, profile in enumerate(SYSTEMS)
    if name in OF_ALL
    or QUESTIONS[name].weigh
    or (number - place) % 5 < 2
    or ("query_entities" in name and profile == "tiered")
]


def test_there_are_enough_questions_and_every_filter_is_among_them() -> None:
    asked = {name for question in QUESTIONS.values() for name in question.arguments}
    assert len(QUESTIONS) >= 50
    assert FilterArguments.__annotations__.keys() - asked == {"text", "where"}, (
        "the first has tests of its own, the second no SQL function"
    )


def test_the_rows_have_every_kind_of_value(world: World) -> None:
    """The test of the test: no case that the ranking tells apart is missing."""
    rows = [row for found in world.rows.values() for row in found]
    nullable = ("vector", "created_at", "observed_at", "trust", "retrieval_count")
    for column in (*nullable, "last_accessed_at"):
        assert {row[column] is None for row in rows} == {True, False}, column
    assert {row["trust_curve"] for row in rows} == {None, *map(str, Curve)}
    assert {row["importance"] for row in rows} >= {0.0, 1.0, 1e-100}
    assert any(row["created_at"] is not None and row["created_at"] > NOW for row in rows)
    assert {row["tier"] for row in rows} == {"short", "medium", "long"}


@pytest.mark.parametrize(("question", "name"), CASES)
def test_the_three_agree(world: World, question: str, name: str) -> None:
    asked = QUESTIONS[question]

    found = assert_three_agree(
        world, SYSTEMS[name], asked.arguments, weigh=asked.weigh, normalise=asked.normalise
    )

    assert (found == 0) == (question == "min_score nobody reaches")


def test_the_three_agree_on_halfvec(half_world: World) -> None:
    for profile in SYSTEMS.values():
        for name in ("everything", "two teams", "min_similarity", "no query vector"):
            assert assert_three_agree(half_world, profile, QUESTIONS[name].arguments) > 0


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
                signal = found[f"{name}_{profile.name}"]
                assert signal == pytest.approx(signals[name], rel=1e-9, abs=1e-9)
        decayed = score(profiles.trust, values, as_of=now).signals["trust"]
        expected = None if row["trust"] is None else pytest.approx(decayed, rel=1e-9)
        assert found["decayed_trust"] == expected
        for age, clock in (("age_days", "created_at"), ("days_since_access", "last_accessed_at")):
            days = row[clock] and max(0.0, (now - row[clock]) / timedelta(days=1))
            assert found[age] == (days if days is None else pytest.approx(days, rel=1e-9))


# Other profiles


DERIVED = {
    "half_life_1e9": profiles.half_life.with_half_life(1e9),
    "five_factor_half_life": profiles.five_factor.with_half_life(14),
    "tiered_one_half_life": profiles.tiered.with_half_life(2.5),
    "trust_as_stored": profiles.trust.without_trust_decay(),
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

    clock = dice.choice(list(Clock))
    half_life = dice.choice([SHORTEST_HALF_LIFE, 1.0, 400.0, LONGEST_HALF_LIFE, 99 * dice.random()])
    by_half_life: dict[str, Any] = {"half_life": half_life, "curve": dice.choice(list(Curve))}
    by_rate: dict[str, Any] = {"rate": dice.choice([0.0, 1e-12, MAX_RATE, dice.random()])}
    speed = by_half_life | dice.choice(HALF_LIVES) if dice.random() < 0.8 else by_rate
    recency = Recency(clock=clock, unknown=parameter(), **speed)
    trust = Trust(decay=dice.random() < 0.5, missing=parameter())
    frequency = Frequency(cap=dice.choice([1.0, 1e9, 1 + 99 * dice.random()]))
    signals = [
        *(Similarity(missing=parameter()), trust, frequency, Time(unknown=parameter())),
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
    return Profile(name, dict(zip(chosen, weights, strict=True)))


DICE = random.Random("profiles")
OTHERS = [
    *(profile.renamed(name) for name, profile in DERIVED.items()),
    *(random_profile(DICE, f"random_{number}") for number in range(36)),
]
PERIOD = (before(100), before(60))


def test_the_random_profiles_have_every_kind_of_recency() -> None:
    """The test of the test."""
    found = [s for one in OTHERS for s in one.signals if isinstance(s, Recency)]
    by = [(s.curve, s.clock, bool(s.half_lives_by_type), bool(s.half_lives_by_tier)) for s in found]
    for place, values in enumerate((Curve, Clock, (True, False), (True, False))):
        assert {one[place] for one in by} == {*values}


@pytest.mark.parametrize("profile", OTHERS, ids=lambda profile: str(profile.name))
def test_the_three_agree_on_other_profiles(world: World, profile: Profile) -> None:
    for question in ("two teams", "as of in a year", "query_entities"):
        asked = {**QUESTIONS[question].arguments, "query_time": PERIOD}
        assert assert_three_agree(world, profile, asked) > 0


@pytest.mark.parametrize("seconds", [1e-6, 3_600, 86_400, 40 * 86_400])
def test_the_three_agree_on_how_near_a_period_is(world: World, seconds: float) -> None:
    alone = Profile("time_alone", {Time(unknown=0.25): 1.0})
    asked = {"k": EVERYTHING, "query_time": (before(14), before(14) + timedelta(seconds=seconds))}

    assert assert_three_agree(world, alone, asked) > 0


def test_vectors_of_any_components_agree_to_single_precision(
    shared_repo: MemoryRepository, agent: str
) -> None:
    dice = random.Random("components")
    scales = [1e-6, 1.0, 1e6]
    vectors = [[dice.gauss(0, 1) * dice.choice(scales) for _ in range(8)] for _ in range(60)]
    shared_repo.add_many(agent, [NewMemory(str(n), embedding=v) for n, v in enumerate(vectors)])

    hits = shared_repo.search(agent, vectors[0], k=60, touch=False)

    for hit in hits:
        similarity = max(cosine(vectors[int(hit.memory.content)], vectors[0]), 0)
        assert hit.similarity == pytest.approx(similarity, rel=0, abs=1e-6)
    assert len(hits) == 60


# Words


@pytest.mark.parametrize("question", QUESTIONS)
def test_words_count_alike_in_the_repository_and_in_psql(world: World, question: str) -> None:
    asked = QUESTIONS[question].arguments
    text = "a great cafe for Zoë's dance"

    found = assert_two_agree(world, profiles.hybrid, query_text=text, strategy="exact", **asked)

    assert (found == 0) == (question == "min_score nobody reaches")


NARROW_NOTHING = (None, "", "the and of")
TEXTS = (
    *(*NARROW_NOTHING, "xyzzy", "tea xyzzy", "tea tea TEA téa milk", "東京", "1000", "tea or fire"),
    *('"great fire"', "tea -milk", "-tea", '"great fire', "tea & !milk | (fire <-> 'rain') :* \\"),
    *("tea " + " ".join(f"w{n}" for n in range(1_500)) + " milk", "$recall$ tea $$"),
    "'); DROP TABLE pgrecall.agent_memories; -- tea",
)


@pytest.mark.parametrize("text", TEXTS, ids=lambda text: f"{text!a:.20}")
def test_every_text_means_the_same_in_psql(world: World, text: str | None) -> None:
    """As what is asked and as a filter, whatever the profile."""
    asked = {"query": [3.0, -1.0, 2.0, 1.0, -4.0, 1.0, 2.0, -2.0], "teams": TEAMS}

    found = assert_two_agree(world, profiles.hybrid, query_text=text, k=25, **asked)
    passed = assert_two_agree(world, profiles.trust, text=text, k=EVERYTHING, **asked)

    everything = assert_two_agree(world, profiles.trust, k=EVERYTHING, **asked)
    assert found == 25
    assert (passed < everything) == (text not in NARROW_NOTHING)


def test_weights_of_words_count_alike(world: World) -> None:
    for weights in (
        {"keyword": 1.0},
        {"keyword": 0.5, "similarity": 0.5},
        {"similarity": 0.9, "importance": 0.1},
        {"keyword": 1e-12, "similarity": 1 - 1e-12},
    ):
        asked = {**QUESTIONS["two teams"].arguments, "query_text": "great tea"}
        assert assert_two_agree(world, profiles.hybrid, weights=weights, **asked) > 100
