"""recall, explain and context for psql: they do as the repository does, refuse what it refuses, and
leave alone what they find. That their statements are the repository's is in test_statements."""

from __future__ import annotations

import random
import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict
from datetime import UTC, datetime
from functools import partial
from typing import Any
from uuid import UUID

import psycopg
import pytest
from psycopg.rows import dict_row
from psycopg.types.json import Jsonb
from sqlalchemy import Engine

from pgrecall import MemoryRepository, NewMemory, Profile, migrate, profiles
from pgrecall.context.assembled import LeftOut, Packed
from pgrecall.core.checks import Count, Length, Number, Texts, Words, arguments_of
from pgrecall.errors import (
    InputError,
    InvalidProfile,
    InvalidVector,
    MemoryNotFound,
    PgRecallError,
    UnknownName,
)
from pgrecall.execution.error_mapping import map_errors
from pgrecall.migrate.psql_arguments import PsqlArguments
from pgrecall.migrate.score_function import score_functions
from pgrecall.ranking.arguments import SearchArguments
from pgrecall.scoring.profile_file import as_values
from pgrecall.scoring.signals import Importance, Recency, Similarity
from tests.conftest import DIMENSIONS
from tests.integration.owner import north
from tests.integration.recalling import DECAYING, Connection, Rows, in_python, install, recall
from tests.integration.support import NORTH, NOW, at, before, read

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
    """An agent with a rank index and a team; nothing changes them."""
    dice = random.Random("recall agrees")
    made = MemoryRepository(module_engine)
    made.add_many(AGENT, [memory(dice, n) for n in range(1_000)])
    made.teams.add_many(TEAM, [memory(dice, n) for n in range(200)])
    made.rank_indexes.build(agent_id=AGENT, at_least=1)
    return made


@pytest.fixture(scope="module")
def session(module_url: str) -> Iterator[Connection]:
    """Where those are."""
    with psycopg.connect(module_url, autocommit=True, row_factory=dict_row) as made:
        install(made, DECAYING)
        yield made


def near(value: Any) -> Any:
    return pytest.approx(value, abs=1e-12)


def contents(rows: Rows) -> list[str]:
    return [row["content"] for row in rows]


HALVES = {"similarity": 0.5, "importance": 0.5}
ASKED: tuple[dict[str, Any], ...] = (
    {},
    {"keywords": "great fire"},
    {"teams": [TEAM], "keywords": "tea"},
    {"tiers": ["long"], "memory_types": ["fact"], "min_trust": 0.9},
    {"weights": HALVES},
    {"profile": DECAYING, "keywords": "great fire"},
    {"profile": DECAYING, "half_life": 9, "teams": [TEAM]},
    {"k": 81},
    {"statuses": ["archived"]},
    {"query": None},
    {"profile": "trust", "weights": {"similarity": 0.5, "trust": 0.5}},
    {"period": (before(60), before(50)), "keywords": "tea"},
    {"period": (before(200), before(199)), "weights": {"similarity": 0.5, "time": 0.5}},
    {"period": (before(60), before(50)), "profile": "trust"},  # which does not ask for time
    {"min_relevance": 0.2, "keywords": "great fire", "teams": [TEAM]},
    {"surrounding_turns": 2, "teams": [TEAM]},
    {"surrounding_turns": 2, "min_relevance": 0.3, "keywords": "great fire"},
    {"surrounding_turns": 2, "weights": {"keyword": 1.0}, "keywords": "tea milk"},
)


@pytest.mark.parametrize("strategy", ["auto", "index", "exact"])
def test_both_look_through_a_rank_index_or_neither(
    repo: MemoryRepository, session: Connection, strategy: Any
) -> None:
    for asked in ASKED:
        given = {"query": QUERY, "profile": "hybrid", **asked}
        query, chosen = given.pop("query"), given.pop("profile")
        profile = chosen if isinstance(chosen, str) else chosen.name
        given |= {"as_of": NOW, "strategy": strategy}
        ours = in_python(given)
        if "half_life" in given:  # in Python, of the profile
            chosen = chosen.with_half_life(ours.pop("half_life"))

        hits = repo.search(AGENT, query, profile=chosen, touch=False, **ours)
        planned = repo.plan(AGENT, query, profile=chosen, **ours)
        rows, plan = (
            recall(session, profile, AGENT, query=query, function=function, **given)
            for function in ("recall", "recall_plan")
        )

        assert [(row["id"], row["attached_to"]) for row in rows] == [
            (hit.memory.id, hit.attached_to) for hit in hits
        ], asked
        assert [row["score"] for row in rows] == near([hit.score for hit in hits]), asked
        lines = [row["recall_plan"] for row in plan]
        shown = "\n".join(lines[lines.index("") :])  # after the text of the statement
        assert lines[0].startswith("/* pgrecall search */")
        assert "Sort" in shown
        assert not re.search(r"score_|signals_|recency_|similarity\(|is_valid|trust\(", shown)
        looked = "rank_candidates" in shown
        assert looked == (planned.strategy == "index") >= (hits.strategy == "index")
        if "period" in asked and "importance" not in asked.get("weights", ()):
            assert profile == "trust" or hits.strategy == "exact"
        if profile == "decaying":
            assert not looked, "positions cannot carry a product"
        if profile == "trust" or not asked:
            assert looked == (strategy != "exact")


@pytest.mark.parametrize("chosen", ["hybrid", "tiered", "last_access", DECAYING], ids=str)
def test_explain_accounts_as_the_repository_does(
    repo: MemoryRepository, session: Connection, chosen: Profile | str
) -> None:
    profile = chosen if isinstance(chosen, str) else chosen.name
    every = [hit.memory.id for hit in repo.search(AGENT, k=1_000, touch=False)]
    cases: tuple[dict[str, Any], ...] = (
        {},
        {"keywords": "great fire", "teams": [TEAM]},
        {"tiers": ["long"], "min_score": 0.5},
        {"min_similarity": 0.3, "text": "tea -milk", "memory_types": ["task"]},
        {"period": (before(90), before(60)), "min_score": 0.2},
        {"surrounding_turns": 2, "keywords": "fire", "k": 400},
        {"surrounding_turns": 1, "min_relevance": 0.3, "keywords": "great nobodyhasit"},
    )
    for id_ in every[::400]:
        for case in cases:
            given = {"as_of": NOW, **case}
            said = repo.explain(AGENT, id_, QUERY, profile=chosen, **in_python(given))
            asked = {"query": QUERY, "memory_id": id_, **given}
            [row] = recall(session, profile, AGENT, function="explain", **asked)

            assert [row[name] for name in ("rank", "ranked", "returned", "needed_score")] == [
                *(said.rank, said.ranked, said.returned, near(said.needed_score))
            ]
            assert len(row["reasons"]) == len(said.reasons)
            assert row["attached_to"] == said.hit.attached_to
            for name in ("score", "relevance"):
                assert row[name] == near(getattr(said.hit, name))
            if said.decay is not None:
                assert row["signals"].pop() == {"signal": "decay", "value": near(said.decay)}
            for told, account in zip(row["signals"], said.signals, strict=True):
                assert told["signal"] == account.name
                for name in ("value", "weight", "contribution", "share", "behind"):
                    assert told[name] == near(getattr(account, name))
                for name in ("of_terms", "length_factor"):
                    assert told.get(name) == near(getattr(account, name))
            terms = [asdict(term) for term in said.terms]
            assert row["terms"] == [near(term) for term in terms]
            assert bool(terms) == (profile in ("hybrid", "decaying") and "keywords" in given)


@pytest.mark.parametrize("strategy", ["exact", "index"])
def test_context_packs_as_the_repository_does(
    repo: MemoryRepository, session: Connection, strategy: Any
) -> None:
    cases: tuple[dict[str, Any], ...] = (
        {},
        {"max_tokens": 300},
        {"max_tokens": 800, "max_similarity": 0.6},
        {"max_tokens": 800, "diversity": 0.4, "fetch_k": 60, "teams": [TEAM]},
        {"max_tokens": 600, "reserve": {"task": 0.5, "fact": 0.25}, "keywords": "fire"},
        {"max_tokens": 500, "period": (before(90), before(60)), "keywords": "fire"},
        {"max_tokens": 300, "surrounding_turns": 2, "keywords": "great fire"},
        {"max_tokens": 300, "keywords": "nobodyhasit", "min_relevance": 0.95},
    )
    for case in cases:
        given = {"as_of": NOW, "strategy": strategy, **case}
        said = repo.context(AGENT, QUERY, profile="hybrid", touch=False, **given)
        rows = recall(session, "hybrid", AGENT, query=QUERY, function="context", **given)

        assert said.period == case.get("period")
        assert said.strategy == ("exact" if said.period else strategy)
        packed = [row for row in rows if row["verdict"] == "packed"]
        assert [(row["id"], row["tokens"], row["near"]) for row in packed] == [
            (one.hit.memory.id, one.tokens, one.hit.attached_to) for one in said.packed
        ]
        left_out = {row["id"]: row["verdict"] for row in rows if row["verdict"] != "packed"}
        assert left_out == {one.hit.memory.id: one.reason for one in said.left_out}
        every: list[Packed | LeftOut] = [*said.packed, *said.left_out]
        assert {row["id"]: row["relevance"] for row in rows} == near(
            {one.hit.memory.id: one.hit.relevance for one in every}
        )
    for number in (1, 5):  # that do not fit; in Python always three
        asked: dict[str, Any] = {"max_tokens": 6, "as_of": NOW, "max_skips": number}
        rows = recall(session, "hybrid", AGENT, query=QUERY, function="context", **asked)
        assert [row["verdict"] for row in rows].count("too_long") == number


def test_the_plan_of_a_search_is_that_of_its_statement(repo: MemoryRepository) -> None:
    plan = repo.plan(AGENT, QUERY, profile="hybrid", filter={"tier": "long"}, strategy="exact")

    assert plan.strategy == "exact"
    assert ":owner_id" in plan.statement
    assert "Sort" in plan.plan
    assert "actual time" not in plan.plan
    measured = repo.plan(AGENT, QUERY, strategy="index", run=True)
    assert (measured.strategy, "actual time" in measured.plan) == ("index", True)
    assert measured.record().keys() == {"strategy", "statement", "plan"}


@contextmanager
def refused(error: type[PgRecallError], match: str) -> Iterator[None]:
    """As the repository would say it."""
    with pytest.raises(error, match=match), map_errors():
        yield


WEIGHTS: tuple[tuple[Any, str], ...] = (
    ({"similarity": 0.9, "recency": 0.2}, "sum to 1, they sum to 1.1"),
    ({}, "sum to 1, they sum to 0"),
    ({"similarity": 1.5, "recency": -0.5}, "must be 0 or lie within"),
    ({"similarity": 1.0, "recency": None}, "must be a number"),
    ({"similarity": "1"}, 'must be a number, got "1"'),
    ([1.0], "must map signals to numbers"),
)
NO_SIGNAL = "profile 'trust' has no signal 'keyword'; its signals are trust, similarity"
NO_PROFILE = "unknown profile .*; there are five_factor, half_life"
NO_PERIODS = (
    *("empty", "(,)", "[2026-01-01,)", "(,2026-01-01)", "[2026-01-01,2026-01-01]"),
    *("[2026-01-01,infinity)", "[-infinity,2026-01-01)", "[4000-01-01 BC,2026-01-01)"),
)
REFUSED: tuple[tuple[dict[str, Any], type[PgRecallError], str], ...] = (
    *(({"k": k}, InputError, "k must lie within 1 and 1000000") for k in (-1, None)),
    *(({"agent": a}, InputError, "agent must be an id") for a in (None, "", "team:", "a" * 206)),
    *(
        ({"profile": p}, UnknownName, NO_PROFILE)
        for p in ("nobody", "", "trust'", "Trust", "facts")
    ),
    *(({"weights": weights}, InputError, said) for weights, said in WEIGHTS),
    ({"weights": {"similarity": 0.5, "keyword": 0.5}}, UnknownName, NO_SIGNAL),
    ({"query": [0.0] * DIMENSIONS}, InvalidVector, "no direction"),
    ({"query": [1.0, 2.0]}, InvalidVector, "has 2 dimensions, .* stores 8"),
    ({"statuses": None}, UnknownName, "unknown statuses NULL; known are active"),
    ({"metadata": [1]}, InputError, "metadata must be a JSON object"),
    ({"as_of": "0001-01-01 00:00+00"}, InputError, "as_of must lie within 0001-01-02"),
    ({"created_after": "infinity"}, InputError, "created_after must lie within"),
    *(({"query_time": one}, InputError, "query_time must") for one in NO_PERIODS),
    ({"strategy": "quick"}, InputError, "one of auto, exact, index, got 'quick'"),
    ({"teams": [""]}, InputError, "agent must be an id"),
)


@pytest.mark.parametrize(
    ("asked", "error", "said"), REFUSED, ids=[f"{asked!s:.50}" for asked, *_ in REFUSED]
)
def test_what_cannot_be_asked_is_refused_in_words(
    connection: Connection, asked: dict[str, Any], error: type[PgRecallError], said: str
) -> None:
    for function in ("recall", "recall_plan", "context", "explain"):
        given = {"profile": "trust", "agent": "agent", **asked}
        if function == "explain":
            if "strategy" in asked:
                continue
            given["memory_id"] = UUID(int=1)
        with refused(error, said):
            recall(connection, given.pop("profile"), given.pop("agent"), function=function, **given)


def test_what_one_of_them_cannot_do_is_refused(connection: Connection) -> None:
    for given in (
        *({"max_tokens": 0}, {"diversity": 1}, {"fetch_k": 3}, {"max_similarity": 1.5}),
        *({"reserve": {"task": 0.7, "fact": 0.7}}, {"reserve": {"task": "all"}}),
    ):
        asked: dict[str, Any] = given
        with refused(InputError, "max_|diversity|reserve"):
            recall(connection, "trust", AGENT, function="context", **asked)
    id_ = "019aa0e2-0000-7000-8000-000000000000"
    with refused(MemoryNotFound, f"agent 'agent' has no memory {id_}"):
        recall(connection, "trust", AGENT, function="explain", memory_id=id_)
    for name in ("Mine", "mine; DROP TABLE x", 'a"b', "1st", "a-b", "ä", "a" * 52, "a\n", "a b"):
        with pytest.raises(InvalidProfile, match="lower-case letters"):
            score_functions(Profile(name, {Similarity(): 1}))


ARGUMENTS = arguments_of(PsqlArguments)


def beyond(check: Any) -> list[Any]:
    """The nearest values that the check of an argument refuses."""
    match check:
        case Count(least, most):
            return [least - 1, most + 1]
        case Number(least, most):
            return [least - 1e-9, most + 1e-9, float("nan")]
        case Length(most):
            return ["a" * (most + 1)]
        case Texts(int(most)):
            return [[f"{n}" for n in range(most + 1)]]
        case Words(known):
            return [[*known, "unknown"], [known[0].upper()]]
    return []


def test_both_refuse_what_an_argument_may_not_be(
    connection: Connection, shared_repo: MemoryRepository
) -> None:
    """In the same words, if it is one that psql has; and one without those that it needs."""
    for name, one in ARGUMENTS.items():
        for bad in beyond(one.check):
            given = {name: bad}
            ours = partial(shared_repo.search, "agent", NORTH, profile="hybrid", **given)
            is_ours = name in SearchArguments.__annotations__
            with pytest.raises(InputError) as said:
                ours() if is_ours else one.check(name, bad)
            shown = str(said.value).partition(", got")[0].rpartition("known are")[2]
            with refused(type(said.value), re.escape(shown)):
                recall(connection, "hybrid", "agent", query=NORTH, **given)
    needing = {name: one.needs for name, one in ARGUMENTS.items() if one.needs is not None}
    for name, needs in needing.items():
        given = {name: 0.5}
        message = needs.message.partition(" or ")[0]
        with refused(InputError, "needs a query|needs query"):
            shared_repo.search("agent", profile="hybrid", **in_python(given))
        with refused(InputError, message):
            recall(connection, "hybrid", "agent", **given)
    assert {"min_similarity", "min_relevance"} == {*needing}


CALL = (
    "SELECT * FROM pgrecall.recall("
    "'agent-1', '[1,0,0,0,0,0,0,0]'::{vector}, k => 10, as_of => '2026-11-01')"
)


def two_memories(repository: MemoryRepository) -> None:
    for content, degrees, month in (("near", 0, 10), ("far", 60, 10), ("later", 0, 12)):
        created = datetime(2026, month, 1, tzinfo=UTC)
        repository.add("agent-1", NewMemory(content, embedding=at(degrees), created_at=created))


def test_the_call_of_the_documentation(own_url: str, own_repo: MemoryRepository) -> None:
    two_memories(own_repo)
    with psycopg.connect(own_url, autocommit=True, row_factory=dict_row) as connection:
        rows = connection.execute(CALL.format(vector="vector")).fetchall()
        in_order = "SELECT * FROM pgrecall.recall('agent-1', %s, 'near', 'hybrid', 1)"
        [first] = connection.execute(in_order, (str(NORTH),)).fetchall()
        connection.execute("SET search_path = pgrecall, public")
        unqualified = CALL.format(vector="vector").replace("pgrecall.", "")
        again = connection.execute(unqualified).fetchall()

    assert contents(rows) == ["near", "far"]
    assert first["content"] == "near"
    assert rows == again
    assert list(rows[0]) == [
        *("agent_id", "id", "content", "memory_type", "created_at"),
        *("score", "similarity", "signals", "attached_to"),
        *("importance", "tier", "key", "last_accessed_at", "hops", "relevance", "is_relevant"),
    ]
    assert isinstance(rows[0]["id"], UUID)
    assert (rows[0]["similarity"], rows[1]["similarity"]) == pytest.approx((1, 0.5))


@pytest.mark.parametrize("search_path", ["", "elsewhere, public"])
def test_the_search_path_of_the_caller_does_not_matter(
    own_url: str, own_repo: MemoryRepository, search_path: str
) -> None:
    own_repo.add("agent-1", north("great tea", created_at=before(-30)))
    with psycopg.connect(own_url, autocommit=True, row_factory=dict_row) as connection:
        connection.execute("CREATE SCHEMA elsewhere")
        for schema in ("elsewhere", "pg_temp"):
            connection.execute(f"CREATE TABLE {schema}.agent_memories (id int)".encode())
            connection.execute(
                f"CREATE FUNCTION {schema}.text_language() RETURNS regconfig LANGUAGE sql "
                "RETURN 'simple'::regconfig".encode()
            )
        connection.execute("SELECT set_config('search_path', %s, false)", (search_path,))
        connection.execute("SET default_text_search_config = 'german'")
        asked: dict[str, Any] = {"query": NORTH, "keywords": "the teas", "text": "the teas"}
        for name in profiles.BUILT_IN:
            assert recall(connection, name, "agent-1", teams=["none"], as_of=NOW, **asked) == []
            [row] = recall(connection, name, "agent-1", teams=["none"], **asked)
            assert row["signals"].get("keyword", 1.0) == 1.0


@pytest.mark.parametrize("strategy", ["exact", "index"])
def test_a_recall_counts_as_a_search_does_if_it_is_told_to(
    connection: Connection, shared_repo: MemoryRepository, agent: str, strategy: str
) -> None:
    ids = [shared_repo.add(agent, NewMemory(f"it {n}", embedding=at(40 * n))) for n in range(3)]
    theirs = shared_repo.teams.add(agent, north("theirs"))
    shared_repo.rank_indexes.build(agent_id=agent, at_least=1)
    asked: dict[str, Any] = {"query": NORTH, "teams": [agent], "k": 3, "strategy": strategy}

    with connection.transaction():
        connection.execute("SET TRANSACTION READ ONLY")
        not_counted = recall(connection, "five_factor", agent, **asked)
    rows = recall(connection, "five_factor", agent, touch=True, **asked)

    assert {row["id"] for row in rows} == {row["id"] for row in not_counted} == {*ids[:2], theirs}
    assert [row["signals"]["frequency"] for row in rows] == [0, 0, 0]
    found = [read(shared_repo, agent, id_) for id_ in ids]
    found.append(read(shared_repo.teams, agent, theirs))
    assert [one.retrieval_count for one in found] == [1, 1, 0, 1]


def test_installed_profiles_are_written_anew(own_url: str, own_repo: MemoryRepository) -> None:
    mine = Profile("mine", {Similarity(): 0.5, Recency(half_life=3): 0.3, Importance(): 0.2})
    own_repo.add(AGENT, NewMemory("it", embedding=QUERY, created_at=before(3)))
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

    [hit] = own_repo.search(AGENT, QUERY, profile=mine, as_of=NOW, touch=False)
    assert first == again
    assert first["score"] == near(hit.score)
