"""Who wrote a memory, and in which run: in the events of what stores it."""

from __future__ import annotations

import json
from typing import Any

import pytest

from pgrecall.errors import InputError
from tests.integration.owner import Owner, north
from tests.integration.support import NORTH

SOURCE: dict[str, Any] = {"actor": "extractor", "run": "conversation 12"}


def test_what_stores_a_memory_records_its_source(mine: Owner) -> None:
    one = mine.add(north("a"), **SOURCE)
    [two, after] = mine.add_many([north("b"), north("c")], **SOURCE)
    three = mine.upsert(north("d", key="k"), **SOURCE)
    four = mine.supersede(mine.add(north("old")), north("e"), **SOURCE)
    near = mine.add(north("f", embedding=[-1.0, *NORTH[1:]]), near_duplicates=0.9, **SOURCE)

    for memory_id in (one, two, after, three, four, near):
        assert {(e.actor, e.run) for e in mine.history(memory_id)} == {tuple(SOURCE.values())}


def test_what_was_there_records_who_said_it_again(mine: Owner) -> None:
    first, known = mine.add(north("a"), run="1"), mine.upsert(north("b", key="k"))
    ids = [north(text, subject="s") for text in ("x", "y")]

    mine.add(north("a"), run="2")
    mine.add_many([north("a")], duplicates="replace", run="3")
    mine.upsert(north("c", key="k"), run="4")
    old = mine.add(ids[0])
    mine.add(ids[1], supersede_subject=True, run="5")

    runs = [(event.event_type, event.run) for event in mine.history(first)]
    assert runs == [("initial", "1"), ("restated", "2"), ("restated", "3"), ("replaced", "3")]
    assert mine.event(known, "replaced").run == "4"
    assert mine.event(old, "superseded").run == "5"


def test_a_source_is_in_an_export_and_comes_back(mine: Owner) -> None:
    memory_id = mine.add(north("a"), **SOURCE)
    lines: list[str] = []
    mine.repo.transfer.export(lines.extend, agent_id=mine.name, events=True)
    mine.repo.teams.transfer.restore(mine.name, [json.loads(line) for line in lines])

    [event] = mine.repo.teams.history(mine.name, memory_id)
    assert (event.actor, event.run) == tuple(SOURCE.values())


@pytest.mark.parametrize("run", ["", "x" * 201, 7])
def test_a_run_is_a_name(mine: Owner, run: Any) -> None:
    for store in (mine.add, mine.upsert):
        with pytest.raises(InputError, match="run"):
            store(north("a", key="k"), run=run)
    assert mine.count() == 0
