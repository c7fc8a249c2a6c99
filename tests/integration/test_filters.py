from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest
from sqlalchemy import Table, and_, create_engine, exists, func, or_, select

from pgrecall import MemoryRepository, NewMemory
from tests.conftest import new_database
from tests.integration.support import NORTH, before, contents, shown, sql

STOCK = [
    NewMemory(
        "reef",
        embedding=NORTH,
        memory_type="factual",
        additional_types=["preference"],
        tier="long",
        tags=["sea", "hours"],
        entities=["Reef", "Anna"],
        metadata={"n": 1, "deep": {"list": [1, 2]}, "on": True},
        importance=0.9,
        created_at=before(10),
    ),
    NewMemory(
        "harbour",
        embedding=NORTH,
        memory_type="episodic",
        tier="short",
        tags=["sea"],
        entities=["Anna"],
        metadata={"n": 2, "deep": {"list": [2, 3]}},
        importance=0.2,
        created_at=before(5),
        expires_at=None,
    ),
    NewMemory(
        "task",
        embedding=NORTH,
        memory_type="task",
        tier="medium",
        tags=["Sea"],
        entities=[],
        metadata={"n": "1"},
        created_at=before(1),
    ),
    NewMemory("undated", embedding=NORTH, memory_type="preference", created_at=None),
    NewMemory("archived", embedding=NORTH, tags=["sea"], created_at=before(20)),
    NewMemory("completed", embedding=NORTH, memory_type="task", created_at=before(20)),
]
ACTIVE = {"reef", "harbour", "task", "undated"}


def _shares_an_entity(one: Table, other: Any) -> Any:
    return exists(
        select(1)
        .select_from(other)
        .where(other.c.entities.overlap(one.c.entities), other.c.id != one.c.id)
    )


@pytest.fixture(scope="module")
def stocked(server_url: str, template: str) -> Iterator[MemoryRepository]:
    with new_database(server_url, template) as url:
        engine = create_engine(url)
        repo = MemoryRepository(engine)
        repo.add_many("agent", STOCK)
        for status in ("archived", "completed"):
            sql(
                engine,
                "UPDATE pgrecall.agent_memories SET status = :status WHERE content = :status",
                status=status,
            )
        yield repo
        engine.dispose()


def _assert_found(repo: MemoryRepository, filters: dict[str, Any], expected: set[str]) -> None:
    hits = repo.search("agent", NORTH, touch=False, **filters)

    assert sorted(contents(hits)) == sorted(expected)
    assert repo.count("agent", **filters) == len(expected)


@pytest.mark.parametrize(
    ("filters", "expected"),
    [
        ({}, ACTIVE),
        ({"memory_types": ["factual"]}, {"reef"}),
        ({"memory_types": ["preference"]}, {"reef", "undated"}),
        ({"memory_types": ("task", "factual")}, {"task", "reef"}),
        ({"memory_types": []}, set()),
        ({"memory_types": ["nothing"]}, set()),
        ({"tiers": ["short"]}, {"harbour"}),
        ({"tiers": ["short", "medium"]}, {"harbour", "task"}),
        ({"tiers": []}, set()),
        ({"tags": ["sea"]}, {"reef", "harbour"}),
        ({"tags": ["hours", "Sea"]}, {"reef", "task"}),
        ({"tags": []}, set()),
        ({"all_tags": ["sea", "hours"]}, {"reef"}),
        ({"all_tags": ["sea"]}, {"reef", "harbour"}),
        ({"all_tags": []}, ACTIVE),
        ({"entities": ["Anna"]}, {"reef", "harbour"}),
        ({"entities": ["Reef", "nobody"]}, {"reef"}),
        ({"entities": []}, set()),
        ({"all_entities": ["Anna", "Reef"]}, {"reef"}),
        ({"all_entities": []}, ACTIVE),
        ({"metadata": {"n": 1}}, {"reef"}),
        ({"metadata": {"n": "1"}}, {"task"}),
        ({"metadata": {"deep": {"list": [2]}}}, {"reef", "harbour"}),
        ({"metadata": {"deep": {"list": [3]}, "n": 2}}, {"harbour"}),
        ({"metadata": {"on": True}}, {"reef"}),
        ({"metadata": {"n": None}}, set()),
        ({"metadata": {}}, ACTIVE),
        ({"created_after": before(5)}, {"harbour", "task"}),
        ({"created_before": before(5)}, {"reef"}),
        ({"created_after": before(10), "created_before": before(1)}, {"reef", "harbour"}),
        ({"created_after": before(1), "created_before": before(1)}, set()),
        ({"statuses": ["archived"]}, {"archived"}),
        ({"statuses": ["active", "completed"]}, ACTIVE | {"completed"}),
        ({"statuses": []}, set()),
        ({"statuses": None}, ACTIVE),
        ({"tags": None, "memory_types": None, "metadata": None, "where": None}, ACTIVE),
    ],
    ids=shown,
)
def test_a_filter_passes_what_it_says(
    stocked: MemoryRepository, filters: dict[str, Any], expected: set[str]
) -> None:
    _assert_found(stocked, filters, expected)


@pytest.mark.parametrize(
    ("filters", "expected"),
    [
        ({"tags": ["sea"], "tiers": ["short"]}, {"harbour"}),
        ({"tags": ["sea"], "all_tags": ["hours"]}, {"reef"}),
        ({"tags": ["sea"], "statuses": ["active", "archived"]}, {"reef", "harbour", "archived"}),
        ({"entities": ["Anna"], "metadata": {"n": 2}}, {"harbour"}),
        ({"memory_types": ["task"], "statuses": ["completed"]}, {"completed"}),
        ({"tags": ["sea"], "created_after": before(7), "as_of": before(0)}, {"harbour"}),
        ({"tags": ["sea"], "as_of": before(7)}, {"reef"}),
        (
            {
                "memory_types": ["factual"],
                "tiers": ["long"],
                "tags": ["sea"],
                "all_tags": ["sea", "hours"],
                "entities": ["Anna"],
                "all_entities": ["Anna"],
                "metadata": {"n": 1},
                "created_after": before(11),
                "created_before": before(9),
                "statuses": ["active"],
                "as_of": before(0),
                "min_similarity": 0.9,
                "min_score": 0.1,
            },
            {"reef"},
        ),
    ],
)
def test_all_filters_given_must_pass(
    stocked: MemoryRepository, filters: dict[str, Any], expected: set[str]
) -> None:
    thresholds = {"min_similarity", "min_score"}
    hits = stocked.search("agent", NORTH, touch=False, **filters)
    for_count = {name: value for name, value in filters.items() if name not in thresholds}

    assert set(contents(hits)) == expected
    assert stocked.count("agent", **for_count) == len(expected)


@pytest.mark.parametrize(
    ("where", "expected"),
    [
        (lambda m: m.c.importance > 0.5, {"reef"}),
        (lambda m: [m.c.importance > 0.1, m.c.tier == "short"], {"harbour"}),
        (lambda m: or_(m.c.tier == "short", m.c.created_at.is_(None)), {"harbour", "undated"}),
        (lambda m: and_(m.c.agent_id == "agent", m.c.content.like("h%")), {"harbour"}),
        (lambda m: m.c.agent_id == "another", set()),
        (lambda m: m.c.metadata["n"].as_string() == "1", {"reef", "task"}),
        (lambda m: func.length(m.c.content) == 4, {"reef", "task"}),
        (lambda m: ~m.c.tags.contains(["sea"]), {"task", "undated"}),
        (lambda m: m.c.id.in_(select(m.alias().c.id).limit(0)), set()),
        (lambda m: _shares_an_entity(m, m.alias()), {"reef", "harbour"}),
        (lambda m: [], ACTIVE),
    ],
)
def test_where_takes_any_expression_over_the_memories(
    stocked: MemoryRepository, where: Callable[[Table], Any], expected: set[str]
) -> None:
    _assert_found(stocked, {"where": where(stocked.memories)}, expected)


def test_where_cannot_reach_another_agents_memories(stocked: MemoryRepository) -> None:
    every = or_(stocked.memories.c.agent_id == "agent", stocked.memories.c.agent_id != "agent")

    assert stocked.search("another", NORTH, where=every) == []


def test_where_is_and_ed_with_a_compound_expression_as_a_whole(stocked: MemoryRepository) -> None:
    either = or_(stocked.memories.c.content == "reef", stocked.memories.c.content == "archived")

    _assert_found(stocked, {"where": either}, {"reef"})


def test_filters_work_in_both_repositories(either: MemoryRepository) -> None:
    either.add_many("agent", STOCK)

    hits = either.search(
        "agent", NORTH, tags=["sea"], where=either.memories.c.importance > 0.5, metadata={"n": 1}
    )

    assert contents(hits) == ["reef"]
