"""The profiles as functions for psql: what they refuse, and what they leave alone."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from inspect import signature
from typing import Any
from uuid import UUID

import psycopg
import pytest
from psycopg import sql
from psycopg.rows import dict_row
from psycopg.types.json import Jsonb
from sqlalchemy import NullPool, create_engine

from pgrecall import MemoryRepository, NewMemory, Profile, migrate, profiles
from pgrecall.errors import InvalidProfile
from pgrecall.filters import FilterArguments
from pgrecall.recall_function import function_name, recall_function, write_built_in
from pgrecall.resources import sql_folder, with_extension
from pgrecall.signals import Recency, Similarity
from tests.conftest import DIMENSIONS, new_database
from tests.integration.support import NORTH, NOW, at
from tests.integration.test_hostile_strings import LARGE, SHORT

Connection = psycopg.Connection[dict[str, Any]]
Rows = list[dict[str, Any]]

HOSTILE = [
    *SHORT,
    "$recall$; DROP TABLE pgrecall.agent_memories; $recall$",
    "$$ END $$",
    "'); SELECT 1; --",
    "E'\\'",
    LARGE,
]
WRITTEN = sql_folder() / "profiles"
"""The edition that the newest revision installs; those before it are frozen."""
each_profile = pytest.mark.parametrize("profile", profiles.BUILT_IN.values(), ids=profiles.BUILT_IN)
each_hostile = pytest.mark.parametrize("text", HOSTILE, ids=lambda text: f"{text!a:.20}")


@pytest.fixture(scope="module")
def connection(shared_url: str) -> Iterator[Connection]:
    with psycopg.connect(shared_url, autocommit=True, row_factory=dict_row) as found:
        yield found


def recall(
    connection: Connection, profile: Profile | str, agent: str | None, **arguments: Any
) -> Rows:
    """Calls the function with its arguments by name."""
    name = profile if isinstance(profile, str) else profile.name
    given = {
        name: Jsonb(value) if name == "metadata" else value for name, value in arguments.items()
    }
    if isinstance(given.get("query"), list):
        given["query"] = str(given["query"])
    call = sql.SQL("SELECT * FROM pgrecall.{}(%(agent)s{})").format(
        sql.Identifier(f"recall_{name}"),
        sql.SQL("").join(
            sql.SQL(", {} => {}").format(sql.Identifier(name), sql.Placeholder(name))
            for name in given
        ),
    )
    return connection.execute(call, {"agent": agent, **given}).fetchall()


def contents(rows: Rows) -> list[str]:
    return [row["content"] for row in rows]


# Hostile strings


TEXTS = {
    "memory_types": lambda text: {"additional_types": [text]},
    "tags": lambda text: {"tags": [text]},
    "all_tags": lambda text: {"tags": [text, "more"]},
    "entities": lambda text: {"entities": [text]},
    "all_entities": lambda text: {"entities": ["more", text]},
    "components": lambda text: {"component": text},
    "output_types": lambda text: {"output_type": text},
    "domains": lambda text: {"domain": text},
    "categories": lambda text: {"category": text},
    "loops": lambda text: {"loop": text},
}
"""Filter → the fields of a memory that passes it."""


@each_hostile
def test_hostile_filters_find_the_very_same_text(
    connection: Connection, shared_repo: MemoryRepository, agent: str, text: str
) -> None:
    other = text[:-1] or "x"
    for name, fields in TEXTS.items():
        for of, value in (("it", text), ("other", other)):
            memory = NewMemory(f"{name} {of}", embedding=NORTH, **fields(value))  # type: ignore[no-untyped-call]
            shared_repo.add(f"{agent}-{name}", memory)

        found = recall(connection, "tiered", f"{agent}-{name}", **{name: [text]})

        assert contents(found) == [f"{name} it"], name


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
        teams=[hostile_team, text],
        query_entities=[text, "nobody"],
    )

    assert contents(found) == ["own", text]
    assert [row["signal_entity_overlap"] for row in found] == [0.5, 0]
    assert [row["agent_id"] for row in found] == [hostile_agent, None]
    assert [row["team_id"] for row in found] == [None, hostile_team]


@each_hostile
@pytest.mark.parametrize("argument", ["agent", "teams"])
def test_hostile_names_that_nothing_has_find_nothing(
    connection: Connection, shared_repo: MemoryRepository, agent: str, argument: str, text: str
) -> None:
    shared_repo.add(agent, NewMemory("it", embedding=NORTH))
    nobody = f"{text} which nobody is called"
    hostile: dict[str, Any] = {} if argument == "agent" else {argument: [nobody]}

    found = recall(connection, "five_factor", nobody if argument == "agent" else agent, **hostile)

    assert contents(found) == (["it"] if argument == "teams" else [])


@each_hostile
@pytest.mark.parametrize("argument", ["tiers", "statuses"])
def test_hostile_names_where_only_some_are_known_are_refused(
    connection: Connection, agent: str, argument: str, text: str
) -> None:
    with pytest.raises(psycopg.errors.InvalidParameterValue, match="statuses may be active"):
        recall(connection, "five_factor", agent, **{argument: [text]})


# What is refused


@each_profile
@pytest.mark.parametrize("k", [0, -1, None])
def test_a_k_below_one_is_refused(connection: Connection, profile: Profile, k: int | None) -> None:
    with pytest.raises(psycopg.errors.InvalidParameterValue, match="k must be at least 1"):
        recall(connection, profile, "agent", k=k)


@each_profile
def test_an_agent_has_to_be_given(connection: Connection, profile: Profile) -> None:
    with pytest.raises(psycopg.errors.InvalidParameterValue, match="agent must be given"):
        recall(connection, profile, None)


WRONG_WEIGHTS: dict[str, Mapping[str, float | None]] = {
    "above one": {"similarity": 0.9, "recency": 0.2},
    "below one": {"similarity": 0.5},
    "all zero": {},
    "negative": {"similarity": 1.5, "recency": -0.5},
    "barely negative": {"similarity": 1.0, "recency": -1e-12},
    "not a number": {"similarity": float("nan")},
    "infinite": {"similarity": float("inf")},
    "infinities": {"similarity": float("inf"), "recency": float("-inf")},
    "off by a millionth": {"similarity": 1 + 1e-6},
    "one is NULL": {"similarity": 1.0, "recency": None},
}


@each_profile
@pytest.mark.parametrize("wrong", WRONG_WEIGHTS)
def test_weights_that_are_none_are_refused(
    connection: Connection, profile: Profile, wrong: str
) -> None:
    weights = {**dict.fromkeys(profile.weights, 0.0), **WRONG_WEIGHTS[wrong]}

    with pytest.raises(psycopg.errors.InvalidParameterValue, match="weights must"):
        recall(connection, profile, "agent", **{f"{n}_weight": w for n, w in weights.items()})


@each_profile
def test_one_weight_alone_leaves_the_sum_wrong(connection: Connection, profile: Profile) -> None:
    with pytest.raises(psycopg.errors.InvalidParameterValue, match="sum to 1"):
        recall(connection, profile, "agent", similarity_weight=0.99)


@pytest.mark.parametrize("weight", [1e-13, 1e-300])
def test_a_weight_too_small_to_compute_with_is_refused_in_words(
    connection: Connection, shared_repo: MemoryRepository, agent: str, weight: float
) -> None:
    """As a Profile refuses it: its product with an old memory's recency would underflow."""
    old = datetime(1, 1, 2, tzinfo=UTC)
    shared_repo.add(agent, NewMemory("old", created_at=old, embedding=NORTH))
    weights = {"similarity": 1.0, "recency": weight, "usefulness": 0, "confidence": 0}

    with pytest.raises(psycopg.errors.InvalidParameterValue, match="weights must"):
        recall(
            connection,
            "five_factor",
            agent,
            frequency_weight=0,
            **{f"{name}_weight": weight for name, weight in weights.items()},
        )


@each_profile
@pytest.mark.parametrize("component", [0.0, 1e-30, 1e30])
def test_a_query_without_a_direction_is_refused(
    connection: Connection, profile: Profile, component: float
) -> None:
    with pytest.raises(psycopg.errors.InvalidParameterValue, match="no direction"):
        recall(connection, profile, "agent", query=[component] * DIMENSIONS)


def test_a_query_of_another_length_is_refused_by_pgvector(
    connection: Connection, shared_repo: MemoryRepository, agent: str
) -> None:
    shared_repo.add(agent, NewMemory("it", embedding=NORTH))

    with pytest.raises(psycopg.errors.DataException, match="different vector dimensions"):
        recall(connection, "five_factor", agent, query=[1.0, 2.0])


@each_profile
def test_more_than_32_query_entities_are_refused(connection: Connection, profile: Profile) -> None:
    names = [f"entity {n}" for n in range(33)]

    with pytest.raises(psycopg.errors.InvalidParameterValue, match=r"at most 32, got 33"):
        recall(connection, profile, "agent", query_entities=names)
    assert recall(connection, profile, "agent", query_entities=names[1:] * 2) == []


def test_a_query_entity_that_is_null_counts_for_nothing(
    connection: Connection, shared_repo: MemoryRepository, agent: str
) -> None:
    shared_repo.add(agent, NewMemory("it", embedding=NORTH, entities=["Ann"]))

    [row] = recall(connection, "tiered", agent, query_entities=["Ann", None])

    assert row["signal_entity_overlap"] == 1


# Where it runs


CALL = (
    "SELECT * FROM pgrecall.recall_five_factor("
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
        *("agent_id", "team_id", "id", "content", "memory_type", "created_at"),
        *("score", "similarity", "signal_similarity", "signal_recency", "signal_usefulness"),
        *("signal_confidence", "signal_frequency"),
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


@each_profile
def test_the_files_are_what_the_compiler_writes(profile: Profile) -> None:
    file = WRITTEN / f"{profile.name}.sql"

    assert file.read_text(encoding="utf-8") == recall_function(profile), "run `make profiles`"


def test_there_is_a_file_for_each_profile_and_no_other(tmp_path: Any) -> None:
    write_built_in(tmp_path)
    names = {path.name for path in WRITTEN.iterdir()}

    assert names == {path.name for path in tmp_path.iterdir()}
    assert names == {f"{name}.sql" for name in profiles.BUILT_IN}


@each_profile
def test_the_function_in_the_database_is_that_of_the_profile(
    connection: Connection, profile: Profile
) -> None:
    row = connection.execute(
        "SELECT prosrc, provolatile, prosecdef, obj_description(oid, 'pg_proc') AS said "
        "FROM pg_proc WHERE pronamespace = 'pgrecall'::regnamespace AND proname = %s",
        (function_name(profile),),
    ).fetchone()

    assert row is not None
    written = with_extension(recall_function(profile), "public")
    assert row["prosrc"] == written.split("$recall$")[1]
    assert (row["provolatile"], row["prosecdef"]) == ("s", False)
    for name, weight in profile.weights.items():
        assert f"{weight:g} {name}" in row["said"]


def defaults(connection: Connection, profile: Profile) -> dict[str, str]:
    row = connection.execute(
        "SELECT pg_get_function_arguments(oid) AS arguments FROM pg_proc "
        "WHERE pronamespace = 'pgrecall'::regnamespace AND proname = %s",
        (function_name(profile),),
    ).fetchone()
    assert row is not None
    return dict(re.findall(r"(\w+) [^,]+? DEFAULT ([^,]+)", row["arguments"]))


@each_profile
def test_defaults_are_those_of_the_profile_and_the_search(
    connection: Connection, profile: Profile
) -> None:
    found = defaults(connection, profile)

    weights = {name: float(found.pop(f"{name}_weight")) for name in profile.weights}
    assert weights == profile.weights
    search = signature(MemoryRepository.search).parameters
    assert int(found["k"]) == search["k"].default
    assert found["apply_decay"] == str(search["apply_decay"].default).lower()
    assert not [name for name in found if name.endswith("_weight")]


@each_profile
def test_the_function_takes_every_argument_of_the_search(
    connection: Connection, profile: Profile
) -> None:
    """But for what has no meaning in SQL, and the weights, each an argument of its own."""
    wanted = set(signature(MemoryRepository.search).parameters) | set(
        FilterArguments.__annotations__
    )
    wanted -= {"self", "agent_id", "embedding", "filters", "where", "touch", "expand", "strategy"}
    wanted -= {"profile", "weights", "normalise_weights"}

    found = {name for name in defaults(connection, profile) if not name.endswith("_weight")}

    if all(signal.name != "keyword" for signal in profile.signals):
        wanted -= {"query_text"}
    assert found == {"query", *wanted}


@each_profile
def test_a_recall_counts_no_retrieval(
    connection: Connection, shared_repo: MemoryRepository, agent: str, profile: Profile
) -> None:
    id_ = shared_repo.add(agent, NewMemory("it", embedding=NORTH))

    with connection.transaction():
        connection.execute("SET TRANSACTION READ ONLY")
        assert contents(recall(connection, profile, agent, query=NORTH)) == ["it"]

    memory = shared_repo.get(agent, id_)
    assert memory is not None
    assert (memory.retrieval_count, memory.last_accessed_at) == (0, None)


@pytest.mark.parametrize(
    "name", ["Mine", "mine; DROP TABLE x", 'a"b', "1st", "a-b", "ä", "a" * 52, "a\n", "a b"]
)
def test_a_name_that_is_no_identifier_is_no_function(name: str) -> None:
    with pytest.raises(InvalidProfile, match="lower-case letters"):
        recall_function(Profile(name, {Similarity(): 1}))


@pytest.mark.parametrize("text", SHORT, ids=lambda text: f"{text!a:.20}")
def test_hostile_memory_types_of_a_profile_are_only_data(
    own_connection: Connection, own_repo: MemoryRepository, text: str
) -> None:
    recency = Recency(half_life=1, half_lives_by_type=((text, 10.0),))
    profile = Profile("mine", {recency: 1})
    own_connection.execute("SET search_path = pgrecall, public")
    own_connection.execute(with_extension(recall_function(profile, or_replace=True), "public"))
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
def own_repo(own_database: str) -> MemoryRepository:
    return MemoryRepository(create_engine(own_database, poolclass=NullPool))
