from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import psycopg
import pytest
from psycopg.rows import dict_row

from pgrecall import MemoryRepository, NewMemory
from pgrecall.errors import InputError, UnknownName
from pgrecall.metadata_filter import OPERATORS
from pgrecall.repository.translation import translated
from tests.integration.recalling import Connection, recall

MEMORIES: dict[str, dict[str, Any]] = {
    "one": {"n": 1, "state": "open", "tags": ["x"]},
    "two": {"n": 2, "state": "late", "deep": {"a": 1}},
    "ten": {"n": 10, "state": None},
    "text": {"n": "2", "state": "open"},
    "none": {},
}


@pytest.fixture
def filled(repo: MemoryRepository) -> MemoryRepository:
    repo.add_many(
        "agent",
        [NewMemory(name, embedding=None, metadata=values) for name, values in MEMORIES.items()],
    )
    return repo


@pytest.fixture
def connection(database_url: str) -> Iterator[Connection]:
    with psycopg.connect(database_url, autocommit=True, row_factory=dict_row) as found:
        yield found


@pytest.mark.parametrize(
    ("metadata", "expected"),
    [
        ({}, set(MEMORIES)),
        ({"state": "open"}, {"one", "text"}),
        ({"deep": {"a": 1}}, {"two"}),
        ({"tags": ["x"]}, {"one"}),
        ({"n": {"$eq": 2}}, {"two"}),
        ({"n": {"$eq": 2.0}}, {"two"}),
        ({"n": {"$ne": 2}}, {"one", "ten", "text", "none"}),
        ({"n": {"$gt": 2}}, {"ten"}),
        ({"n": {"$gte": 2}}, {"two", "ten"}),
        ({"n": {"$lt": 2}}, {"one"}),
        ({"n": {"$lte": 2}}, {"one", "two"}),
        ({"n": {"$gt": 1, "$lt": 10}}, {"two"}),
        ({"n": {"$gte": "1"}}, {"text"}),
        ({"n": {"$in": [1, "2"]}}, {"one", "text"}),
        ({"n": {"$in": []}}, set()),
        ({"n": {"$nin": [1, "2"]}}, {"two", "ten", "none"}),
        ({"n": {"$nin": []}}, set(MEMORIES)),
        ({"n": {"$exists": False}}, {"none"}),
        ({"state": {"$exists": True}}, {"one", "two", "ten", "text"}),
        ({"state": {"$eq": None}}, {"ten"}),
        ({"state": {"$in": [None, "late"]}}, {"two", "ten"}),
        ({"tags": [{"$eq": 1}]}, set()),
        ({"state": "open", "n": {"$lt": 5}}, {"one"}),
        ({"n": {"$gte": 1, "$ne": 10}, "state": {"$in": ["open"]}, "tags": ["x"]}, {"one"}),
        ({"'; DROP TABLE x; --": {"$eq": "%s :name {} \\"}}, set()),
    ],
)
def test_what_passes(
    filled: MemoryRepository,
    connection: Connection,
    metadata: dict[str, Any],
    expected: set[str],
) -> None:
    found = filled.search("agent", k=100, metadata=metadata, touch=False)

    assert {hit.memory.content for hit in found} == expected
    assert filled.count("agent", metadata=metadata) == len(expected)
    rows = recall(connection, "five_factor", "agent", metadata=metadata)
    assert {row["content"] for row in rows} == expected


@pytest.mark.parametrize("operator", ["$like", "$", "$GT", "$where", "$eq "])
def test_an_unknown_operator_is_refused_with_the_list(
    filled: MemoryRepository, connection: Connection, operator: str
) -> None:
    with pytest.raises(UnknownName) as refused:
        filled.search("agent", metadata={"n": {operator: 1}})

    assert repr(operator) in str(refused.value)
    assert ", ".join(OPERATORS) in str(refused.value)
    with pytest.raises(UnknownName) as refused_by_sql, translated():
        recall(connection, "five_factor", "agent", metadata={"n": {operator: 1}})
    assert str(refused_by_sql.value) == str(refused.value)


@pytest.mark.parametrize(
    "comparison",
    [{"$in": 1}, {"$nin": "ab"}, {"$exists": 1}, {"$gt": None}, {"$lt": True}, {"$gte": [1]}],
)
def test_a_value_that_does_not_fit_its_operator_is_refused(
    filled: MemoryRepository, connection: Connection, comparison: dict[str, Any]
) -> None:
    [operator] = comparison

    with pytest.raises(InputError, match=rf"\{operator} takes"):
        filled.search("agent", metadata={"n": comparison})
    with pytest.raises(InputError, match=rf"\{operator} takes"), translated():
        recall(connection, "five_factor", "agent", metadata={"n": comparison})


def test_explain_tells_what_was_asked_for(filled: MemoryRepository, connection: Connection) -> None:
    [one] = filled.search("agent", metadata={"n": {"$eq": 1}}, touch=False)

    why = filled.explain("agent", one.memory.id, metadata={"n": {"$gt": 5}})

    assert not why.returned
    assert why.reasons == ("filtered by metadata: its metadata['n'] is 1, asked for {'$gt': 5}",)
    asked = {"n": {"$lte": 1, "$gt": 5}}
    [row] = recall(
        connection,
        "five_factor",
        "agent",
        function="explain",
        memory_id=one.memory.id,
        metadata=asked,
    )
    assert row["reasons"] == ["filtered by metadata $gt"]
