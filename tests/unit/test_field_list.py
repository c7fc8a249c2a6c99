"""The list of a memory's fields is the only one."""

from __future__ import annotations

import re
from dataclasses import fields
from pathlib import Path

from pgrecall import Memory, MemoryChanges, NewMemory
from pgrecall.migrate.field_lists import with_fields
from pgrecall.schema.fields import FIELDS

ROOT = Path(__file__).parents[2]


def test_what_editors_see_has_the_fields_of_the_list() -> None:
    shown = {field.name for field in FIELDS if field.shown}
    assert {field.name for field in fields(Memory)} == shown | {"team_id"}
    given = {field.name for field in FIELDS if field.part in ("name", "memory")}
    assert {field.name for field in fields(NewMemory)} == given
    changed = {field.name for field in FIELDS if field.part == "memory"}
    assert set(MemoryChanges.__annotations__) == changed


def test_the_page_on_moving_names_every_field() -> None:
    page = (ROOT / "docs" / "moving.md").read_text(encoding="utf-8")
    named = set(re.findall(r"`(\w+)`", page.partition("## The format")[2]))

    assert {field.name for field in FIELDS if field.part != "row"} - named == set()


def test_lists_of_fields_are_written_out() -> None:
    assert with_fields("SELECT @usage but last_accessed_at: u.{}@ FROM") == (
        "SELECT u.retrieval_count, u.success_count, u.failure_count, u.feedback_up, "
        "u.feedback_down FROM"
    )
    texts = with_fields("f(@texts: {name} '{type}'@)")
    assert texts.startswith("f(memory_nature 'text', content_type 'text'")
    every = with_fields("@table@").replace('"loop"', "loop")
    assert re.split(r",\s+", every) == [field.name for field in FIELDS if field.part != "usage"]
