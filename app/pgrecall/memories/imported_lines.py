"""Reads lines of JSON as memories, each with its owner, its id and its place."""

from __future__ import annotations

import csv
import json
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime, tzinfo
from hashlib import sha256
from itertools import chain, islice
from pathlib import Path
from typing import Any, BinaryIO
from uuid import UUID, uuid5

from pgrecall.core.ids import id_of_key
from pgrecall.core.quoting import LONGEST, cut, path_of, shortened
from pgrecall.errors import InputError, InvalidLine, PgRecallError
from pgrecall.memories.lines import (
    CSV,
    MOST_LINE_BYTES,
    TOO_LONG,
    Read,
    Reading,
    describe_line_error,
    opened_text,
    require_new,
)
from pgrecall.memories.record import (
    OWNER_FIELDS,
    STATE,
    Record,
    UnknownField,
    parse_record,
    unknown_fields,
)
from pgrecall.schema import Tables
from pgrecall.schema.fields import FIELDS
from pgrecall.schema.tables import require_owner

MOST_LOOKED_AT = 10_000
"""Lines that are read for further unknown fields, once one is found."""
_BYTES = 8
"""Of a number in a vector, roughly."""
_NAMESPACE = UUID("9b0c1c0e-6d0b-4b53-9a0d-6f2d3f1f7c11")


class Rejects:
    """Lines that cannot be stored: written to a new file, or raised where there is none.

    A dry run goes on without a file.
    """

    def __init__(
        self,
        reading: Reading,
        path: Path | None,
        on_reject: Callable[[int, str], None],
        *,
        dry_run: bool = False,
    ) -> None:
        self._reading, self._path = reading, path
        self._on_reject = on_reject
        self._file: BinaryIO | None = None
        self.number = 0
        if path is not None:
            self._path = require_new(path_of(path))
        self.goes_on = path is not None
        """True if the import continues after a line that has unknown fields."""
        self._only_counts = dry_run

    def __enter__(self) -> Rejects:
        return self

    def __exit__(self, *_: object) -> None:
        if self._file is not None:
            self._file.close()

    def refuse(self, line: Read, error: Exception, *, is_last: bool = False) -> None:
        """Writes the line, or raises InvalidLine where there is no file, or it `is_last`."""
        reading = self._reading
        reason = str(error) if isinstance(error, PgRecallError) else describe_line_error(error)
        if reading.about is not None and not is_last:
            reason = f"{reason} ({reading.about(json.loads(line.content))})"
        if is_last or (self._path is None and not self._only_counts):
            message = f"{reading.name}, {reading.noun} {line.number}: {reason}"
            raise InvalidLine(message) from error
        if not self._only_counts:
            self._write(self._written(line))
        self.number += 1
        self._on_reject(line.number, reason)

    def _written(self, line: Read) -> bytes:
        if self._reading.rejects_fields:
            with suppress(InputError, ValueError, TypeError, RecursionError):
                vector = None if line.vector is None else [*line.vector]
                fields = self._reading.fields(json.loads(line.content), vector)
                return json.dumps(fields, ensure_ascii=False).encode()
        return line.content

    def _write(self, content: bytes) -> None:
        assert self._path is not None
        try:
            if self._file is None:
                self._file = self._path.open("xb")
            self._file.write(content.rstrip(b"\r\n") + b"\n")
        except OSError as problem:
            raise InputError(
                f"{shortened(self._path, LONGEST)} cannot be written: {problem.strerror or problem}"
            ) from problem


@dataclass(frozen=True, slots=True)
class Line:
    """A memory that was read."""

    read: Read
    owner_id: str
    """The stored id, with the prefix of teams."""
    values: Record
    id: UUID
    digest: bytes
    """Equal for lines with the same fields, apart from the embedding."""
    size: int
    """In bytes."""

    @property
    def has_state(self) -> bool:
        """True if it has fields that `restore` takes and `add_many` does not."""
        return not self.values.keys().isdisjoint(STATE)


@dataclass(frozen=True, slots=True)
class Lines:
    """Checks what is read."""

    tables: Tables
    agent_id: str | UUID | None
    timezone: tzinfo | None
    reading: Reading

    def checked(self, refused: Rejects) -> Iterator[Line]:
        """The lines that can be stored; the others go to `refused`."""
        first_at: dict[UUID, tuple[int, bytes]] = {}
        several = iter(self.reading.read())
        for one in several:
            try:
                line = self._line(one)
                first, digest = first_at.setdefault(line.id, (one.number, line.digest))
                if digest != line.digest:
                    noun = self.reading.noun
                    raise InputError(f"has the id of {noun} {first} and says something else")
            except UnknownField as error:
                more = () if refused.goes_on else self._unknown(several)
                named = UnknownField([*error.names, *more])
                refused.refuse(one, named, is_last=not refused.goes_on)
            except (InputError, ValueError, TypeError, RecursionError) as error:
                refused.refuse(one, error)
            else:
                yield line

    def _unknown(self, rest: Iterator[Read]) -> Iterator[str]:
        """The unknown fields of further lines, to name all at once."""
        most = MOST_LOOKED_AT if self.reading.looks_ahead else 0
        with suppress(InputError):  # the file is damaged
            for one in islice(rest, most):
                with suppress(InputError, ValueError, TypeError, RecursionError):
                    values = self.reading.fields(json.loads(one.content), None)
                    yield from unknown_fields(values)

    def _line(self, one: Read) -> Line:
        if len(one.content) > MOST_LINE_BYTES:
            raise InputError(TOO_LONG)
        fields = json.loads(one.content.decode("utf-8-sig"))
        if not isinstance(fields, dict):
            raise InputError(f"a line must be one JSON object, got {type(fields).__name__}")
        fields = self.reading.fields(fields, one.vector)
        owner_id = self._owner({name: fields.pop(name, None) for name in OWNER_FIELDS})
        values = parse_record(fields, owner_id, zone=self.timezone)
        if values.get("key") is not None:
            id_ = id_of_key(owner_id, values["key"])
        elif values.get("id") is None:
            written = one.content.strip().decode("utf-8-sig")
            id_ = values["id"] = uuid5(_NAMESPACE, f"{owner_id}\n{written}")
        else:
            id_ = values["id"]
        size = len(one.content) + _BYTES * len(one.vector or ())
        digest = _digest(values)
        return Line(one, owner_id, values, id_, digest, size)

    def _owner(self, named: Mapping[str, Any]) -> str:
        agent_id, team_id = (named[name] for name in OWNER_FIELDS)
        if team_id is not None:
            if agent_id is not None:
                raise InputError("a memory has one owner: agent_id or team_id, not both")
            return require_owner(self.tables.of_teams(), team_id, "team_id")
        if agent_id is not None and self.tables.prefix:
            raise InputError(
                f"belongs to agent {shortened(agent_id)}, and only memories of teams are imported"
            )
        agent_id = self.agent_id if agent_id is None else agent_id
        if agent_id is None:
            raise InputError(
                f"names no owner: give an agent for {self.reading.noun}s without agent_id or "
                "team_id (--agent), or rename a field (--map user_id=agent_id)"
            )
        return require_owner(self.tables, agent_id)


def _digest(values: Mapping[str, Any]) -> bytes:
    fields = {name: value for name, value in values.items() if name != "embedding"}
    return sha256(json.dumps(fields, sort_keys=True, default=_as_text).encode()).digest()


def _as_text(value: object) -> str:
    return str(value.astimezone(UTC) if isinstance(value, datetime) else value)


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


METADATA = "metadata."
_MISSING = object()


def require_map(fields: object) -> dict[str, str]:
    """Checks a map of fields: old name or path → new name, empty to leave the field out."""
    if not isinstance(fields, Mapping) or not all(
        isinstance(old, str) and old and isinstance(new, str) for old, new in fields.items()
    ):
        raise InputError(f"fields must map old names to new names, got {shortened(fields)}")
    return dict(fields)


def renamed(values: Mapping[str, Any], fields: Mapping[str, str]) -> dict[str, Any]:
    """The line with its fields renamed. An old name that it does not have is ignored.

    An old name may be a path into objects, such as `meta.user.name`, and a new one may be
    `metadata.<key>`. Of an object and what is in it, name the inner one first. Raises InputError
    where two values would get one name.
    """
    if not fields:
        return dict(values)
    rest: dict[str, Any] = _copied(values)
    moved = {old: value for old in fields if (value := pop_path(rest, old)) is not _MISSING}
    for old in fields:
        _drop_empty(rest, values, old)
    for old, value in sorted(moved.items(), key=lambda one: fields[one[0]].startswith(METADATA)):
        new = fields[old]
        holder, name = rest, new
        if new.startswith(METADATA):
            if rest.get("metadata") is None:
                rest["metadata"] = {}
            holder, name = rest["metadata"], new.removeprefix(METADATA)
            if not isinstance(holder, dict):
                raise InputError(f"metadata must be a JSON object, got {shortened(holder)}")
        if name and value is not None and holder.get(name) is not None:
            raise InputError(f"{shortened(old)} and another field both become {shortened(new)}")
        if name and (value is not None or name not in holder):
            holder[name] = value
    return rest


def _copied(value: Any) -> Any:
    """A copy of the objects, but not of lists, in which paths do not lead: an embedding is long."""
    if isinstance(value, Mapping):
        return {name: _copied(one) for name, one in value.items()}
    return value


def path_value(values: Mapping[str, Any], path: str) -> Any:
    """The value that a path leads to; None if there is nothing."""
    if path in values:
        return values[path]
    first, dot, rest = path.partition(".")
    inner = values.get(first)
    return path_value(inner, rest) if dot and isinstance(inner, Mapping) else None


def pop_path(values: dict[str, Any], path: str) -> Any:
    """Removes and returns what the path leads to; _MISSING if there is nothing."""
    if path in values:
        return values.pop(path)
    first, dot, rest = path.partition(".")
    inner = values.get(first)
    return pop_path(inner, rest) if dot and isinstance(inner, dict) else _MISSING


def _drop_empty(rest: dict[str, Any], values: Mapping[str, Any], path: str) -> None:
    """Removes the object that a path leads through if it is empty now."""
    first = path.partition(".")[0]
    if first != path and rest.get(first) == {} != values.get(first):
        del rest[first]
