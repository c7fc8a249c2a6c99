"""What the tables refuse from anyone, psql included."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime
from itertools import product
from math import isnan
from typing import Any

import psycopg
import pytest
from psycopg import sql
from psycopg.errors import CheckViolation, NumericValueOutOfRange
from psycopg.types.json import Jsonb
from sqlalchemy import DateTime

from pgrecall import migrate
from pgrecall.schema import tables
from tests.conftest import new_database

KEY = {"agent_id": "agent", "id": "00000000-0000-7000-8000-000000000001"}
MINIMAL: dict[str, dict[str, Any]] = {
    "agent_memories": {**KEY, "content": "something"},
    "memory_usage": {"agent_id": "agent", "memory_id": KEY["id"]},
    "memory_events": {**KEY, "memory_id": KEY["id"], "event_type": "feedback"},
    "memory_labels": {
        "agent_id": "agent",
        "memory_id": KEY["id"],
        "kind": "keyword",
        "value": "tea",
    },
    "memory_links": {
        "agent_id": "agent",
        "source_id": KEY["id"],
        "target_id": "00000000-0000-7000-8000-000000000002",
        "kind": "consolidates",
    },
    "gc_runs": {
        **KEY,
        "policy": "default",
        **dict.fromkeys(("scanned", "archived", "deleted", "swept"), 0),
        "started_at": "2026-06-01Z",
        "seconds": 0.5,
        "finished": True,
    },
    "rank_indexes": {
        "agent_id": "agent",
        "relation": "ranks_0123456789abcdef0123456789abcdef",
        **dict.fromkeys(("space", "memories", "at_least", "m", "ef_construction"), 1),
        **dict.fromkeys(("as_of", "built_at"), "2026-06-01Z"),
        "seconds": 0.5,
    },
    "component_reputations": {"component": "newcomer", "reputation": 0.5},
    "output_type_defaults": {
        "output_type": "song",
        "trust_curve": "linear",
        "trust_half_life_hours": 24.0,
    },
    "tier_defaults": {"tier": "short"},
    "profiles": {"name": "mine", "definition": "{}"},
    "installed_sql": {"file": "verbs/one.sql", "level": "writer"},
    "granted_roles": {"role": "someone", "level": "reader"},
}
SHARES = [
    *(
        ("agent_memories", share)
        for share in (
            *("importance", "usefulness", "confidence", "quality_score", "trust"),
            *("trust_provenance", "trust_consensus", "trust_governance", "trust_usage"),
        )
    ),
    ("memory_labels", "weight"),
    ("memory_links", "weight"),
    ("component_reputations", "reputation"),
]
MOMENTS = [  # each comes back to Python, which knows the years 1 to 9999 only
    (table.name, column.name)
    for table in tables().metadata.sorted_tables
    for column in table.columns
    if isinstance(column.type, DateTime)
]

Connection = psycopg.Connection[tuple[Any, ...]]


def connections(server_url: str, embedding_type: str) -> Iterator[Connection]:
    with new_database(server_url) as url:
        migrate.upgrade(url, dimensions=3, embedding_type=embedding_type)
        with psycopg.connect(url) as connection:
            yield connection


@pytest.fixture(scope="module")
def vector_connection(server_url: str) -> Iterator[Connection]:
    yield from connections(server_url, "vector")


@pytest.fixture(scope="module")
def halfvec_connection(server_url: str) -> Iterator[Connection]:
    yield from connections(server_url, "halfvec")


@pytest.fixture
def database(vector_connection: Connection) -> Iterator[Connection]:
    yield vector_connection
    vector_connection.rollback()


@pytest.fixture
def of_halfvec(halfvec_connection: Connection) -> Iterator[Connection]:
    yield halfvec_connection
    halfvec_connection.rollback()


@pytest.fixture(params=["database", "of_halfvec"], ids=["vector", "halfvec"])
def of_each(request: pytest.FixtureRequest) -> Connection:
    found: Connection = request.getfixturevalue(request.param)
    return found


def empty(connection: Connection, table: str) -> None:
    """Some tables are born with rows."""
    connection.execute(sql.SQL("DELETE FROM pgrecall.{}").format(sql.Identifier(table)))


def insert(connection: Connection, table: str, **given: Any) -> None:
    values = {**MINIMAL[table], **given}
    connection.execute(
        sql.SQL("INSERT INTO pgrecall.{} ({}) VALUES ({})").format(
            sql.Identifier(table),
            sql.SQL(", ").join(map(sql.Identifier, values)),
            sql.SQL(", ").join(sql.Placeholder() * len(values)),
        ),
        list(values.values()),
    )


def stored(connection: Connection, column: str, table: str = "agent_memories") -> Any:
    names = sql.Identifier(column), sql.Identifier(table)
    query = sql.SQL("SELECT {} FROM pgrecall.{}").format(*names)
    row = connection.execute(query).fetchone()
    assert row is not None
    return row[0]


def refused_by(
    connection: Connection, table: str, **given: Any
) -> tuple[str | None, type[Exception]]:
    with pytest.raises((CheckViolation, psycopg.DataError)) as refusal:
        insert(connection, table, **given)
    return refusal.value.diag.constraint_name, type(refusal.value)


@pytest.mark.parametrize("table", MINIMAL)
def test_defaults_make_a_row(database: Connection, table: str) -> None:
    empty(database, table)
    insert(database, table)


def test_there_is_a_row_to_try_for_every_table() -> None:
    of_rows = {table.name for table in tables().metadata.sorted_tables}
    assert MINIMAL.keys() == of_rows - {"rank_positions"}  # whose rows stand in partitions


@pytest.mark.parametrize(("table", "share"), SHARES)
@pytest.mark.parametrize("number", [0.0, -0.0, 1e-100, 0.5, 1.0])
def test_shares_from_0_to_1(database: Connection, table: str, share: str, number: float) -> None:
    empty(database, table)
    insert(database, table, **{share: number})
    assert stored(database, share, table) == number


@pytest.mark.parametrize(("table", "share"), SHARES)
@pytest.mark.parametrize(
    "number",
    [-0.1, -1e-100, 1.0000000000000002, float("nan"), float("inf"), float("-inf"), 5e-324, 1e-308],
)
def test_shares_that_are_none(database: Connection, table: str, share: str, number: float) -> None:
    assert refused_by(database, table, **{share: number}) == (f"ck_{table}_{share}", CheckViolation)


@pytest.mark.parametrize(("table", "column"), MOMENTS)
@pytest.mark.parametrize(
    "moment",
    ["infinity", "-infinity", "0044-03-15 12:00:00+00 BC", "0001-01-01 00:00:00+14", "10000-01-01"],
)
def test_moments_outside_of_python_s_years(
    database: Connection, table: str, column: str, moment: str
) -> None:
    assert refused_by(database, table, **{column: moment}) == (
        f"ck_{table}_{column}",
        CheckViolation,
    )


@pytest.mark.parametrize(("table", "column"), MOMENTS)
@pytest.mark.parametrize(
    "moment", [datetime(1, 1, 3, tzinfo=UTC), datetime(9999, 12, 29, tzinfo=UTC)]
)
def test_moments_at_the_ends_of_python_s_years(
    database: Connection, table: str, column: str, moment: datetime
) -> None:
    insert(database, table, **{column: moment})


def test_an_unknown_creation_time_can_be_stored(database: Connection) -> None:
    insert(database, "agent_memories", created_at=None)
    assert stored(database, "created_at") is None


def test_creation_is_now_unless_told(database: Connection) -> None:
    insert(database, "agent_memories")
    now = database.execute("SELECT now()").fetchone()
    assert now == (stored(database, "created_at"),)


@pytest.mark.parametrize(
    ("table", "given", "constraint"),
    [
        ("agent_memories", {"agent_id": ""}, "agent_id"),
        ("agent_memories", {"agent_id": "team:"}, "agent_id"),
        ("agent_memories", {"agent_id": "team:" + "a" * 201}, "agent_id"),
        ("agent_memories", {"content": ""}, "content"),
        ("agent_memories", {"content": "x" * 2_097_153}, "content"),
        ("agent_memories", {"content": "é" * 1_048_577}, "content"),
        ("agent_memories", {"memory_type": ""}, "memory_type"),
        ("agent_memories", {"memory_type": "m" * 201}, "memory_type"),
        ("agent_memories", {"metadata": Jsonb([])}, "metadata"),
        ("agent_memories", {"metadata": Jsonb("text")}, "metadata"),
        ("agent_memories", {"tier": "forever"}, "tier"),
        ("agent_memories", {"tier": ""}, "tier"),
        ("agent_memories", {"status": "deleted"}, "status"),
        ("agent_memories", {"status": "Active"}, "status"),
        ("agent_memories", {"trust_curve": "logarithmic"}, "trust_curve"),
        ("agent_memories", {"trust_half_life_hours": 0}, "trust_half_life_hours"),
        ("agent_memories", {"trust_half_life_hours": -1}, "trust_half_life_hours"),
        ("agent_memories", {"trust_half_life_hours": float("nan")}, "trust_half_life_hours"),
        ("agent_memories", {"trust_half_life_hours": float("inf")}, "trust_half_life_hours"),
        ("agent_memories", {"invalidation_reason": "bored"}, "invalidation_reason"),
        (
            "agent_memories",
            {"valid_from": "2026-01-02Z", "valid_until": "2026-01-01Z"},
            "validity",
        ),
        (
            "agent_memories",
            {"valid_from": "2026-01-01Z", "valid_until": "2026-01-01Z"},
            "validity",
        ),
        ("memory_usage", {"retrieval_count": -1}, "retrieval_count"),
        ("memory_usage", {"success_count": -1}, "success_count"),
        ("memory_usage", {"failure_count": -1}, "failure_count"),
        ("memory_usage", {"feedback_up": -1}, "feedback_up"),
        ("memory_usage", {"feedback_down": -1}, "feedback_down"),
        ("memory_labels", {"kind": "colour"}, "kind"),
        ("memory_labels", {"value": ""}, "value"),
        ("memory_labels", {"value": "v" * 201}, "value"),
        ("memory_links", {"kind": ""}, "kind"),
        ("memory_links", {"kind": "k" * 201}, "kind"),
        ("memory_links", {"target_id": KEY["id"]}, "two_memories"),
        ("output_type_defaults", {"trust_curve": "logarithmic"}, "trust_curve"),
        ("output_type_defaults", {"trust_half_life_hours": 0}, "trust_half_life_hours"),
        ("output_type_defaults", {"trust_half_life_hours": 2e9}, "trust_half_life_hours"),
        ("output_type_defaults", {"trust_half_life_hours": float("nan")}, "trust_half_life_hours"),
        ("tier_defaults", {"tier": "forever"}, "tier"),
        ("tier_defaults", {"expires_after_hours": 0}, "expires_after_hours"),
        ("tier_defaults", {"expires_after_hours": 2e7}, "expires_after_hours"),
        ("granted_roles", {"level": "owner"}, "level"),
    ],
)
def test_other_values_that_cannot_be(
    database: Connection, table: str, given: dict[str, Any], constraint: str
) -> None:
    assert refused_by(database, table, **given) == (f"ck_{table}_{constraint}", CheckViolation)


@pytest.mark.parametrize("status", ["active", "consolidated", "completed", "archived"])
@pytest.mark.parametrize("tier", ["short", "medium", "long"])
def test_every_status_and_tier(database: Connection, status: str, tier: str) -> None:
    insert(database, "agent_memories", status=status, tier=tier)


def test_content_of_the_greatest_length(database: Connection) -> None:
    insert(database, "agent_memories", content="é" * 1_048_576)


@pytest.mark.parametrize("vector", ["[0,0,0]", "[-0,0,0]"])
def test_a_zero_vector(of_each: Connection, vector: str) -> None:
    assert refused_by(of_each, "agent_memories", embedding=vector) == (
        "ck_agent_memories_embedding",
        CheckViolation,
    )


def test_a_vector_that_rounds_to_zero(of_halfvec: Connection) -> None:
    constraint, _ = refused_by(of_halfvec, "agent_memories", embedding="[2e-8,1e-9,0]")
    assert constraint == "ck_agent_memories_embedding"


@pytest.mark.parametrize("vector", ["[1e-25,1e-25,0]", "[1e20,0,0]", "[3e38,3e38,0]"])
def test_a_vector_whose_distances_are_nan(database: Connection, vector: str) -> None:
    [distance] = database.execute(
        "SELECT %(vector)s::vector <=> %(vector)s::vector", {"vector": vector}
    ).fetchall()
    assert isnan(distance[0])

    assert refused_by(database, "agent_memories", embedding=vector)[0] == (
        "ck_agent_memories_embedding"
    )


@pytest.mark.parametrize("vector", ["[NaN,1,1]", "[Infinity,1,1]", "[1,2]", "[1,2,3,4]"])
def test_a_vector_that_is_none(of_each: Connection, vector: str) -> None:
    _, refusal = refused_by(of_each, "agent_memories", embedding=vector)
    assert issubclass(refusal, psycopg.DataError)


def test_a_component_too_large_for_halfvec(of_halfvec: Connection) -> None:
    _, refusal = refused_by(of_halfvec, "agent_memories", embedding="[65520,0,0]")
    assert refusal is NumericValueOutOfRange


@pytest.mark.parametrize(
    ("fixture", "vectors"),
    [
        ("database", ["[1.1e-15,0,0]", "[0.9e15,0,0]", "[1e-38,1,-1]", "[5e14,5e14,5e14]"]),
        ("of_halfvec", ["[6e-8,0,0]", "[65504,65504,65504]", "[6e-8,1,-1]", "[0,0,65504]"]),
    ],
)
def test_what_is_accepted_never_makes_a_distance_nan(
    request: pytest.FixtureRequest, fixture: str, vectors: list[str]
) -> None:
    database: Connection = request.getfixturevalue(fixture)
    for number, vector in enumerate(vectors):
        key = {"id": f"00000000-0000-7000-8000-{number:012}"}
        insert(database, "agent_memories", **key, content=vector, embedding=vector)

    distances = database.execute(
        "SELECT a.embedding <=> b.embedding FROM pgrecall.agent_memories a, "
        "pgrecall.agent_memories b"
    ).fetchall()

    assert len(distances) == len(list(product(vectors, vectors)))
    assert all(0 <= distance <= 2 for (distance,) in distances), "no NaN"
