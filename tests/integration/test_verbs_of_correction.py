"""Verbs that correct: psql and the repository call the same functions."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any
from uuid import UUID, uuid4

import psycopg
import pytest
from psycopg.rows import dict_row
from psycopg.types.json import Jsonb

from pgrecall import MemoryRepository, NewMemory
from pgrecall.errors import (
    DuplicateMemory,
    InputError,
    InvalidMemory,
    MemoryNotFound,
    NotCompliant,
    SupersessionConflict,
    UnknownName,
)
from pgrecall.repository.translation import translation
from tests.integration.support import NORTH
from tests.integration.test_verbs import Connection, Rows, Twins, call

UNKNOWN = UUID(int=7)
LATER = datetime(2100, 1, 1, tzinfo=UTC)
NOTE: dict[str, Any] = {"reason": "why", "actor": "Ann"}


@pytest.fixture(scope="module")
def connection(shared_url: str) -> Iterator[Connection]:
    with psycopg.connect(shared_url, autocommit=True, row_factory=dict_row) as found:
        yield found


@pytest.fixture
def twins(shared_repo: MemoryRepository, connection: Connection, agent: str) -> Twins:
    found = Twins(shared_repo, connection, agent)
    found.add(
        {
            "a": {"importance": 0.7, "subject": "tea"},
            "b": {"tier": "short"},
            "c": {"tier": "medium", "expires_at": LATER},
            "d": {},
        }
    )
    return found


def stored(twins: Twins, number: int) -> Any:
    """With `soon` for the expiry of a tier, which is counted from now."""
    rows = json.dumps(twins.rows(number))
    return json.loads(re.sub(r'"expires_at": "(?!2100)[^"]*"', '"expires_at": "soon"', rows))


def supersede(twins: Twins, memory_id: UUID, new: str, **options: Any) -> Rows:
    """By psql; `new` is the text, options that begin with new_ are further fields of it."""
    fields = {
        name.removeprefix("new_"): value
        for name, value in options.items()
        if name.startswith("new_")
    }
    rest = {name: value for name, value in options.items() if not name.startswith("new_")}
    given = "".join(f", {name} => %({name})s" for name in fields)
    further = "".join(f", {name} => %({name})s" for name in rest)
    return twins.connection.execute(
        f"SELECT * FROM pgrecall.supersede(%(agent)s, %(memory_id)s, "
        f"pgrecall.new_memory(%(text)s{given}){further})",
        {"agent": twins.two, "memory_id": memory_id, "text": new, **fields, **rest},
    ).fetchall()


def test_superseding_as_the_repository_does(twins: Twins) -> None:
    known: dict[int, dict[str, UUID]] = {1: {}, 2: {}}
    steps: list[tuple[str, str, dict[str, Any], dict[str, Any]]] = [
        ("a", "new", {"embedding": str(NORTH), "tokens": 3}, {}),
        ("b", "c", {"tokens": 3}, {}),  # another active memory takes its place
        ("a", "newer", {"valid_from": LATER, "importance": 0.2, "tokens": 3}, {"force": True}),
    ]
    for old, text, fields, options in steps:
        given = fields | ({"embedding": NORTH} if "embedding" in fields else {"embedding": None})
        by_python = twins.repo.supersede(
            twins.one, twins.id(old), NewMemory(text, **given), **options, **NOTE
        )
        named = {f"new_{name}": value for name, value in fields.items()}
        [row] = supersede(twins, twins.id(old, 2), text, **named, **options, **NOTE)
        assert row["outcome"] == by_python.outcome
        known[1][text] = UUID(int=by_python.int)
        known[2][text] = row["successor"]
    for number in (1, 2):
        twins.name(known[number], number)

    assert stored(twins, 2) == stored(twins, 1)
    assert twins.of_two("new")["importance"] == 0.7
    assert twins.of_two("new")["subject"] == "tea"
    assert twins.of_two("b")["superseded_by"] == str(twins.id("c", 2))


def test_importance_tiers_and_fields_as_the_repository_does(twins: Twins) -> None:
    told = []
    for ids, up in (("abcd", True), ("bcd", True), ("abcd", False), ("abcd", False), ("a", False)):
        move = twins.repo.promote if up else twins.repo.demote
        told.append(
            (
                move(twins.one, [*twins.ids(ids), UNKNOWN], **NOTE),
                len(twins.call("move_tier", [*twins.ids(ids, 2), UNKNOWN], up, **NOTE)),
            )
        )
    for importance in (0.25, 0.0, 1.0):
        twins.repo.set_importance(twins.one, twins.id("a"), importance, **NOTE)
        [row] = twins.call("set_importance", twins.id("a", 2), importance, **NOTE)
        assert row["importance"] == importance
    for changes in (
        {"importance": 0.4, "tags": ["x"], "subject": None},
        {"content": "A, corrected", "embedding": None, "embedding_model": None, "tokens": 3},
        {"valid_until": LATER, "metadata": {"page": [1, None]}},
    ):
        memory = twins.repo.update(twins.one, twins.id("a"), **changes, **NOTE)
        written = {k: str(v) if v is LATER else v for k, v in changes.items()}
        [row] = twins.call("update_memory", twins.id("a", 2), Jsonb(written), **NOTE)
        assert all(row[name] == getattr(memory, name) for name in changes if name != "embedding")

    assert told == [(2, 2), (1, 1), (4, 4), (4, 4), (0, 0)]
    assert stored(twins, 2) == stored(twins, 1)


def test_deleting_as_the_repository_does(twins: Twins) -> None:
    twins.use_everything()
    for names, number in (("ab", 2), ("bc", 1), ("", 0)):
        assert twins.repo.delete(twins.one, [*twins.ids(names), uuid4()], **NOTE) == number
        ids = twins.ids(names, 2)
        assert len(twins.call("forget", [*ids, *ids[:1], uuid4(), None], **NOTE)) == number

    assert stored(twins, 2) == stored(twins, 1)
    assert [row["content"] for row in twins.memories(2)] == ["d"]


# What is refused

OWNERS = [({"agent": owner}, InputError) for owner in (None, "", "team:", "x" * 206)]
NOTES: list[tuple[dict[str, Any], type[Exception]]] = [
    ({"actor": ""}, InputError),
    ({"actor": "x" * 201}, InputError),
    ({"metadata": Jsonb([])}, InputError),
    ({"metadata": None}, InputError),
]
NO_FIELDS: list[Any] = [{}, [], 1, {"id": "x"}, {"key": "x"}]
CHANGES: list[tuple[Any, type[Exception]]] = [
    *((Jsonb(wrong), InvalidMemory) for wrong in NO_FIELDS),
    (None, InvalidMemory),
    *((Jsonb({name: 1}), UnknownName) for name in ("flavour", "status", "updated_at", "edition")),
    (Jsonb({"content": "new"}), InvalidMemory),
    (Jsonb({"content": "", "embedding": None}), InvalidMemory),
    (Jsonb({"content": "b", "embedding": None}), DuplicateMemory),
    (Jsonb({"compliant": False}), NotCompliant),
]
REFUSED: dict[str, list[tuple[dict[str, Any], type[Exception]]]] = {
    "set_importance": [
        ({"memory_id": UNKNOWN}, MemoryNotFound),
        ({"memory_id": None}, MemoryNotFound),
        *(({"importance": share}, InputError) for share in (None, -0.1, 1.1, float("nan"))),
    ],
    "move_tier": [({"up": None}, InputError)],
    "update_memory": [
        ({"memory_id": UNKNOWN}, MemoryNotFound),
        *(({"changes": changes}, error) for changes, error in CHANGES),
    ],
    "forget": [],
    "revive": [],
    "invalidate": [],
}


@pytest.mark.parametrize(
    ("name", "wrong", "error"),
    [(name, *case) for name, of_it in REFUSED.items() for case in (*OWNERS, *NOTES, *of_it)],
    ids=lambda value: ascii(value)[:40],
)
def test_what_is_refused_is_what_the_repository_raises(
    twins: Twins, name: str, wrong: dict[str, Any], error: type[Exception]
) -> None:
    a = twins.id("a", 2)
    good: dict[str, Any] = {
        "set_importance": {"memory_id": a, "importance": 0.4},
        "update_memory": {"memory_id": a, "changes": Jsonb({"importance": 0.4})},
        "move_tier": {"memory_ids": [a], "up": False},
    }.get(name, {"memory_ids": [a]})
    before = twins.rows(2)

    with pytest.raises(psycopg.Error) as refused:
        plain_call(twins.connection, name, {"agent": twins.two} | good | wrong)

    assert type(translation(refused.value)) is error
    assert twins.rows(2) == before


def plain_call(connection: Connection, name: str, arguments: dict[str, Any]) -> Rows:
    """Without a cast of any argument, as `call` makes one of metadata."""
    given = ", ".join(f"{argument} => %({argument})s" for argument in arguments)
    return connection.execute(f"SELECT * FROM pgrecall.{name}({given})", arguments).fetchall()


@pytest.mark.parametrize(
    ("options", "error"),
    [
        ({"memory_id": UNKNOWN}, MemoryNotFound),
        ({"text": "a"}, InvalidMemory),  # says the same
        ({"text": ""}, InvalidMemory),
        ({"new_valid_until": datetime(2000, 1, 1, tzinfo=UTC)}, InvalidMemory),
        ({"new_compliant": False}, NotCompliant),
        ({"old": "over"}, SupersessionConflict),
        ({"old": "gone"}, SupersessionConflict),
        ({"old": "until later"}, SupersessionConflict),
        ({"actor": ""}, InputError),
    ],
    ids=ascii,
)
def test_refusals_to_supersede(
    twins: Twins, options: dict[str, Any], error: type[Exception]
) -> None:
    twins.add({"a": {}, "over": {}, "gone": {}, "until later": {"valid_until": LATER}})
    call(twins.connection, "invalidate", twins.two, [twins.id("gone", 2)])
    supersede(twins, twins.id("over", 2), "what came after")
    before = twins.rows(2)
    rest = dict(options)
    memory_id = rest.pop("memory_id", None) or twins.id(rest.pop("old", "a"), 2)

    with pytest.raises(psycopg.Error) as refused:
        supersede(twins, memory_id, rest.pop("text", "quite new"), **rest)

    assert type(translation(refused.value)) is error
    assert twins.rows(2) == before
