"""Published files: found, read as JSON, and looked into, with errors that say what was expected."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, TypeVar

from pgrecall.core.quoting import LONGEST, shortened
from pgrecall.errors import InputError

T = TypeVar("T")

_KINDS = {dict: "an object", list: "a list", str: "a text", int: "a whole number"}
_EXAMPLE = datetime(2023, 5, 8, tzinfo=UTC)
_SESSION = re.compile(r"session_(\d+)")


@dataclass(frozen=True, slots=True)
class Publication:
    """A data set."""

    title: str
    files: str
    """The pattern of its files' names."""
    place: str
    """Where they are published."""

    def find(self, path: Path) -> list[Path]:
        """The file, or the files of a folder and of those in it, in the order of their numbers."""
        if path.is_dir():
            found = [one for one in path.rglob(self.files) if one.is_file()]
            if not found:
                raise self.unlike(path, f"there is no {self.files} in it")
            return sorted(found, key=_natural)
        if not path.is_file():
            raise self.unlike(path, "it does not exist")
        return [path]

    def read(self, file: Path, convert: Callable[[Any], T]) -> T:
        """The result of a function of the file's JSON. Raises InputError."""
        try:
            return convert(json.loads(file.read_bytes()))
        except OSError as error:
            raise self.unlike(file, str(error.strerror or error)) from None
        except json.JSONDecodeError as error:
            at = f"line {error.lineno}, column {error.colno}"
            raise self.unlike(file, f"it is no JSON, or half a file: {error.msg}, {at}") from None
        except (UnicodeDecodeError, RecursionError) as error:
            raise self.unlike(file, f"it is no JSON: {error}") from None
        except Unlike as error:
            raise self.unlike(file, str(error)) from None

    def unlike(self, path: Path, why: str) -> InputError:
        """The error for what cannot be read."""
        return InputError(
            f"{shortened(path, LONGEST)} cannot be read as {self.title}: {why}; give {self.files} "
            f"of {self.place} as it is published, or its folder"
        )


class Unlike(Exception):
    """A file is not as its data set is published."""


@contextmanager
def within(place: str) -> Iterator[None]:
    """Names the place in an error."""
    try:
        yield
    except Unlike as error:
        raise Unlike(f"{place}: {error}") from None


def each(values: Any, noun: str) -> Iterator[tuple[int, Any]]:
    """The items of a list, each with its number, from 1."""
    yield from enumerate(kind_of(values, list, f"{noun}s"), start=1)


def kind_of(value: Any, kind: type[T], name: str) -> T:
    """The value, which is of this kind."""
    if not isinstance(value, kind) or isinstance(value, bool):
        raise Unlike(f"{name} must be {_KINDS[kind]}, got {shortened(value)}")
    return value


def part(record: Any, name: str, kind: type[T]) -> T:
    """The value that a record has under this name."""
    values = kind_of(record, dict, "what has " + name)
    if name not in values:
        raise Unlike(f"{name} is missing, there is {shortened(sorted(values))}")
    return kind_of(values[name], kind, name)


def numbered_sessions(record: Mapping[str, Any]) -> Iterator[tuple[str, list[Any]]]:
    """The lists of turns under session_1, session_2 and so on, in their order."""
    found = {int(match[1]): name for name in record if (match := _SESSION.fullmatch(name))}
    if not found:
        raise Unlike("session_1 is missing")
    for _, name in sorted(found.items()):
        yield name, part(record, name, list)


def moment(text: str, written: str) -> datetime:
    """A time without a zone, which counts as UTC."""
    try:
        return datetime.strptime(text, written).replace(tzinfo=UTC)
    except ValueError:
        raise Unlike(f"{shortened(text)} is no time as {_EXAMPLE:{written}}") from None


def _natural(path: Path) -> list[tuple[int, str]]:
    """Sorts 2 before 10."""
    parts = re.findall(r"\d+|\D+", str(path))
    return [(int(one), "") if one.isdigit() else (-1, one) for one in parts]
