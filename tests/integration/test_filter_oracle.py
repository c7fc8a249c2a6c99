"""Filters let through what an oracle in plain Python lets through: 5,000 random trees."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta
from typing import Any
from uuid import UUID

import pytest
from sqlalchemy import Connection, Engine, text

from pgrecall import MemoryRepository
from pgrecall.schema.fields import FIELDS
from tests.integration import filter_oracle
from tests.integration.filter_oracle import ALIASES, PATHS, Filters, passes
from tests.integration.random_memories import Dice
from tests.integration.support import NOW

WAYS = {"search": 500, "list": 700, "count": 3_800}
"""Who is asked how often. A search alone may compare similarity; a count is the cheapest."""
MEMORIES = 120
QUERY = [3.0, 1.0, 4.0, -1.0, 5.0, 0.0, 2.0, -6.0]
PROVENANCE = {
    "constitutional_compliance": "compliant",
    "errors": "has_errors",
    "policy_violation": "violates_policy",
    "policy_review": "under_policy_review",
    **{name: name for name in ("component", "output_type", "domain", "category", "loop")},
    **{name: name for name in ("quality_score", "requires_approval")},
}
TYPES = {
    **{
        one.name: "vector" if one.name == "embedding" else one.kind.type
        for one in FIELDS
        if one.shown and one.name not in ("metadata", *PROVENANCE.values())
    },
    **{
        f"provenance.{key}": next(one.kind.type for one in FIELDS if one.name == name)
        for key, name in PROVENANCE.items()
    },
    "decayed_trust": "float8",
    "similarity": "float8",
}
"""The keys of filters but paths into metadata, and the type of each."""
KNOWN = {
    "status": ["active", "pending", "consolidated", "completed", "archived"],
    "tier": ["short", "medium", "long"],
    "trust_curve": ["hyperbolic", "exponential", "linear"],
    "invalidation_reason": ["superseded", "forgotten"],
}
NOWHERE: dict[str, list[Any]] = {
    "text": ["nowhere"],
    "text[]": ["nowhere"],
    "float8": [0.0, 0.5, 1.0],
    "integer": [0, 3, 2.5],
    "timestamptz": [NOW, (NOW - timedelta(days=40)).isoformat()],
    "uuid": [UUID(int=7), str(UUID(int=8))],
    "boolean": [True, False],
    "vector": [],
}
"""Values that may or may not occur, by type."""


def new_memory(dice: Dice, number: int) -> dict[str, Any]:
    def maybe(value: Any, chance: float = 0.6) -> Any:
        return value if dice.maybe(chance) else None

    def ago(low: float, high: float) -> Any:
        return NOW - timedelta(days=dice.between(low, high))

    words = [dice.pick(["lamp", "boat", "river", "garden"]) for _ in range(dice.whole(1, 5))]
    session = maybe(dice.pick(["alpha", "beta"]))
    return {
        **({"key": f"key{number}"} if dice.maybe(0.3) else {"id": UUID(int=number + 1)}),
        "content": " ".join([*words, dice.pick(["50%", "a_b", "Zoë", "end"]), str(number)]),
        "embedding": maybe(dice.vector(), 0.8),
        "embedding_model": None,
        "memory_type": dice.pick(["fact", "task", "note"]),
        "additional_types": dice.some(["fact", "chore"], 0, 2),
        "memory_nature": maybe(dice.pick(["semantic", "own"])),
        "content_type": maybe(dice.pick(["json", "markdown"])),
        "tier": dice.pick(KNOWN["tier"]),
        "subject": maybe(dice.pick(["kitchen", "budget"])),
        "tags": dice.some(["home", "work", "%s", "kind:plan"], 0, 3),
        "entities": dice.some(["Ann Lee", "Acme", "Zoë", "Bob"], 0, 3),
        "metadata": new_metadata(dice),
        **{name: dice.random() for name in ("importance", "usefulness", "confidence")},
        "trust": maybe(dice.random(), 0.8),
        **{
            f"trust_{part}": maybe(dice.random())
            for part in ("provenance", "consensus", "governance", "usage")
        },
        "trust_curve": maybe(dice.pick(KNOWN["trust_curve"])),
        "trust_half_life_hours": maybe(dice.between(1, 2_000)),
        "component": maybe(dice.pick(["hunter", "planner"])),
        "output_type": maybe(dice.pick(["action", "decision"])),
        "domain": maybe(dice.pick(["law", "art"])),
        "category": maybe(dice.pick(["x", "y"])),
        "loop": maybe(dice.pick(["inner", "outer"])),
        "quality_score": maybe(dice.random()),
        "compliant": maybe(dice.maybe(0.5)),
        **{
            name: dice.maybe(0.3) for name in ("requires_approval", "has_errors", "violates_policy")
        },
        "under_policy_review": dice.maybe(0.3),
        "created_at": maybe(ago(0, 300), 0.9),
        "observed_at": maybe(ago(-5, 300), 0.4),
        "valid_from": maybe(ago(-5, 100), 0.2),
        "valid_until": maybe(ago(-400, 5), 0.2),
        "expires_at": maybe(ago(-400, 5), 0.2),
        "tokens": dice.whole(1, 9),
        "session": session,
        "turn": None if session is None else maybe(number),
    }


def new_metadata(dice: Dice) -> dict[str, Any]:
    anything = [True, False, 0, 1, 1.0, 2.5, "1", "true", "", None, [], {}, [1, "x"], {"a": 1}]
    values = {
        "project": dice.pick(["quay", "mill", "pier"]),
        "priority": dice.pick([1, 2, 3, 2.5, "high", None]),
        "done": dice.maybe(0.5),
        "nothing": None,
        "any": dice.pick(anything),
        "user": {
            "age": dice.whole(20, 25),
            "name": dice.pick(["ann", "bo"]),
            "scores": dice.pick([[1], [2, 1], [], ["x", 2]]),
            "deep": dice.pick([{"x": 1}, {"x": [1]}, {"y": None}, 3]),
        },
        "app.version": dice.pick(["4.19", 5]),
        filter_oracle.ODD: dice.pick([1, "it's", "%(y)s", ":x", '"']),
        "list": dice.pick([["a", "b"], ["b"], [1, 2, 3], "a"]),
    }
    return {name: value for name, value in values.items() if dice.maybe(0.7)}


@pytest.fixture
def connection(shared_engine: Engine) -> Iterator[Connection]:
    with shared_engine.connect() as own:
        yield own
        own.rollback()


def fill(connection: Connection, agent: str) -> MemoryRepository:
    dice = Dice("what is stored")
    repository = MemoryRepository(connection)
    new: list[Any] = [new_memory(dice, number) for number in range(MEMORIES)]
    ids = repository.add_many(agent, new, check_compliance=False)
    others: list[Any] = [new_memory(dice, number + 1_000) for number in range(9)]
    repository.add_many(f"not {agent}", others, check_compliance=False)
    for alias, entity in ALIASES.items():
        repository.names.alias(agent, alias, entity)

    def change(table: str, key: str, id_: UUID, values: dict[str, Any]) -> None:
        settings = ", ".join(f"{name} = :{name}" for name in values)
        update = f"UPDATE pgrecall.{table} SET {settings} WHERE agent_id = :agent AND {key} = :id"
        connection.execute(text(update), values | {"agent": agent, "id": id_})

    for id_ in ids:
        state: dict[str, Any] = {"needs_review": dice.maybe(0.3)}
        if dice.maybe(0.4):
            state["status"] = dice.pick(KNOWN["status"])
        if dice.maybe(0.2):
            state["invalidated_at"] = NOW - timedelta(days=dice.between(-5, 50))
            state["invalidation_reason"] = dice.pick([None, *KNOWN["invalidation_reason"]])
            state["superseded_by"] = dice.pick([None, *ids])
        change("agent_memories", "id", id_, state)
        if dice.maybe(0.6):
            insert = "INSERT INTO pgrecall.memory_usage (agent_id, memory_id) VALUES (:agent, :id)"
            connection.execute(
                text(f"{insert} ON CONFLICT DO NOTHING"), {"agent": agent, "id": id_}
            )
            counters = ("retrieval_count", "success_count", "failure_count")
            used = {name: dice.whole(0, 5) for name in (*counters, "feedback_up", "feedback_down")}
            accessed = dice.pick([None, NOW - timedelta(days=dice.between(-5, 60))])
            change("memory_usage", "memory_id", id_, {**used, "last_accessed_at": accessed})
    return repository


def rows_of(connection: Connection, agent: str) -> list[dict[str, Any]]:
    """The memories as they are stored, by the keys of filters."""
    query = """
        SELECT m.*, u.*, m.agent_id, 1 - (m.embedding <=> CAST(:query AS vector)) AS similarity
          FROM pgrecall.agent_memories m
          LEFT JOIN pgrecall.memory_usage u ON u.agent_id = m.agent_id AND u.memory_id = m.id
         WHERE m.agent_id = :agent"""
    found = []
    for one in connection.execute(text(query), {"agent": agent, "query": str(QUERY)}).mappings():
        row = {key: one.get(PROVENANCE.get(key.removeprefix("provenance."), key)) for key in TYPES}
        row["metadata"] = one["metadata"]
        for key, type_ in TYPES.items():
            if type_ == "integer" and key not in ("turn", "tokens"):
                row[key] = row[key] or 0  # a counter
        if row["last_accessed_at"] is not None and row["last_accessed_at"] > NOW:
            row["last_accessed_at"] = None
        row["decayed_trust"] = filter_oracle.decayed_trust(row, NOW)
        found.append(row)
    return found


def pool_of(rows: list[dict[str, Any]]) -> dict[str, list[Any]]:
    """Values to compare with, by key."""
    pool: dict[str, list[Any]] = {}
    for key, type_ in TYPES.items():
        values = [row[key] for row in rows if row[key] is not None]
        if type_ == "text[]":
            values = [one for several in values for one in several]
        pool[key] = KNOWN.get(key) or [*values, *NOWHERE[type_]]
    pool["decayed_trust"] = NOWHERE["float8"]  # others may be rounded otherwise
    pool["entities"] += [*ALIASES, "The Firm", "ANNIE"]
    pool["metadata"] = [True, False, 0, 1, 2.5, "", "1", "x"]
    for path in PATHS:
        values = [filter_oracle.at(row["metadata"], path) for row in rows]
        pool[f"metadata.{path}"] = [one for one in values if one is not filter_oracle.MISSING]
    return pool


def is_looked_at(row: dict[str, Any]) -> bool:
    ends = (row["valid_until"], row["expires_at"], row["invalidated_at"])
    return (
        row["status"] == "active"
        and (row["valid_from"] is None or row["valid_from"] <= NOW)
        and all(end is None or end > NOW for end in ends)
    )


def test_filters_let_through_what_the_oracle_lets_through(
    connection: Connection, agent: str
) -> None:
    repository = fill(connection, agent)
    rows = rows_of(connection, agent)
    dice = Dice("trees")
    filters = Filters(dice, TYPES, pool_of(rows))
    differing, telling = [], 0
    for way in (way for way, times in WAYS.items() for _ in range(times)):
        given = filters.draw(similarity=way == "search")
        everything = dice.maybe(0.8)
        looked_at = [row for row in rows if everything or is_looked_at(row)]
        wanted = {row["id"] for row in looked_at if passes(given, row)}
        found = asked(repository, way, agent, filter=given, include_inactive=everything)
        telling += 0 < len(wanted) < len(looked_at)
        if found != (len(wanted) if way == "count" else wanted):
            differing.append(f"{way} by {given}: {found} instead of {wanted}")

    assert not differing, f"{len(differing)} differ:\n" + "\n".join(differing[:10])
    assert telling > sum(WAYS.values()) / 2


def asked(repository: MemoryRepository, way: str, agent: str, **filters: Any) -> set[UUID] | int:
    """The ids of what passes at NOW, or how many do."""
    if way == "count":
        return repository.count(agent, as_of=NOW, **filters)
    if way == "list":
        page = repository.list(agent, limit=MEMORIES, as_of=NOW, **filters)
        return {memory.id for memory in page}
    how: dict[str, Any] = {"k": MEMORIES, "profile": "trust", "touch": False, "strategy": "exact"}
    hits = repository.search(agent, QUERY, as_of=NOW, **how, **filters)
    return {hit.memory.id for hit in hits}
