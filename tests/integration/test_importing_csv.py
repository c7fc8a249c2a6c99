"""CSV is read: the first line names the columns, and an empty cell is nothing."""

from __future__ import annotations

import gzip
import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from pgrecall import import_file
from pgrecall.errors import InputError, InvalidLine
from tests.integration.owner import Owner

NOTES = (
    "id,body,embedding,importance,tags,compliant,metadata,user.name,created_at\n"
    '1,"two\nlines, ""quoted""",null,0.75,"a, b",TRUE,"{""n"": [1]}",ann,2026-05-01\n'
    "\n"
    "two,größer ☕,null,,[],,,,\n"
)
FIELDS = {"body": "content", "user.name": "metadata.author"}


def test_cells_become_what_their_field_is(mine: Owner, tmp_path: Path) -> None:
    file, packed = tmp_path / "notes.csv", tmp_path / "packed.csv.gz"
    file.write_text(NOTES, encoding="utf-8-sig")
    packed.write_bytes(gzip.compress(NOTES.replace("two,", "three,").encode()))

    def imported(path: Path) -> tuple[int, int]:
        done = import_file(mine.repo, mine.name, path, fields=FIELDS, timezone="UTC")
        return done.added, done.already_there

    assert (imported(file), imported(file), imported(packed)) == ((2, 0), (0, 2), (1, 1))
    first, second = mine.get(key="1"), mine.get(key="two")
    assert first.content == 'two\nlines, "quoted"'
    assert (first.importance, first.tags, first.compliant) == (0.75, ["a", "b"], True)
    assert first.metadata == {"n": [1], "author": "ann"}
    assert first.created_at == datetime(2026, 5, 1, tzinfo=UTC)
    assert (second.content, second.tags, second.metadata) == ("größer ☕", [], {})


@pytest.mark.parametrize("separator", [";", "\t"])
def test_other_separators(mine: Owner, tmp_path: Path, separator: str) -> None:
    file = tmp_path / "notes.CSV"
    file.write_text("content;embedding\r\n1,5 l of tea;null\r\n".replace(";", separator))

    assert import_file(mine.repo, mine.name, file).added == 1
    assert mine.list()[0].content == "1,5 l of tea"


BAD: tuple[tuple[bytes, str], ...] = (
    (b"", "the first line must name each column once"),
    (b"content,content\nx,y\n", "the first line must name each column once"),
    (b"content,embedding\nx,null,y\n", "line 2: has 3 cells, and the first line names 2 columns"),
    (b'content,embedding\nx,null\n"y,null\n', r"line 3: unexpected end of data"),
    (b"content,embedding\nx,null\n\xff,null\n", "line . ?: not UTF-8|line .: not UTF-8"),
    (b"content,importance\nx,much\n", "line 2: importance"),
    (b"text\nx\n", "line 2: unknown field text"),
    (b"content,embedding\nx,null\nx\0y,null\n", "line 3: .*NUL"),
)


@pytest.mark.parametrize(("content", "reason"), BAD)
def test_what_is_wrong_is_named_with_its_line(
    mine: Owner, tmp_path: Path, content: bytes, reason: str
) -> None:
    file = tmp_path / "bad.csv"
    file.write_bytes(content)

    with pytest.raises(InputError, match=rf"bad\.csv(, |: ){reason}"):
        import_file(mine.repo, mine.name, file)


def test_a_dry_run_stores_nothing(mine: Owner, tmp_path: Path) -> None:
    file = tmp_path / "notes.csv"
    rows = "".join(f"{n},note {n},{mine.name}\n" for n in range(12))
    file.write_text(f"id,content,agent_id\n{rows}13,,\n")
    told: dict[int, str] = {}

    done = import_file(mine.repo, "other", file, dry_run=True, on_reject=told.__setitem__)

    assert (done.added, done.already_there, done.rejected) == (12, 0, 1)
    assert done.preview is not None
    assert done.preview.owners == {mine.name: 12}
    shown: list[dict[str, Any]] = done.preview.memories
    assert [one["content"] for one in shown] == [f"note {n}" for n in range(10)]
    assert shown[0]["key"] == "0"
    assert told == {14: "the object has no content"}
    assert mine.count() == 0
    with pytest.raises(InvalidLine, match="unknown field"):
        import_file(mine.repo, "a", file, dry_run=True, fields={"content": "text"})


def test_what_is_refused_can_be_mended_and_imported(mine: Owner, tmp_path: Path) -> None:
    file, bad = tmp_path / "notes.csv", tmp_path / "bad.jsonl"
    file.write_text("nr,body,embedding,importance\n1,tea,null,0.5\n2,,null,0.25\n")
    fields = {"nr": "id", "body": "content"}

    done = import_file(mine.repo, mine.name, file, fields=fields, rejects=bad)
    assert (done.added, done.rejected) == (1, 1)
    line = json.loads(bad.read_text())
    assert line == {"id": "2", "importance": 0.25, "embedding": None}

    bad.write_text(json.dumps(line | {"content": "milk"}))
    assert import_file(mine.repo, mine.name, bad).added == 1
    assert mine.get(key="2").importance == 0.25
