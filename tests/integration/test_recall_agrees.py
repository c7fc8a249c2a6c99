"""What psql says beside a ranking is what the repository says: whether it looks through a rank
index, why a memory has its place, what goes into a context, and what runs."""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import asdict
from typing import Any

import psycopg
import pytest
from psycopg.rows import dict_row
from psycopg.types.json import Jsonb
from sqlalchemy import Engine

from pgrecall import LeftOut, MemoryRepository, NewMemory, Packed, Profile, migrate
from pgrecall.errors import InputError, MemoryNotFound
from pgrecall.execution.error_mapping import map_errors
from pgrecall.scoring.profile_file import as_values
from pgrecall.scoring.signals import Importance, Recency, Similarity
from tests.conftest import DIMENSIONS
from tests.integration.recalling import Connection, recall
from tests.integration.support import NOW, before

AGENT, TEAM = "agent", "red"
WORDS = ("tea", "milk", "fire", "great", "rain", "dancing", "boat", "night", "letter", "office")
QUERY = [3.0, -1.0, 2.0, 1.0, -4.0, 1.0, 2.0, -2.0]


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
        session=f"s{number // 20}" if number % 3 else None,
        turn=number % 20 if number % 3 else None,
    )


@pytest.fixture(scope="module")
def repo(module_engine: Engine) -> MemoryRepository:
    dice = random.Random("recall agrees")
    made = MemoryRepository(module_engine)
    made.add_many(AGENT, [memory(dice, n) for n in range(1_000)])
    made.teams.add_many(TEAM, [memory(dice, n) for n in range(200)])
    made.rank_indexes.build(agent_id=AGENT, at_least=1)
    return made


@pytest.fixture(scope="module")
def connection(module_url: str) -> Iterator[Connection]:
    with psycopg.connect(module_url, autocommit=True, row_factory=dict_row) as made:
        yield made


def near(value: Any) -> Any:
    return pytest.approx(value, abs=1e-12)


OF_WORDS = ("of_terms", "length_factor")
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
    {"query_time": (before(60), before(50)), "profile": "trust"},  # which does not ask for time
    {"min_relevance": 0.2, "query_text": "great fire", "teams": [TEAM]},
    {"min_relevance": 0.4, "profile": "five_factor"},
    {"expand_session": 2, "k": 5},
    {"expand_session": 2, "lend": 0.3, "teams": [TEAM]},
    {"expand_session": 1, "lend": 0.5, "min_score": 0.5, "query_text": "fire"},
    {"expand_session": 2, "lend": 0.3, "min_relevance": 0.3, "query_text": "great fire"},
    {"expand_session": 3, "lend": 0.2, "text": "tea or milk"},
    {"expand_session": 2, "lend": 0.3, "query": None, "query_text": "tea"},
    {"expand_session": 2, "weights": {"keyword": 1.0}, "query_text": "tea milk"},
)


@pytest.mark.parametrize("strategy", ["auto", "index", "exact"])
@pytest.mark.parametrize("asked", ASKED, ids=lambda asked: f"{asked!s:.60}")
def test_both_look_through_a_rank_index_or_neither(
    repo: MemoryRepository, connection: Connection, asked: dict[str, Any], strategy: Any
) -> None:
    given = {"query": QUERY, "profile": "hybrid", **asked}
    query, profile = given.pop("query"), given.pop("profile")
    given |= {"as_of": NOW, "strategy": strategy}

    hits = repo.search(AGENT, query, profile=profile, touch=False, **given)
    planned = repo.plan(AGENT, query, profile=profile, **given)
    rows, plan = (
        recall(connection, profile, AGENT, query=query, function=function, **given)
        for function in ("recall", "recall_plan")
    )

    assert [(row["id"], row["beside"], row["lender"]) for row in rows] == [
        (hit.memory.id, hit.beside, hit.lender) for hit in hits
    ]
    for name in ("score", "lent"):
        assert [row[name] for row in rows] == near([getattr(hit, name) for hit in hits])
    looked = any("rank_candidates" in row["recall_plan"] for row in plan)
    assert looked == (planned.strategy == "index") >= (hits.strategy == "index")
    if "query_time" in asked and not {"importance", "trust"} & {*asked.get("weights", ()), profile}:
        assert hits.strategy == "exact"
    if profile == "trust" or not asked:
        assert looked == (strategy != "exact")


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
        {"expand_session": 2, "lend": 0.3, "query_text": "fire", "k": 400},
        {"expand_session": 1, "min_relevance": 0.3, "query_text": "great nobodyhasit"},
    ],
    ids=str,
)
@pytest.mark.parametrize("profile", ["hybrid", "tiered", "last_access"])
def test_explain_accounts_as_the_repository_does(
    repo: MemoryRepository, connection: Connection, profile: str, given: dict[str, Any]
) -> None:
    given = {"as_of": NOW, **given}
    every = [hit.memory.id for hit in repo.search(AGENT, k=1_000, touch=False)]

    for id_ in every[::400]:
        said = repo.explain(AGENT, id_, QUERY, profile=profile, **given)
        asked = {"query": QUERY, "memory_id": id_, **given}
        [row] = recall(connection, profile, AGENT, function="explain", **asked)

        for name in ("rank", "ranked", "returned"):
            assert row[name] == getattr(said, name)
        assert len(row["reasons"]) == len(said.reasons)
        assert (row["beside"], row["lender"]) == (said.hit.beside, said.hit.lender)
        for name in ("score", "lent", "relevance"):
            assert row[name] == near(getattr(said.hit, name))
        assert row["needed_score"] == near(said.needed_score)
        for told, account in zip(row["signals"], said.signals, strict=True):
            assert told["signal"] == account.name
            for name in ("value", "weight", "contribution", "share", "behind", *OF_WORDS):
                assert told.get(name) == near(getattr(account, name))
        terms = [asdict(term) for term in said.terms]
        assert [term.keys() for term in terms] == [term.keys() for term in row["terms"]]
        for told, term in zip(row["terms"], terms, strict=True):
            assert told == near(term)
        assert bool(terms) == (profile == "hybrid" and "query_text" in given)


def test_explain_of_a_memory_that_there_is_not(connection: Connection) -> None:
    id_ = "019aa0e2-0000-7000-8000-000000000000"
    with pytest.raises(MemoryNotFound, match=f"agent 'agent' has no memory {id_}"), map_errors():
        recall(connection, "trust", AGENT, function="explain", memory_id=id_)


# A context


@pytest.mark.parametrize(
    "given",
    [
        {},
        {"max_tokens": 300},
        {"max_tokens": 500, "k": 4, "min_score": 0.5},
        {"max_tokens": 60, "consider": 60},
        {"max_tokens": 800, "max_similarity": 0.6},
        {"max_tokens": 800, "diversity": 0.4, "consider": 60, "teams": [TEAM]},
        {"max_tokens": 600, "reserve": {"task": 0.5, "fact": 0.25}, "query_text": "fire"},
        {"max_tokens": 500, "query_time": (before(90), before(60)), "query_text": "fire"},
        {"max_tokens": 300, "expand_session": 2, "query_text": "great fire"},
        {"max_tokens": 300, "expand_session": 1, "lend": 0.3, "min_relevance": 0.4},
        {"max_tokens": 300, "query_text": "nobodyhasit", "min_relevance": 0.95},
    ],
    ids=str,
)
@pytest.mark.parametrize("strategy", ["exact", "index"])
def test_context_packs_as_the_repository_does(
    repo: MemoryRepository, connection: Connection, given: dict[str, Any], strategy: Any
) -> None:
    given = {"as_of": NOW, "strategy": strategy, **given}
    said = repo.context(AGENT, QUERY, profile="hybrid", touch=False, **given)
    rows = recall(connection, "hybrid", AGENT, query=QUERY, function="context", **given)

    assert said.query_time == given.get("query_time")
    assert said.strategy == ("exact" if said.query_time else strategy)
    packed = [row for row in rows if row["verdict"] == "packed"]
    assert [(row["id"], row["tokens"], row["near"]) for row in packed] == [
        (one.hit.memory.id, one.tokens, one.hit.beside) for one in said.packed
    ]
    left_out = {row["id"]: row["verdict"] for row in rows if row["verdict"] != "packed"}
    assert left_out == {one.hit.memory.id: one.reason for one in said.left_out}
    every: list[Packed | LeftOut] = [*said.packed, *said.left_out]
    assert {row["id"]: row["relevance"] for row in rows} == near(
        {one.hit.memory.id: one.hit.relevance for one in every}
    )


def test_psql_may_stop_after_another_number_of_memories_that_do_not_fit(
    connection: Connection,
) -> None:
    asked: dict[str, Any] = {"query": QUERY, "function": "context", "max_tokens": 6, "as_of": NOW}
    for number in (1, 5):
        rows = recall(connection, "hybrid", AGENT, max_skips=number, **asked)
        assert [row["verdict"] for row in rows].count("too_long") == number


def test_a_context_that_cannot_be_packed_is_refused(connection: Connection) -> None:
    bad: tuple[dict[str, Any], ...] = (
        *({"max_tokens": 0}, {"diversity": 1}, {"consider": 3}, {"max_similarity": 1.5}),
        *({"reserve": {"task": 0.7, "fact": 0.7}}, {"reserve": {"task": "all"}}),
    )
    for given in bad:
        with pytest.raises(InputError), map_errors():
            recall(connection, "trust", AGENT, function="context", **given)


# What runs


def test_the_plan_of_a_search_is_that_of_its_statement(repo: MemoryRepository) -> None:
    plan = repo.plan(AGENT, QUERY, profile="hybrid", tiers=["long"], strategy="exact")

    assert plan.strategy == "exact"
    assert ":owner_id" in plan.statement
    assert "Sort" in plan.plan
    assert "actual time" not in plan.plan
    measured = repo.plan(AGENT, QUERY, strategy="index", run=True)
    assert (measured.strategy, "actual time" in measured.plan) == ("index", True)
    assert measured.record().keys() == {"strategy", "statement", "plan"}


# Installed profiles


def test_installed_profiles_are_written_anew(own_url: str, own_engine: Engine) -> None:
    mine = Profile("mine", {Similarity(): 0.5, Recency(half_life=3): 0.3, Importance(): 0.2})
    own = MemoryRepository(own_engine)
    own.add(AGENT, NewMemory("it", embedding=QUERY, created_at=before(3)))
    with psycopg.connect(own_url, autocommit=True, row_factory=dict_row) as session:
        session.execute(
            "INSERT INTO pgrecall.profiles VALUES ('mine', %s)", [Jsonb(as_values(mine))]
        )
        migrate.upgrade(own_url)
        [first] = recall(session, "mine", AGENT, query=QUERY, as_of=NOW)
        # As where the signature of a signal has changed.
        session.execute("SELECT pgrecall.drop_objects('{recency_exponential}')")
        migrate.upgrade(own_url)
        [again] = recall(session, "mine", AGENT, query=QUERY, as_of=NOW)

    [hit] = own.search(AGENT, QUERY, profile=mine, as_of=NOW, touch=False)
    assert first == again
    assert first["score"] == near(hit.score)
