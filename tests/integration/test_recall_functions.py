"""The profiles as functions for psql: what they refuse, and what they leave alone."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from inspect import signature
from pathlib import Path
from shutil import copytree
from typing import Any
from uuid import UUID

import psycopg
import pytest
from psycopg.rows import dict_row
from sqlalchemy import NullPool, create_engine

from pgrecall import MemoryRepository, NewMemory, Profile, migrate, profiles
from pgrecall.errors import InputError, InvalidProfile, InvalidVector, PgRecallError, UnknownName
from pgrecall.recall_files import write
from pgrecall.repository.translation import translated
from pgrecall.resources import sql_folder, with_extension
from pgrecall.score_function import score_functions
from pgrecall.search_arguments import SearchArguments
from pgrecall.signals import Recency, Similarity
from tests.conftest import DIMENSIONS, new_database
from tests.integration.recalling import Connection, Rows, recall
from tests.integration.support import NORTH, NOW, at
from tests.integration.test_hostile_strings import LARGE, SHORT

HOSTILE = [
    *SHORT,
    "$condition$; DROP TABLE pgrecall.agent_memories; $recall$",
    "$$ END $$",
    "'); SELECT 1; --",
    "E'\\'",
    LARGE,
]
FOLDER = sql_folder() / "recall"
each_profile = pytest.mark.parametrize("profile", profiles.BUILT_IN.values(), ids=profiles.BUILT_IN)
each_hostile = pytest.mark.parametrize("text", HOSTILE, ids=lambda text: f"{text!a:.20}")


@pytest.fixture(scope="module")
def connection(shared_url: str) -> Iterator[Connection]:
    with psycopg.connect(shared_url, autocommit=True, row_factory=dict_row) as found:
        yield found


def contents(rows: Rows) -> list[str]:
    return [row["content"] for row in rows]


# Hostile strings


TEXTS = (
    *("memory_types", "tags", "all_tags", "entities", "all_entities"),
    *("components", "output_types", "domains", "categories", "loops"),
)
"""Filters by texts."""


def filtered(text: str) -> dict[str, Any]:
    """The fields of a memory that passes each of these filters."""
    several = {"additional_types": [text], "tags": [text, "more"], "entities": ["more", text]}
    fields = ("component", "output_type", "domain", "category", "loop")
    return several | dict.fromkeys(fields, text)


@each_hostile
def test_hostile_filters_find_the_very_same_text(
    connection: Connection, shared_repo: MemoryRepository, agent: str, text: str
) -> None:
    for of, value in (("it", text), ("other", text[:-1] or "x")):
        shared_repo.add(agent, NewMemory(of, embedding=NORTH, **filtered(value)))

    for name in TEXTS:
        given: dict[str, Any] = {name: [text]}
        assert contents(recall(connection, "tiered", agent, **given)) == ["it"], name


@each_hostile
def test_hostile_metadata_is_only_data(
    connection: Connection, shared_repo: MemoryRepository, agent: str, text: str
) -> None:
    shared_repo.add(agent, NewMemory("it", embedding=NORTH, metadata={text: {"deep": [text]}}))
    shared_repo.add(agent, NewMemory("other", embedding=NORTH, metadata={"deep": [text]}))

    found = recall(connection, "trust", agent, metadata={text: {"deep": [text]}})

    assert contents(found) == ["it"]


@each_hostile
def test_hostile_owners_and_entities_are_only_data(
    connection: Connection, shared_repo: MemoryRepository, agent: str, text: str
) -> None:
    named = text if len(text) <= 150 else text[:100]
    hostile_agent, hostile_team = f"{agent} {named}", f"{named} {agent}"
    shared_repo.add(hostile_agent, NewMemory("own", embedding=NORTH, entities=[text]))
    shared_repo.teams.add(hostile_team, NewMemory(text, embedding=at(60)))

    found = recall(
        connection,
        "tiered",
        hostile_agent,
        query=NORTH,
        teams=[hostile_team, text[:100]],
        query_entities=[text, "nobody"],
    )

    assert contents(found) == ["own", text]
    assert [row["signals"]["entity_overlap"] for row in found] == [0.5, 0]
    assert [row["agent_id"] for row in found] == [hostile_agent, f"team:{hostile_team}"]


@each_hostile
@pytest.mark.parametrize("argument", ["agent", "teams"])
def test_hostile_names_that_nothing_has_find_nothing(
    connection: Connection, shared_repo: MemoryRepository, agent: str, argument: str, text: str
) -> None:
    shared_repo.add(agent, NewMemory("it", embedding=NORTH))
    nobody = f"{text[:100]} which nobody is called"
    hostile: dict[str, Any] = {} if argument == "agent" else {argument: [nobody]}

    found = recall(connection, "five_factor", nobody if argument == "agent" else agent, **hostile)

    assert contents(found) == (["it"] if argument == "teams" else [])


@each_hostile
@pytest.mark.parametrize("argument", ["tiers", "statuses"])
def test_hostile_names_where_only_some_are_known_are_refused(
    connection: Connection, agent: str, argument: str, text: str
) -> None:
    with refused(UnknownName, f"(?s)unknown {argument} .*; known are "):
        given: dict[str, Any] = {argument: [text]}
        recall(connection, "five_factor", agent, **given)


# What is refused


@contextmanager
def refused(error: type[PgRecallError], match: str) -> Iterator[None]:
    """As the repository would say it."""
    with pytest.raises(error, match=match), translated():
        yield


@pytest.mark.parametrize("k", [0, -1, None, 1_000_001])
def test_a_k_that_is_none_is_refused(connection: Connection, k: int | None) -> None:
    with refused(InputError, "k must lie within 1 and 1000000"):
        recall(connection, "trust", "agent", k=k)


@pytest.mark.parametrize("agent", [None, "", "team:", "a" * 206])
def test_an_agent_has_to_be_given(connection: Connection, agent: str | None) -> None:
    with refused(InputError, "agent must be an id"):
        recall(connection, "trust", agent)


@pytest.mark.parametrize("name", ["nobody", "", "trust'", "Trust", "facts", None])
def test_an_unknown_profile_is_refused_with_the_list(
    connection: Connection, name: str | None
) -> None:
    with refused(UnknownName, "unknown profile .*; there are five_factor, half_life, hybrid"):
        recall(connection, name, "agent")  # type: ignore[arg-type]


WRONG_WEIGHTS: dict[str, tuple[Any, str]] = {
    "above one": ({"similarity": 0.9, "recency": 0.2}, "sum to 1, they sum to 1.1"),
    "below one": ({"similarity": 0.5}, "sum to 1, they sum to 0.5"),
    "none": ({}, "sum to 1, they sum to 0"),
    "negative": ({"similarity": 1.5, "recency": -0.5}, "must be 0 or lie within"),
    "barely negative": ({"similarity": 1.0, "recency": -1e-12}, "must be 0 or lie within"),
    "too small": ({"similarity": 1.0, "recency": 1e-13}, "must be 0 or lie within"),
    "off by a millionth": ({"similarity": 1 - 1e-6}, "sum to 1"),
    "one is null": ({"similarity": 1.0, "recency": None}, "must be a number"),
    "a text": ({"similarity": "1"}, 'must be a number, got "1"'),
    "an array": ([1.0], "must map signals to numbers"),
}


@each_profile
@pytest.mark.parametrize("wrong", WRONG_WEIGHTS)
def test_weights_that_are_none_are_refused(
    connection: Connection, profile: Profile, wrong: str
) -> None:
    weights, said = WRONG_WEIGHTS[wrong]

    with refused(InputError, said):
        recall(connection, profile.name, "agent", weights=weights)


def test_a_weight_of_a_signal_that_there_is_not_is_refused(connection: Connection) -> None:
    with refused(UnknownName, "profile 'hybrid' has no signal 'trust'; its signals are similarity"):
        recall(connection, "hybrid", "agent", weights={"similarity": 0.5, "trust": 0.5})


REFUSED: dict[str, tuple[dict[str, Any], type[PgRecallError], str]] = {
    "zero": ({"query": [0.0] * DIMENSIONS}, InvalidVector, "no direction"),
    "too short": ({"query": [1e-30] * DIMENSIONS}, InvalidVector, "no direction"),
    "too long": ({"query": [1e30] * DIMENSIONS}, InvalidVector, "no direction"),
    "two dimensions": ({"query": [1.0, 2.0]}, InvalidVector, "has 2 dimensions, .* stores 8"),
    "similarity to nothing": ({"min_similarity": 0.5}, InputError, "needs a query vector"),
    "min_score": ({"min_score": 1.5}, InputError, "min_score must lie within 0 and 1, got 1.5"),
    "min_trust": ({"min_trust": -0.1}, InputError, "min_trust must lie within 0 and 1"),
    "no share": ({"min_score": float("nan")}, InputError, "min_score must lie within"),
    "kinds alone": ({"label_kinds": ["tag"]}, InputError, "give labels too"),
    "unknown kind": (
        {"labels": ["x"], "label_kinds": ["y"]},
        UnknownName,
        "unknown label_kinds 'y'",
    ),
    "no statuses": ({"statuses": None}, UnknownName, "unknown statuses NULL; known are active"),
    "metadata": ({"metadata": [1]}, InputError, "metadata must be a JSON object"),
    "long text": ({"text": "a" * 10_001}, InputError, "at most 10,000 characters, got 10001"),
    "long ago": ({"as_of": "0001-01-01 00:00+00"}, InputError, "as_of must lie within 0001-01-02"),
    "infinity": ({"created_after": "infinity"}, InputError, "created_after must lie within"),
    "strategy": ({"strategy": "quick"}, InputError, "one of auto, exact, index, got 'quick'"),
    "decay": ({"apply_decay": None}, InputError, "apply_decay must be true or false"),
    "team": ({"teams": [""]}, InputError, "agent must be an id"),
}


@pytest.mark.parametrize("asked", REFUSED)
@pytest.mark.parametrize("function", ["recall", "recall_plan", "context"])
def test_what_cannot_be_asked_is_refused_in_words(
    connection: Connection, function: str, asked: str
) -> None:
    arguments, error, said = REFUSED[asked]
    with refused(error, said):
        recall(connection, "trust", "agent", function=function, **arguments)


@each_profile
def test_more_than_32_query_entities_are_refused(connection: Connection, profile: Profile) -> None:
    names = [f"entity {n}" for n in range(33)]

    with refused(InputError, r"at most 32, got 33"):
        recall(connection, profile.name, "agent", query_entities=names)
    assert recall(connection, profile.name, "agent", query_entities=names[1:] * 2) == []


def test_a_query_entity_that_is_null_counts_for_nothing(
    connection: Connection, shared_repo: MemoryRepository, agent: str
) -> None:
    shared_repo.add(agent, NewMemory("it", embedding=NORTH, entities=["Ann"]))

    [row] = recall(connection, "tiered", agent, query_entities=["Ann", None])

    assert row["signals"]["entity_overlap"] == 1


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
        "agent-1",
        NewMemory("later", embedding=NORTH, created_at=datetime(2026, 11, 2, tzinfo=UTC)),
    )


def test_the_call_of_the_documentation(own_url: str, own_engine: Any) -> None:
    two_memories(MemoryRepository(own_engine))
    with psycopg.connect(own_url, autocommit=True, row_factory=dict_row) as connection:
        rows = connection.execute(CALL.format(vector="vector")).fetchall()
        connection.execute("SET search_path = pgrecall, public")
        unqualified = CALL.format(vector="vector").replace("pgrecall.", "")
        again = connection.execute(unqualified).fetchall()

    assert contents(rows) == ["near", "far"]
    assert rows == again
    assert list(rows[0]) == [
        *("agent_id", "id", "content", "memory_type", "created_at"),
        *("score", "similarity", "signals", "beside", "lent", "lender"),
    ]
    assert isinstance(rows[0]["id"], UUID)
    assert (rows[0]["similarity"], rows[1]["similarity"]) == pytest.approx((1, 0.5))


@pytest.mark.parametrize("search_path", ["", "pg_catalog", "elsewhere, public"])
def test_the_search_path_of_the_caller_does_not_matter(own_url: str, search_path: str) -> None:
    engine = create_engine(own_url, poolclass=NullPool)
    two_memories(MemoryRepository(engine))
    with psycopg.connect(own_url, autocommit=True, row_factory=dict_row) as connection:
        connection.execute("CREATE SCHEMA elsewhere")
        connection.execute("CREATE TABLE elsewhere.agent_memories (id int)")
        connection.execute("SELECT set_config('search_path', %s, false)", (search_path,))
        for name in profiles.BUILT_IN:
            found = recall(connection, name, "agent-1", query=NORTH, teams=["none"], as_of=NOW)
            assert found == []
            found = recall(connection, name, "agent-1", query=NORTH, teams=["none"])
            assert contents(found)[:1] != []


@pytest.mark.parametrize("embedding_type", ["vector", "halfvec"])
@pytest.mark.parametrize("schema", ["pgrecall", "memory_of_agents"])
def test_pgvector_may_be_in_a_schema_of_its_own(
    server_url: str, schema: str, embedding_type: str
) -> None:
    with new_database(server_url) as url:
        with psycopg.connect(url, autocommit=True) as connection:
            connection.execute("CREATE SCHEMA extensions")
            connection.execute("CREATE EXTENSION vector SCHEMA extensions")
        migrate.upgrade(url, schema=schema, dimensions=DIMENSIONS, embedding_type=embedding_type)
        two_memories(MemoryRepository(create_engine(url, poolclass=NullPool), schema=schema))
        call = CALL.format(vector=f"extensions.{embedding_type}").replace("pgrecall", schema)
        with psycopg.connect(url, autocommit=True, row_factory=dict_row) as connection_:
            for search_path in ("", "public", "extensions"):
                connection_.execute("SELECT set_config('search_path', %s, false)", (search_path,))
                found = connection_.execute(call).fetchall()
                assert contents(found) == ["near", "far"]


# What is installed


def test_the_files_are_what_is_written_of_the_search(tmp_path: Path) -> None:
    copy = Path(copytree(FOLDER, tmp_path / "recall"))

    write(copy)

    for path in FOLDER.iterdir():
        assert (copy / path.name).read_text("utf-8") == path.read_text("utf-8"), "run `make recall`"


@each_profile
def test_the_score_is_inlined(
    connection: Connection, shared_repo: MemoryRepository, agent: str, profile: Profile
) -> None:
    shared_repo.add(agent, NewMemory("it", embedding=NORTH))

    rows = recall(
        connection,
        profile.name,
        agent,
        query=NORTH,
        query_text="it",
        strategy="exact",
        min_trust=0.1,
        function="recall_plan",
    )
    lines = [row["recall_plan"] for row in rows]
    text, plan = "\n".join(lines[: lines.index("")]), "\n".join(lines[lines.index("") :])

    assert f"score_{profile.name}(" in text
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
    wanted -= {"self", "agent_id", "embedding", "arguments", "where", "expand", "normalise_weights"}
    wanted -= {"dates"}
    if function != "recall":
        wanted -= {"touch"}
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
        assert found.keys() == wanted | {"query"}
        assert found["profile"] == f"'{profiles.DEFAULT.name}'::text"
        assert (found["k"], found["apply_decay"]) == ("10", "true")


@each_profile
def test_a_recall_counts_no_retrieval(
    connection: Connection, shared_repo: MemoryRepository, agent: str, profile: Profile
) -> None:
    id_ = shared_repo.add(agent, NewMemory("it", embedding=NORTH))

    with connection.transaction():
        connection.execute("SET TRANSACTION READ ONLY")
        assert contents(recall(connection, profile.name, agent, query=NORTH)) == ["it"]

    memory = shared_repo.get(agent, id_)
    assert memory is not None
    assert (memory.retrieval_count, memory.last_accessed_at) == (0, None)


@pytest.mark.parametrize("strategy", ["exact", "index"])
def test_a_recall_that_touches_counts_as_a_search_does(
    connection: Connection, shared_repo: MemoryRepository, agent: str, strategy: str
) -> None:
    ids = [shared_repo.add(agent, NewMemory(f"it {n}", embedding=at(40 * n))) for n in range(3)]
    theirs = shared_repo.teams.add(agent, NewMemory("theirs", embedding=NORTH))
    shared_repo.build_rank_indexes(agent_id=agent, at_least=1)

    rows = recall(
        connection,
        "five_factor",
        agent,
        query=NORTH,
        teams=[agent],
        k=3,
        touch=True,
        strategy=strategy,
    )

    assert {row["id"] for row in rows} == {*ids[:2], theirs}
    assert [row["signals"]["frequency"] for row in rows] == [0, 0, 0]
    found = [shared_repo.get(agent, id_) for id_ in ids] + [shared_repo.teams.get(agent, theirs)]
    assert [one.retrieval_count for one in found if one is not None] == [1, 1, 0, 1]


@pytest.mark.parametrize(
    "name", ["Mine", "mine; DROP TABLE x", 'a"b', "1st", "a-b", "ä", "a" * 52, "a\n", "a b"]
)
def test_a_name_that_is_no_identifier_is_no_function(name: str) -> None:
    with pytest.raises(InvalidProfile, match="lower-case letters"):
        score_functions(Profile(name, {Similarity(): 1}))


@pytest.mark.parametrize("text", SHORT, ids=lambda text: f"{text!a:.20}")
def test_hostile_memory_types_of_a_profile_are_only_data(
    own_connection: Connection, own_repo: MemoryRepository, text: str
) -> None:
    recency = Recency(half_life=1, half_lives_by_type=((text, 10.0),))
    profile = Profile("mine", {recency: 1})
    own_connection.execute("SET search_path = pgrecall, public")
    own_connection.execute(with_extension(score_functions(profile), "public").encode())
    agent = f"agent {len(text)} {text[:50]}"
    created = datetime(2026, 5, 22, 12, tzinfo=UTC)
    own_repo.add(agent, NewMemory("it", embedding=NORTH, memory_type=text, created_at=created))

    [row] = recall(own_connection, "mine", agent, as_of=NOW)

    assert row["score"] == pytest.approx(0.5, abs=1e-12)


@pytest.fixture(scope="module")
def own_database(server_url: str, template: str) -> Iterator[str]:
    with new_database(server_url, template) as url:
        yield url


@pytest.fixture(scope="module")
def own_connection(own_database: str) -> Iterator[Connection]:
    with psycopg.connect(own_database, autocommit=True, row_factory=dict_row) as found:
        yield found


@pytest.fixture
def own_repo(own_database: str) -> Iterator[MemoryRepository]:
    engine = create_engine(own_database)
    yield MemoryRepository(engine)
    engine.dispose()
