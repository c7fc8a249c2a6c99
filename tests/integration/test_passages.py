"""How many files and functions of pgrecall a warm call enters: fewer is faster, and easier to read.

The numbers may be lowered. Who raises one should know why.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from typing import Any
from uuid import UUID

import pytest
from sqlalchemy import Engine

from pgrecall import MemoryRepository, NewMemory
from tests.integration.support import NORTH, at
from tests.tracer import traced

NEW = NewMemory("new", embedding=NORTH)
CALLS: dict[str, tuple[Callable[[MemoryRepository, Iterator[UUID]], Any], int, int]] = {
    "get": (lambda repo, ids: repo.get("agent", next(ids)), 11, 23),
    "invalidate": (lambda repo, ids: repo.invalidate("agent", [next(ids)]), 12, 26),
    "record_outcome": (
        lambda repo, ids: repo.record_outcome("agent", next(ids), "success"),
        13,
        28,
    ),
    "add": (lambda repo, ids: repo.add("agent", NEW), 27, 69),
    # One function is shared with search_many.
    "search": (lambda repo, ids: repo.search("agent", NORTH, touch=False), 24, 71),
}


@pytest.mark.parametrize("name", CALLS)
def test_a_warm_call_enters_few_functions(
    engine: Engine, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    monkeypatch.delitem(sys.modules, "opentelemetry.trace", raising=False)  # no spans
    call, files, functions = CALLS[name]
    repo = MemoryRepository(engine)
    memories = [NewMemory(f"tea {n}", embedding=at(n)) for n in range(5)]
    ids = iter(repo.add_many("agent", memories))
    passage = traced(lambda: call(repo, ids))

    assert passage.files <= files, passage.functions
    assert len(passage.functions) <= functions, passage.functions
