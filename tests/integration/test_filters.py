"""Filters: which memories take part in a search at all."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from typing import Any

import pytest
from sqlalchemy import Engine, Table, and_, exists, or_, select, text

from pgrecall import MemoryRepository
from pgrecall.core.limits import MAX_COMPARISONS, MAX_DEPTH, MAX_TEXT_LENGTH, MAX_VALUES
from pgrecall.core.metadata_path import path_of
from pgrecall.errors import DatabaseError, InputError, UnknownName
from pgrecall.execution.error_mapping import map_errors
from pgrecall.ranking.filters import FilterArguments, Filters
from pgrecall.ranking.metadata_filter import OPERATORS
from tests.integration.owner import Owner, north, plain
from tests.integration.recalling import Connection, recall
from tests.integration.support import NORTH, NOW, before, contents, nested, shown, sql

NAMES = ("component", "output_type", "domain", "category", "loop", "memory_nature", "content_type")


def named(values: Sequence[str]) -> dict[str, Any]:
    return dict(zip(NAMES, values, strict=True))


STOCK = [
    north(
        "reef",
        memory_type="factual",
        additional_types=["preference"],
        tier="long",
        tags=["sea", "hours"],
        entities=["Reef", "Anna"],
        metadata={"n": 1, "deep": {"list": [1, 2]}, "on": True},
        importance=0.9,
        created_at=before(10),
        trust=0.8,
        trust_curve="exponential",
        trust_half_life_hours=24,
        compliant=True,
        **named(("hunter", "action", "law", "x", "in", "own", "text/html")),
    ),
    north(
        "harbour",
        memory_type="episodic",
        tier="short",
        tags=["sea"],
        entities=["Anna"],
        metadata={"n": 2, "deep": {"list": [2, 3]}},
        importance=0.2,
        created_at=before(5),
        expires_at=None,
        trust=0.6,
        compliant=False,
        **named(("meta", "decision", "art", "y", "out", "semantic", "json")),
    ),
    north(
        "task",
        memory_type="task",
        tier="medium",
        tags=["Sea"],
        metadata={"n": "1"},
        created_at=before(1),
        trust=0.3,
    ),
    north("undated", memory_type="preference", created_at=None, trust=None),
    north("archived", tags=["sea"], created_at=before(20)),
    north("completed", memory_type="task", created_at=before(20)),
    north("over", created_at=before(20), valid_until=before(19)),
]
ACTIVE = {"reef", "harbour", "task", "undated"}
COUNTED = """
INSERT INTO pgrecall.memory_usage (agent_id, memory_id, last_accessed_at)
SELECT agent_id, id, CAST(:day AS timestamptz) FROM pgrecall.agent_memories WHERE content = 'reef'
"""


def _shares_an_entity(one: Table, other: Any) -> Any:
    return exists(
        select(1)
        .select_from(other)
        .where(other.c.entities.overlap(one.c.entities), other.c.id != one.c.id)
    )


@pytest.fixture(scope="module")
def stocked(module_engine: Engine) -> MemoryRepository:
    repo = MemoryRepository(module_engine)
    repo.add_many("agent", STOCK, check_compliance=False)
    repo.add("another", north("reef", importance=0.9))
    for text_, importance in (("ours", 0.9), ("dull", 0.1)):
        ours = north(text_, importance=importance, entities=["Anna"])
        repo.teams.add("red", ours)
    put_away = "UPDATE pgrecall.agent_memories SET status = content WHERE content = ANY(:statuses)"
    sql(module_engine, put_away, statuses=["archived", "completed"])
    sql(module_engine, "UPDATE pgrecall.agent_memories SET needs_review = content = 'harbour'")
    sql(module_engine, COUNTED, day=before(1))
    return repo


def _assert_found(repo: MemoryRepository, filters: dict[str, Any], expected: set[str]) -> None:
    hits = repo.search("agent", NORTH, touch=False, **filters)

    assert sorted(contents(hits)) == sorted(expected)
    assert repo.count("agent", **filters) == len(expected)


PASSES: list[tuple[dict[str, Any], set[str]]] = [
    ({}, ACTIVE),
    ({"memory_types": ["factual"]}, {"reef"}),
    ({"memory_types": ["preference"]}, {"reef", "undated"}),
    ({"memory_types": []}, set()),
    ({"tiers": ["short", "medium"]}, {"harbour", "task"}),
    ({"tags": ["hours", "Sea"]}, {"reef", "task"}),
    ({"tags": []}, set()),
    ({"all_tags": ["sea", "hours"]}, {"reef"}),
    ({"all_tags": []}, ACTIVE),
    ({"entities": ["Reef", "nobody"]}, {"reef"}),
    ({"all_entities": ["Anna", "Reef"]}, {"reef"}),
    ({"all_entities": []}, ACTIVE),
    ({"metadata": {"n": 1}}, {"reef"}),
    ({"metadata": {"n": "1"}}, {"task"}),
    ({"metadata": {"deep": {"list": [2]}}}, {"reef", "harbour"}),
    ({"metadata": {"n": None}}, set()),
    ({"metadata": {}}, ACTIVE),
    ({"created_after": before(5)}, {"harbour", "task"}),
    ({"created_before": before(5)}, {"reef"}),
    ({"created_after": before(10), "created_before": before(1)}, {"reef", "harbour"}),
    ({"min_trust": 0.41, "as_of": NOW}, {"harbour"}),  # of 0.8 a half is left
    ({"min_trust": 0.39, "as_of": NOW}, {"harbour", "reef"}),
    ({"components": ["hunter"]}, {"reef"}),
    ({"output_types": ["decision", "other"]}, {"harbour"}),
    ({"domains": ["law"]}, {"reef"}),
    ({"categories": ["y"]}, {"harbour"}),
    ({"loops": ["in", "out"]}, {"reef", "harbour"}),
    ({"memory_natures": ["semantic"]}, {"harbour"}),
    ({"content_types": ["text/html"]}, {"reef"}),
    ({"needs_review": True}, {"harbour"}),
    ({"compliant": True}, {"reef"}),
    ({"include_invalid": True}, ACTIVE | {"over"}),
    ({"statuses": ["archived"]}, {"archived"}),
    ({"statuses": ["active", "completed"]}, ACTIVE | {"completed"}),
    ({"tags": None, "memory_types": None, "metadata": None, "where": None}, ACTIVE),
    ({"tags": ["sea"], "all_tags": ["hours"]}, {"reef"}),
    ({"memory_types": ["task"], "statuses": ["completed"]}, {"completed"}),
    ({"tags": ["sea"], "as_of": before(7)}, {"reef"}),
]


def test_every_filter_is_here() -> None:
    asked = {name for filters, _ in PASSES for name in filters}
    assert FilterArguments.__annotations__.keys() - asked == {"text"}, "which has its own tests"


@pytest.mark.parametrize(("filters", "expected"), PASSES, ids=shown)
def test_a_filter_passes_what_it_says(
    stocked: MemoryRepository, filters: dict[str, Any], expected: set[str]
) -> None:
    _assert_found(stocked, filters, expected)


@pytest.mark.parametrize(
    ("where", "expected"),
    [
        (lambda m: m.c.importance > 0.5, {"reef"}),
        (lambda m: or_(m.c.tier == "short", m.c.created_at.is_(None)), {"harbour", "undated"}),
        (lambda m: and_(m.c.agent_id == "agent", m.c.content.like("h%")), {"harbour"}),
        (lambda m: or_(m.c.agent_id == "agent", m.c.agent_id != "agent"), ACTIVE),
        (lambda m: m.c.metadata["n"].as_string() == "1", {"reef", "task"}),
        (lambda m: ~m.c.tags.contains(["sea"]), {"task", "undated"}),
        (lambda m: m.c.id.in_(select(m.alias().c.id).limit(0)), set()),
        (lambda m: _shares_an_entity(m, m.alias()), {"reef", "harbour"}),
        (lambda m: text("true OR true"), ACTIVE),
        (lambda m: text("content <> ')' OR 1 = 1"), ACTIVE),
        (lambda m: [text("true OR true"), m.c.importance > 0.5], {"reef"}),
        (lambda m: text("content = :mine").bindparams(mine="reef"), {"reef"}),
    ],
)
def test_where_takes_any_expression_over_the_agent_s_own_memories(
    stocked: MemoryRepository, where: Callable[[Table], Any], expected: set[str]
) -> None:
    _assert_found(stocked, {"where": where(stocked.memories)}, expected)


def test_filters_hold_for_memories_of_teams_too(stocked: MemoryRepository) -> None:
    asked: dict[str, Any] = {"where": stocked.memories.c.importance > 0.4, "entities": ["Anna"]}

    found = stocked.search("agent", NORTH, teams=["red"], touch=False, **asked)

    assert sorted(contents(found)) == ["ours", "reef"]
    with pytest.raises(DatabaseError, match="boolean"):  # what is no condition
        stocked.search("agent", NORTH, where=stocked.memories.c.content)


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
        found = mine.search(k=100, metadata=metadata, touch=False)
        assert {hit.memory.content for hit in found} == {*names.split()}, metadata
        assert mine.count(metadata=metadata) == len(found)
        rows = recall(connection, "five_factor", mine.name, metadata=metadata)
        assert {row["content"] for row in rows} == {*names.split()}, metadata

    [one] = mine.search(metadata={"n": {"$eq": 1}}, touch=False)
    why = mine.explain(one.memory.id, metadata={"n": {"$gt": 5}})
    reason = "filtered by metadata: its metadata['n'] is 1, the filter requires {'$gt': 5}"
    assert why.reasons == (reason,)
    asked: dict[str, Any] = {"memory_id": one.memory.id, "metadata": {"n": {"$lte": 1, "$gt": 5}}}
    [row] = recall(connection, "five_factor", mine.name, function="explain", **asked)
    assert row["reasons"] == ["filtered by metadata $gt"]


def test_a_path_is_taken_apart_alike_in_python_and_psql(connection: Connection) -> None:
    pieces = ["a", ".", "\\", "\\\\", "é", "\n", "'", "1"]
    chance = random.Random(3)
    for _ in range(300):
        key = "".join(chance.choices(pieces, k=chance.randrange(7)))
        [row] = connection.execute("SELECT pgrecall.metadata_path(%s) AS path", (key,)).fetchall()
        assert row["path"] == path_of(key), key


def test_a_path_is_explained(mine: Owner) -> None:
    id_ = mine.add(plain("m", metadata={"user": {"ages": [1, 30]}}))
    for key, has in {
        "user.ages.1": 30,
        "user.ages.2": "'missing'",
        "user.x.y": "'missing'",
    }.items():
        [reason] = mine.explain(id_, metadata={key: {"$lt": 30, "$exists": True}}).reasons[:1]
        assert f"its metadata['{key}'] is {has}" in reason


def test_comparisons_that_cannot_be_are_refused_in_psql_too(connection: Connection) -> None:
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
        ({"metadata": {f"n{n}": {"$gt": n} for n in range(MAX_COMPARISONS + 1)}}, "64 comparisons"),
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
def test_a_filter_ends_at_its_limits_in_python_and_in_psql(
    shared_repo: MemoryRepository, connection: Connection, filters: dict[str, Any], said: str
) -> None:
    with pytest.raises(InputError, match=said):
        shared_repo.search("agent", **filters)
    with pytest.raises(InputError, match=said), map_errors():
        recall(connection, "five_factor", "agent", **filters)


def test_a_filter_at_its_limits_passes(mine: Owner, connection: Connection) -> None:
    mine.add(plain("m", metadata={"n": 5}, tags=["t1"]))
    compared = {f"n{n}": {"$exists": False} for n in range(MAX_COMPARISONS - 1)}
    for metadata in (
        compared | {"n": {"$lt": 6}},
        {"n": {"$in": [5, *range(10, 10 + MAX_VALUES - 1)]}},
        {".".join("a" * 32): {"$exists": False}, "a" * 10_000: {"$exists": False}},
        {"x": {"$ne": nested(MAX_DEPTH - 2)}},
    ):
        asked: dict[str, Any] = {"metadata": metadata, "tags": MANY[1:]}
        assert len(mine.search(touch=False, **asked)) == 1
        assert len(recall(connection, "five_factor", mine.name, **asked)) == 1


@pytest.mark.parametrize("more", [0, MAX_COMPARISONS - 1])
def test_lists_are_values_like_others(mine: Owner, more: int) -> None:
    for n, value in enumerate(([1], 1, ["a"], "a", [], [[1]], {"x": [1]})):
        metadata = {"k": value}
        mine.add(plain(f"{n}", metadata=metadata))
    beside = {f"n{n}": {"$exists": False} for n in range(more)}
    for asked, found in (
        ([[1], [2]], "0"),
        ([["a"], "zz"], "2"),
        ([[]], "4"),
        ([[[1]], {"x": [1]}, "a"], "356"),
    ):
        kept = mine.list(metadata={"k": {"$in": asked}, **beside})
        left = mine.list(metadata={"k": {"$nin": asked}, **beside})
        assert sorted(one.content for one in kept) == list(found)
        assert len(kept) + len(left) == 7


def test_metadata_name_a_key_once_and_do_not_contain_themselves(
    shared_repo: MemoryRepository,
) -> None:
    with pytest.raises(InputError, match="is given twice"):
        shared_repo.count("agent", metadata={"a\\b": 1, "a\\\\b": 2})
    endless: dict[str, Any] = {}
    endless["a"] = endless
    with pytest.raises(InputError):
        shared_repo.search("agent", metadata=endless)
    with pytest.raises(InputError):
        shared_repo.add("agent", plain("m", metadata=endless))


def test_comparisons_of_any_kind_are_one_statement() -> None:
    """Statements are cached by the shape of the filters."""
    shapes = {
        Filters.of({"metadata": {f"n{n}": {operator: 1} for n in range(count)}}).options
        for count in (*range(1, 8), MAX_COMPARISONS)
        for operator in ("$gt", "$lt", "$eq", "$ne")
    }
    assert len(shapes) == 4, "one, two, four, more"
