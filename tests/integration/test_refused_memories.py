"""Batches that store what is good and report what is not."""

from __future__ import annotations

from typing import Any

import pytest

from pgrecall import NewMemory
from pgrecall.errors import (
    EmbedderRequired,
    InvalidMemory,
    InvalidVector,
    NotCompliant,
    UnknownName,
)
from tests.integration.owner import Owner
from tests.integration.support import NORTH


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


def test_one_by_one_too(mine: Owner) -> None:
    done = mine.add_many([good(0), None, good(2)], near_duplicates=0.9, on_error="report")

    assert [*done.refused] == [1]
    assert [one.outcome for one in done] == ["inserted", "near_duplicate"]


def test_without_being_asked_one_bad_memory_refuses_all(mine: Owner) -> None:
    with pytest.raises(InvalidMemory, match="memory 1 of 2: importance"):
        mine.add_many([good(0), good(1, importance=2)])
    assert mine.add_many([good(0)]).refused == {}
    with pytest.raises(UnknownName, match="on_error"):
        mine.add_many([good(1)], on_error="ignore")
    with pytest.raises(EmbedderRequired):
        mine.add_many([good(1), "a text", good(2, importance=2)], on_error="report")
    assert mine.count() == 1
