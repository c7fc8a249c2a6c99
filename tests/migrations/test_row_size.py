"""An embedding lies in its row, and a row in one page of 8 kB: what the limits promise must fit."""

from __future__ import annotations

import random
import string
from collections.abc import Callable
from datetime import UTC, datetime
from uuid import UUID

import psycopg
import pytest
from psycopg import sql
from psycopg.types.json import Jsonb
from sqlalchemy import ARRAY, Boolean, Double, Integer, Text, Uuid
from sqlalchemy.dialects.postgresql import JSONB

from pgrecall import migrate
from pgrecall.core.vectors import EmbeddingType
from pgrecall.errors import InputError
from pgrecall.schema import tables

Filled = dict[str, object]

LONGEST_OF_FIXED_CHOICE = {
    "tier": "medium",
    "status": "consolidated",
    "trust_curve": "exponential",
    "invalidation_reason": "superseded",
    "valid_until": datetime(2100, 1, 1, tzinfo=UTC),
}


def filled(dimensions: int, length: int, listed: list[str], metadata: dict[str, str]) -> Filled:
    """A row with no column left out and every text of this length, nothing of it compressible."""
    values: Filled = {}
    for column in tables().memories.columns:
        if column.computed is not None:
            continue
        if column.name in LONGEST_OF_FIXED_CHOICE:
            values[column.name] = LONGEST_OF_FIXED_CHOICE[column.name]
        elif column.name == "embedding":
            values[column.name] = str([0.5] * dimensions)
        elif isinstance(column.type, Text):
            values[column.name] = noise(length)
        elif isinstance(column.type, ARRAY):
            values[column.name] = listed
        elif isinstance(column.type, JSONB):
            values[column.name] = Jsonb(metadata)
        elif isinstance(column.type, Double):
            values[column.name] = 0.5
        elif column.name == "edition":
            values[column.name] = None  # what has a key has none
        elif isinstance(column.type, Integer):
            values[column.name] = 2**31 - 1
        elif isinstance(column.type, Boolean):
            values[column.name] = True
        elif isinstance(column.type, Uuid):
            values[column.name] = UUID(int=1)
        else:
            values[column.name] = datetime(2026, 1, 1, tzinfo=UTC)
    return values


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


def test_sizes_of_well_known_models_are_allowed() -> None:
    assert EmbeddingType.VECTOR.max_dimensions >= 1536
    assert EmbeddingType.HALFVEC.max_dimensions >= 3072
