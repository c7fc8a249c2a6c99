from __future__ import annotations

from typing import Any

import pytest
from sqlalchemy import Engine, text

from pgrecall import MemoryRepository, NewMemory
from pgrecall.errors import DatabaseError, InputError, InvalidProfile, UnknownName
from tests.integration.support import NORTH, NOW, before, sql

NAIVE = NOW.replace(tzinfo=None)
NAN = float("nan")
REST = {"recency": 0.25, "usefulness": 0.2, "confidence": 0.1, "frequency": 0.05}

BAD: list[tuple[dict[str, Any], type[InputError], str]] = [
    ({"k": 0}, InputError, r"k must lie within 1 .*got 0"),
    ({"k": -1}, InputError, r"k must.*got -1"),
    ({"k": 1_000_001}, InputError, r"k must.*1000000.*got 1000001"),
    ({"k": True}, InputError, r"k must be a whole number, got True"),
    ({"k": 2.0}, InputError, r"k must be a whole number, got 2\.0"),
    ({"k": "3"}, InputError, r"k must be a whole number, got '3'"),
    ({"k": None}, InputError, r"k must be a whole number, got None"),
    ({"weights": {**REST, "similarity": NAN}}, InvalidProfile, r"similarity.*nan"),
    ({"weights": {**REST, "similarity": -0.4}}, InvalidProfile, r"similarity.*-0\.4"),
    ({"weights": {"similarity": 1.5}}, InvalidProfile, r"similarity.*1\.5"),
    ({"weights": {"similarity": float("inf")}}, InvalidProfile, r"similarity.*inf"),
    ({"weights": {"similarity": True}}, InvalidProfile, r"similarity.*True"),
    ({"weights": {"similarity": "1"}}, InvalidProfile, r"similarity.*number.*'1'"),
    ({"weights": {"similarity": None}}, InvalidProfile, r"similarity.*number.*None"),
    ({"weights": {"similarity": 0.5}}, InvalidProfile, r"sum to 1.*0\.5"),
    ({"weights": {**REST, "similarity": 0.41}}, InvalidProfile, r"sum to 1.*1\.01"),
    ({"weights": {}}, InvalidProfile, r"sum to 1.*0"),
    ({"weights": {"charm": 1.0}}, UnknownName, r"charm.*similarity, keyword"),
    ({"weights": {"self": 1.0}}, UnknownName, r"self.*similarity, keyword"),
    ({"weights": {7: 1.0}}, UnknownName, r"7.*similarity, keyword"),
    ({"weights": [1.0]}, InputError, r"weights.*list"),
    ({"profile": "six_factor"}, UnknownName, r"six_factor.*five_factor"),
    ({"profile": ""}, UnknownName, r"''.*five_factor"),
    ({"profile": 5}, InputError, r"profile.*int"),
    ({"profile": None}, InputError, r"profile.*NoneType"),
    ({"colour": "red"}, UnknownName, r"colour.*memory_types.*where"),
    ({"limit": 5}, UnknownName, r"limit.*memory_types"),
    ({"tiers": ["eternal"]}, UnknownName, r"eternal.*short, medium, long"),
    ({"tiers": "long"}, InputError, r"tiers.*list.*str"),
    ({"statuses": ["gone"]}, UnknownName, r"gone.*active"),
    ({"statuses": "active"}, InputError, r"statuses.*list.*str"),
    ({"tags": "sea"}, InputError, r"tags.*list.*str"),
    ({"tags": [1]}, InputError, r"tags.*text, got int"),
    ({"tags": [None]}, InputError, r"tags.*text, got NoneType"),
    ({"tags": ["a\0b"]}, InputError, r"tags.*NUL.*position 1"),
    ({"all_tags": ["\ud800"]}, InputError, r"all_tags.*surrogate.*position 0"),
    ({"entities": "Anna"}, InputError, r"entities.*list.*str"),
    ({"all_entities": 7}, InputError, r"all_entities.*list.*int"),
    ({"memory_types": "task"}, InputError, r"memory_types.*list.*str"),
    ({"metadata": "n"}, InputError, r"metadata.*JSON object.*str"),
    ({"metadata": [1]}, InputError, r"metadata.*JSON object.*list"),
    ({"metadata": {"n": NAN}}, InputError, r"metadata.*JSON"),
    ({"metadata": {"n": {1, 2}}}, InputError, r"metadata.*JSON"),
    ({"metadata": {"n": "a\0"}}, InputError, r"metadata.*'n'.*NUL"),
    ({"metadata": {"\ud800": 1}}, InputError, r"metadata.*surrogate"),
    ({"created_after": NAIVE}, InputError, r"created_after.*time zone.*2026-06-01"),
    ({"created_before": NAIVE}, InputError, r"created_before.*time zone"),
    ({"created_before": "2026-01-01"}, InputError, r"created_before.*datetime.*str"),
    ({"created_after": NOW.date()}, InputError, r"created_after.*datetime.*date"),
    ({"as_of": NAIVE}, InputError, r"as_of.*time zone"),
    ({"as_of": "now"}, InputError, r"as_of.*datetime.*str"),
    ({"as_of": 0}, InputError, r"as_of.*datetime.*int"),
    ({"query_time": NOW}, InputError, r"query_time must be two datetimes.*got datetime"),
    ({"query_time": (NOW,)}, InputError, r"query_time must be two datetimes"),
    ({"query_time": (NOW, None)}, InputError, r"query_time must be two datetimes"),
    ({"query_time": "ab"}, InputError, r"query_time must be two datetimes, from and to, got 'ab'"),
    ({"query_time": (NOW, "b")}, InputError, r"query_time must be a datetime, got str"),
    ({"query_time": (NAIVE, NOW)}, InputError, r"query_time has no time zone"),
    ({"query_time": (NOW, NOW)}, InputError, r"query_time must end after it begins.*2026-06-01"),
    ({"query_time": (NOW, before(1))}, InputError, r"query_time must end after it begins"),
    ({"dates": "always"}, UnknownName, r"dates must be 'auto'.*'always'"),
    ({"dates": True}, UnknownName, r"dates must be 'auto'.*True"),
    ({"min_score": 1.1}, InputError, r"min_score.*1\.1"),
    ({"min_score": NAN}, InputError, r"min_score.*nan"),
    ({"min_score": "0.5"}, InputError, r"min_score.*str"),
    ({"min_similarity": -0.1}, InputError, r"min_similarity.*-0\.1"),
    ({"min_similarity": True}, InputError, r"min_similarity.*bool"),
    ({"include_invalid": "no"}, InputError, r"include_invalid.*'no'"),
    ({"touch": "no"}, InputError, r"touch.*'no'"),
    ({"where": "importance > 0.5"}, InputError, r"where.*SQLAlchemy.*str"),
    ({"where": True}, InputError, r"where.*SQLAlchemy.*bool"),
    ({"where": ["importance > 0.5"]}, InputError, r"where.*SQLAlchemy.*str"),
]
OF_COUNT = [
    (arguments, error, message)
    for arguments, error, message in BAD
    if not arguments.keys()
    & {"k", "weights", "profile", "min_score", "min_similarity", "touch", "limit"}
    and not arguments.keys() & {"query_time", "dates"}
]


@pytest.mark.parametrize(("arguments", "error", "message"), BAD, ids=lambda value: repr(value)[:50])
def test_a_search_that_cannot_be_made_is_refused_and_counts_nothing(
    shared_repo: MemoryRepository,
    shared_engine: Engine,
    agent: str,
    arguments: dict[str, Any],
    error: type[InputError],
    message: str,
) -> None:
    shared_repo.add(agent, NewMemory("a", embedding=NORTH))

    with pytest.raises(error, match=message) as caught:
        shared_repo.search(agent, NORTH, **arguments)

    usage = "SELECT * FROM pgrecall.memory_usage WHERE agent_id = :agent"
    assert type(caught.value) is error
    assert sql(shared_engine, usage, agent=agent) == []


@pytest.mark.parametrize(
    ("arguments", "error", "message"), OF_COUNT, ids=lambda value: repr(value)[:50]
)
def test_count_refuses_what_search_refuses(
    shared_repo: MemoryRepository,
    agent: str,
    arguments: dict[str, Any],
    error: type[InputError],
    message: str,
) -> None:
    with pytest.raises(error, match=message):
        shared_repo.count(agent, **arguments)


def test_refusals_are_value_errors(either: MemoryRepository) -> None:
    with pytest.raises(ValueError, match="k must"):
        either.search("agent", NORTH, k=0)


def test_an_expression_that_is_no_condition_is_the_databases_to_refuse(
    either: MemoryRepository,
) -> None:
    with pytest.raises(DatabaseError, match="boolean"):
        either.search("agent", NORTH, where=either.memories.c.content)


def test_raw_sql_is_a_condition_too(either: MemoryRepository) -> None:
    either.add("agent", NewMemory("a", embedding=NORTH, importance=0.9))
    high: Any = text("agent_memories.importance > 0.5")
    low: Any = text("agent_memories.importance < 0.5")

    assert len(either.search("agent", NORTH, where=high)) == 1
    assert either.search("agent", NORTH, where=[high, low]) == []
