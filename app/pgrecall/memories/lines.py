"""The lines of a file of JSON, gzipped or not, and errors that name one."""

from __future__ import annotations

import gzip
import io
import json
import zlib
from codecs import BOM_UTF8
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from pathlib import Path, PurePath
from typing import Any, BinaryIO, NamedTuple, TextIO, cast

from pgrecall.core.quoting import LONGEST, cut, path_of, shortened
from pgrecall.errors import InputError, InvalidLine

MOST_LINE_BYTES = 32 * 2**20
"""The most bytes of one line: the longest content with six bytes for each byte, and as much for
other fields."""
_PIECE = 2**20
_GZIP = b"\x1f"
"""The first byte of a gzip file, and of no line of JSON."""
_SUFFIXES = ("", ".jsonl", ".ndjson")
CSV = ".csv"
"""Files of this suffix are read, and not written."""

Source = Path | io.BufferedReader
"""A file, or one that is open, such as sys.stdin.buffer."""


class Read(NamedTuple):
    """A line as it was read."""

    number: int
    content: bytes
    """One JSON object."""
    position: int
    """How much has been read so far: bytes of a file, rows of a table."""
    vector: Sequence[float] | None = None
    """The embedding, if it stands beside the object, so that no id is made from it."""


@dataclass(frozen=True, slots=True)
class Reading:
    """The lines of an import, and how their values become fields of a memory."""

    name: str
    """The name in errors."""
    read: Callable[[], Iterable[Read]]
    fields: Callable[[dict[str, Any], Sequence[float] | None], dict[str, Any]]
    """Gives the values of an object, and the vector beside it, the names of our fields."""
    noun: str = "line"
    about: Callable[[Mapping[str, Any]], str] | None = None
    """Says which one it is, where its number does not."""
    rejects_fields: bool = False
    """True if what cannot be stored is written by our fields, as lines of an import of its own: the
    source has another format. False: as it was read."""
    looks_ahead: bool = True
    """True if further lines may be read to name all unknown fields. Not of a pipe, whose end may
    never come."""


def file_of_memories(path: object, *also: str) -> Path:
    """The path. Raises InputError if its name ends neither like a format of memories nor `also`.

    Without a suffix it is JSON Lines."""
    file = path_of(path)
    name = PurePath(file.name.lower().removesuffix(".gz"))
    if name.suffix not in (*_SUFFIXES, *also):
        others = f" and CSV ({CSV}, also gzipped)" if CSV in also else ""
        raise InputError(
            f"{shortened(file, LONGEST)}: {name.suffix} is no format of memories; there are JSON "
            f"Lines (.jsonl or .ndjson, gzipped with .gz behind){others}"
        )
    return file


def name_of(source: Source) -> str:
    """The name in errors."""
    path = (
        source
        if isinstance(source, Path)
        else PurePath(str(getattr(source, "name", "an open file")))
    )
    return shortened(path, LONGEST)


def lines_of(source: Source, *, cut_long: bool = False) -> Iterator[tuple[int, bytes, int]]:
    """The lines of a file, gzipped or not, that are not empty: number, content, and the bytes read
    so far; 0 of a pipe, which has no place.

    A line of more than MOST_LINE_BYTES raises InvalidLine; with `cut_long` it comes cut to one byte
    more than that. Raises InputError if the file cannot be read.
    """
    number = 0
    shown = name_of(source)
    with _readable(shown, lambda: number), _opened(source) as (file, raw):
        has_place = raw.seekable()
        while content := file.readline(MOST_LINE_BYTES + 1):
            number += 1
            if len(content) > MOST_LINE_BYTES and not cut_long:
                raise InvalidLine(f"{shown}, line {number}: {TOO_LONG}")
            if number == 1:
                content = content.removeprefix(BOM_UTF8)
            if content.strip():
                yield number, content, raw.tell() if has_place else 0
            while not content.endswith(b"\n") and (content := file.readline(_PIECE)):
                pass  # the rest of a line that was cut


TOO_LONG = f"has more than {MOST_LINE_BYTES:,} bytes"


def require_new(path: Path) -> Path:
    """Raises InputError if the file exists."""
    try:
        exists = path.exists()
    except OSError as error:  # such as a name that is too long
        raise InputError(
            f"{shortened(path, LONGEST)} cannot be written: {error.strerror or error}"
        ) from error
    if exists:
        raise InputError(f"{shortened(path, LONGEST)} exists already: name a new file")
    return path


@contextmanager
def naming_line(path: Path, number: int) -> Iterator[None]:
    """Converts errors about a line to an InvalidLine that names it."""
    try:
        yield
    except (InputError, ValueError, TypeError, RecursionError) as error:
        raise InvalidLine(
            f"{shortened(path, LONGEST)}, line {number}: {describe_line_error(error)}"
        ) from error


def describe_line_error(error: Exception) -> str:
    """Says why a line cannot be read."""
    if isinstance(error, json.JSONDecodeError):
        return f"not JSON: {error.msg} at column {error.colno}"
    if isinstance(error, UnicodeDecodeError):
        return f"not UTF-8: byte {error.object[error.start]:#04x} at position {error.start}"
    if isinstance(error, RecursionError):
        return "nested too deeply"
    return str(error) if isinstance(error, InputError) else cut(str(error))


@contextmanager
def opened_text(path: Path, line: Callable[[], int]) -> Iterator[tuple[TextIO, io.BufferedReader]]:
    """The text of a file, gzipped or not, and the raw file; `line` is where errors of it are."""
    with _readable(name_of(path), line), _opened(path) as (file, raw):
        text = io.TextIOWrapper(cast(BinaryIO, file), encoding="utf-8-sig", newline="")
        try:
            yield text, raw
        finally:
            text.detach()


@contextmanager
def _readable(shown: str, line: Callable[[], int]) -> Iterator[None]:
    """Converts errors about a file that cannot be read."""
    try:
        yield
    except (EOFError, gzip.BadGzipFile, zlib.error) as error:
        raise InvalidLine(f"{shown} is damaged or cut off after line {line()}: {error}") from error
    except UnicodeDecodeError as error:
        raise InvalidLine(f"{shown}, line {line()}: {describe_line_error(error)}") from error
    except OSError as error:
        raise InputError(f"{shown} cannot be read: {error.strerror or error}") from error


@contextmanager
def _opened(
    source: Source,
) -> Iterator[tuple[gzip.GzipFile | io.BufferedReader, io.BufferedReader]]:
    """The file, decompressed if necessary, and the raw file, whose position is the progress."""
    with source.open("rb") if isinstance(source, Path) else nullcontext(source) as raw:
        if raw.peek(1)[:1] == _GZIP:  # of a pipe, more may not have come yet
            with gzip.GzipFile(fileobj=raw) as unpacked:
                yield unpacked, raw
        else:
            yield raw, raw
