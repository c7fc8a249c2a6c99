"""The plans that PostgreSQL makes of our statements, on a table large enough to have a choice.

What is explained is what the repository sends, caught on its way to the driver. Every plan is
made twice over: with the parameters of the moment, and as the generic plan that a prepared
statement may end with.
"""

from __future__ import annotations

import random
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any
from uuid import UUID

import psycopg
import pytest
from psycopg import ClientCursor, sql
from sqlalchemy import Engine, create_engine, event

from pgrecall import MemoryRepository, Profile, migrate
from pgrecall.embedding import EmbeddingType
from pgrecall.profiles import five_factor
from pgrecall.resources import sql_folder
from pgrecall.signals import (
    Clock,
    Recency,
    Similarity,
    Usefulness,
)
from tests.conftest import DIMENSIONS, new_database

AGENT, AGENTS, ROWS_OF_AN_AGENT = "agent 3", 10, 2_000
COUNTED = 0.5
"""The share of rows with usage counters."""
K = 10

Plan = Mapping[str, Any]
Parameters = dict[str, Any]
Call = Callable[[MemoryRepository], object]
Planned = Callable[[psycopg.Connection, str, Parameters], Plan]
Explain = Callable[[Call], list[Plan]]

WITHOUT_USAGE = Profile(
    "without usage", {Similarity(): 0.5, Recency(rate=0.05): 0.3, Usefulness(): 0.2}
)
EVERY_CLOCK = [
    Profile(clock, {Similarity(): 0.5, Recency(half_life=14, clock=clock): 0.5}) for clock in Clock
]

# The loading of both tables; vectors differ by their angle to the first axes.
FILL = """
INSERT INTO pgrecall.agent_memories (agent_id, id, content, embedding, created_at)
SELECT 'agent ' || n % {agents}, gen_random_uuid(), 'memory ' || n,
       ARRAY[sin(n), cos(n), sin(n * 7), cos(n * 3), 1, sin(n * 11), 0, 1]::{type},
       now() - make_interval(hours => n)
  FROM generate_series(1, {rows}) AS n;
INSERT INTO pgrecall.memory_usage (agent_id, memory_id, retrieval_count, last_accessed_at)
SELECT agent_id, id, 3, now() FROM pgrecall.agent_memories WHERE random() < {counted};
"""


@dataclass(frozen=True)
class Database:
    """A loaded and analysed database."""

    engine: Engine
    embedding_type: EmbeddingType

    def some_ids(self, count: int) -> list[UUID]:
        with self.engine.connect() as connection:
            found = connection.exec_driver_sql(
                "SELECT id FROM pgrecall.agent_memories WHERE agent_id = %s ORDER BY id LIMIT %s",
                (AGENT, count),
            )
            return [row[0] for row in found]


def searching(profile: Profile = five_factor, **arguments: Any) -> Call:
    query = [random.Random(0).gauss() for _ in range(DIMENSIONS)]
    return lambda repository: repository.search(
        AGENT, query, k=K, profile=profile, touch=False, **arguments
    )


@pytest.fixture(scope="module", params=list(EmbeddingType))
def database(server_url: str, request: pytest.FixtureRequest) -> Iterator[Database]:
    embedding_type: EmbeddingType = request.param
    with new_database(server_url) as url:
        migrate.upgrade(url, dimensions=DIMENSIONS, embedding_type=embedding_type)
        with psycopg.connect(url, autocommit=True) as connection:
            load(connection, embedding_type)
        engine = create_engine(url)
        MemoryRepository(engine).count(AGENT)  # looks at the schema, once per engine
        yield Database(engine, embedding_type)
        engine.dispose()


def load(connection: psycopg.Connection, embedding_type: EmbeddingType) -> None:
    """Loads both tables."""
    fill = FILL.format(
        agents=AGENTS, type=embedding_type, rows=AGENTS * ROWS_OF_AN_AGENT, counted=COUNTED
    )
    connection.execute(fill)
    connection.execute("VACUUM ANALYZE pgrecall.agent_memories, pgrecall.memory_usage")


@pytest.fixture(params=["custom", "generic"])
def explain(database: Database, request: pytest.FixtureRequest) -> Explain:
    """The plans of what a call sends, with its parameters in place or for any parameters."""
    planned = {"custom": custom_plan, "generic": generic_plan}[request.param]
    return lambda call: plans(database.engine, call, planned)


@pytest.fixture
def explain_k(database: Database) -> Explain:
    """With the parameters in place only: a plan for any k expects k to be a tenth of all rows.

    PostgreSQL finds such a plan dearer than one made for the k at hand, and does not keep it.
    """
    return lambda call: plans(database.engine, call, custom_plan)


def plans(engine: Engine, call: Call, planned: Planned) -> list[Plan]:
    statements = sent(engine, call)
    with engine.connect() as connection:
        driver = connection.connection.driver_connection
        assert isinstance(driver, psycopg.Connection)
        return [planned(driver, text, parameters) for text, parameters in statements]


def custom_plan(connection: psycopg.Connection, text: str, parameters: Parameters) -> Plan:
    return only_plan(connection.execute(f"EXPLAIN (VERBOSE, FORMAT JSON) {text}", parameters))


def generic_plan(connection: psycopg.Connection, text: str, parameters: Parameters) -> Plan:
    numbers = {name: number for number, name in enumerate(parameters, start=1)}
    numbered = re.sub(r"%\((\w+)\)s", lambda match: f"${numbers[match[1]]}", text)
    values = sql.SQL(", ").join(map(sql.Literal, parameters.values()))
    cursor = ClientCursor(connection)
    cursor.execute("SET LOCAL plan_cache_mode = force_generic_plan")
    cursor.execute(f"PREPARE planned AS {numbered}")
    try:
        return only_plan(
            cursor.execute(
                sql.SQL("EXPLAIN (VERBOSE, FORMAT JSON) EXECUTE planned ({})").format(values)
            )
        )
    finally:
        cursor.execute("DEALLOCATE planned")


def only_plan(cursor: psycopg.Cursor[Any]) -> Plan:
    [[[found]]] = cursor.fetchall()
    plan: Plan = found["Plan"]
    return plan


BY_OWNER = ({"pk_agent_memories"}, {"ix_agent_memories_agent_id_inserted_at"})
"""Indexes that begin with the agent: either leads to its rows and no others."""


def sent(engine: Engine, call: Call) -> list[tuple[str, Parameters]]:
    """The statements that a call sends to the driver; what they do is rolled back."""
    seen: list[tuple[str, Parameters]] = []

    def see(_: Any, __: Any, text: str, parameters: Parameters, *___: Any) -> None:
        if "rank_indexes" not in text:  # looked up once in a while
            seen.append((text, parameters))

    with engine.connect() as connection:
        event.listen(connection, "before_cursor_execute", see)
        call(MemoryRepository(connection))
        connection.rollback()
    return seen


def nodes(plan: Plan) -> Iterator[Plan]:
    yield plan
    for child in plan.get("Plans", []):
        yield from nodes(child)


def node(plan: Plan, node_type: str) -> Plan:
    [found] = [one for one in nodes(plan) if one["Node Type"] == node_type]
    return found


def scans(plan: Plan, table: str) -> list[Plan]:
    return [one for one in nodes(plan) if one.get("Relation Name") == table]


def expressions(plan: Plan) -> str:
    """Everything that is computed anywhere in the plan."""
    return "\n".join(
        str(value) for one in nodes(plan) for key, value in one.items() if key != "Plans"
    )


def function_names() -> list[str]:
    files = (sql_folder() / "signals").glob("*.sql")
    names = [
        name
        for file in files
        for name in re.findall(
            r"^CREATE OR REPLACE FUNCTION (\w+)\(", file.read_text("utf-8"), re.M
        )
    ]
    assert len(names) >= 5
    return sorted(set(names))


def assert_flat(plan: Plan) -> None:
    """No call of a function of ours is left, and nothing is computed in numeric."""
    computed = expressions(plan)
    called = [name for name in function_names() if re.search(rf"\b{name}\(", computed)]
    assert called == []
    assert "::numeric" not in computed
    assert "EXTRACT(" not in computed.upper()  # returns numeric


SEARCHES: dict[str, Call] = {
    "default": searching(),
    "as of": searching(as_of=datetime(2030, 1, 1, tzinfo=UTC)),
    "thresholds": searching(min_score=0.1, min_similarity=0.1),
    "without usage": searching(WITHOUT_USAGE),
    "filters": searching(memory_types=["episodic"], tags=["a"], metadata={"a": 1}),
    **{profile.name: searching(profile) for profile in EVERY_CLOCK},
}
every_search = pytest.mark.parametrize("search", SEARCHES.values(), ids=SEARCHES)


@every_search
def test_a_search_is_one_flat_expression_in_double_precision(
    explain: Explain, search: Call
) -> None:
    [plan] = explain(search)

    assert_flat(plan)
    assert "<=>" in expressions(plan)


@every_search
def test_a_search_ranks_the_rows_of_its_agent_through_the_key(
    explain: Explain, search: Call
) -> None:
    [plan] = explain(search)

    ranked = node(plan, "Limit")
    [scan] = scans(ranked, "agent_memories")
    assert reached_by(scan) in BY_OWNER
    for scan in scans(ranked, "memory_usage"):
        assert reached_by(scan) == {"pk_memory_usage"}


@every_search
def test_a_search_describes_its_hits_by_their_keys(explain_k: Explain, search: Call) -> None:
    [plan] = explain_k(search)

    ranked = list(nodes(node(plan, "Limit")))
    for table, id_ in (("agent_memories", "id"), ("memory_usage", "memory_id")):
        [described] = [scan for scan in scans(plan, table) if scan not in ranked]
        assert_by_key(described, f"pk_{table}", id_)


def reached_by(scan: Plan) -> set[str]:
    """The indexes by which a scan finds its rows; none for one that reads the whole table."""
    found = {one["Index Name"] for one in nodes(scan) if "Index Cond" in one}
    assert all("agent_id" in one["Index Cond"] for one in nodes(scan) if "Index Cond" in one)
    return found


@pytest.mark.parametrize("search", [SEARCHES["default"], SEARCHES["as of"]], ids=["now", "as of"])
def test_the_planner_expects_enough_rows_not_to_loop_over_them(
    explain: Explain, search: Call
) -> None:
    """By an estimate far too low it would choose loops that a large agent pays for; of an agent
    that it does not know, 200 rows (see _create in the baseline)."""
    [plan] = explain(search)

    ranked = node(plan, "Limit")
    [scan] = scans(ranked, "agent_memories")
    assert scan["Plan Rows"] > 50
    assert not {"Nested Loop"} & {one["Node Type"] for one in nodes(ranked)}


def test_only_narrow_rows_are_sorted(explain: Explain) -> None:
    [plan] = explain(searching())

    sort = node(node(plan, "Limit"), "Sort")
    assert sort["Plan Width"] < 100


def test_a_profile_without_usage_ranks_without_the_counters(explain: Explain) -> None:
    [plan] = explain(searching(WITHOUT_USAGE))

    assert scans(node(plan, "Limit"), "memory_usage") == []
    assert len(scans(plan, "memory_usage")) == 1  # for the hits, afterwards


@pytest.mark.parametrize("profile", [five_factor, *EVERY_CLOCK[1:]], ids=lambda p: p.name)
def test_a_profile_with_usage_joins_the_counters_of_its_agent_alone(
    explain: Explain, profile: Profile
) -> None:
    [plan] = explain(searching(profile))

    [scan] = scans(node(plan, "Limit"), "memory_usage")
    assert reached_by(scan) == {"pk_memory_usage"}


@pytest.mark.parametrize("planned", [custom_plan, generic_plan])
def test_a_touch_writes_the_counters_by_their_key_and_locks_no_memory(
    database: Database, planned: Planned
) -> None:
    function = (sql_folder() / "verbs" / "touch.sql").read_text(encoding="utf-8")
    statement = re.sub(r"\bm\.agent_id = agent\b", "m.agent_id = %(agent)s", function)
    statement = statement.replace("ANY (memory_ids)", "ANY (%(ids)s::uuid[])")
    statement = statement.replace("CASE WHEN accessed THEN", "CASE WHEN true THEN")
    [statement] = re.findall("INSERT.*?(?=;)", statement, re.DOTALL)
    parameters = {"agent": AGENT, "ids": database.some_ids(K)}
    with database.engine.connect() as connection:
        connection.exec_driver_sql("SET LOCAL search_path = pgrecall, pg_temp")
        driver = connection.connection.driver_connection
        assert isinstance(driver, psycopg.Connection)
        plan = planned(driver, statement, parameters)
        connection.rollback()

    written = node(plan, "ModifyTable")
    assert (written["Operation"], written["Relation Name"]) == ("Insert", "memory_usage")
    assert written["Conflict Resolution"] == "UPDATE"
    assert written["Conflict Arbiter Indexes"] == ["pk_memory_usage"]
    assert [one for one in nodes(plan) if one["Node Type"] == "LockRows"] == []
    [read] = scans(plan, "agent_memories")
    assert_by_key(read, "pk_agent_memories", "id")


def test_a_touch_leaves_the_memories_unlocked_and_unchanged(database: Database) -> None:
    """What the plan says, seen in the table: no new row version and no lock on one."""
    ids = database.some_ids(K)
    headers = "SELECT xmin, xmax, ctid FROM pgrecall.agent_memories WHERE id = ANY(%s) ORDER BY id"
    with database.engine.connect() as connection:
        before = connection.exec_driver_sql(headers, (ids,)).all()

        assert MemoryRepository(connection).touch(AGENT, ids) == K

        assert connection.exec_driver_sql(headers, (ids,)).all() == before
        connection.rollback()


def test_a_single_memory_is_read_by_its_key(database: Database, explain: Explain) -> None:
    """What verbs read inside of their functions is counted in test_rows_read."""
    [one] = database.some_ids(1)
    [plan] = explain(lambda repository: repository.get(AGENT, one))

    for table, id_ in (("agent_memories", "id"), ("memory_usage", "memory_id")):
        [read] = scans(plan, table)
        assert_by_key(read, f"pk_{table}", id_)


def assert_by_key(scan: Plan, key: str, id_: str) -> None:
    assert reached_by(scan) == {key}
    conditions = [one["Index Cond"] for one in nodes(scan) if "Index Cond" in one]
    assert all(re.search(rf"\b{id_} = ", condition) for condition in conditions)


_SIGNATURES = """
SELECT ARRAY(SELECT format_type(argument, NULL) FROM unnest(proargtypes) AS argument)
  FROM pg_proc WHERE pronamespace = 'pgrecall'::regnamespace AND proname = %s
"""


@pytest.mark.parametrize("name", function_names())
def test_every_function_is_inlined(database: Database, name: str) -> None:
    """Each alone and for each type it takes, so that one that is not can be told by name."""
    with database.engine.connect() as connection:
        signatures = [row[0] for row in connection.exec_driver_sql(_SIGNATURES, (name,))]
        assert len(signatures) == (len(EmbeddingType) if name == "similarity" else 1)
        for types in signatures:
            arguments = ", ".join(f"${number}::{type_}" for number, type_ in enumerate(types, 1))
            [[[found]]] = connection.exec_driver_sql(
                "EXPLAIN (VERBOSE, GENERIC_PLAN, FORMAT JSON) "
                f"SELECT pgrecall.{name}({arguments}) FROM pgrecall.agent_memories"
            ).all()

            assert_flat(found["Plan"])


def test_a_function_that_is_not_inlined_would_be_noticed(database: Database) -> None:
    """The test of the tests: STRICT keeps PostgreSQL from inlining."""
    with database.engine.connect() as connection:
        connection.exec_driver_sql(
            "ALTER FUNCTION pgrecall.frequency(integer, float8) STRICT",
        )
        query = (
            "EXPLAIN (VERBOSE, FORMAT JSON) "
            "SELECT pgrecall.frequency(retrieval_count, 50) FROM pgrecall.memory_usage"
        )
        [[[found]]] = connection.exec_driver_sql(query).all()
        connection.rollback()

    with pytest.raises(AssertionError):
        assert_flat(found["Plan"])
