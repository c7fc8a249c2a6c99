"""What psql says beside a ranking is what the repository says: whether it looks through a rank
index, why a memory has its place, what goes into a context, and what runs."""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from typing import Any

import psycopg
import pytest
from psycopg.rows import dict_row
from psycopg.types.json import Jsonb
from sqlalchemy import Engine, create_engine

from pgrecall import MemoryRepository, NewMemory, Profile, migrate
from pgrecall.errors import InputError, MemoryNotFound
from pgrecall.execution.translation import translated
from pgrecall.scoring.profile_file import as_values
from pgrecall.scoring.signals import Importance, Recency, Similarity
from pgrecall.testing import new_database
from tests.conftest import DIMENSIONS
from tests.integration.recalling import Connection, recall
from tests.integration.support import NOW, before

AGENT, TEAM = "agent", "red"
WORDS = ("tea", "milk", "fire", "great", "rain", "dancing", "boat", "night", "letter", "office")
QUERY = [3.0, -1.0, 2.0, 1.0, -4.0, 1.0, 2.0, -2.0]


@dataclass(frozen=True)
class World:
    repository: MemoryRepository
    connection: Connection


def memory(dice: random.Random, number: int) -> NewMemory:
    return NewMemory(
        f"{' '.join(dice.choices(WORDS, k=dice.randint(1, 30)))}\nno{number}",
        embedding=[dice.gauss(0, 1) for _ in range(DIMENSIONS)],
        created_at=before(dice.uniform(0, 300)),
        observed_at=before(dice.uniform(0, 300)) if dice.random() < 0.2 else None,
        memory_type=dice.choice(["episodic", "task", "fact"]),
        tier=dice.choice(["short", "medium", "long"]),
        importance=dice.random(),
        trust=dice.random(),
    )


@pytest.fixture(scope="module")
def world(server_url: str, template: str) -> Iterator[World]:
    dice = random.Random("recall agrees")
    with new_database(server_url, template) as url:
        engine = create_engine(url)
        repo = MemoryRepository(engine)
        repo.add_many(AGENT, [memory(dice, n) for n in range(1_000)])
        repo.teams.add_many(TEAM, [memory(dice, n) for n in range(200)])
        repo.rank_indexes.build(agent_id=AGENT, at_least=1)
        with psycopg.connect(url, autocommit=True, row_factory=dict_row) as connection:
            yield World(repo, connection)
        engine.dispose()


HALVES = {"similarity": 0.5, "importance": 0.5}
ASKED: tuple[dict[str, Any], ...] = (
    {},
    {"query_text": "great fire"},
    {"query_text": "fire", "k": 80},
    {"query_text": "the of"},
    {"teams": [TEAM], "query_text": "tea"},
    {"tiers": ["long"]},
    {"tiers": ["long"], "memory_types": ["fact"], "min_trust": 0.9},
    {"min_score": 0.55},
    {"weights": HALVES},
    {"k": 81},
    {"statuses": ["archived"]},
    {"query": None},
    {"profile": "trust", "apply_decay": False},
    {"profile": "trust", "weights": {"similarity": 0.5, "trust": 0.5}},
    {"profile": "tiered", "query_text": "tea"},
    {"query_time": (before(60), before(50)), "query_text": "tea"},
    {"query_time": (before(200), before(199)), "weights": {"similarity": 0.5, "time": 0.5}},
    {"query_time": (before(200), before(199)), "weights": HALVES},
    {"weights": {"similarity": 0.5, "time": 0.5}},
)


@pytest.mark.parametrize("strategy", ["auto", "index"])
@pytest.mark.parametrize("asked", ASKED, ids=lambda asked: f"{asked!s:.60}")
def test_both_look_through_a_rank_index_or_neither(
    world: World, asked: dict[str, Any], strategy: Any
) -> None:
    given = {"query": QUERY, "profile": "hybrid", **asked}
    query, profile = given.pop("query"), given.pop("profile")
    given |= {"as_of": NOW, "strategy": strategy}

    hits = world.repository.search(AGENT, query, profile=profile, touch=False, **given)
    planned = world.repository.plan(AGENT, query, profile=profile, **given)
    rows, plan = (
        recall(world.connection, profile, AGENT, query=query, function=function, **given)
        for function in ("recall", "recall_plan")
    )

    assert [row["id"] for row in rows] == [hit.memory.id for hit in hits]
    assert [row["score"] for row in rows] == pytest.approx([hit.score for hit in hits], abs=1e-12)
    looked = any("rank_candidates" in row["recall_plan"] for row in plan)
    assert looked == (planned.strategy == "index") >= (hits.strategy == "index")
    if "query_time" in asked and "importance" not in asked.get("weights", {}):
        assert hits.strategy == "exact"
    if not asked:
        assert looked


# Why


@pytest.mark.parametrize(
    "given",
    [
        {},
        {"query_text": "great fire", "teams": [TEAM]},
        {"tiers": ["long"], "min_score": 0.5},
        {"as_of": before(100), "min_trust": 0.5, "k": 3},
        {"min_similarity": 0.3, "text": "tea -milk", "memory_types": ["task"]},
        {"query_time": (before(90), before(60)), "min_score": 0.2},
    ],
    ids=str,
)
@pytest.mark.parametrize("profile", ["hybrid", "tiered", "last_access"])
def test_explain_accounts_as_the_repository_does(
    world: World, profile: str, given: dict[str, Any]
) -> None:
    given = {"as_of": NOW, **given}
    every = [hit.memory.id for hit in world.repository.search(AGENT, k=1_000, touch=False)]

    for id_ in every[::400]:
        said = world.repository.explain(AGENT, id_, QUERY, profile=profile, **given)
        asked = {"query": QUERY, "memory_id": id_, **given}
        [row] = recall(world.connection, profile, AGENT, function="explain", **asked)

        assert (row["rank"], row["ranked"]) == (said.rank, said.ranked)
        assert row["returned"] == said.returned
        assert len(row["reasons"]) == len(said.reasons)
        assert row["score"] == pytest.approx(said.hit.score, abs=1e-12)
        assert row["needed_score"] == pytest.approx(said.needed_score, abs=1e-12)
        for told, account in zip(row["signals"], said.signals, strict=True):
            assert told["signal"] == account.name
            for name in ("value", "weight", "contribution", "share", "behind"):
                assert told[name] == pytest.approx(getattr(account, name), abs=1e-12)
        terms = [asdict(term) for term in said.terms]
        assert [term.keys() for term in terms] == [term.keys() for term in row["terms"]]
        for told, term in zip(row["terms"], terms, strict=True):
            assert told == pytest.approx(term, abs=1e-12)
        assert bool(terms) == (profile == "hybrid" and "query_text" in given)


def test_explain_of_a_memory_that_there_is_not(world: World) -> None:
    id_ = "019aa0e2-0000-7000-8000-000000000000"
    with pytest.raises(MemoryNotFound, match=f"agent 'agent' has no memory {id_}"), translated():
        recall(world.connection, "trust", AGENT, function="explain", memory_id=id_)


# A context


@pytest.mark.parametrize(
    "given",
    [
        {},
        {"max_tokens": 300},
        {"max_tokens": 500, "k": 4, "min_score": 0.5},
        {"max_tokens": 800, "max_similarity": 0.6, "max_skips": 5},
        {"max_tokens": 800, "diversity": 0.4, "consider": 60, "teams": [TEAM]},
        {"max_tokens": 600, "reserve": {"task": 0.5, "fact": 0.25}, "query_text": "fire"},
        {"max_tokens": 500, "query_time": (before(90), before(60)), "query_text": "fire"},
    ],
    ids=str,
)
@pytest.mark.parametrize("strategy", ["exact", "index"])
def test_context_packs_as_the_repository_does(
    world: World, given: dict[str, Any], strategy: Any
) -> None:
    given = {"as_of": NOW, "strategy": strategy, **given}
    said = world.repository.context(AGENT, QUERY, profile="hybrid", touch=False, **given)
    rows = recall(world.connection, "hybrid", AGENT, query=QUERY, function="context", **given)

    assert said.query_time == given.get("query_time")
    assert said.strategy == ("exact" if said.query_time else strategy)
    packed = [row for row in rows if row["verdict"] == "packed"]
    assert [(row["id"], row["tokens"]) for row in packed] == [
        (one.hit.memory.id, one.tokens) for one in said.packed
    ]
    left_out = {row["id"]: row["verdict"] for row in rows if row["verdict"] != "packed"}
    assert left_out == {one.hit.memory.id: one.reason for one in said.left_out}


def test_a_context_that_cannot_be_packed_is_refused(world: World) -> None:
    bad: tuple[dict[str, Any], ...] = (
        *({"max_tokens": 0}, {"diversity": 1}, {"consider": 3}, {"max_similarity": 1.5}),
        *({"reserve": {"task": 0.7, "fact": 0.7}}, {"reserve": {"task": "all"}}),
    )
    for given in bad:
        with pytest.raises(InputError), translated():
            recall(world.connection, "trust", AGENT, function="context", **given)


# What runs


def test_the_plan_of_a_search_is_that_of_its_statement(world: World) -> None:
    plan = world.repository.plan(AGENT, QUERY, profile="hybrid", tiers=["long"], strategy="exact")

    assert plan.strategy == "exact"
    assert ":owner_id" in plan.statement
    assert "Sort" in plan.plan
    assert "actual time" not in plan.plan
    measured = world.repository.plan(AGENT, QUERY, strategy="index", run=True)
    assert (measured.strategy, "actual time" in measured.plan) == ("index", True)
    assert measured.record().keys() == {"strategy", "statement", "plan"}


# Installed profiles


def test_installed_profiles_are_written_anew(own_url: str, own_engine: Engine) -> None:
    mine = Profile("mine", {Similarity(): 0.5, Recency(half_life=3): 0.3, Importance(): 0.2})
    repo = MemoryRepository(own_engine)
    repo.add(AGENT, NewMemory("it", embedding=QUERY, created_at=before(3)))
    with psycopg.connect(own_url, autocommit=True, row_factory=dict_row) as connection:
        connection.execute(
            "INSERT INTO pgrecall.profiles VALUES ('mine', %s)", [Jsonb(as_values(mine))]
        )
        migrate.upgrade(own_url)
        [first] = recall(connection, "mine", AGENT, query=QUERY, as_of=NOW)
        # As where the signature of a signal has changed.
        connection.execute("SELECT pgrecall.drop_objects('{recency_exponential}')")
        migrate.upgrade(own_url)
        [again] = recall(connection, "mine", AGENT, query=QUERY, as_of=NOW)

    [hit] = repo.search(AGENT, QUERY, profile=mine, as_of=NOW, touch=False)
    assert first == again
    assert first["score"] == pytest.approx(hit.score, abs=1e-12)
