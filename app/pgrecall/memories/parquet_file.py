"""Parquet files of memories, through pyarrow (extra `parquet`)."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path
from typing import Any

from pgrecall.core.quoting import LONGEST, cut, shortened
from pgrecall.errors import ExtraMissing, InputError
from pgrecall.schema.fields import SHOWN
from pgrecall.schema.kinds import EMBEDDING

SUFFIX = ".parquet"
_AS_JSON = ("metadata", "labels", "links", "events")
"""Columns of JSON text."""


def is_parquet(path: Path) -> bool:
    """True if the name is that of a Parquet file."""
    return path.suffix.lower() == SUFFIX


def rows_of(path: Path) -> Iterator[tuple[int, bytes, int]]:
    """The rows as lines of JSON: number, line, and the share of the file read so far, in bytes.

    Raises InputError if the file cannot be read.
    """
    arrow = _arrow()
    size = path.stat().st_size
    with _naming(path, "read"), arrow.parquet.ParquetFile(path) as file:
        total, number = file.metadata.num_rows, 0
        for batch in file.iter_batches(batch_size=500):
            for row in batch.to_pylist():
                number += 1
                columns = {
                    name: json.loads(value) if name in _AS_JSON and value is not None else value
                    for name, value in row.items()
                }
                line = json.dumps(columns, ensure_ascii=False, default=_as_text)
                yield number, line.encode(), size * number // total


class ParquetWriter:
    """Writes lines of an export; a row group for each batch."""

    def __init__(self, path: Path) -> None:
        self._path, self._arrow = path, _arrow()
        self._schema = _schema(self._arrow)
        with _naming(path, "written"):
            self._file = self._arrow.parquet.ParquetWriter(path, self._schema, compression="zstd")

    def write(self, lines: list[str]) -> None:
        rows = [_row(json.loads(line), self._schema) for line in lines]
        with _naming(self._path, "written"):
            self._file.write_table(self._arrow.Table.from_pylist(rows, self._schema))

    def close(self) -> None:
        with _naming(self._path, "written"):
            self._file.close()


def _row(values: dict[str, Any], schema: Any) -> dict[str, Any]:
    for name in _AS_JSON:
        if values[name] is not None:
            values[name] = json.dumps(values[name], ensure_ascii=False)
    for field in schema:
        if str(field.type).startswith("timestamp") and values[field.name] is not None:
            values[field.name] = datetime.fromisoformat(values[field.name])
    return values


def _schema(arrow: Any) -> Any:
    """The columns of an exported line."""
    text = arrow.string()
    types = {
        EMBEDDING.type: arrow.list_(arrow.float32()),
        "boolean": arrow.bool_(),
        "float8": arrow.float64(),
        "integer": arrow.int32(),
        "text[]": arrow.list_(text),
        "timestamptz": arrow.timestamp("us", tz="UTC"),
    }
    of_memory = {field.name: types.get(field.kind.type, text) for field in SHOWN}
    columns = {"agent_id": text, "team_id": text, **of_memory, "edition": types["integer"]}
    return arrow.schema({**columns, **dict.fromkeys(_AS_JSON, text)}.items())


def _as_text(value: Any) -> str:
    return value.isoformat() if isinstance(value, datetime) else str(value)


@contextmanager
def _naming(path: Path, done: str) -> Iterator[None]:
    """Converts pyarrow's errors, which are ValueErrors and OSErrors, to an InputError."""
    try:
        yield
    except InputError:
        raise
    except (OSError, ValueError) as error:
        raise InputError(
            f"{shortened(path, LONGEST)} cannot be {done}: {cut(str(error))}"
        ) from error


def _arrow() -> Any:
    try:
        import pyarrow
        import pyarrow.parquet
    except ImportError as error:
        raise ExtraMissing("Parquet files need pyarrow: pip install 'pgrecall[parquet]'") from error
    return pyarrow
