"""The profiles as functions for psql: what they refuse, and what they leave alone."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from inspect import signature
from typing import Any
from uuid import UUID

import psycopg
import pytest
from psycopg.rows import dict_row
from sqlalchemy import NullPool, create_engine

from pgrecall import MemoryRepository, NewMemory, Profile, migrate, profiles
from pgrecall.core.checks import Between, Count, Length, Number, Texts, Words, arguments_of
from pgrecall.core.resources import sql_folder
from pgrecall.errors import InputError, InvalidProfile, InvalidVector, PgRecallError, UnknownName
from pgrecall.execution.error_mapping import map_errors
from pgrecall.migrate.score_function import score_functions
from pgrecall.ranking.arguments import SearchArguments
from pgrecall.scoring.signals import Similarity
from pgrecall.testing import new_database
from tests.conftest import DIMENSIONS, accept_pgvector
from tests.integration.recalling import Connection, Rows, recall
from tests.integration.support import NORTH, NOW, at, before

FOLDER = sql_folder() / "recall"
each_profile = pytest.mark.parametrize("profile", profiles.BUILT_IN.values(), ids=profiles.BUILT_IN)


def contents(rows: Rows) -> list[str]:
    return [row["content"] for row in rows]


# What is refused


@contextmanager
def refused(error: type[PgRecallError], match: str) -> Iterator[None]:
    """As the repository would say it."""
    with pytest.raises(error, match=match), map_errors():
        yield


WEIGHTS: tuple[tuple[Any, str], ...] = (
    ({"similarity": 0.9, "recency": 0.2}, "sum to 1, they sum to 1.1"),
    ({}, "sum to 1, they sum to 0"),
    ({"similarity": 1.5, "recency": -0.5}, "must be 0 or lie within"),
    ({"similarity": 1.0, "recency": 1e-13}, "must be 0 or lie within"),
    ({"similarity": 1 - 1e-6}, "sum to 1"),
    ({"similarity": 1.0, "recency": None}, "must be a number"),
    ({"similarity": "1"}, 'must be a number, got "1"'),
    ([1.0], "must map signals to numbers"),
)
REFUSED: tuple[tuple[dict[str, Any], type[PgRecallError], str], ...] = (
    *(({"k": k}, InputError, "k must lie within 1 and 1000000") for k in (0, -1, None, 1_000_001)),
    *(
        ({"agent": agent}, InputError, "agent must be an id")
        for agent in (None, "", "team:", "a" * 206)
    ),
    *(
        ({"profile": name}, UnknownName, "unknown profile .*; there are five_factor, half_life")
        for name in ("nobody", "", "trust'", "Trust", "facts")
    ),
    *(({"weights": weights}, InputError, said) for weights, said in WEIGHTS),
    (
        {"weights": {"similarity": 0.5, "keyword": 0.5}},
        UnknownName,
        "profile 'trust' has no signal 'keyword'; its signals are trust, similarity",
    ),
    ({"query": [0.0] * DIMENSIONS}, InvalidVector, "no direction"),
    ({"query": [1e30] * DIMENSIONS}, InvalidVector, "no direction"),
    ({"query": [1.0, 2.0]}, InvalidVector, "has 2 dimensions, .* stores 8"),
    ({"min_similarity": 0.5}, InputError, "min_similarity needs query"),
    ({"min_score": 1.5}, InputError, "min_score must lie within 0 and 1, got 1.5"),
    ({"min_trust": -0.1}, InputError, "min_trust must lie within 0 and 1"),
    ({"label_kinds": ["tag"]}, InputError, "give labels too"),
    ({"labels": ["x"], "label_kinds": ["y"]}, UnknownName, "unknown label_kinds 'y'"),
    ({"statuses": None}, UnknownName, "unknown statuses NULL; known are active"),
    ({"metadata": [1]}, InputError, "metadata must be a JSON object"),
    ({"text": "a" * 10_001}, InputError, "at most 10,000 characters, got 10001"),
    ({"as_of": "0001-01-01 00:00+00"}, InputError, "as_of must lie within 0001-01-02"),
    ({"created_after": "infinity"}, InputError, "created_after must lie within"),
    *(
        ({"query_time": period}, InputError, "query_time must")
        for period in (
            *("empty", "(,)", "[2026-01-01,)", "(,2026-01-01)", "[2026-01-01,2026-01-01]"),
            *("[2026-01-01,infinity)", "[-infinity,2026-01-01)", "[4000-01-01 BC,2026-01-01)"),
        )
    ),
    ({"strategy": "quick"}, InputError, "one of auto, exact, index, got 'quick'"),
    ({"apply_decay": None}, InputError, "apply_decay must be true or false"),
    ({"teams": [""]}, InputError, "agent must be an id"),
    ({"query_entities": [f"entity {n}" for n in range(33)]}, InputError, "at most 32, got 33"),
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


def test_a_query_entity_that_is_null_or_there_twice_counts_for_nothing(
    connection: Connection, shared_repo: MemoryRepository, agent: str
) -> None:
    shared_repo.add(agent, NewMemory("it", embedding=NORTH, entities=["Ann"]))

    [row] = recall(connection, "tiered", agent, query_entities=["Ann", None])

    assert row["signals"]["entity_overlap"] == 1
    names = [f"entity {n}" for n in range(32)]
    assert len(recall(connection, "tiered", agent, query_entities=names * 2)) == 1


# Where it runs


CALL = (
    "SELECT * FROM pgrecall.recall("
    "'agent-1', '[1,0,0,0,0,0,0,0]'::{vector}, k => 10, as_of => '2026-11-01')"
)


def two_memories(repository: MemoryRepository) -> None:
    created = datetime(2026, 10, 1, tzinfo=UTC)
    repository.add("agent-1", NewMemory("near", embedding=NORTH, created_at=created))
    repository.add("agent-1", NewMemory("far", embedding=at(60), created_at=created))
    repository.add(
        "agent-1", NewMemory("later", embedding=NORTH, created_at=datetime(2026, 11, 2, tzinfo=UTC))
    )


def test_the_call_of_the_documentation(own_url: str, own_engine: Any) -> None:
    two_memories(MemoryRepository(own_engine))
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
        *("score", "similarity", "signals", "beside", "lent", "lender"),
        *("importance", "tier", "key", "last_accessed_at", "steps"),
    ]
    assert isinstance(rows[0]["id"], UUID)
    assert (rows[0]["similarity"], rows[1]["similarity"]) == pytest.approx((1, 0.5))


@pytest.mark.parametrize("search_path", ["", "elsewhere, public"])
def test_the_search_path_of_the_caller_does_not_matter(own_url: str, search_path: str) -> None:
    repo = MemoryRepository(create_engine(own_url, poolclass=NullPool))
    repo.add("agent-1", NewMemory("great tea", embedding=NORTH, created_at=before(-30)))
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
        asked: dict[str, Any] = {"query": NORTH, "query_text": "the teas", "text": "the teas"}
        for name in profiles.BUILT_IN:
            assert recall(connection, name, "agent-1", teams=["none"], as_of=NOW, **asked) == []
            [row] = recall(connection, name, "agent-1", teams=["none"], **asked)
            assert row["signals"].get("keyword", 1.0) == 1.0


@pytest.mark.parametrize(
    ("schema", "embedding_type"), [("pgrecall", "halfvec"), ("memory_of_agents", "vector")]
)
def test_pgvector_may_be_in_a_schema_of_its_own(
    server_url: str, schema: str, embedding_type: str
) -> None:
    with new_database(server_url) as url:
        with psycopg.connect(url, autocommit=True) as connection:
            connection.execute("CREATE SCHEMA extensions")
            connection.execute("CREATE EXTENSION vector SCHEMA extensions")
        migrate.upgrade(url, schema=schema, dimensions=DIMENSIONS, embedding_type=embedding_type)
        accept_pgvector(url, schema)
        two_memories(MemoryRepository(create_engine(url, poolclass=NullPool), schema=schema))
        call = CALL.format(vector=f"extensions.{embedding_type}").replace("pgrecall", schema)
        with psycopg.connect(url, autocommit=True, row_factory=dict_row) as connection_:
            for search_path in ("", "public", "extensions"):
                connection_.execute("SELECT set_config('search_path', %s, false)", (search_path,))
                found = connection_.execute(call).fetchall()
                assert contents(found) == ["near", "far"]


# What is installed


ARGUMENTS = arguments_of(SearchArguments)


def beyond(check: Any) -> list[Any]:
    """The nearest values that the check of an argument refuses."""
    match check:
        case Count(least, most):
            return [least - 1, most + 1]
        case Number(least, most):
            return [least - 1e-9, most + 1e-9, float("nan")]
        case Between(least, most):
            return [least, most]
        case Length(most):
            return ["a" * (most + 1)]
        case Texts(int(most)):
            return [[f"{n}" for n in range(most + 1)]]
        case Words(known):
            return [[*known, "unknown"], [known[0].upper()]]
    return []


BEYOND = [(name, bad) for name, one in ARGUMENTS.items() for bad in beyond(one.check)]


def test_both_refuse_what_an_argument_may_not_be(
    connection: Connection, shared_repo: MemoryRepository
) -> None:
    """In the same words, if it is one that psql has."""
    for name, bad in BEYOND:
        given = {"expand_session": 1, "labels": ["a"], name: bad}
        with pytest.raises(InputError) as said:
            shared_repo.search("agent", NORTH, profile="hybrid", **given)
        shown = str(said.value).partition(", got")[0].rpartition("known are")[2]
        with refused(type(said.value), re.escape(shown)):
            recall(connection, "hybrid", "agent", query=NORTH, **given)


def test_both_refuse_an_argument_without_those_that_it_needs(
    connection: Connection, shared_repo: MemoryRepository
) -> None:
    good: dict[str, Any] = {"label_kinds": ["tag"], "lend": 0.5}
    needing = {name: one.needs for name, one in ARGUMENTS.items() if one.needs is not None}
    for name, needs in needing.items():
        given = {name: good.get(name, 0.5)}
        for refuses in (
            lambda given=given: shared_repo.search("agent", profile="hybrid", **given),
            lambda given=given: recall(connection, "hybrid", "agent", **given),
        ):
            with refused(InputError, needs.message.partition(" or ")[0]):
                refuses()
    assert {*good, "min_similarity", "min_relevance"} == {*needing}


@each_profile
def test_the_score_is_inlined(
    connection: Connection, shared_repo: MemoryRepository, agent: str, profile: Profile
) -> None:
    shared_repo.add(agent, NewMemory("it", embedding=NORTH))

    asked = {"query": NORTH, "query_text": "it", "strategy": "exact", "min_trust": 0.1}
    rows = recall(connection, profile.name, agent, function="recall_plan", **asked)
    lines = [row["recall_plan"] for row in rows]
    text, plan = "\n".join(lines[: lines.index("")]), "\n".join(lines[lines.index("") :])

    assert text.startswith("/* pgrecall search */")
    assert "Sort" in plan
    for function in ("score_", "signals_", "recency_", "similarity(", "is_valid", "decayed_trust"):
        assert function not in plan


@each_profile
def test_the_profile_in_the_database_is_that_of_python(
    connection: Connection, profile: Profile
) -> None:
    call = f"SELECT pgrecall.profile_{profile.name}() AS facts".encode()
    row = connection.execute(call).fetchone()

    assert row is not None
    weights = {signal["name"]: signal["weight"] for signal in row["facts"]["signals"]}
    assert weights == profile.weights


@pytest.mark.parametrize("function", ["recall", "recall_plan", "explain", "context"])
def test_the_function_takes_every_argument_of_the_search(
    connection: Connection, function: str
) -> None:
    """But for what has no meaning in SQL."""
    wanted = set(signature(MemoryRepository.search).parameters)
    wanted |= set(SearchArguments.__annotations__)
    wanted -= {"self", "agent_id", "arguments", "where", "dates", "timezone"}
    if function != "recall":
        wanted -= {"touch", "expand"}
    if function == "explain":
        wanted -= {"strategy"}
    row = connection.execute(
        "SELECT pg_get_function_arguments(oid) AS arguments FROM pg_proc "
        "WHERE pronamespace = 'pgrecall'::regnamespace AND proname = %s",
        (function,),
    ).fetchone()

    assert row is not None
    found = dict(re.findall(r"(\w+) [^,]+? DEFAULT ([^,]+)", row["arguments"]))
    assert wanted | {"query"} <= found.keys()
    if function == "recall":
        assert found.keys() == wanted | {"query", "half_life"}
        assert found["profile"] == "NULL::text"  # the default one
        assert (found["k"], found["apply_decay"]) == ("10", "true")


def test_a_recall_counts_no_retrieval(
    connection: Connection, shared_repo: MemoryRepository, agent: str
) -> None:
    id_ = shared_repo.add(agent, NewMemory("it", embedding=NORTH))

    for name in profiles.BUILT_IN:
        with connection.transaction():
            connection.execute("SET TRANSACTION READ ONLY")
            rows = recall(connection, name, agent, query=NORTH, query_text="it")
            assert contents(rows) == ["it"]

    memory = shared_repo.get(agent, id_)
    assert memory is not None
    assert (memory.retrieval_count, memory.last_accessed_at) == (0, None)


@pytest.mark.parametrize("strategy", ["exact", "index"])
def test_a_recall_that_touches_counts_as_a_search_does(
    connection: Connection, shared_repo: MemoryRepository, agent: str, strategy: str
) -> None:
    ids = [shared_repo.add(agent, NewMemory(f"it {n}", embedding=at(40 * n))) for n in range(3)]
    theirs = shared_repo.teams.add(agent, NewMemory("theirs", embedding=NORTH))
    shared_repo.rank_indexes.build(agent_id=agent, at_least=1)
    asked: dict[str, Any] = {"query": NORTH, "teams": [agent], "k": 3, "touch": True}

    rows = recall(connection, "five_factor", agent, strategy=strategy, **asked)

    assert {row["id"] for row in rows} == {*ids[:2], theirs}
    assert [row["signals"]["frequency"] for row in rows] == [0, 0, 0]
    found = [shared_repo.get(agent, id_) for id_ in ids] + [shared_repo.teams.get(agent, theirs)]
    assert [one.retrieval_count for one in found if one is not None] == [1, 1, 0, 1]


def test_an_agent_and_a_team_of_one_name_weigh_words_each_for_itself(
    connection: Connection, shared_repo: MemoryRepository, agent: str
) -> None:
    for owners, words in ((shared_repo, "tea fire"), (shared_repo.teams, "tea tea")):
        for number, word in enumerate(words.split()):
            owners.add(agent, NewMemory(f"{word} {number}", embedding=None, created_at=NOW))
    asked: dict[str, Any] = {"query_text": "tea fire", "k": 9, "as_of": NOW}
    own = recall(connection, "hybrid", agent, **asked)
    both = recall(connection, "hybrid", agent, teams=[agent], **asked)

    assert [row for row in both if row["agent_id"] == agent] == own
    shares = [row["signals"]["keyword"] for row in both if row["agent_id"] != agent]
    assert own[0]["signals"]["keyword"] not in shares


def test_a_name_that_is_no_identifier_is_no_function() -> None:
    for name in ("Mine", "mine; DROP TABLE x", 'a"b', "1st", "a-b", "ä", "a" * 52, "a\n", "a b"):
        with pytest.raises(InvalidProfile, match="lower-case letters"):
            score_functions(Profile(name, {Similarity(): 1}))
