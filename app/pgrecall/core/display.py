"""Tables that records show: described once, and drawn as text, as HTML or by the command line."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, is_dataclass
from datetime import datetime
from typing import Literal, Protocol, runtime_checkable

from pgrecall.core.quoting import cut

Tone = Literal["", "bold", "dim", "good", "bad", "match"]

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
_ENDING = re.compile(r"(?<=\w{3})(?:ies|es|s|ed|ing|e|y|i)\Z")
_FREQUENT = (
    "a about an and are as at be by can did do does for from had has have he her his how i in is "
    "it its me my of on or our she that the their them they this to was we were what when where "
    "which who why will with you your"
)


@dataclass(frozen=True, slots=True)
class Cell:
    """A text on one line."""

    text: str
    tone: Tone = ""
    matches: frozenset[str] = frozenset()
    """Roots of words to emphasise."""

    def spans(self) -> Iterator[tuple[str, Tone]]:
        """The text in parts, each with its tone."""
        text = plain(self.text)
        for part in re.split(r"(\w+)", text) if self.matches else [text]:
            if part:
                yield part, "match" if self.matches and root(part) in self.matches else self.tone


@dataclass(frozen=True, slots=True)
class Bar:
    """Parts of a number in [0, 1], drawn end to end: the length of the bar is their sum."""

    parts: Mapping[str, float]

    def lengths(self, width: int) -> Iterator[tuple[str, int]]:
        """The name and the length of each part, for a bar of 1 that has this width."""
        end = 0.0
        for name, part in self.parts.items():
            start, end = end, end + part
            yield name, round(end * width) - round(start * width)


@dataclass(frozen=True, slots=True)
class Column:
    """A column, whose cells are plain unless they have a tone of their own."""

    name: str = ""
    right: bool = False
    tone: Tone = ""
    shade: int | None = None
    """The number of the color that the part of this name has in bars."""
    wide: bool = False
    """It gets what width the others leave."""
    cut: bool = False
    """Its cells have one line, of which a terminal shows the beginning."""


@dataclass(frozen=True, slots=True)
class Grid:
    """A table."""

    columns: Sequence[Column]
    rows: Sequence[Sequence[str | Cell | Bar]]
    title: str = ""
    line_after: int | None = None
    """The number of the row that a line follows."""
    stacked: bool = False
    """Where there is little width: each row is a line, and its last two cells one below."""


@runtime_checkable
class ShowsCells(Protocol):
    """A record that says what a table shows of it: column → text."""

    def cells(self) -> Mapping[str, str]: ...


@dataclass(frozen=True, slots=True)
class Verbatim:
    """Text of several lines."""

    text: str


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


def root(word: str) -> str:
    """A word without case, accents and an English ending. The database compares stems of its own;
    this is only good enough to emphasise words."""
    letters = unicodedata.normalize("NFKD", word.casefold())
    return _ENDING.sub("", "".join(one for one in letters if not unicodedata.combining(one)))


def roots(words: Iterable[str]) -> frozenset[str]:
    """The roots of the words, without those that every text has."""
    frequent = _FREQUENT.split()
    return frozenset(root(word) for word in words if word.casefold() not in frequent)


def roots_of(text: str | None) -> frozenset[str]:
    """The roots of the words of a text."""
    return roots(re.findall(r"\w+", text or ""))


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


Part = str | Grid | Verbatim
"""A part of what shows a record; a str is a line."""


def text_of(*parts: Part) -> str:
    """The parts as text, one below the other."""
    return "\n".join(map(_text, parts))


def _text(part: Part) -> str:
    if isinstance(part, str):
        return plain(part)
    return lines(part.text) if isinstance(part, Verbatim) else "\n".join(_text_lines(part))


def _text_lines(grid: Grid) -> Iterator[str]:
    """A table of texts, without color."""
    written = [[column.name for column in grid.columns]]
    written += [[_cell_text(cell) for cell in row] for row in grid.rows]
    widths = [max(map(len, cells)) for cells in zip(*written, strict=True)]
    if grid.title:
        yield plain(grid.title)
    for number, cells in enumerate(written):
        padded = (
            cell.rjust(width) if column.right else cell.ljust(width)
            for cell, width, column in zip(cells, widths, grid.columns, strict=True)
        )
        yield "  ".join(padded).rstrip()
        if number == 0 or number - 1 == grid.line_after:
            yield "  ".join("-" * width for width in widths)


def _cell_text(cell: str | Cell | Bar) -> str:
    if isinstance(cell, Bar):
        return "".join("█" * length for _, length in cell.lengths(20))
    return plain(cell if isinstance(cell, str) else cell.text)
