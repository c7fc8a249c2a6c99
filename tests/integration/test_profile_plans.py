"""The plans of searches under each built-in profile, on the tables of test_plans."""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any

import psycopg
import pytest
from psycopg import ClientCursor, sql
from sqlalchemy import Engine, create_engine

from pgrecall import MemoryRepository, Profile, migrate, profiles
from pgrecall.embedding import EmbeddingType
from pgrecall.signals import (
    Clock,
    Confidence,
    Curve,
    EntityOverlap,
    Importance,
    Recency,
    Similarity,
    Trust,
    Usefulness,
)
from tests.conftest import DIMENSIONS, new_database
from tests.integration.test_plans import (
    AGENT,
    BY_OWNER,
    Call,
    Explain,
    K,
    Parameters,
    Plan,
    assert_flat,
    custom_plan,
    expressions,
    load,
    nodes,
    only_plan,
    plans,
    reached_by,
    scans,
    searching,
)

TEAMS = ["team 1", "team 2"]

FILL_TEAMS = """
INSERT INTO pgrecall.agent_memories (agent_id, id, content, embedding, created_at)
SELECT replace(agent_id, 'agent', 'team:team'), gen_random_uuid(), content, embedding, created_at
  FROM pgrecall.agent_memories;
INSERT INTO pgrecall.memory_usage (agent_id, memory_id, retrieval_count, last_accessed_at)
SELECT agent_id, id, 3, now() FROM pgrecall.agent_memories
 WHERE starts_with(agent_id, 'team:') AND random() < 0.5;
"""

BY_TYPE = (("factual", 180.0), ("preference", 45.0), ("episodic", 14.0))
WITHOUT_USAGE = {
    "stored trust": profiles.trust.without_trust_decay(),
    "by type": Profile(
        "by type",
        {Similarity(): 0.5, Recency(half_life=20, half_lives_by_type=BY_TYPE): 0.5},
    ),
    "by tier": Profile(
        "by tier",
        {
            Similarity(required=True): 0.5,
            Recency(
                half_life=20,
                half_lives_by_tier=(("short", 0.25), ("long", 90.0)),
                curve=Curve.LINEAR,
            ): 0.5,
        },
    ),
    "columns alone": Profile(
        "columns alone",
        {
            Similarity(): 0.2,
            Importance(): 0.2,
            Usefulness(): 0.2,
            Confidence(): 0.2,
            EntityOverlap(): 0.1,
            Trust(decay=False): 0.1,
        },
    ),
}
WITH_USAGE = {
    **profiles.BUILT_IN,
    "by type, by the later clock": Profile(
        "by type, by the later clock",
        {
            Similarity(): 0.5,
            Recency(half_life=20, half_lives_by_type=BY_TYPE, clock=Clock.LATEST): 0.5,
        },
    ),
}
EVERY = {**WITH_USAGE, **WITHOUT_USAGE}
every_profile = pytest.mark.parametrize("profile", EVERY.values(), ids=EVERY)

SEVERAL: dict[str, dict[str, Any]] = {
    "plain": {},
    "no query vector": {},
    "as of": {"as_of": datetime(2030, 1, 1, tzinfo=UTC)},
    "entities and thresholds": {
        "query_entities": ["Ann", "Bob"],
        "min_score": 0.1,
        "min_similarity": 0.1,
    },
    "min_trust": {"min_trust": 0.1, "memory_types": ["episodic", "factual"]},
}
every_search = pytest.mark.parametrize("arguments", SEVERAL)


def search(profile: Profile, arguments: str, **more: Any) -> Call:
    given: dict[str, Any] = {**SEVERAL[arguments], **more}
    if arguments != "no query vector":
        return searching(profile, **given)
    return lambda repository: repository.search(
        AGENT, None, k=K, profile=profile, touch=False, **given
    )


@pytest.fixture(scope="module")
def engine(server_url: str) -> Iterator[Engine]:
    with new_database(server_url) as url:
        migrate.upgrade(url, dimensions=DIMENSIONS)
        with psycopg.connect(url, autocommit=True) as connection:
            load(connection, EmbeddingType.VECTOR)
            connection.execute(FILL_TEAMS)
            connection.execute("VACUUM ANALYZE")
        made = create_engine(url)
        MemoryRepository(made).count(AGENT)  # looks at the schema, once per engine
        yield made
        made.dispose()


def generic_plan(connection: psycopg.Connection, text: str, parameters: Parameters) -> Plan:
    """As in test_plans, with the type of every float told, as the driver tells it.

    Of a CASE whose arms are all parameters PostgreSQL could not tell the type.
    """
    numbers = {name: number for number, name in enumerate(parameters, start=1)}
    numbered = re.sub(r"%\((\w+)\)s", lambda match: f"${numbers[match[1]]}", text)
    types = ["float8" if isinstance(value, float) else "unknown" for value in parameters.values()]
    values = sql.SQL(", ").join(map(sql.Literal, parameters.values()))
    cursor = ClientCursor(connection)
    cursor.execute("SET LOCAL plan_cache_mode = force_generic_plan")
    cursor.execute(f"PREPARE planned ({', '.join(types)}) AS {numbered}")
    try:
        return only_plan(
            cursor.execute(
                sql.SQL("EXPLAIN (VERBOSE, FORMAT JSON) EXECUTE planned ({})").format(values)
            )
        )
    finally:
        cursor.execute("DEALLOCATE planned")


@pytest.fixture(params=["custom", "generic"])
def explain(engine: Engine, request: pytest.FixtureRequest) -> Explain:
    planned = {"custom": custom_plan, "generic": generic_plan}[request.param]
    return lambda call: plans(engine, call, planned)


def ranking(plan: Plan) -> list[Plan]:
    """The part below the limits: all that happens for every memory, and not for the hits alone."""
    return [below for one in nodes(plan) if one["Node Type"] == "Limit" for below in nodes(one)]


def ranked_scans(plan: Plan, table: str) -> list[Plan]:
    """Each scan once, though limits stand inside each other."""
    found = {id(one): one for one in ranking(plan) if one.get("Relation Name") == table}
    return list(found.values())


@every_profile
@every_search
def test_a_search_is_one_flat_expression_in_double_precision_over_rows_found_by_key(
    explain: Explain, profile: Profile, arguments: str
) -> None:
    [plan] = explain(search(profile, arguments))

    assert_flat(plan)
    computed = expressions(plan)
    assert not re.search(r"\bnumeric\b", computed)
    assert ("<=>" in computed) or arguments == "no query vector"
    [scan] = ranked_scans(plan, "agent_memories")
    assert reached_by(scan) in BY_OWNER
    for usage in ranked_scans(plan, "memory_usage"):
        assert reached_by(usage) == {"pk_memory_usage"}


@every_profile
@pytest.mark.parametrize("arguments", ["plain", "min_trust"])
def test_a_search_over_teams_is_flat_too(
    explain: Explain, profile: Profile, arguments: str
) -> None:
    [plan] = explain(search(profile, arguments, teams=TEAMS))

    assert_flat(plan)


@every_profile
def test_all_owners_are_reached_in_one_scan_through_the_key(
    engine: Engine, profile: Profile
) -> None:
    """With the teams at hand: for any teams PostgreSQL expects ten, which are all there are."""
    [plan] = plans(engine, search(profile, "plain", teams=TEAMS), custom_plan)

    [scan] = ranked_scans(plan, "agent_memories")
    assert reached_by(scan) in BY_OWNER
    for usage in ranked_scans(plan, "memory_usage"):
        assert reached_by(usage) == {"pk_memory_usage"}


@pytest.mark.parametrize("teams", [[], TEAMS], ids=["own", "teams"])
@pytest.mark.parametrize("name", profiles.BUILT_IN)
def test_a_function_reads_no_table_as_a_whole(engine: Engine, name: str, teams: list[str]) -> None:
    """Nor the counters of all owners, however many calls have made its plans generic."""
    query = str([1.0] * DIMENSIONS)
    call = (
        f"SELECT count(*) FROM pgrecall.recall(%s, %s, profile => '{name}', teams => %s)".encode()
    )
    url = engine.url.set(drivername="postgresql").render_as_string(hide_password=False)
    with psycopg.connect(url) as connection:
        for _ in range(7):
            connection.execute(call, (AGENT, query, teams))
        read = connection.execute(
            "SELECT relname FROM pg_stat_xact_user_tables WHERE seq_scan > 0 "
            "AND relname IN ('agent_memories', 'memory_usage')"
        )

        assert read.fetchall() == []


@pytest.mark.parametrize("teams", [[], TEAMS], ids=["own", "teams"])
@pytest.mark.parametrize("profile", WITHOUT_USAGE.values(), ids=WITHOUT_USAGE)
def test_a_profile_without_usage_ranks_without_the_counters(
    explain: Explain, profile: Profile, teams: list[str]
) -> None:
    assert not profile.reads_usage

    [plan] = explain(search(profile, "entities and thresholds", teams=teams))

    assert ranked_scans(plan, "memory_usage") == []
    assert scans(plan, "memory_usage") != []  # for the hits, afterwards


@pytest.mark.parametrize("profile", WITH_USAGE.values(), ids=WITH_USAGE)
def test_a_profile_with_usage_joins_the_counters_of_its_agent_alone(
    explain: Explain, profile: Profile
) -> None:
    assert profile.reads_usage

    [plan] = explain(search(profile, "plain"))

    [usage] = ranked_scans(plan, "memory_usage")
    assert reached_by(usage) == {"pk_memory_usage"}


def test_a_minimum_of_decayed_trust_needs_the_counters_in_any_profile(explain: Explain) -> None:
    [plan] = explain(search(WITHOUT_USAGE["by type"], "min_trust"))

    assert len(ranked_scans(plan, "memory_usage")) == 1


def test_a_minimum_of_stored_trust_needs_no_counters(explain: Explain) -> None:
    [plan] = explain(search(WITHOUT_USAGE["by type"], "min_trust", apply_decay=False))

    assert ranked_scans(plan, "memory_usage") == []
