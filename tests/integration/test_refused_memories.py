"""Batches that store what is good and report what is not."""

from __future__ import annotations

from typing import Any

import psycopg
import pytest
from psycopg.types.json import Jsonb

from pgrecall import NewMemory
from pgrecall.core.limits import BLANK, MAX_DEPTH, MAX_METADATA, MAX_TEXT_LENGTH, MAX_VALUES
from pgrecall.errors import (
    EmbedderRequired,
    InputError,
    InvalidMemory,
    InvalidVector,
    NotCompliant,
    UnknownName,
)
from tests.integration.owner import Owner
from tests.integration.recalling import Connection
from tests.integration.support import NORTH, nested


def good(n: int, **more: Any) -> NewMemory:
    return NewMemory(f"m {n}", **({"embedding": NORTH} | more))


def test_bad_memories_are_reported_and_the_others_stored(mine: Owner) -> None:
    batch: list[Any] = [
        good(0),
        good(1, importance=2),
        good(2, embedding=[1.0]),
        None,
        good(4, compliant=False),
        good(5, key="k"),
        good(6, key="k"),
        good(7, turn=1),
    ]

    done = mine.add_many(batch, on_error="report")

    assert {place: type(error) for place, error in done.refused.items()} == {
        1: InvalidMemory,
        2: InvalidVector,
        3: InvalidMemory,
        4: NotCompliant,
        7: InvalidMemory,
    }
    assert str(done.refused[1]).startswith("importance must lie within 0 and 1")
    assert [one.outcome for one in done] == ["inserted", "inserted", "known"]
    assert sorted(one.content for one in mine.list()) == ["m 0", "m 5"]
    assert mine.add_many([None], on_error="report") == []


def test_without_being_asked_one_bad_memory_refuses_all(mine: Owner) -> None:
    with pytest.raises(InvalidMemory, match="memory 1 of 2: importance"):
        mine.add_many([good(0), good(1, importance=2)])
    assert mine.add_many([good(0)]).refused == {}
    with pytest.raises(UnknownName, match="on_error"):
        mine.add_many([good(1)], on_error="ignore")
    with pytest.raises(EmbedderRequired):
        mine.add_many([good(1), "a text", good(2, importance=2)], on_error="report")
    assert mine.count() == 1


SHOWN = ("subject", "component", "domain", "category", "loop", "output_type", "memory_nature")
LISTS = ("tags", "entities", "additional_types")
LONG = "x" * (MAX_TEXT_LENGTH + 1)


@pytest.mark.parametrize("blank", ["", " \t\u3000", "\u200b\u2060\ufeff", BLANK])
def test_a_text_that_shows_nothing_is_refused_in_python_and_in_psql(
    mine: Owner, connection: Connection, blank: str
) -> None:
    name, known = mine.name, mine.add(good(9))
    blanks: list[tuple[str, Any]] = [
        *((field, blank) for field in SHOWN),
        *((field, ["tea", blank]) for field in LISTS),
    ]
    for field, value in blanks:
        with pytest.raises(InvalidMemory, match=f"{field} must not be"):
            mine.add(good(0, **{field: value}))
        said = "a tag, entity or type" if field in LISTS else field
        call = f"SELECT pgrecall.remember(%s, 'a', {field} => %s)"
        with pytest.raises(psycopg.Error, match=f"{said} must not be"):
            connection.execute(call.encode(), (name, value))
    changes = "jsonb_build_object('content', %s::text, 'embedding', NULL)"
    calls: list[tuple[str, tuple[Any, ...], str]] = [
        ("remember(%s, %s)", (name, blank), "content must not be"),
        (f"update_memory(%s, %s, {changes})", (name, known, blank), "content must not be"),
        ("supersede(%s, %s, pgrecall.new_memory(%s))", (name, known, blank), "content must not be"),
        ("upsert(%s, pgrecall.new_memory(%s, key => 'k'))", (name, blank), "content must not be"),
        ("record_feedback(%s, %s, 'useful', query => %s)", (name, known, blank), "query is empty"),
        *(("remember(%s, 'a')", (of,), "agent must be an id") for of in (blank, f"team:{blank}")),
    ]
    for call, given, message in calls:
        with pytest.raises(psycopg.Error, match=message):
            connection.execute(f"SELECT pgrecall.{call}".encode(), given)
    with pytest.raises(InvalidMemory, match="content must not be"):
        mine.add(NewMemory(blank, embedding=NORTH))
    with pytest.raises(InputError, match="the query is empty"):
        mine.search(blank)
    for owner in (blank, f"team:{blank}"):
        with pytest.raises(InputError):
            mine.repo.add(owner, good(0))
    assert mine.count() == 1
    mine.add(good(0, subject=f"a{blank}", tags=["é\u0301"]))


def test_texts_have_a_longest_length_in_python_and_in_psql(
    mine: Owner, connection: Connection, agent: str
) -> None:
    metadata = {"text": "x" * (2 * MAX_METADATA)}
    for values in ({"subject": LONG}, {"loop": LONG}, {"tags": [LONG]}, {"metadata": metadata}):
        with pytest.raises(InvalidMemory, match="at most"):
            mine.add(good(0, **values))
    for name, value in (("subject", LONG), ("tags", [LONG]), ("metadata", Jsonb(metadata))):
        call = f"SELECT pgrecall.remember(%s, 'a', {name} => %s)"
        with pytest.raises(psycopg.Error, match="may have at most"):
            connection.execute(call.encode(), (agent, value))
    with pytest.raises(InputError, match="at most 200,000 characters"):
        mine.search(NORTH, keywords=LONG)
    with pytest.raises(psycopg.Error, match="keywords may have at most 200,000 characters"):
        connection.execute("SELECT pgrecall.recall(%s, keywords => %s)", (agent, LONG))
    mine.add(good(0, subject=LONG[1:], tags=[LONG[1:]]))
    assert mine.count() == 1


def test_metadata_and_lists_end_at_their_limits_in_python_and_in_psql(
    mine: Owner, connection: Connection, agent: str
) -> None:
    many = [f"t{number}" for number in range(MAX_VALUES + 1)]
    kept = mine.add(good(0, metadata=nested(MAX_DEPTH), tags=many[1:]))
    beyond: dict[str, Any] = {"metadata": nested(MAX_DEPTH + 1)} | dict.fromkeys(LISTS, many)
    for name, value in beyond.items():
        values = {name: value}
        said = "nested at most 32 levels" if name == "metadata" else "at most 1,000 texts"
        with pytest.raises(InvalidMemory, match=said):
            mine.add(good(1, **values))
        with pytest.raises(InvalidMemory, match=said):
            mine.update(kept, **values)
        given = Jsonb(value) if name == "metadata" else value
        with pytest.raises(psycopg.Error, match=said):
            connection.execute(
                f"SELECT pgrecall.remember(%s, 'a', {name} => %s)".encode(), (agent, given)
            )
        with pytest.raises(psycopg.Error, match=said):
            connection.execute(
                "SELECT pgrecall.update_memory(%s, %s, %s)", (agent, kept, Jsonb(values))
            )
    connection.execute(
        "SELECT pgrecall.remember(%s, 'b', metadata => %s)", (agent, Jsonb(nested(MAX_DEPTH)))
    )
    assert mine.count() == 2
