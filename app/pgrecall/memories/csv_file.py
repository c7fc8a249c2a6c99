"""CSV files of memories: the first line names the columns."""

from __future__ import annotations

import csv
import json
from collections.abc import Iterator, Mapping
from itertools import chain
from pathlib import Path
from typing import Any

from pgrecall.core.quoting import LONGEST, cut, shortened
from pgrecall.errors import InputError, InvalidLine
from pgrecall.memories.lines import CSV, MOST_LINE_BYTES, opened_text
from pgrecall.schema.fields import FIELDS

_SEPARATORS = ",;\t"
_TYPES = {field.name: field.kind.type for field in FIELDS}
_TYPES |= {"links": "text[]", "events": "jsonb"}
_OF_TEXT = ("text", "uuid", "timestamptz")
"""Types whose values are written as they are."""


def is_csv(path: Path) -> bool:
    """True if the name is that of a CSV file, gzipped or not."""
    return path.name.lower().removesuffix(".gz").endswith(CSV)


def csv_rows(path: Path) -> Iterator[tuple[int, bytes, int]]:
    """The rows as lines of JSON: number of the line, line, and the bytes of the file read so far.

    An empty cell is a field that is not given. Raises InputError if the file cannot be read.
    """
    shown = shortened(path, LONGEST)
    csv.field_size_limit(MOST_LINE_BYTES)  # of the process; 131,072 characters by default
    at = 1
    with opened_text(path, lambda: at) as (text, raw):
        first = text.readline()
        separator = max(_SEPARATORS, key=first.count)
        rows = csv.reader(chain([first], text), delimiter=separator, strict=True)
        try:
            names = _names(shown, next(rows, []))
            for row in rows:
                at = rows.line_num
                if len(row) > len(names):
                    raise InvalidLine(
                        f"{shown}, line {at}: has {len(row)} cells, and the first line "
                        f"names {len(names)} columns"
                    )
                cells = {name: cell for name, cell in zip(names, row, strict=False) if cell}
                if cells:
                    line = json.dumps(cells, ensure_ascii=False)
                    yield at, line.encode(), raw.tell()
        except csv.Error as error:
            raise InvalidLine(f"{shown}, line {rows.line_num}: {cut(str(error))}") from error


def _names(shown: str, row: list[str]) -> list[str]:
    names = [name.strip() for name in row]
    if not any(names) or len({*names}) < len(names):
        raise InputError(
            f"{shown}: the first line must name each column once, got {shortened(names)}"
        )
    return names


def of_text(values: Mapping[str, Any]) -> dict[str, Any]:
    """The fields with numbers, lists and objects in place of texts that hold them."""
    return {
        name: _parsed(_TYPES.get(name, "text"), value) if isinstance(value, str) else value
        for name, value in values.items()
    }


def _parsed(kind: str, value: str) -> Any:
    """The value of a cell. A list may also be written with commas between its texts."""
    if kind in _OF_TEXT:
        return value
    try:
        return json.loads(value.lower() if value.lower() in ("true", "false") else value)
    except (ValueError, RecursionError):
        parts = (part.strip() for part in value.split(","))
        return [part for part in parts if part] if kind == "text[]" else value
