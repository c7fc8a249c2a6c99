"""Tables as a terminal shows them."""

from __future__ import annotations

from collections.abc import Iterator

from rich.console import RenderableType
from rich.padding import Padding
from rich.table import Column as RichColumn
from rich.table import Table
from rich.text import Text

from pgrecall.core.display import Bar, Cell, Column, Grid, Part, Verbatim, plain
from pgrecall.scoring.hit_grid import BAR_WIDTH, NARROW_BAR_WIDTH

SHADES = ("cyan", "green", "magenta", "yellow", "blue", "red", "bright_white", "bright_cyan")
_TONES = {"good": "green", "bad": "red", "match": "bold"}


def drawn(part: Part | RenderableType) -> Iterator[RenderableType | Verbatim]:
    """The part as rich prints it; Verbatim stays as it is."""
    if isinstance(part, str):
        yield Text(plain(part))
    elif not isinstance(part, Grid):
        yield part
    elif part.stacked:
        yield from _stacked(part)
    else:
        yield _table(part)


def _table(grid: Grid) -> Table:
    has_wide = any(column.wide for column in grid.columns)
    table = Table(
        *(_column(column, wraps=column.wide or not has_wide) for column in grid.columns),
        show_edge=False,
        pad_edge=False,
        title=Text(plain(grid.title)) if grid.title else None,
        title_justify="left",
        expand=has_wide,
    )
    for number, row in enumerate(grid.rows):
        table.add_row(*map(_cell, row), end_section=number == grid.line_after)
    return table


def _column(column: Column, *, wraps: bool) -> RichColumn:
    return RichColumn(
        Text(plain(column.name)),
        justify="right" if column.right else "left",
        style=_style(column),
        no_wrap=column.cut or not wraps,
        ratio=1 if column.wide else None,
        overflow="ellipsis" if column.cut else "fold",
    )


def _stacked(grid: Grid) -> Iterator[RenderableType]:
    """Each row as a line, and below it the last two cells."""
    if grid.title:
        yield Text(plain(grid.title))
    widest = max((len(_cell(row[0])) for row in grid.rows), default=0)
    for *cells, name, text in grid.rows:
        line = Text(" " * (widest - len(_cell(cells[0]))))
        for cell, column in zip(cells, grid.columns, strict=False):
            written = _cell(cell, NARROW_BAR_WIDTH)
            if not written:
                continue
            if isinstance(cell, Bar):
                written.pad_right(NARROW_BAR_WIDTH - len(written))
            elif column.shade is not None or column.name == "rest":
                written = Text(f"{plain(column.name)} ").append_text(written)
            written.stylize(_style(column))
            line.append("  " if line.plain.strip() else "").append_text(written)
        yield line
        below = _cell(name)
        below.stylize(_style(grid.columns[-2]))
        yield Padding(below.append("  ").append_text(_cell(text)), (0, 0, 0, 4))


def _style(column: Column) -> str:
    if column.shade is not None:
        return SHADES[column.shade % len(SHADES)]
    return _TONES.get(column.tone, column.tone)


def _cell(cell: str | Cell | Bar, bar_width: int = BAR_WIDTH) -> Text:
    if isinstance(cell, Bar):
        return _bar(cell, bar_width)
    text = Text()
    for part, tone in (Cell(cell) if isinstance(cell, str) else cell).spans():
        text.append(part, style=_TONES.get(tone, tone))
    return text


def _bar(bar: Bar, width: int) -> Text:
    """The bar's length is the score, its colors are the signals."""
    text = Text()
    for number, (_, length) in enumerate(bar.lengths(width)):
        text.append("█" * length, style=SHADES[number % len(SHADES)])
    return text
