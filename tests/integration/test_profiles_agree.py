"""Repository, SQL function and pgrecall.score: three ways to a ranking, and they agree.

The oracle reads the rows back with plain SELECTs, filters and sorts them in Python, and computes
similarity in double precision. Components are small whole numbers, whose products pgvector sums
without rounding, so that similarity too is held to 1e-9.
"""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any
from uuid import UUID

import psycopg
import pytest
from psycopg import sql
from psycopg.rows import dict_row
from psycopg.types.json import Jsonb
from sqlalchemy import create_engine

from pgrecall import MemoryRepository, NewMemory, Profile, ScoredMemory, migrate, profiles, score
from pgrecall.resources import with_extension
from pgrecall.score_function import score_functions
from pgrecall.scored_memory import Breakdown
from pgrecall.signals import (
    Clock,
    Confidence,
    Curve,
    EntityOverlap,
    Frequency,
    Importance,
    Recency,
    Similarity,
    Trust,
    Usefulness,
)
from tests.conftest import DIMENSIONS, new_database
from tests.integration.support import NOW, before

EXACT = 1e-9
ROUNDING = 1e-12
"""Scores closer than this may stand either way: the two sides add in different orders."""

AGENT, TEAMS = "agent", ["red", "blue"]
SIZES = {AGENT: 250, "red": 60, "blue": 40, "stranger": 20}
TYPES = ("episodic", "factual", "procedural", "preference", "behavioural", "note")
ENTITIES = ("Ann", "Bob", "Sir W.", "Zoë", 'C++ "lib"', "")
EVERYTHING = 10_000

Row = Mapping[str, Any]
Weigh = Callable[[Profile], dict[str, float]]


@dataclass(frozen=True)
class Question:
    """Arguments of a search, and the weights, which depend on the profile."""

    arguments: Mapping[str, Any]
    weigh: Weigh | None = None
    normalise: bool = False


@dataclass(frozen=True)
class World:
    """A database full of random memories, and the same rows in Python."""

    repository: MemoryRepository
    connection: psycopg.Connection[dict[str, Any]]
    vector: str
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
        "a memory",
        embedding=maybe(dice, whole_vector(dice), 0.85),
        created_at=maybe(dice, before(age), 0.9),
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
    )


def random_memories(dice: random.Random, count: int) -> list[NewMemory]:
    """One in ten is there three times over but for its text, so that equal scores are certain."""
    found: list[NewMemory] = []
    while len(found) < count:
        found += [random_memory(dice)] * dice.choice([1] * 9 + [3])
    return [replace(memory, content=f"memory {n}") for n, memory in enumerate(found[:count])]


def stored_id(owner: str) -> str:
    return f"team:{owner}" if owner in TEAMS else owner


def fill(repository: MemoryRepository, connection: psycopg.Connection[Any]) -> None:
    dice = random.Random("profiles agree")
    for owner, size in SIZES.items():
        where = repository.teams if owner in TEAMS else repository
        ids = where.add_many(owner, random_memories(dice, size), check_compliance=False)
        stored = stored_id(owner)
        with connection.cursor() as cursor:
            cursor.executemany(
                "INSERT INTO pgrecall.memory_usage (agent_id, memory_id, retrieval_count, "
                "last_accessed_at, success_count, failure_count) VALUES (%s, %s, %s, %s, %s, %s)",
                [
                    (
                        stored,
                        id_,
                        dice.choice([0, 1, 20, 50, 51, 2**31 - 1, dice.randint(0, 60)]),
                        maybe(dice, before(dice.choice([-5, 0, dice.uniform(0, 300)])), 0.9),
                        dice.randint(0, 9),
                        dice.randint(0, 9),
                    )
                    for id_ in ids
                    if dice.random() < 0.5
                ],
            )
            cursor.executemany(
                "INSERT INTO pgrecall.memory_labels (agent_id, memory_id, kind, value) "
                "VALUES (%s, %s, %s, %s)",
                [
                    (stored, id_, kind, value)
                    for id_ in ids
                    for kind in ("keyword", "concept")
                    for value in ("tea", "%s")
                    if dice.random() < 0.2
                ],
            )
            cursor.executemany(
                "UPDATE pgrecall.agent_memories SET status = %s, invalidated_at = %s WHERE id = %s",
                [
                    (
                        dice.choice(["archived", "completed", "active", "active"]),
                        maybe(dice, before(dice.uniform(-50, 50))),
                        id_,
                    )
                    for id_ in ids
                    if dice.random() < 0.2
                ],
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


def read_back(connection: psycopg.Connection[dict[str, Any]]) -> dict[str, list[Row]]:
    found: dict[str, list[Row]] = {owner: [] for owner in SIZES}
    for row in connection.execute(READ):
        components = row["vector"] and [float(x) for x in row["vector"][1:-1].split(",")]
        found[row["agent_id"].removeprefix("team:")].append({**row, "vector": components})
    return found


@contextmanager
def world_at(url: str, vector: str) -> Iterator[World]:
    engine = create_engine(url)
    repository = MemoryRepository(engine)
    with psycopg.connect(url, autocommit=True, row_factory=dict_row) as connection:
        fill(repository, connection)
        rows = read_back(connection)
        assert {owner: len(found) for owner, found in rows.items()} == SIZES
        yield World(repository, connection, vector, rows)
    engine.dispose()


@pytest.fixture(scope="module")
def world(server_url: str, template: str) -> Iterator[World]:
    with new_database(server_url, template) as url, world_at(url, "vector") as found:
        yield found


@pytest.fixture(scope="module")
def half_world(server_url: str) -> Iterator[World]:
    with new_database(server_url) as url:
        migrate.upgrade(url, dimensions=DIMENSIONS, embedding_type="halfvec")
        with world_at(url, "halfvec") as found:
            yield found


def cosine(a: Sequence[float], b: Sequence[float]) -> float:
    dot = math.fsum(x * y for x, y in zip(a, b, strict=True))
    return dot / (math.hypot(*a) * math.hypot(*b))


OF_SCORER = (
    *("created_at", "last_accessed_at", "retrieval_count", "usefulness", "importance"),
    *("confidence", "trust", "trust_curve", "trust_half_life_hours", "tier", "memory_type"),
    *("additional_types", "entities"),
)


@dataclass(frozen=True)
class Expected:
    id: UUID
    similarity: float | None
    breakdown: Breakdown


def expected(
    world: World, profile: Profile, arguments: Mapping[str, Any], moment: datetime
) -> list[Expected]:
    """What Python alone finds: all that pass, best first."""
    query = arguments.get("embedding")
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
            values = {name: row[name] for name in OF_SCORER}
            values |= {
                "similarity": similarity,
                "query_entities": arguments.get("query_entities"),
            }
            breakdown = score(profile, values, as_of=moment)
            if reaches(breakdown.score, arguments.get("min_score")):
                found.append(Expected(row["id"], similarity, breakdown))
    return sorted(found, key=lambda one: (-one.breakdown.score, one.id))


def reaches(value: float | None, floor: float | None) -> bool:
    return floor is None or (value is not None and value >= floor)


def passes(row: Row, arguments: Mapping[str, Any], moment: datetime) -> bool:
    """Every filter as systems.md and FilterArguments describe it, once more in Python."""
    created: datetime | None = row["created_at"]
    if created is not None and created > moment:
        return False
    if row["status"] not in arguments.get("statuses", ["active"]):
        return False
    if not arguments.get("include_invalid") and not (
        (row["valid_from"] is None or row["valid_from"] <= moment)
        and all(
            row[end] is None or moment < row[end]
            for end in ("valid_until", "expires_at", "invalidated_at")
        )
    ):
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


@dataclass(frozen=True)
class Found:
    """A hit, from the repository or from the SQL function."""

    id: UUID
    owner: str
    """As stored."""
    score: float
    similarity: float | None
    signals: Mapping[str, float]


def through_repository(
    world: World, profile: Profile | str, arguments: Mapping[str, Any], moment: datetime
) -> list[Found]:
    hits: list[ScoredMemory] = world.repository.search(
        AGENT, profile=profile, as_of=moment, touch=False, **arguments
    )
    return [
        Found(
            hit.memory.id,
            hit.memory.owner_id,
            hit.score,
            hit.similarity,
            hit.signals,
        )
        for hit in hits
    ]


def through_function(
    world: World,
    profile: Profile,
    arguments: Mapping[str, Any],
    weights: Mapping[str, float],
    moment: datetime,
) -> list[Found]:
    given: dict[str, Any] = {"as_of": moment, **arguments}
    vector = given.pop("embedding", None)
    if vector is not None:
        given["query"] = str(vector)
    if "metadata" in given:
        given["metadata"] = Jsonb(given["metadata"])
    given |= {
        "profile": profile.name,
        "weights": Jsonb(weights) if weights else None,
        "strategy": "exact",
    }
    casts = {"query": sql.SQL("::") + sql.SQL(world.vector)}
    call = sql.SQL("SELECT * FROM pgrecall.recall({}, {})").format(
        sql.Literal(AGENT),
        sql.SQL(", ").join(
            sql.SQL("{} => {}").format(sql.Identifier(name), sql.Placeholder(name))
            + casts.get(name, sql.SQL(""))
            for name in given
        ),
    )
    return [
        Found(
            row["id"],
            row["agent_id"],
            row["score"],
            row["similarity"],
            row["signals"],
        )
        for row in world.connection.execute(call, given)
    ]


def assert_agree(found: Sequence[Found], wanted: Sequence[Expected]) -> None:
    by_id = {one.id: one for one in wanted}
    best = wanted[: len(found)]
    assert len({hit.id for hit in found}) == len(found)
    for hit, at_this_place in zip(found, best, strict=True):
        one = by_id[hit.id]
        if hit.id != at_this_place.id:
            assert abs(one.breakdown.score - at_this_place.breakdown.score) <= ROUNDING
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
    arguments = dict(arguments)
    moment: datetime = arguments.pop("as_of", NOW)
    weights: dict[str, float] = {}
    for_search = dict(arguments)
    scored = profile
    if weigh is not None:
        weights = weigh(profile)
        for_search["weights"] = weights
        if normalise:
            for_search["normalise_weights"] = True
            total = math.fsum(weights.values())
            weights = {name: weight / total for name, weight in weights.items()}
        scored = profile.with_weights(**weights)
        weights = {**dict.fromkeys(profile.weights, 0.0), **weights}
    wanted = expected(world, scored, arguments, moment)

    in_python = wanted[: arguments.get("k", 10)]
    in_repository = through_repository(world, profile, for_search, moment)
    in_function = through_function(world, profile, arguments, weights, moment)

    assert len(in_repository) == len(in_function) == len(in_python)
    assert_agree(in_repository, wanted)
    assert_agree(in_function, wanted)
    return len(wanted)


def reversed_weights(profile: Profile) -> dict[str, float]:
    return dict(zip(profile.weights, reversed(profile.weights.values()), strict=True))


def equal_weights(profile: Profile) -> dict[str, float]:
    return dict.fromkeys(profile.weights, 1 / len(profile.weights))


def rising_weights(profile: Profile) -> dict[str, float]:
    return {name: float(n) for n, name in enumerate(profile.weights, start=1)}


def similarity_alone(_: Profile) -> dict[str, float]:
    return {"similarity": 1.0}


def last_alone(profile: Profile) -> dict[str, float]:
    return {list(profile.weights)[-1]: 1.0}


def recency_and_tiny(_: Profile) -> dict[str, float]:
    return {"recency": 1 - 1e-12, "similarity": 1e-12}


def questions() -> dict[str, Question]:
    dice = random.Random("questions")

    def vector() -> list[float]:
        return whole_vector(dice)

    def about(**arguments: Any) -> Question:
        given = {"embedding": vector(), "k": dice.choice([5, 40, 200]), **arguments}
        return Question(given)

    both = {"teams": TEAMS, "k": 300}
    whose = {"query_entities": ["Ann", "Zoë", "Sir W."]}
    found = {
        "one best": about(k=1),
        "k by default": Question({"embedding": vector()}),
        "everything": about(k=EVERYTHING),
        "no query vector": about(embedding=None),
        "no query vector, everything": about(embedding=None, k=EVERYTHING),
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
        "query_entities of 32": about(query_entities=[*ENTITIES, *map(str, range(26))], k=300),
        "no query_entities": about(query_entities=[], k=300),
        "trust as stored": about(apply_decay=False, k=300),
        "memory_types": about(memory_types=["factual", "note"], k=EVERYTHING),
        "tiers": about(tiers=["short", "medium"], k=EVERYTHING),
        "tags": about(tags=["a", "%s"], k=EVERYTHING),
        "labels": about(labels=["tea"], k=EVERYTHING),
        "labels of a kind": about(labels=["%s", "tea"], label_kinds=["concept"], k=EVERYTHING),
        "all_tags": about(all_tags=["a", "b"], k=EVERYTHING),
        "entities": about(entities=["Ann", ""], k=EVERYTHING),
        "all_entities": about(all_entities=["Ann", 'C++ "lib"'], k=EVERYTHING),
        "metadata": about(metadata={"n": 1, "deep": {"x": [2]}}, k=EVERYTHING),
        "created_after": about(created_after=before(100), k=EVERYTHING),
        "created_before": about(created_before=before(14), k=EVERYTHING),
        "components": about(components=["hunter"], k=EVERYTHING),
        "output_types": about(output_types=["action", "other"], k=EVERYTHING),
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
            **{**both, "embedding": None}, compliant=True, min_score=0.2137
        ),
    }
    weighed = {
        "weights reversed": (reversed_weights, False),
        "weights all equal": (equal_weights, False),
        "weight on similarity alone": (similarity_alone, False),
        "weight on the last signal alone": (last_alone, False),
        "weights one tiny": (recency_and_tiny, False),
        "weights normalised": (rising_weights, True),
    }
    for name, (weigh, normalise) in weighed.items():
        found[name] = replace(about(**both, **whose), weigh=weigh, normalise=normalise)
    return found


QUESTIONS = questions()
SYSTEMS = {name: one for name, one in profiles.BUILT_IN.items() if one is not profiles.hybrid}
"""Words are compared in test_recall_hybrid."""
each_system = pytest.mark.parametrize("profile", SYSTEMS.values(), ids=SYSTEMS)
FINDS_NOTHING = {"min_score nobody reaches"}


def test_there_are_enough_questions_and_every_filter_is_among_them() -> None:
    from pgrecall.filters import FilterArguments

    asked = {name for question in QUESTIONS.values() for name in question.arguments}
    assert len(QUESTIONS) >= 50
    assert FilterArguments.__annotations__.keys() - asked == {"text", "where"}, (
        "the first has a test of its own, the second no SQL function"
    )


def test_the_rows_have_every_kind_of_value(world: World) -> None:
    """The test of the test: no case that the ranking tells apart is missing."""
    rows = [row for found in world.rows.values() for row in found]
    for column in ("vector", "created_at", "trust", "retrieval_count", "last_accessed_at"):
        assert {row[column] is None for row in rows} == {True, False}, column
    assert {row["trust_curve"] for row in rows} == {None, *map(str, Curve)}
    assert {row["importance"] for row in rows} >= {0.0, 1.0, 1e-100}
    assert any(row["created_at"] is not None and row["created_at"] > NOW for row in rows)
    assert {row["tier"] for row in rows} == {"short", "medium", "long"}


@pytest.mark.parametrize("question", QUESTIONS)
@each_system
def test_the_three_agree(world: World, profile: Profile, question: str) -> None:
    asked = QUESTIONS[question]

    found = assert_three_agree(
        world, profile, asked.arguments, weigh=asked.weigh, normalise=asked.normalise
    )

    assert (found == 0) == (question in FINDS_NOTHING)


@each_system
def test_the_three_agree_on_halfvec(half_world: World, profile: Profile) -> None:
    for name in ("everything", "two teams", "min_similarity", "no query vector", "tags"):
        assert assert_three_agree(half_world, profile, QUESTIONS[name].arguments) > 0


@each_system
def test_each_hit_tells_whose_it_is(world: World, profile: Profile) -> None:
    owners = {row["id"]: stored_id(owner) for owner, rows in world.rows.items() for row in rows}
    asked: dict[str, Any] = {"embedding": [1.0] * DIMENSIONS, "teams": TEAMS, "k": EVERYTHING}

    in_repository = through_repository(world, profile, asked, NOW)
    in_function = through_function(world, profile, asked, {}, NOW)

    for hits in (in_repository, in_function):
        assert {hit.owner for hit in hits} == {AGENT, *map(stored_id, TEAMS)}
        assert {hit.id: hit.owner for hit in hits} == {hit.id: owners[hit.id] for hit in hits}


@contextmanager
def installed(world: World, profile: Profile) -> Iterator[None]:
    """The profile's function, as long as this lasts."""
    with world.connection.transaction(force_rollback=True):
        world.connection.execute("SET LOCAL search_path = pgrecall, public")
        world.connection.execute(with_extension(score_functions(profile), "public"))
        yield


DERIVED = {
    "half_life_30": profiles.half_life.with_half_life(30),
    "half_life_1e9": profiles.half_life.with_half_life(1e9),
    "half_life_weighed": profiles.half_life.with_weights(
        similarity=0.2, recency=0.7, importance=0.1
    ),
    "five_factor_half_life": profiles.five_factor.with_half_life(14),
    "tiered_one_half_life": profiles.tiered.with_half_life(2.5),
    "trust_weighed": profiles.trust.with_weights(trust=1.0),
    "trust_half_life": profiles.trust.with_half_life(0.25),
    "trust_as_stored": profiles.trust.without_trust_decay(),
    "last_access_both": profiles.last_access.with_half_life(3).with_weights(
        similarity=0.1, recency=0.9
    ),
}

BY_TYPE = (
    ("factual", 180.0),
    ("procedural", 120.0),
    ("preference", 45.0),
    ("behavioural", 30.0),
    ("episodic", 14.0),
)
CUSTOM = {
    "by_type": Recency(half_life=14, half_lives_by_type=BY_TYPE),
    "by_type_shorter_rest": Recency(half_life=1, half_lives_by_type=BY_TYPE),
    "by_type_longer_rest": Recency(half_life=400, half_lives_by_type=BY_TYPE),
    "by_type_hyperbolic": Recency(
        half_life=60,
        half_lives_by_type=BY_TYPE,
        curve=Curve.HYPERBOLIC,
        clock=Clock.LATEST,
    ),
    "by_type_linear": Recency(
        half_life=60,
        half_lives_by_type=(("factual", 180.0), ('it\'s "q"; %s', 1.0)),
        curve=Curve.LINEAR,
        clock=Clock.LAST_ACCESSED_AT,
    ),
    "by_tier": Recency(half_life=14, half_lives_by_tier=(("short", 0.25), ("medium", 7.0))),
    "by_tier_linear": Recency(
        half_life=14, half_lives_by_tier=(("short", 0.25), ("long", 90.0)), curve=Curve.LINEAR
    ),
    "by_tier_hyperbolic": Recency(
        half_life=14, half_lives_by_tier=(("medium", 1e9),), curve=Curve.HYPERBOLIC, unknown=1e-100
    ),
}
REST = {
    Similarity(missing=0.25): 0.2,
    Importance(): 0.1,
    Usefulness(): 0.05,
    Confidence(): 0.05,
    Trust(missing=1.0): 0.05,
    Frequency(cap=7.5): 0.025,
    EntityOverlap(): 0.025,
}
OF_DERIVED = ("everything", "two teams", "as of in a year", "no query vector", "query_entities")


@pytest.mark.parametrize("name", DERIVED)
def test_the_three_agree_on_a_derived_profile(world: World, name: str) -> None:
    profile = DERIVED[name].renamed(name)

    with installed(world, profile):
        for question in OF_DERIVED:
            assert assert_three_agree(world, profile, QUESTIONS[question].arguments) > 0


@pytest.mark.parametrize("name", CUSTOM)
def test_the_three_agree_on_half_lives_by_type_and_tier(world: World, name: str) -> None:
    profile = Profile(name, {CUSTOM[name]: 0.5, **REST})

    with installed(world, profile):
        for question in OF_DERIVED:
            assert assert_three_agree(world, profile, QUESTIONS[question].arguments) > 0
