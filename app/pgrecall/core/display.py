"""Tables of records: described once, and drawn by rich on a terminal and as HTML."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, fields, is_dataclass
from datetime import datetime
from typing import Literal, Protocol, runtime_checkable

from pgrecall.core.quoting import cut

Tone = Literal["", "bold", "dim", "good", "bad", "warn"]

CONTROL = re.compile(
    "[\u0000-\u0008\u000e-\u001b\u001f\u007f-\u009f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069\ufffe\uffff]"
)
"""Control characters, characters that change the direction of writing, and noncharacters. Line
breaks are not among them, except U+0085."""
UNITS = ((365.25, "y"), (30.44, "mo"), (1.0, "d"), (1 / 24, "h"), (1 / 1440, "min"))
LONGEST_LINE = 160
"""Characters of a text in the one line that shows a record."""
LONGEST_TEXT = 400
"""Characters of a text in a table."""
_LISTED = 10
"""Items of a list that its `repr` shows."""
_READ = 4
"""So many times as many characters are read of a text as are shown."""


@dataclass(frozen=True, slots=True)
class Cell:
    """A text on one line."""

    text: str
    tone: Tone = ""


@dataclass(frozen=True, slots=True)
class Verbatim:
    """Text of several lines."""

    text: str


@dataclass(frozen=True, slots=True)
class Bar:
    """Parts of a number in [0, 1], each in a color: as blocks end to end, or named."""

    parts: Mapping[str, float]
    named: bool = False


@dataclass(frozen=True, slots=True)
class Column:
    """A column, whose cells are plain unless they have a tone of their own."""

    name: str = ""
    right: bool = False
    tone: Tone = ""
    wide: bool = False
    """It takes the width that the other columns leave."""
    cut: bool = False
    """Its cells have one line, of which a terminal shows the beginning."""


@dataclass(frozen=True, slots=True)
class Grid:
    """A table; without names of columns, it has no heading."""

    columns: Sequence[Column]
    rows: Sequence[Sequence[str | Cell | Verbatim | Bar]]
    title: str = ""
    line_after: int | None = None
    """The number of the row that a line follows."""


Part = str | Cell | Verbatim | Bar | Grid
"""A part of a displayed record; a str is a line."""


class Displayed:
    """A record that a notebook shows as HTML, if rich is installed."""

    __slots__ = ()

    def _parts(self) -> Iterable[Part]:
        raise NotImplementedError

    def _repr_html_(self) -> str | None:
        try:
            from pgrecall.core.drawing import html_of
        except ModuleNotFoundError:
            return None
        return html_of(self._parts())


@runtime_checkable
class ShowsCells(Protocol):
    """A record that says what a table shows of it: column → text."""

    def cells(self) -> Mapping[str, str]: ...


def numbers(*names: str) -> list[Column]:
    """Columns of numbers."""
    return [Column(name, right=True) for name in names]


def plain(text: str) -> str:
    """On one line, without what could move a terminal's cursor or speak to it."""
    return CONTROL.sub("\N{REPLACEMENT CHARACTER}", " ".join(text.split()))


def lines(text: str) -> str:
    """The same, with its line feeds."""
    return "\n".join(CONTROL.sub("\N{REPLACEMENT CHARACTER}", one) for one in text.splitlines())


def line(text: object, longest: int = LONGEST_LINE) -> str:
    """The beginning of a text, on one line."""
    whole = str(text)
    shown = plain(whole[: longest * _READ])
    if len(shown) <= longest and len(whole) <= longest * _READ:
        return shown
    return f"{shown[: longest - 1]}…"


def quoted(text: object, longest: int = 60) -> str:
    """The beginning of a text as `repr` writes it."""
    written = repr(line(text, longest))
    return written if len(written) <= longest + 2 else f"{written[: longest - 1]}…{written[0]}"


def age(created_at: datetime | None, as_of: datetime) -> str:
    """The age of a memory at as_of, in the largest unit that fits."""
    if created_at is None:
        return "?"
    days = (as_of - created_at).total_seconds() / 86_400
    for length, unit in UNITS:
        if days >= length:
            return f"{days / length:.0f} {unit}"
    return "now"


def share(contribution: float) -> str:
    """A contribution without its leading zero; empty if it is too small to be shown."""
    shown = f"{contribution:.2f}"
    return "" if float(shown) == 0 else shown.removeprefix("0")


def brief_list(items: Sequence[object], title: str) -> str:
    """The `repr` of a list: the first items, one a line."""
    shown = [f"  {cut(repr(one))}" for one in items[:_LISTED]]
    more = [f"  … {len(items) - _LISTED:,} more"] if len(items) > _LISTED else []
    return "\n".join([f"<{title}: {len(items):,}", *shown, *more]) + ">"


def grid_of(items: Sequence[object]) -> Grid:
    """A table of records, which are dataclasses or have `cells`, names and what is shown."""
    rows = [_cells(one) for one in items]
    columns = [Column(name) for name in (rows[0] if rows else ())]
    return Grid(columns, [[*row.values()] for row in rows])


def _cells(item: object) -> Mapping[str, str]:
    if isinstance(item, ShowsCells):
        return item.cells()
    if is_dataclass(item):
        return {one.name: line(getattr(item, one.name)) for one in fields(item)}
    return {type(item).__name__: line(item)}


def text_of(parts: Iterable[Part]) -> str:
    """The parts as text, one below the other."""
    return "\n".join(_table(one) if isinstance(one, Grid) else _text(one) for one in parts)


def _table(grid: Grid) -> str:
    written = [[column.name for column in grid.columns]]
    written += [[_text(cell) for cell in row] for row in grid.rows]
    widths = [max(map(len, cells)) for cells in zip(*written, strict=True)]
    shown = [plain(grid.title)] if grid.title else []
    for number, cells in enumerate(written):
        padded = (
            cell.rjust(width) if column.right else cell.ljust(width)
            for cell, width, column in zip(cells, widths, grid.columns, strict=True)
        )
        shown.append("  ".join(padded).rstrip())
        if number == 0 or number - 1 == grid.line_after:
            shown.append("  ".join("-" * width for width in widths))
    return "\n".join(shown)


def _text(one: str | Cell | Verbatim | Bar) -> str:
    match one:
        case Verbatim(text):
            return lines(text)
        case Bar(parts):
            return "  ".join(f"{plain(name)}={share(part)}" for name, part in parts.items())
        case Cell(text) | text:
            return plain(text)
