"""What the tables refuse from anyone, psql included."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime
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
from pgrecall.testing import new_database

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
        with psycopg.connect(url, autocommit=True) as connection:
            yield connection


@pytest.fixture(scope="module")
def database(server_url: str) -> Iterator[Connection]:
    yield from connections(server_url, "vector")


@pytest.fixture(scope="module")
def of_halfvec(server_url: str) -> Iterator[Connection]:
    yield from connections(server_url, "halfvec")


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


def stored(connection: Connection, table: str, column: str = "agent_id", **given: Any) -> Any:
    """What a column holds after a row was inserted, which is taken back."""
    with connection.transaction(force_rollback=True):
        connection.execute(sql.SQL("DELETE FROM pgrecall.{}").format(sql.Identifier(table)))
        insert(connection, table, **given)
        names = sql.Identifier(column), sql.Identifier(table)
        row = connection.execute(sql.SQL("SELECT {} FROM pgrecall.{}").format(*names)).fetchone()
    assert row is not None
    return row[0]


def refused_by(
    connection: Connection, table: str, **given: Any
) -> tuple[str | None, type[Exception]]:
    with (
        pytest.raises((CheckViolation, psycopg.DataError)) as refusal,
        connection.transaction(force_rollback=True),
    ):
        insert(connection, table, **given)
    return refusal.value.diag.constraint_name, type(refusal.value)


def test_defaults_make_a_row_in_every_table(database: Connection) -> None:
    of_rows = {table.name for table in tables().metadata.sorted_tables}
    assert MINIMAL.keys() == of_rows - {"rank_positions"}  # whose rows stand in partitions
    for table in MINIMAL:
        stored(database, table, next(iter(MINIMAL[table])))


NO_SHARES = (
    *(-0.1, -1e-100, 1.0000000000000002, float("nan"), float("inf"), float("-inf")),
    *(5e-324, 1e-308),
)


@pytest.mark.parametrize(("table", "share"), SHARES)
def test_shares_from_0_to_1(database: Connection, table: str, share: str) -> None:
    for number in (0.0, -0.0, 1e-100, 0.5, 1.0):
        assert stored(database, table, share, **{share: number}) == number
    for number in NO_SHARES:
        refusal = refused_by(database, table, **{share: number})
        assert refusal == (f"ck_{table}_{share}", CheckViolation), number


NO_MOMENTS = (
    *("infinity", "-infinity", "0044-03-15 12:00:00+00 BC", "0001-01-01 00:00:00+14"),
    "10000-01-01",
)


@pytest.mark.parametrize(("table", "column"), MOMENTS)
def test_moments_in_python_s_years(database: Connection, table: str, column: str) -> None:
    for moment in (datetime(1, 1, 3, tzinfo=UTC), datetime(9999, 12, 29, tzinfo=UTC)):
        assert stored(database, table, column, **{column: moment}) == moment
    for outside in NO_MOMENTS:
        refusal = refused_by(database, table, **{column: outside})
        assert refusal == (f"ck_{table}_{column}", CheckViolation), outside


def test_creation_is_now_unless_told_even_that_it_is_unknown(database: Connection) -> None:
    assert stored(database, "agent_memories", "created_at", created_at=None) is None
    before = datetime.now(UTC)
    assert stored(database, "agent_memories", "created_at") >= before


MEMORY: list[tuple[dict[str, Any], str]] = [
    *(({"agent_id": name}, "agent_id") for name in ("", "team:", "team:" + "a" * 201)),
    *(({"content": text}, "content") for text in ("", "x" * 2_097_153, "é" * 1_048_577)),
    *(({"memory_type": name}, "memory_type") for name in ("", "m" * 201)),
    ({"metadata": Jsonb([])}, "metadata"),
    ({"metadata": Jsonb("text")}, "metadata"),
    *(({"tier": name}, "tier") for name in ("forever", "")),
    *(({"status": name}, "status") for name in ("deleted", "Active")),
    ({"trust_curve": "logarithmic"}, "trust_curve"),
    *(
        ({"trust_half_life_hours": hours}, "trust_half_life_hours")
        for hours in (0, -1, float("nan"), float("inf"))
    ),
    ({"invalidation_reason": "bored"}, "invalidation_reason"),
    *(
        ({"valid_from": start, "valid_until": "2026-01-01Z"}, "validity")
        for start in ("2026-01-02Z", "2026-01-01Z")
    ),
]
COUNTS = ("retrieval_count", "success_count", "failure_count", "feedback_up", "feedback_down")
OTHERS: list[tuple[str, dict[str, Any], str]] = [
    *(("agent_memories", given, constraint) for given, constraint in MEMORY),
    *(("memory_usage", {count: -1}, count) for count in COUNTS),
    ("memory_labels", {"kind": "colour"}, "kind"),
    *(("memory_labels", {"value": value}, "value") for value in ("", "v" * 201)),
    *(("memory_links", {"kind": kind}, "kind") for kind in ("", "k" * 201)),
    ("memory_links", {"target_id": KEY["id"]}, "two_memories"),
    ("output_type_defaults", {"trust_curve": "logarithmic"}, "trust_curve"),
    *(
        ("output_type_defaults", {"trust_half_life_hours": hours}, "trust_half_life_hours")
        for hours in (0, 2e9, float("nan"))
    ),
    ("tier_defaults", {"tier": "forever"}, "tier"),
    *(
        ("tier_defaults", {"expires_after_hours": hours}, "expires_after_hours")
        for hours in (0, 2e7)
    ),
    ("granted_roles", {"level": "owner"}, "level"),
]


def test_other_values_that_cannot_be(database: Connection) -> None:
    for table, given, constraint in OTHERS:
        told = refused_by(database, table, **given)
        assert told == (f"ck_{table}_{constraint}", CheckViolation), str(given)[:99]


def test_every_status_tier_and_the_greatest_length(database: Connection) -> None:
    for status in ("active", "consolidated", "completed", "archived"):
        assert stored(database, "agent_memories", "status", status=status) == status
    for tier in ("short", "medium", "long"):
        assert stored(database, "agent_memories", "tier", tier=tier) == tier
    stored(database, "agent_memories", content="é" * 1_048_576)


def test_vectors_that_are_none(database: Connection, of_halfvec: Connection) -> None:
    for connection in (database, of_halfvec):
        for vector in ("[0,0,0]", "[-0,0,0]"):
            refusal = refused_by(connection, "agent_memories", embedding=vector)
            assert refusal == ("ck_agent_memories_embedding", CheckViolation)
        for vector in ("[NaN,1,1]", "[Infinity,1,1]", "[1,2]", "[1,2,3,4]"):
            _, error = refused_by(connection, "agent_memories", embedding=vector)
            assert issubclass(error, psycopg.DataError)


def test_a_vector_that_rounds_to_zero(of_halfvec: Connection) -> None:
    constraint, _ = refused_by(of_halfvec, "agent_memories", embedding="[2e-8,1e-9,0]")
    assert constraint == "ck_agent_memories_embedding"


@pytest.mark.parametrize("vector", ["[1e-25,1e-25,0]", "[1e20,0,0]"])
def test_a_vector_whose_distances_are_nan(database: Connection, vector: str) -> None:
    [distance] = database.execute(
        "SELECT %(vector)s::vector <=> %(vector)s::vector", {"vector": vector}
    ).fetchall()
    assert isnan(distance[0])

    assert refused_by(database, "agent_memories", embedding=vector)[0] == (
        "ck_agent_memories_embedding"
    )


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
    connection: Connection = request.getfixturevalue(fixture)
    with connection.transaction(force_rollback=True):
        for number, vector in enumerate(vectors):
            key = {"id": f"00000000-0000-7000-8000-{number:012}"}
            insert(connection, "agent_memories", **key, content=vector, embedding=vector)
        distances = connection.execute(
            "SELECT a.embedding <=> b.embedding FROM pgrecall.agent_memories a, "
            "pgrecall.agent_memories b"
        ).fetchall()

    assert len(distances) == len(vectors) ** 2
    assert all(0 <= distance <= 2 for (distance,) in distances), "no NaN"
