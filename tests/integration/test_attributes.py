"""Signals of one's own: numbers in metadata, and in a table beside.

That searches, psql and the scorer agree for random ranges and numbers is in test_profiles_agree
and test_statements.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import psycopg
import pytest
from psycopg.rows import dict_row
from sqlalchemy import Engine, create_engine, text

from pgrecall import (
    Attribute,
    MemoryRepository,
    Profile,
    Similarity,
    score,
)
from pgrecall.migrate.installing import install_profile
from pgrecall.migrate.settings import Settings
from tests.integration.owner import Owner, plain
from tests.integration.recalling import recall

TABLE = """
CREATE SCHEMA "their own";
CREATE TABLE "their own"."page views" (
    agent_id text, memory_id uuid, "from-$site" {type}, PRIMARY KEY (agent_id, memory_id));
"""
VIEWS = Attribute(
    name="views", schema="their own", table="page views", column="from-$site", most=100, missing=0.3
)


def alone(signal: Attribute, name: str = "alone") -> Profile:
    return Profile(name, {signal: 1.0})


def values(hits: Any) -> dict[str, float]:
    return {hit.memory.content: hit.score for hit in hits}


@pytest.mark.parametrize(
    ("found", "value"),
    [
        *((50, 0.5), (25.5, 0.255), (-1, 0.0), (101, 1.0), (0, 0.0), (10**400, 1.0), (1e-320, 0.0)),
        *((-(10**300), 0.0), (True, 0.3), (None, 0.3), ("50", 0.3), ([50], 0.3), ({"a": 50}, 0.3)),
    ],
)
@pytest.mark.parametrize("falling", [False, True])
def test_what_is_no_number_counts_as_missing_and_what_is_beyond_as_the_end(
    mine: Owner, found: Any, value: float, falling: bool
) -> None:
    signal = Attribute(
        name="views", metadata=r"a\.b.0.views", most=100, falling=falling, missing=0.3
    )
    metadata = {"a.b": [{"views": found}]}
    mine.add(plain("page", metadata=metadata))
    expected = 1 - value if falling and value != 0.3 else value

    [hit] = mine.search(profile=alone(signal), touch=False)

    assert hit.signals == pytest.approx({"views": expected}, abs=1e-12)
    assert score(alone(signal), {"metadata": metadata}).score == pytest.approx(expected, abs=1e-12)


@pytest.fixture(scope="module")
def engine(module_url: str) -> Iterator[Engine]:
    made = create_engine(module_url)
    with made.begin() as connection:
        connection.execute(text(TABLE.format(type="numeric")))
    yield made
    made.dispose()


def installed(engine: Engine, profile: Profile) -> None:
    with engine.begin() as connection:
        connection.execute(text("SET LOCAL search_path = pgrecall, pg_temp"))
        install_profile(connection, Settings("pgrecall", extension_schema="public"), profile)


def test_a_column_of_ones_own_table_ranks_in_python_and_in_psql(
    engine: Engine, module_url: str
) -> None:
    repo = MemoryRepository(engine)
    numbers = ["40", "100", "1e400", "-3", "NaN", "Infinity", None]
    ids = repo.add_many("ada", [plain(f"page {number}") for number in numbers])
    repo.teams.add("red", plain("of the team"))
    repo.add("bob", plain("no row"))
    with engine.begin() as connection:
        for id_, number in zip(ids, numbers, strict=True):
            connection.execute(
                text('INSERT INTO "their own"."page views" VALUES (:agent, :id, :number)'),
                {"agent": "ada", "id": id_, "number": number},
            )
    half = Profile("half", {VIEWS: 0.5, Similarity(missing=1): 0.5})
    installed(engine, half)
    wanted = {
        "page 40": 0.4,
        "page 100": 1.0,
        "page 1e400": 1.0,
        "page -3": 0.0,
        **dict.fromkeys(("page NaN", "page Infinity", "page None", "of the team"), 0.3),
    }
    with psycopg.connect(module_url, row_factory=dict_row) as connection:
        rows = recall(connection, "half", "ada", query=None, teams=["red"])

    hits = repo.search("ada", profile=half, teams=["red"], touch=False)

    assert {hit.memory.content: hit.signals["views"] for hit in hits} == wanted
    assert [row["id"] for row in rows] == [hit.memory.id for hit in hits]
    assert [row["signals"] for row in rows] == [hit.signals for hit in hits]
    explained = repo.explain("ada", ids[0], profile=half)
    assert [one.value for one in explained.signals] == [0.4, 1.0]
    assert repo.explain("bob", repo.list("bob")[0].id, profile=half).signals[0].value == 0.3
