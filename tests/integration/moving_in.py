"""What the tests of the five systems share: their tables, and the ranking after the move."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any
from uuid import UUID

import psycopg
import pytest
from psycopg import sql
from psycopg.types.json import Jsonb

from pgrecall import MemoryRepository, Profile
from tests.integration.support import NORTH, NOW
from tests.integration.test_adhoc import Database

Row = dict[str, Any]
ROOT = Path(__file__).parents[2]


def naive(moment: datetime | None) -> datetime | None:
    """As a column without a time zone has it, which is in UTC."""
    return None if moment is None else moment.replace(tzinfo=None)


def insert(connection: psycopg.Connection[Any], table: str, rows: Sequence[Row]) -> None:
    for row in rows:
        values = [Jsonb(v) if isinstance(v, dict) else v for v in row.values()]
        connection.execute(
            sql.SQL("INSERT INTO {} ({}) VALUES ({})").format(
                sql.Identifier(table),
                sql.SQL(", ").join(map(sql.Identifier, row)),
                sql.SQL(", ").join(sql.Placeholder() * len(row)),
            ),
            values,
        )


def outcomes(url: str, script: str, **variables: Any) -> dict[str, int]:
    """How many memories have each outcome."""
    rows = Database(url).ask(f"import/{script}", source="theirs", **variables).rows
    return {row["outcome"]: int(row["memories"]) for row in rows}


def assert_ranked(
    repo: MemoryRepository,
    owner: str,
    profile: Profile,
    rows: Mapping[UUID, Row],
    formula: Callable[[Row], float],
    **options: Any,
) -> None:
    """A search ranks these rows, and no others, by their formula."""
    expected = {one: formula(row) for one, row in rows.items()}
    hits = repo.search(owner, NORTH, profile=profile, k=100, as_of=NOW, touch=False, **options)

    assert {hit.memory.id: hit.score for hit in hits} == pytest.approx(expected, abs=1e-9)
    ranking = [expected[hit.memory.id] for hit in hits]
    assert ranking == sorted(ranking, reverse=True)


def days(since: datetime) -> float:
    return (NOW - since) / timedelta(days=1)
