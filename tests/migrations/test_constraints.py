"""What the tables refuse from anyone, psql included."""

from __future__ import annotations

import random
import string
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from datetime import UTC, datetime
from typing import Any
from uuid import UUID

import psycopg
import pytest
from psycopg import sql
from psycopg.errors import CheckViolation
from psycopg.types.json import Jsonb
from sqlalchemy import ARRAY, Boolean, DateTime, Double, Integer, Text, Uuid
from sqlalchemy.dialects.postgresql import JSONB

from pgrecall import migrate
from pgrecall.core.vectors import EmbeddingType
from pgrecall.errors import InputError
from pgrecall.schema import tables
from pgrecall.testing import new_database

KEY = {"agent_id": "agent", "id": "00000000-0000-7000-8000-000000000001"}
MEMORY_ID = {"agent_id": "agent", "memory_id": KEY["id"]}
LASTING = {"trust_curve": "linear", "trust_half_life_hours": 24.0}
MINIMAL: dict[str, dict[str, Any]] = {
    "agent_memories": {**KEY, "content": "something"},
    "memory_usage": MEMORY_ID,
    "memory_events": {**KEY, "memory_id": KEY["id"], "event_type": "feedback"},
    "memory_links": {"agent_id": "agent", "source_id": KEY["id"], "kind": "consolidates"}
    | {"target_id": "00000000-0000-7000-8000-000000000002"},
    "maintenance_runs": {**KEY, "policy": "{}", "started_at": "2026-06-01Z"},
    "rank_indexes": {"agent_id": "agent", "relation": f"ranks_{'0' * 32}", "seconds": 0.5}
    | dict.fromkeys(("space", "memories", "at_least", "m", "ef_construction"), 1)
    | dict.fromkeys(("as_of", "built_at", "written_until"), "2026-06-01Z"),
    "owner_vectors": {"agent_id": "agent", "memories": 1, "computed_at": "2026-06-01Z"},
    "entity_names": {"agent_id": "agent", "word": "ines", "name": "ines", "kind": "entity"}
    | {"entity": "Ines"},
    "component_reputations": {"component": "newcomer", "reputation": 0.5},
    "output_type_defaults": {"output_type": "song", **LASTING},
    "tier_defaults": {"tier": "short"},
    "embedding_model": {"model": "one"},
    "profiles": {"name": "mine", "definition": "{}"},
    "installed_sql": {"file": "verbs/one.sql", "level": "writer"},
    "granted_roles": {"role": "someone", "level": "reader"},
    "service_keys": {"id": "0f3a52c1b7d9", "name": "a service", "hash": bytes(32)}
    | {"owners": ["zoe"], "scope": "read"},
}
SHARES = [
    *(
        ("agent_memories", share)
        for share in (
            *("importance", "usefulness", "confidence", "quality_score", "trust"),
            *("trust_provenance", "trust_consensus", "trust_governance", "trust_usage"),
        )
    ),
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


@pytest.fixture(scope="module")
def each_type(server_url: str) -> Iterator[dict[str, Connection]]:
    """A database for each type of embedding."""
    with ExitStack() as stack:
        found = {}
        for kind in ("vector", "halfvec"):
            url = stack.enter_context(new_database(server_url))
            migrate.upgrade(url, dimensions=3, embedding_type=kind)
            found[kind] = stack.enter_context(psycopg.connect(url, autocommit=True))
        yield found


@pytest.fixture(scope="module")
def database(each_type: dict[str, Connection]) -> Connection:
    return each_type["vector"]


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


def test_shares_from_0_to_1(database: Connection) -> None:
    for table, share in SHARES:
        for number in (0.0, -0.0, 1e-100, 0.5, 1.0):
            assert stored(database, table, share, **{share: number}) == number
        for number in NO_SHARES:
            refusal = refused_by(database, table, **{share: number})
            assert refusal == (f"ck_{table}_{share}", CheckViolation), number


NO_MOMENTS = (
    *("infinity", "-infinity", "0044-03-15 12:00:00+00 BC", "0001-01-01 00:00:00+14"),
    "10000-01-01",
)


def test_moments_in_python_s_years(database: Connection) -> None:
    for table, column in MOMENTS:
        for moment in (datetime(1, 1, 3, tzinfo=UTC), datetime(9999, 12, 29, tzinfo=UTC)):
            assert stored(database, table, column, **{column: moment}) == moment
        for outside in NO_MOMENTS:
            refusal = refused_by(database, table, **{column: outside})
            assert refusal == (f"ck_{table}_{column}", CheckViolation), outside


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


NO_VECTORS = {
    "vector": ("[0,0,0]", "[-0,0,0]", "[1e-25,1e-25,0]", "[1e20,0,0]"),
    "halfvec": ("[0,0,0]", "[-0,0,0]", "[2e-8,1e-9,0]"),
}
"""The last ones have distances that are NaN, or round to zero."""
VECTORS = {
    "vector": ("[1.1e-15,0,0]", "[0.9e15,0,0]", "[1e-38,1,-1]", "[5e14,5e14,5e14]"),
    "halfvec": ("[6e-8,0,0]", "[65504,65504,65504]", "[6e-8,1,-1]", "[0,0,65504]"),
}


@pytest.mark.parametrize("kind", VECTORS)
def test_no_vector_that_is_stored_has_a_distance_that_is_nan(
    each_type: dict[str, Connection], kind: str
) -> None:
    connection = each_type[kind]
    for vector in NO_VECTORS[kind]:
        refusal = refused_by(connection, "agent_memories", embedding=vector)
        assert refusal == ("ck_agent_memories_embedding", CheckViolation), vector
    for vector in ("[NaN,1,1]", "[Infinity,1,1]", "[1,2]", "[1,2,3,4]"):
        _, error = refused_by(connection, "agent_memories", embedding=vector)
        assert issubclass(error, psycopg.DataError)
    with connection.transaction(force_rollback=True):
        for number, vector in enumerate(VECTORS[kind]):
            key = {"id": f"00000000-0000-7000-8000-{number:012}"}
            insert(connection, "agent_memories", **key, content=vector, embedding=vector)
        distances = connection.execute(
            "SELECT a.embedding <=> b.embedding FROM pgrecall.agent_memories a, "
            "pgrecall.agent_memories b"
        ).fetchall()

    assert len(distances) == 4**2
    assert all(0 <= distance <= 2 for (distance,) in distances), "no NaN"


Filled = dict[str, object]

FIXED: Filled = {
    "tier": "medium",
    "status": "consolidated",
    "trust_curve": "exponential",
    "invalidation_reason": "superseded",
    "valid_until": datetime(2100, 1, 1, tzinfo=UTC),
    "edition": None,  # what has a key has none
}
"""The longest of what may be chosen."""


def filled(dimensions: int, length: int, listed: list[str], metadata: dict[str, str]) -> Filled:
    """A row with no column left out and every text of this length, nothing of it compressible."""
    of_type: dict[type, Callable[[], object]] = {
        Text: lambda: noise(length),
        ARRAY: lambda: listed,
        JSONB: lambda: Jsonb(metadata),
        Double: lambda: 0.5,
        Integer: lambda: 2**31 - 1,
        Boolean: lambda: True,
        Uuid: lambda: UUID(int=1),
        DateTime: lambda: datetime(2026, 1, 1, tzinfo=UTC),
    }
    given = FIXED | {"embedding": str([0.5] * dimensions)}
    return {
        column.name: given[column.name]
        if column.name in given
        else next(made for kind, made in of_type.items() if isinstance(column.type, kind))()
        for column in tables().memories.columns
        if column.computed is None
    }


def noise(length: int) -> str:
    """The same each time: a failure can be repeated."""
    return "".join(random.Random(length).choices(string.ascii_letters + string.digits, k=length))


ROWS: dict[str, Callable[[int], Filled]] = {
    # Longer values move out of the row and leave a pointer of 18 bytes.
    "texts of 200 characters, 5 kB of metadata": lambda dimensions: filled(
        dimensions, 200, [noise(2000)], {"key": noise(5000)}
    ),
    # Just short of what PostgreSQL moves out: the largest row there can be.
    "values of 24 bytes": lambda dimensions: filled(dimensions, 23, ["a"], {"a": noise(10)}),
    "values of a few bytes": lambda dimensions: filled(dimensions, 3, [], {}),
}


@pytest.mark.parametrize("embedding_type", EmbeddingType)
def test_the_largest_embedding_fits_into_any_row(
    empty_url: str, embedding_type: EmbeddingType
) -> None:
    dimensions = embedding_type.max_dimensions
    migrate.upgrade(empty_url, dimensions=dimensions, embedding_type=embedding_type)
    for row in ROWS.values():
        values = row(dimensions)
        statement = sql.SQL("INSERT INTO pgrecall.agent_memories ({}) VALUES ({})").format(
            sql.SQL(", ").join(map(sql.Identifier, values)),
            sql.SQL(", ").join(sql.Placeholder() * len(values)),
        )
        with psycopg.connect(empty_url) as connection:
            connection.execute(statement, list(values.values()))
            [(size, stored)] = connection.execute(
                "SELECT pg_column_size(embedding), octet_length(metadata::text) "
                "FROM pgrecall.agent_memories"
            ).fetchall()
            connection.rollback()
        assert size >= 7000, "inline and not compressed"
        assert stored >= 2


def test_more_and_no_dimensions_are_refused(empty_url: str) -> None:
    for embedding_type in EmbeddingType:
        limit = embedding_type.max_dimensions
        for dimensions in (limit + 1, 0, -1):
            with pytest.raises(InputError) as refusal:
                migrate.upgrade(empty_url, dimensions=dimensions, embedding_type=embedding_type)
            message = str(refusal.value)
            assert f"{embedding_type} embeddings may have 1 to {limit} dimensions" in message
            assert f"got {dimensions}" in message
            assert "page" in message
            assert ("halfvec allows more" in message) == (embedding_type is EmbeddingType.VECTOR)
    assert migrate.status(empty_url).pgvector is None, "nothing was done"
    assert EmbeddingType.VECTOR.max_dimensions >= 1536, "as of well-known models"
    assert EmbeddingType.HALFVEC.max_dimensions >= 3072
