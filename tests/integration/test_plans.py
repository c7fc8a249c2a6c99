"""The plans that PostgreSQL makes of our statements, on a table large enough to have a choice.

Every plan is made twice over: with the parameters of the moment, and as the generic plan that a
prepared statement may end with.
"""

from __future__ import annotations

import random
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any
from uuid import UUID

import psycopg
import pytest
from psycopg import ClientCursor, sql
from sqlalchemy import Engine, Executable, create_engine, event
from sqlalchemy.dialects.postgresql.psycopg import PGDialect_psycopg

from pgrecall import Profile, migrate, statements
from pgrecall.embedding import EmbeddingType, stored_vector
from pgrecall.filters import Filters
from pgrecall.profiles import five_factor
from pgrecall.resources import sql_folder
from pgrecall.schema import Tables, tables
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
Explain = Callable[[Executable], Plan]

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
HNSW = "ix_agent_memories_embedding"


@dataclass
class Database:
    """A loaded and analysed database."""

    engine: Engine
    embedding_type: EmbeddingType
    schema: Tables = field(default_factory=tables)

    def search(
        self,
        profile: Profile = five_factor,
        *,
        filters: Filters | None = None,
        as_of: datetime | None = None,
        min_score: float | None = None,
        min_similarity: float | None = None,
    ) -> Executable:
        query = [random.Random(0).gauss() for _ in range(DIMENSIONS)]
        return statements.search(
            self.schema,
            AGENT,
            stored_vector(query, dimensions=DIMENSIONS, embedding_type=self.embedding_type),
            k=K,
            profile=profile,
            filters=filters or Filters(),
            min_score=min_score,
            min_similarity=min_similarity,
            as_of=as_of,
        )

    def some_ids(self, count: int) -> list[UUID]:
        with self.engine.connect() as connection:
            found = connection.exec_driver_sql(
                "SELECT id FROM pgrecall.agent_memories WHERE agent_id = %s ORDER BY id LIMIT %s",
                (AGENT, count),
            )
            return [row[0] for row in found]


@pytest.fixture(scope="module", params=list(EmbeddingType))
def database(server_url: str, request: pytest.FixtureRequest) -> Iterator[Database]:
    embedding_type: EmbeddingType = request.param
    with new_database(server_url) as url:
        migrate.upgrade(url, dimensions=DIMENSIONS, embedding_type=embedding_type)
        with psycopg.connect(url, autocommit=True) as connection:
            load(connection, embedding_type)
        engine = create_engine(url)
        yield Database(engine, embedding_type)
        engine.dispose()


def load(connection: psycopg.Connection, embedding_type: EmbeddingType) -> None:
    """Loads both tables; the index is built afterwards, which is several times as fast."""
    row = connection.execute(
        "SELECT indexdef FROM pg_indexes WHERE indexname = %s", (HNSW,)
    ).fetchone()
    assert row is not None
    connection.execute(f"DROP INDEX pgrecall.{HNSW}")
    fill = FILL.format(
        agents=AGENTS, type=embedding_type, rows=AGENTS * ROWS_OF_AN_AGENT, counted=COUNTED
    )
    connection.execute(fill)
    connection.execute(row[0])
    connection.execute("VACUUM ANALYZE pgrecall.agent_memories, pgrecall.memory_usage")


@pytest.fixture(params=["custom", "generic"])
def explain(database: Database, request: pytest.FixtureRequest) -> Explain:
    """Plans a statement with its parameters in place, or for any parameters."""
    plan = {"custom": custom_plan, "generic": generic_plan}[request.param]
    return lambda statement: plan(database.engine, statement)


def custom_plan(engine: Engine, statement: Executable) -> Plan:
    text, parameters = sent(engine, statement)
    with engine.connect() as connection:
        explain = f"EXPLAIN (VERBOSE, FORMAT JSON) {text}"
        [[[found]]] = connection.exec_driver_sql(explain, parameters).all()
        plan: Plan = found["Plan"]
        return plan


def generic_plan(engine: Engine, statement: Executable) -> Plan:
    text, parameters = sent(engine, statement)
    numbers = {name: number for number, name in enumerate(parameters, start=1)}
    numbered = re.sub(r"%\((\w+)\)s", lambda match: f"${numbers[match[1]]}", text)
    with engine.connect() as connection:
        driver = connection.connection.driver_connection
        assert isinstance(driver, psycopg.Connection)
        cursor = ClientCursor(driver)
        cursor.execute("SET LOCAL plan_cache_mode = force_generic_plan")
        cursor.execute(f"PREPARE planned AS {numbered}")
        values = sql.SQL(", ").join(map(sql.Literal, parameters.values()))
        cursor.execute(
            sql.SQL("EXPLAIN (VERBOSE, FORMAT JSON) EXECUTE planned ({})").format(values)
        )
        row = cursor.fetchone()
        cursor.execute("DEALLOCATE planned")
        assert row is not None
        plan: Plan = row[0][0]["Plan"]
        return plan


def sent(engine: Engine, statement: Executable) -> tuple[str, dict[str, Any]]:
    """What goes to the driver when this statement is executed, which it is; then rolled back."""
    assert isinstance(engine.dialect, PGDialect_psycopg)
    seen: list[tuple[str, dict[str, Any]]] = []

    def see(_: Any, __: Any, text: str, parameters: dict[str, Any], *___: Any) -> None:
        seen.append((text, parameters))

    with engine.connect() as connection:
        event.listen(connection, "before_cursor_execute", see)
        connection.execute(statement)
        connection.rollback()
    [found] = seen
    return found


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
    files = (sql_folder() / "functions").glob("*.sql")
    names = [
        name
        for file in files
        for name in re.findall(r"CREATE FUNCTION (\w+)\(", file.read_text(encoding="utf-8"))
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


SEARCHES: dict[str, Callable[[Database], Executable]] = {
    "default": lambda database: database.search(),
    "as of": lambda database: database.search(as_of=datetime(2030, 1, 1, tzinfo=UTC)),
    "thresholds": lambda database: database.search(min_score=0.1, min_similarity=0.1),
    "without usage": lambda database: database.search(WITHOUT_USAGE),
    "filters": lambda database: database.search(
        filters=Filters(memory_types=["episodic"], tags=["a"], metadata={"a": 1})
    ),
    **{
        profile.name: lambda database, profile=profile: database.search(profile)  # type: ignore[misc]
        for profile in EVERY_CLOCK
    },
}


@pytest.mark.parametrize("name", SEARCHES)
def test_a_search_is_one_flat_expression_in_double_precision(
    database: Database, explain: Explain, name: str
) -> None:
    plan = explain(SEARCHES[name](database))

    assert_flat(plan)
    assert "<=>" in expressions(plan)


@pytest.mark.parametrize("name", SEARCHES)
def test_a_search_reaches_the_rows_of_its_agent_through_the_key(
    database: Database, explain: Explain, name: str
) -> None:
    plan = explain(SEARCHES[name](database))

    for scan in scans(plan, "agent_memories"):
        assert reached_by(scan) == {"pk_agent_memories"}
    for scan in scans(plan, "memory_usage"):
        assert reached_by(scan) == {"pk_memory_usage"}


def reached_by(scan: Plan) -> set[str]:
    """The indexes by which a scan finds its rows; none for one that reads the whole table."""
    found = {one["Index Name"] for one in nodes(scan) if "Index Cond" in one}
    assert all("agent_id" in one["Index Cond"] for one in nodes(scan) if "Index Cond" in one)
    return found


def test_the_planner_knows_how_many_rows_are_ranked(database: Database, explain: Explain) -> None:
    """An estimate far too low would make it choose loops that a large agent pays for."""
    for statement in (database.search(), database.search(as_of=datetime(2030, 1, 1, tzinfo=UTC))):
        ranked = node(explain(statement), "Limit")

        [scan] = scans(ranked, "agent_memories")
        assert scan["Plan Rows"] > ROWS_OF_AN_AGENT / 2


def test_only_the_narrow_columns_are_sorted(database: Database, explain: Explain) -> None:
    [sort] = [one for one in nodes(explain(database.search())) if one["Node Type"] == "Sort"]

    agent_id, memory_id, _score = sort["Output"]
    assert (agent_id.split(".")[-1], memory_id.split(".")[-1]) == ("agent_id", "id")


def test_a_profile_without_usage_ranks_without_the_counters(
    database: Database, explain: Explain
) -> None:
    plan = explain(database.search(WITHOUT_USAGE))

    assert scans(node(plan, "Limit"), "memory_usage") == []
    [described] = scans(plan, "memory_usage")
    assert "memory_id" in described["Index Cond"]


@pytest.mark.parametrize("profile", [five_factor, *EVERY_CLOCK[1:]], ids=lambda p: p.name)
def test_a_profile_with_usage_joins_the_counters_of_its_agent_alone(
    database: Database, explain: Explain, profile: Profile
) -> None:
    ranked = node(explain(database.search(profile)), "Limit")

    [scan] = scans(ranked, "memory_usage")
    assert reached_by(scan) == {"pk_memory_usage"}


def test_a_touch_writes_the_counters_by_their_key_and_locks_no_memory(
    database: Database, explain: Explain
) -> None:
    plan = explain(statements.touch(database.schema, AGENT, database.some_ids(K)))

    written = node(plan, "ModifyTable")
    assert (written["Operation"], written["Relation Name"]) == ("Insert", "memory_usage")
    assert written["Conflict Resolution"] == "UPDATE"
    assert written["Conflict Arbiter Indexes"] == ["pk_memory_usage"]
    assert [one for one in nodes(plan) if one["Node Type"] == "LockRows"] == []
    [read] = scans(plan, "agent_memories")
    assert_by_key(read, "pk_agent_memories", "id")
    assert "embedding" not in expressions(read)


def test_a_touch_leaves_the_memories_unlocked_and_unchanged(database: Database) -> None:
    """What the plan says, seen in the table: no new row version and no lock on one."""
    ids = database.some_ids(K)
    headers = "SELECT xmin, xmax, ctid FROM pgrecall.agent_memories WHERE id = ANY(%s) ORDER BY id"
    with database.engine.connect() as connection:
        before = connection.exec_driver_sql(headers, (ids,)).all()

        connection.execute(statements.touch(database.schema, AGENT, ids))

        assert connection.exec_driver_sql(headers, (ids,)).all() == before
        connection.rollback()


def by_key(database: Database) -> dict[str, tuple[Executable, str]]:
    """Statements on single memories, with the table whose rows each is about."""
    schema, [one, other] = database.schema, database.some_ids(2)
    return {
        "get": (statements.get(schema, AGENT, one), "agent_memories"),
        "update": (
            statements.update(schema, AGENT, one, {"importance": 0.4}),
            "agent_memories",
        ),
        "delete": (statements.delete(schema, AGENT, [one, other]), "agent_memories"),
        "delete_usage": (statements.delete_usage(schema, AGENT, [one, other]), "memory_usage"),
    }


@pytest.mark.parametrize("name", ["get", "update", "delete", "delete_usage"])
def test_single_memories_are_reached_by_key(
    database: Database, explain: Explain, name: str
) -> None:
    statement, table = by_key(database)[name]
    plan = explain(statement)

    reads = [one for one in scans(plan, table) if one["Node Type"] != "ModifyTable"]
    assert reads
    for read in reads:
        id_ = "id" if table == "agent_memories" else "memory_id"
        assert_by_key(read, f"pk_{table}", id_)


def assert_by_key(scan: Plan, key: str, id_: str) -> None:
    assert reached_by(scan) == {key}
    conditions = [one["Index Cond"] for one in nodes(scan) if "Index Cond" in one]
    assert all(re.search(rf"\b{id_} = ", condition) for condition in conditions)


# Runs when a row is written, and only declares itself IMMUTABLE: it cannot be inlined.
ON_WRITE = {"content_hash"}

# Arguments for one call of each function that a search uses, from the columns of a row.
CALLS = {
    "similarity": "m.embedding, $1::{type}, $2::float8",
    "recency_exponential": "m.created_at, $1::timestamptz, $2::float8, $3::float8",
    "frequency": "u.retrieval_count, $1::float8",
    "is_valid": "m.valid_from, m.valid_until, m.invalidated_at, m.expires_at, $1::timestamptz",
}


@pytest.mark.parametrize("function", [name for name in function_names() if name not in ON_WRITE])
@pytest.mark.parametrize("moment", ["parameter", "now()"])
def test_every_function_is_inlined(database: Database, function: str, moment: str) -> None:
    """Alone, so that one that is not can be told by name; a new function needs its call here."""
    arguments = CALLS[function].format(type=database.embedding_type)
    if moment == "now()":
        arguments = arguments.replace("$1::timestamptz", "now()")
    query = (
        f"EXPLAIN (VERBOSE, GENERIC_PLAN, FORMAT JSON) SELECT pgrecall.{function}({arguments}) "
        "FROM pgrecall.agent_memories m LEFT JOIN pgrecall.memory_usage u "
        "ON u.agent_id = m.agent_id AND u.memory_id = m.id"
    )
    with database.engine.connect() as connection:
        [[[found]]] = connection.exec_driver_sql(query).all()

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
