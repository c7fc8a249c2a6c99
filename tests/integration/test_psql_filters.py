"""The filters of psql's functions: the metadata that they contain and compare, and their limits."""

from __future__ import annotations

import random
from typing import Any

import pytest

from pgrecall.core.limits import MAX_DEPTH, MAX_TEXT_LENGTH, MAX_VALUES
from pgrecall.core.metadata_path import path_of
from pgrecall.errors import InputError, UnknownName
from pgrecall.execution.error_mapping import map_errors
from pgrecall.migrate.inserted import OPERATORS
from tests.integration.owner import Owner, plain
from tests.integration.recalling import Connection, recall
from tests.integration.support import nested

COMPARED = 64
"""At most so many values of metadata."""
METADATA: dict[str, dict[str, Any]] = {
    "one": {"n": 1, "state": "open", "tags": ["x"]},
    "two": {"n": 2, "state": "late", "deep": {"a": 1, "b.c": {"d": "x"}, "": 5}},
    "ten": {"n": 10, "state": None},
    "text": {"n": "2", "state": "open"},
    "none": {},
    "dots": {"deep.a": 7, "b\\": 1, "b\\.c": 2, "b": {"c": 3}, "": 0, "steps": [{"cost": 4}, "y"]},
}
COMPARISONS: tuple[tuple[dict[str, Any], str], ...] = (
    ({}, "one two ten text none dots"),
    ({"state": "open"}, "one text"),
    ({"deep": {"a": 1}}, "two"),
    ({"tags": ["x"]}, "one"),
    ({"n": {"$eq": 2}}, "two"),
    ({"n": {"$ne": 2}}, "one ten text none dots"),
    ({"n": {"$gt": 2}}, "ten"),
    ({"n": {"$lt": 2}}, "one"),
    ({"n": {"$gt": 1, "$lt": 10}}, "two"),
    ({"n": {"$gte": "1"}}, "text"),
    ({"n": {"$in": [1, "2"]}}, "one text"),
    ({"n": {"$in": []}}, ""),
    ({"n": {"$nin": [1, "2"]}}, "two ten none dots"),
    ({"n": {"$exists": False}}, "none dots"),
    ({"state": {"$exists": True}}, "one two ten text"),
    ({"state": {"$in": [None, "late"]}}, "two ten"),
    ({"n": {"$gte": 1, "$ne": 10}, "state": {"$in": ["open"]}, "tags": ["x"]}, "one"),
    ({"'; DROP TABLE x; --": {"$eq": "%s :name {} \\"}}, ""),
    ({"deep.a": {"$gte": 1}}, "two"),
    ({"deep.a": 1}, "two"),
    ({"deep.x": {"$exists": False}, "n": {"$exists": True}}, "one two ten text"),
    ({"deep.b\\.c.d": "x"}, "two"),
    ({"deep.": 5}, "two"),
    ({"deep\\.a": {"$gt": 6}}, "dots"),
    ({"b\\": 1}, "dots"),
    ({"b\\\\\\.c": 2}, "dots"),
    ({"b.c": 3, "": 0}, "dots"),
    ({"steps.0.cost": {"$lt": 5}, "steps.-1": {"$in": ["y"]}}, "dots"),
    ({"deep.'; DROP TABLE x; --.%s": {"$eq": "{0,path}"}}, ""),
)


def test_comparisons_of_metadata_pass_what_they_say(mine: Owner, connection: Connection) -> None:
    mine.add_many([plain(name, metadata=values) for name, values in METADATA.items()])

    for metadata, names in COMPARISONS:
        rows = recall(connection, "five_factor", mine.name, metadata=metadata)
        assert {row["content"] for row in rows} == {*names.split()}, metadata

    [one] = mine.list(filter={"metadata.n": 1})
    asked: dict[str, Any] = {"memory_id": one.id, "metadata": {"n": {"$lte": 1, "$gt": 5}}}
    [row] = recall(connection, "five_factor", mine.name, function="explain", **asked)
    assert row["reasons"] == ["filtered by metadata $gt"]


def test_a_path_is_taken_apart_alike_in_python_and_psql(connection: Connection) -> None:
    pieces = ["a", ".", "\\", "\\\\", "é", "\n", "'", "1"]
    chance = random.Random(3)
    for _ in range(300):
        key = "".join(chance.choices(pieces, k=chance.randrange(7)))
        [row] = connection.execute("SELECT pgrecall.metadata_path(%s) AS path", (key,)).fetchall()
        assert row["path"] == path_of(key), key


def test_comparisons_that_cannot_be_are_refused(connection: Connection) -> None:
    for operator in ("$like", "$", "$GT", "$where", "$eq "):
        with pytest.raises(UnknownName) as refused, map_errors():
            recall(connection, "five_factor", "agent", metadata={"n": {operator: 1}})
        assert repr(operator) in str(refused.value)
        assert ", ".join(OPERATORS) in str(refused.value)
    wrong = {"$in": 1, "$nin": "ab", "$exists": 1, "$gt": None, "$lt": True, "$gte": [1]}
    for operator, value in wrong.items():
        with pytest.raises(InputError, match=rf"\{operator} takes"), map_errors():
            recall(connection, "five_factor", "agent", metadata={"n": {operator: value}})


MANY = [f"t{number}" for number in range(MAX_VALUES + 1)]


@pytest.mark.parametrize(
    ("filters", "said"),
    [
        ({"metadata": {f"n{n}": {"$gt": n} for n in range(COMPARED + 1)}}, "64 comparisons"),
        ({"metadata": {"n": {"$in": MANY}}}, "1,000 values"),
        ({"metadata": {"a": {"b": MANY[:600], "c": [[x] for x in MANY[:600]]}}}, "1,000 values"),
        ({"metadata": {"a": {"$eq": nested(MAX_DEPTH - 1)}}}, "32 levels"),
        ({"metadata": {".".join("a" * 33): 1}}, "32 keys"),
        ({"metadata": {"a" * 10_001: {"$gt": 1}}}, "10,000 characters"),
        *(({name: MANY}, "1,000 texts") for name in ("tags", "all_entities")),
        ({"teams": MANY}, "1,000 texts"),
        ({"tags": ["x" * (MAX_TEXT_LENGTH + 1)]}, "500,000 characters"),
    ],
)
def test_a_filter_ends_at_its_limits(
    connection: Connection, filters: dict[str, Any], said: str
) -> None:
    with pytest.raises(InputError, match=said), map_errors():
        recall(connection, "five_factor", "agent", **filters)


def test_a_filter_at_its_limits_passes(mine: Owner, connection: Connection) -> None:
    mine.add(plain("m", metadata={"n": 5}, tags=["t1"]))
    compared = {f"n{n}": {"$exists": False} for n in range(COMPARED - 1)}
    for metadata in (
        compared | {"n": {"$lt": 6}},
        {"n": {"$in": [5, *range(10, 10 + MAX_VALUES - 1)]}},
        {".".join("a" * 32): {"$exists": False}, "a" * 10_000: {"$exists": False}},
        {"x": {"$ne": nested(MAX_DEPTH - 2)}},
    ):
        asked: dict[str, Any] = {"metadata": metadata, "tags": MANY[1:]}
        assert len(recall(connection, "five_factor", mine.name, **asked)) == 1
