"""Output of commands: tables for people, one JSON object per line for machines."""

from __future__ import annotations

import json as json_
import os
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rich.console import Console

from pgrecall.core.display import Cell, Column, Grid, Part, Verbatim
from pgrecall.core.display import plain as plain
from pgrecall.core.drawing import drawn
from pgrecall.errors import InputError

if TYPE_CHECKING:
    from pgrecall.core.memory import Memory

PIPED_WIDTH = 140
"""Where neither a terminal nor COLUMNS says how wide."""


class _Console(Console):
    def on_broken_pipe(self) -> None:
        """Rich would exit with 1."""
        raise BrokenPipeError


def _console(*, stderr: bool = False) -> Console:
    console = _Console(stderr=stderr)
    if console.is_terminal or os.environ.get("COLUMNS", "").isdigit():
        return console
    return _Console(stderr=stderr, width=PIPED_WIDTH)


console = _console()
warnings = _console(stderr=True)


class Output:
    """Output of a command: `records` for machines, `parts` for people."""

    def __init__(
        self,
        records: Iterable[Any],
        *parts: Part,
        otherwise: str | None = None,
        notes: Sequence[Part] = (),
        problem: Exception | None = None,
    ) -> None:
        """Records are mappings, dataclasses, or have a method `record`. A part that is a str is one
        line of plain text; Verbatim is printed as it is: not wrapped, and nothing replaced.
        `otherwise` is printed where there are no records. `notes` go to standard error, where no
        line is broken; `problem` is raised in the end."""
        self._records = list(records)
        self._parts = parts
        if not self._records and otherwise is not None:
            self._parts = (Cell(otherwise, "warn"),)
        self._notes, self._problem = notes, problem

    def print(self, *, json: bool) -> None:
        """Prints one JSON object per line, or what people read."""
        for record in self._records if json else ():
            _write(json_.dumps(record_of(record), ensure_ascii=False, default=_as_json) + "\n")
        for part in () if json else self._parts:
            if isinstance(part, Verbatim):
                _write(part.text)
            else:
                # In a pipe no line is broken, such as one with a token; tables are.
                piped = not isinstance(part, Grid) and not console.is_terminal
                console.print(drawn(part), highlight=False, soft_wrap=piped)
        for note in () if json else self._notes:
            is_line = not isinstance(note, Grid)
            warnings.print(drawn(note), highlight=False, soft_wrap=is_line)
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
    """The number of memories that a command changed."""
    return Output([{name: count}], counted(count, one, several or one))


def counted(count: int, one: str, several: str) -> str:
    """1 memory, 2 memories."""
    return f"{count:,} {one if count == 1 else several}"


def table(*columns: Column | str, rows: Iterable[Sequence[Any]]) -> Grid:
    """A table, of which a str is a column."""
    headings = [Column(one) if isinstance(one, str) else one for one in columns]
    cells = [[one if isinstance(one, Verbatim) else str(one) for one in row] for row in rows]
    return Grid(headings, cells)


def size(number: int) -> str:
    """A number of bytes."""
    return f"{number / 2**20:,.1f} MiB"


def facts(rows: Iterable[tuple[str, Any]]) -> Grid:
    """A table of names and values."""
    return Grid([Column(), Column()], [(name, Verbatim(str(value))) for name, value in rows])


@contextmanager
def progress_bar(text: str) -> Iterator[Callable[..., None]]:
    """A bar on the terminal. Yields advance(done, total=None, text=None)."""
    if not warnings.is_interactive:
        yield lambda *_: None
        return
    from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeElapsedColumn

    name = TextColumn("{task.description}", markup=False)
    columns = name, BarColumn(), TaskProgressColumn(), TimeElapsedColumn()
    with Progress(*columns, console=warnings, transient=True) as progress:
        task = progress.add_task(plain(text), total=None)

        def advance(done: float, total: float | None = None, text: str | None = None) -> None:
            shown = None if text is None else plain(text)
            progress.update(task, completed=done, total=total, description=shown)

        yield advance


def require_writable(path: Path) -> None:
    """Raises InputError for a file that could not be written, as far as it can be seen before."""
    if not path.parent.is_dir():
        raise InputError(f"{path} cannot be written: {path.parent} is not a folder")
    if path.is_dir():
        raise InputError(f"{path} cannot be written: it is a folder")
    if not os.access(path if path.exists() else path.parent, os.W_OK):
        raise InputError(f"{path} cannot be written: no permission")
