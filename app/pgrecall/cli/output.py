"""Output of commands: tables for people, one JSON object per line for machines."""

from __future__ import annotations

import json as json_
import os
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any
from unicodedata import category
from uuid import UUID

from rich.console import Console, RenderableType
from rich.padding import Padding
from rich.table import Column, Table
from rich.text import Text

from pgrecall.core.memory import Memory
from pgrecall.errors import InputError
from pgrecall.scoring.scored_memory import ScoredMemory

PIPED_WIDTH = 140
TABLE_WIDTH = 130
BAR_WIDTH = 20
COLORS = ("cyan", "green", "magenta", "yellow", "blue", "red", "bright_white", "bright_cyan")
UNITS = ((365.25, "y"), (30.44, "mo"), (1.0, "d"), (1 / 24, "h"), (1 / 1440, "min"))


class _Console(Console):
    def on_broken_pipe(self) -> None:
        """Rich would exit with 1."""
        raise BrokenPipeError


def _console(*, stderr: bool = False) -> Console:
    console = _Console(stderr=stderr)
    return console if console.is_terminal else _Console(stderr=stderr, width=PIPED_WIDTH)


console = _console()
complaints = _console(stderr=True)


@dataclass(frozen=True)
class Verbatim:
    """Text that is printed as it is: not wrapped, and nothing replaced."""

    text: str


class Output:
    """Output of a command: `records` for machines, `parts` for people."""

    def __init__(
        self,
        records: Iterable[Mapping[str, Any]],
        *parts: RenderableType | Verbatim,
        otherwise: str | None = None,
        notes: Sequence[RenderableType] = (),
        problem: Exception | None = None,
    ) -> None:
        """A part that is a str is one line of plain text. `otherwise` is printed where there are no
        records, `notes` beside the parts on standard error; `problem` is raised in the end."""
        self._records = list(records)
        self._parts = parts
        if not self._records and otherwise is not None:
            self._parts = (Text(otherwise, style="yellow"),)
        self._notes, self._problem = notes, problem

    def print(self, *, json: bool) -> None:
        """One JSON object per line, or what people read."""
        for record in self._records if json else ():
            _write(json_.dumps(record, ensure_ascii=False, default=_as_json) + "\n")
        for part in () if json else self._parts:
            if isinstance(part, Verbatim):
                _write(part.text)
            else:
                console.print(_shown(part), highlight=False)
        for note in () if json else self._notes:
            complaints.print(_shown(note), highlight=False)
        if self._problem is not None:
            raise self._problem


@contextmanager
def until_read_enough() -> Iterator[None]:
    """Ends quietly if whoever reads the output closes it, as `head` does."""
    try:
        yield
        if sys.stdout is not None:  # as it is where it was closed at the start
            sys.stdout.flush()
    except BrokenPipeError:  # what is left goes nowhere
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


def changed(memory: Memory, *fields: str) -> Output:
    """A memory's id and the fields that a command is about."""
    values = {name: getattr(memory, name) for name in fields}
    said = ", ".join(
        f"{name} {value:.4f}" if isinstance(value, float) else f"{name} {value}"
        for name, value in values.items()
    )
    return Output([{"id": memory.id} | values], f"{memory.id}: {said}")


def number(name: str, count: int, one: str, several: str | None = None) -> Output:
    """How many memories or labels a command concerned."""
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
    made = Table(*headings, show_edge=False, pad_edge=False, title_justify="left")
    made.expand = expand
    made.title = Text(plain(title)) if title else None
    for row in rows:
        made.add_row(*map(cell, row))
    return made


def size(number: int) -> str:
    """A number of bytes."""
    return f"{number / 2**20:,.1f} MiB"


def facts(rows: Iterable[tuple[str, Any]]) -> Table:
    """A table of names and values."""
    made = Table(show_header=False, show_edge=False)
    for name, value in rows:
        made.add_row(name, cell(value))
    return made


def cell(value: Any) -> Text:
    """Text as it is, anything else as plain text, line by line."""
    if isinstance(value, Text):
        return value
    return Text("\n".join(map(plain, str(value).splitlines())))


@contextmanager
def working(what: str) -> Iterator[None]:
    """Shows that the command is at work, on a terminal."""
    with complaints.status(what):
        yield


def require_writable(path: Path) -> None:
    """Raises InputError for a file that could not be written, as far as it can be seen before."""
    if not path.parent.is_dir():
        raise InputError(f"{path} cannot be written: {path.parent} is not a folder")
    if path.is_dir():
        raise InputError(f"{path} cannot be written: it is a folder")
    if not os.access(path if path.exists() else path.parent, os.W_OK):
        raise InputError(f"{path} cannot be written: no permission")


LEAST_SHOWN = 0.05
"""Least contribution to some hit for which a signal has a column of its own."""


def shown_hits(
    hits: Sequence[ScoredMemory], ids: Mapping[UUID, str], as_of: datetime, title: str
) -> list[RenderableType]:
    """Hits with rank, id, score, each signal's contribution, age and text."""
    heading = Text(plain(title), style="bold")
    if not hits:
        return [heading, Text("nothing found", style="yellow")]
    if console.width >= TABLE_WIDTH:
        return [heading, _table(hits, ids, as_of)]
    return [heading, *_narrow(hits, ids, as_of)]


def _table(hits: Sequence[ScoredMemory], ids: Mapping[UUID, str], as_of: datetime) -> Table:
    colors = dict(zip(hits[0].signals, COLORS, strict=False))
    shown = [
        signal
        for signal in hits[0].signals
        if any(hit.contributions[signal] >= LEAST_SHOWN for hit in hits)
    ]
    rest = [signal for signal in hits[0].signals if signal not in shown]
    columns = [
        Column("#", justify="right", style="dim"),
        Column("id", style="dim", no_wrap=True),
        Column("score", justify="right", style="bold", no_wrap=True),
        Column("made of", no_wrap=True, min_width=BAR_WIDTH),
        *(
            Column(name, justify="right", style=colors.get(name, ""), max_width=5, overflow="fold")
            for name in shown
        ),
        *([Column("rest", justify="right", style="dim", no_wrap=True)] if rest else []),
        *right("age"),
        Column("memory", ratio=1, overflow="fold"),
    ]
    rows = (
        [
            rank,
            ids[hit.memory.id],
            f"{hit.score:.3f}",
            _bar(hit.contributions),
            *(_share(hit.contributions[signal]) for signal in shown),
            *([_share(sum(hit.contributions[signal] for signal in rest))] if rest else []),
            age(hit.memory.created_at, as_of),
            _one_line(hit),
        ]
        for rank, hit in enumerate(hits, start=1)
    )
    return table(*columns, rows=rows)


def _narrow(
    hits: Sequence[ScoredMemory], ids: Mapping[UUID, str], as_of: datetime
) -> Iterator[RenderableType]:
    for rank, hit in enumerate(hits, start=1):
        line = Text(f"{rank:>2}  ").append(f"{hit.score:.3f}", style="bold").append(" =")
        for (signal, share), color in zip(hit.contributions.items(), COLORS, strict=False):
            line.append(f" {signal} {_share(share)}", style=color)
        line.append(f"  {age(hit.memory.created_at, as_of)}  {ids[hit.memory.id]}", style="dim")
        yield line
        yield Padding(_one_line(hit), (0, 0, 0, 4))


def _share(contribution: float) -> str:
    return f"{contribution:.2f}".removeprefix("0")


def plain(text: str) -> str:
    """On one line, without what could move a terminal's cursor or speak to it."""
    return "".join(
        "\N{REPLACEMENT CHARACTER}" if category(character) == "Cc" else character
        for character in " ".join(text.split())
    )


def _one_line(hit: ScoredMemory) -> Text:
    """Dim where it only came along, with what was lent to its score."""
    line = Text(plain(hit.memory.content), style="dim" if hit.beside else "")
    return line.append(f"  +{_share(hit.lent)} lent", style="dim") if hit.lent else line


def age(created_at: datetime | None, as_of: datetime) -> str:
    """How old a memory is at as_of, in the largest unit that fits."""
    if created_at is None:
        return "?"
    days = (as_of - created_at).total_seconds() / 86_400
    for length, unit in UNITS:
        if days >= length:
            return f"{days / length:.0f} {unit}"
    return "now"


def _bar(contributions: Mapping[str, float]) -> Text:
    """The contributions end to end: the bar's length is the score, its colors the signals."""
    bar = Text()
    end = 0.0
    for share, color in zip(contributions.values(), COLORS, strict=False):
        start, end = end, end + share
        bar.append("█" * (round(end * BAR_WIDTH) - round(start * BAR_WIDTH)), style=color)
    return bar
