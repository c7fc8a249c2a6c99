"""Output of commands: tables for people, one JSON object per line for machines."""

from __future__ import annotations

import json as json_
import os
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from datetime import datetime
from pathlib import Path
from typing import Any
from unicodedata import category

from rich.console import Console, RenderableType
from rich.table import Column, Table
from rich.text import Text

from pgrecall.core.memory import Memory
from pgrecall.errors import InputError

PIPED_WIDTH = 140
UNITS = ((365.25, "y"), (30.44, "mo"), (1.0, "d"), (1 / 24, "h"), (1 / 1440, "min"))


class _Console(Console):
    def on_broken_pipe(self) -> None:
        """Rich would exit with 1."""
        raise BrokenPipeError


def _console(*, stderr: bool = False) -> Console:
    console = _Console(stderr=stderr)
    return console if console.is_terminal else _Console(stderr=stderr, width=PIPED_WIDTH)


console = _console()
warnings = _console(stderr=True)


@dataclass(frozen=True)
class Verbatim:
    """Text that is printed as it is: not wrapped, and nothing replaced."""

    text: str


class Output:
    """Output of a command: `records` for machines, `parts` for people."""

    def __init__(
        self,
        records: Iterable[Any],
        *parts: RenderableType | Verbatim,
        otherwise: str | None = None,
        notes: Sequence[RenderableType] = (),
        problem: Exception | None = None,
    ) -> None:
        """Records are mappings, dataclasses, or have a method `record`. A part that is a str is one
        line of plain text. `otherwise` is printed where there are no records. `notes` go to
        standard error; `problem` is raised in the end."""
        self._records = list(records)
        self._parts = parts
        if not self._records and otherwise is not None:
            self._parts = (Text(otherwise, style="yellow"),)
        self._notes, self._problem = notes, problem

    def print(self, *, json: bool) -> None:
        """Prints one JSON object per line, or what people read."""
        for record in self._records if json else ():
            _write(json_.dumps(record_of(record), ensure_ascii=False, default=_as_json) + "\n")
        for part in () if json else self._parts:
            if isinstance(part, Verbatim):
                _write(part.text)
            else:
                console.print(_shown(part), highlight=False)
        for note in () if json else self._notes:
            warnings.print(_shown(note), highlight=False)
        if self._problem is not None:
            raise self._problem


@contextmanager
def until_closed() -> Iterator[None]:
    """Ends without an error if the reader closes the output, as `head` does."""
    try:
        yield
        if sys.stdout is not None:  # as it is where it was closed at the start
            sys.stdout.flush()
    except BrokenPipeError:  # the rest is discarded
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def print_lines(lines: Sequence[str]) -> None:
    """Prints them as they are, in UTF-8 whatever the terminal's encoding, as in files."""
    if sys.stdout is None:
        raise InputError("standard output is closed")
    sys.stdout.buffer.write("".join(f"{line}\n" for line in lines).encode())
    sys.stdout.buffer.flush()


def _write(text: str) -> None:
    print(text, end="")  # noqa: T201


def _shown(part: RenderableType) -> RenderableType:
    return Text(plain(part)) if isinstance(part, str) else part


def _as_json(value: Any) -> str:
    return value.isoformat() if isinstance(value, datetime) else str(value)


def record_of(value: Any) -> Mapping[str, Any]:
    """A result as JSON shows it."""
    if isinstance(value, Mapping):
        return value
    return dict(value.record() if hasattr(value, "record") else asdict(value))


def changed(memory: Memory, *fields: str) -> Output:
    """A memory's id and the fields that a command is about."""
    values = {name: getattr(memory, name) for name in fields}
    text = ", ".join(
        f"{name} {value:.4f}" if isinstance(value, float) else f"{name} {value}"
        for name, value in values.items()
    )
    return Output([{"id": memory.id} | values], f"{memory.id}: {text}")


def number(name: str, count: int, one: str, several: str | None = None) -> Output:
    """The number of memories or labels that a command changed."""
    return Output([{name: count}], counted(count, one, several or one))


def counted(count: int, one: str, several: str) -> str:
    """1 memory, 2 memories."""
    return f"{count:,} {one if count == 1 else several}"


def right(*names: str) -> list[Column]:
    """Columns of numbers."""
    return [Column(_shown(name), justify="right", no_wrap=True) for name in names]


def table(
    *columns: Column | str, rows: Iterable[Sequence[Any]], title: str = "", expand: bool = False
) -> Table:
    """A table; its cells are plain text, unless they are Text."""
    headings = (Column(_shown(one)) if isinstance(one, str) else one for one in columns)
    grid = Table(*headings, show_edge=False, pad_edge=False, title_justify="left")
    grid.expand = expand
    grid.title = Text(plain(title)) if title else None
    for row in rows:
        grid.add_row(*map(cell, row))
    return grid


def size(number: int) -> str:
    """A number of bytes."""
    return f"{number / 2**20:,.1f} MiB"


def facts(rows: Iterable[tuple[str, Any]]) -> Table:
    """A table of names and values."""
    grid = Table(show_header=False, show_edge=False)
    for name, value in rows:
        grid.add_row(name, cell(value))
    return grid


def cell(value: Any) -> Text:
    """Text as it is, anything else as plain text, line by line."""
    if isinstance(value, Text):
        return value
    return Text("\n".join(map(plain, str(value).splitlines())))


@contextmanager
def working(text: str) -> Iterator[None]:
    """Shows on a terminal that the command is running."""
    with warnings.status(text):
        yield


@contextmanager
def progress_bar(text: str, **options: Any) -> Iterator[Callable[[float, float], None]]:
    """A bar on standard error. Yields a function to call with the number done, and the total."""
    from rich.progress import Progress  # searches do not need it

    with Progress(console=warnings, **options) as progress:
        task = progress.add_task(text, total=None)
        yield lambda done, total: progress.update(task, completed=done, total=total)


def require_writable(path: Path) -> None:
    """Raises InputError for a file that could not be written, as far as it can be seen before."""
    if not path.parent.is_dir():
        raise InputError(f"{path} cannot be written: {path.parent} is not a folder")
    if path.is_dir():
        raise InputError(f"{path} cannot be written: it is a folder")
    if not os.access(path if path.exists() else path.parent, os.W_OK):
        raise InputError(f"{path} cannot be written: no permission")


def plain(text: str) -> str:
    """On one line, without what could move a terminal's cursor or speak to it."""
    return "".join(
        "\N{REPLACEMENT CHARACTER}" if category(character) == "Cc" else character
        for character in " ".join(text.split())
    )


def age(created_at: datetime | None, as_of: datetime) -> str:
    """The age of a memory at as_of, in the largest unit that fits."""
    if created_at is None:
        return "?"
    days = (as_of - created_at).total_seconds() / 86_400
    for length, unit in UNITS:
        if days >= length:
            return f"{days / length:.0f} {unit}"
    return "now"
