"""Imports memories from JSON Lines. An import can be resumed: nothing is stored twice."""

from __future__ import annotations

import gzip
import io
import json
import zlib
from codecs import BOM_UTF8
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, fields
from datetime import UTC, datetime
from hashlib import sha256
from pathlib import Path
from typing import Any, BinaryIO, Literal, Protocol
from uuid import UUID, uuid5

from pgrecall.core.memory import NewMemory
from pgrecall.core.quoting import LONGEST, cut, path_of, shortened
from pgrecall.core.validation import require_bool, require_callable, require_count, require_name
from pgrecall.errors import InputError, InvalidLine
from pgrecall.memories.added import Added
from pgrecall.memories.incoming import checked

BATCH_SIZE = 500
MOST_LINE_BYTES = 32 * 2**20
"""The most bytes of one line: the longest content with six bytes for each byte, and as much for
other fields."""
MOST_BATCH_BYTES = 2 * MOST_LINE_BYTES
"""The most bytes of one batch, so that long lines do not need more RAM than short ones."""
_GZIP_MAGIC = b"\x1f\x8b"
_NAMESPACE = UUID("9b0c1c0e-6d0b-4b53-9a0d-6f2d3f1f7c11")
_MOMENTS = ("created_at", "observed_at", "valid_from", "valid_until", "expires_at")


class Store(Protocol):
    """The methods of a repository that an import needs."""

    def add_many(
        self,
        agent_id: str,
        memories: list[NewMemory],
        *,
        duplicates: Literal["keep"],
        check_compliance: bool,
    ) -> list[Added]: ...

    def existing(self, agent_id: str, memory_ids: list[UUID]) -> set[UUID]: ...


@dataclass(frozen=True, slots=True)
class Imported:
    """The result of an import."""

    added: int
    already_there: int
    duplicates: int = 0
    """Lines that were not stored because an active memory says the same."""


@dataclass(frozen=True, slots=True)
class Line:
    """One memory of a file and its place there."""

    number: int
    memory: NewMemory
    id: UUID
    size: int
    """Length in bytes."""
    position: int
    """Bytes of the file read so far."""
    digest: bytes
    """Equal for lines with the same fields."""


def import_file(
    store: Store,
    agent_id: str,
    path: Path,
    *,
    batch_size: int = BATCH_SIZE,
    check_compliance: bool = True,
    on_progress: Callable[[Imported, int], None] = lambda done, position: None,
) -> Imported:
    """Stores every line of a .jsonl file, gzipped or not, as a memory of the agent.

    A line is a JSON object with the fields of NewMemory; times are ISO 8601 with a time zone. `id`
    may be any text. The memory's own id is derived from it, or from the whole line if it has none,
    so an import can be repeated. A line is skipped if an active memory says the same.
    `check_compliance=False` also stores memories that are not compliant. `on_progress` is called
    after each batch, with the result so far and the bytes of the file read so far.

    Raises InvalidLine with file and line number at the first line that cannot be stored; the lines
    before it remain stored. A line may have 32 MiB.
    """
    require_name("agent_id", agent_id)
    require_count("batch_size", batch_size, at_least=1, at_most=100_000)
    require_bool("check_compliance", check_compliance)
    require_callable("on_progress", on_progress)
    path = path_of(path)
    shown = shortened(path, LONGEST)
    done = Imported(0, 0)
    lines = read_lines(path, agent_id)
    first_at: dict[UUID, tuple[int, bytes]] = {}
    while True:
        batch: list[Line] = []
        size = 0
        problem: InputError | None = None
        try:
            for line in lines:
                number, digest = first_at.setdefault(line.id, (line.number, line.digest))
                if digest != line.digest:
                    raise InvalidLine(
                        f"{shown}, line {line.number}: has the id of line {number} and "
                        "says something else"
                    )
                batch.append(line)
                size += line.size
                if len(batch) == batch_size or size >= MOST_BATCH_BYTES:
                    break
        except InputError as error:
            problem = error
        if batch:
            done = _stored(store, agent_id, path, batch, done, check_compliance)
            on_progress(done, batch[-1].position)
        if problem is not None:
            raise problem
        if not batch:
            return done


def _stored(
    store: Store,
    agent_id: str,
    path: Path,
    batch: list[Line],
    done: Imported,
    check_compliance: bool,
) -> Imported:
    known = store.existing(agent_id, [line.id for line in batch])
    new = {line.id: line for line in batch if line.id not in known}

    def add(lines: list[Line]) -> list[Added]:
        memories = [line.memory for line in lines]
        return store.add_many(
            agent_id, memories, duplicates="keep", check_compliance=check_compliance
        )

    added: list[Added] = []
    try:
        added = add(list(new.values()))
    except InputError:
        for line in new.values():  # one by one, to store the good lines and to name the bad one
            try:
                added += add([line])
            except InputError as error:
                raise InvalidLine(
                    f"{shortened(path, LONGEST)}, line {line.number}: {error}"
                ) from error
    inserted = sum(one.inserted for one in added)
    return Imported(
        done.added + inserted,
        done.already_there + len(batch) - len(new),
        done.duplicates + len(added) - inserted,
    )


def read_lines(path: Path, agent_id: str) -> Iterator[Line]:
    """Reads and checks the memories of a file; raises InvalidLine or InputError."""
    for number, content, position in lines_of(path):
        with naming_line(path, number):
            memory = parse(content, agent_id)
            digest = _digest(memory)
        assert memory.id is not None
        yield Line(number, memory, memory.id, len(content), position, digest)


def _digest(memory: NewMemory) -> bytes:
    said = [getattr(memory, field.name) for field in fields(memory)]
    return sha256(json.dumps(said, sort_keys=True, default=_in_utc).encode()).digest()


def _in_utc(value: object) -> str:
    return str(value.astimezone(UTC) if isinstance(value, datetime) else value)


def lines_of(path: Path) -> Iterator[tuple[int, bytes, int]]:
    """The lines of a file, gzipped or not, that are not empty: number, content, bytes read so far.

    Raises InvalidLine for a line of more than MOST_LINE_BYTES, and InputError if the file cannot be
    read.
    """
    number = 0
    shown = shortened(path, LONGEST)
    try:
        with _opened(path) as (file, raw):
            while content := file.readline(MOST_LINE_BYTES + 1):
                number += 1
                if len(content) > MOST_LINE_BYTES:
                    raise InvalidLine(
                        f"{shown}, line {number}: has more than {MOST_LINE_BYTES:,} bytes"
                    )
                if number == 1:
                    content = content.removeprefix(BOM_UTF8)
                if content.strip():
                    yield number, content, raw.tell()
    except (EOFError, gzip.BadGzipFile, zlib.error) as error:
        raise InvalidLine(f"{shown} is damaged or cut off after line {number}: {error}") from error
    except OSError as error:
        raise InputError(f"{shown} cannot be read: {error.strerror or error}") from error


@contextmanager
def naming_line(path: Path, number: int) -> Iterator[None]:
    """Converts errors about a line to an InvalidLine that names it."""
    try:
        yield
    except (InputError, ValueError, TypeError, RecursionError) as error:
        raise InvalidLine(
            f"{shortened(path, LONGEST)}, line {number}: {reason_of(error)}"
        ) from error


def parse(content: bytes, agent_id: str) -> NewMemory:
    """Converts one line to a memory with an id that is the same at every import."""
    values = json.loads(content.decode("utf-8-sig"))
    if not isinstance(values, dict):
        raise InputError(f"a line must be one JSON object, got {type(values).__name__}")
    values |= {name: moment_of(name, values[name]) for name in _MOMENTS if name in values}
    values |= _identity(values, content, agent_id)
    checked(values)
    if "content" not in values:
        raise InputError("the object has no content")
    return NewMemory(**values)


def _identity(values: Mapping[str, Any], content: bytes, agent_id: str) -> dict[str, Any]:
    given = values.get("id")
    if given is None:
        return {"id": uuid5(_NAMESPACE, f"{agent_id}\n{content.strip().decode('utf-8-sig')}")}
    if given == "" or isinstance(given, bool) or not isinstance(given, str | int):
        raise InputError(f"id must be a text that is not empty, got {shortened(given)}")
    found = id_of_source(given, agent_id)
    if is_uuid(given):
        return {"id": found}
    metadata = values.get("metadata", {})
    if isinstance(metadata, Mapping):
        metadata = {"source_id": given, **metadata}
    return {"id": found, "metadata": metadata}


def id_of_source(given: str | int, agent_id: str) -> UUID:
    """The memory's id for an id in a file: the same if it is a UUID, else derived from it."""
    if is_uuid(given):
        return UUID(str(given))
    return uuid5(_NAMESPACE, f"{agent_id}\n\n{given}")


def is_uuid(given: str | int) -> bool:
    """Whether an id in a file is a UUID."""
    try:
        UUID(str(given))
    except ValueError:
        return False
    return True


def moment_of(name: str, value: Any) -> datetime | None:
    """Parses an ISO 8601 time; raises InputError."""
    if value is None:
        return None
    if not isinstance(value, str):
        raise InputError(f"{name} must be an ISO 8601 time as text, got {shortened(value)}")
    try:
        return datetime.fromisoformat(value)
    except ValueError:
        raise InputError(f"{name} is not an ISO 8601 time: {shortened(value)}") from None


@contextmanager
def _opened(path: Path) -> Iterator[tuple[BinaryIO | gzip.GzipFile | io.BufferedReader, BinaryIO]]:
    """The file, decompressed if necessary, and the raw file, whose position is the progress."""
    with path.open("rb") as raw:
        packed = raw.read(2) == _GZIP_MAGIC
        raw.seek(0)
        if packed:
            with gzip.GzipFile(fileobj=raw) as unpacked:
                yield unpacked, raw
        else:
            yield raw, raw


def reason_of(error: Exception) -> str:
    """Says why a line cannot be read."""
    if isinstance(error, json.JSONDecodeError):
        return f"not JSON: {error.msg} at column {error.colno}"
    if isinstance(error, UnicodeDecodeError):
        return f"not UTF-8: byte {error.object[error.start]:#04x} at position {error.start}"
    if isinstance(error, RecursionError):
        return "nested too deeply"
    return str(error) if isinstance(error, InputError) else cut(str(error))
