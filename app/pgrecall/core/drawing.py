"""Drawing by rich, on a terminal or as HTML. Only this module and the command line need rich."""

from __future__ import annotations

from collections.abc import Iterable
from io import StringIO

from rich.console import Console
from rich.table import Column as RichColumn
from rich.table import Table
from rich.text import Text

from pgrecall.core.display import Bar, Cell, Column, Grid, Part, Verbatim, lines, plain, share

SHADES = ("cyan", "green", "magenta", "yellow", "blue", "red", "bright_black", "bright_cyan")
_TONES = {"good": "green", "bad": "red", "warn": "yellow"}
_BAR_WIDTH = 12
_HTML_WIDTH = 120


def html_of(parts: Iterable[Part]) -> str:
    """The parts as HTML. rich escapes every text in it."""
    console = Console(record=True, width=_HTML_WIDTH, file=StringIO(), force_jupyter=False)
    for part in parts:
        is_text = not isinstance(part, Grid)
        console.print(drawn(part), highlight=False, soft_wrap=is_text)
    return console.export_html(inline_styles=True, code_format="<pre>{code}</pre>")


def drawn(part: Part) -> Text | Table:
    """The part as rich prints it."""
    if not isinstance(part, Grid):
        return _text(part)
    has_wide = any(column.wide for column in part.columns)
    table = Table(
        *(_column(column, wraps=column.wide or not has_wide) for column in part.columns),
        show_header=any(column.name for column in part.columns),
        show_edge=False,
        pad_edge=False,
        title=Text(plain(part.title)) if part.title else None,
        title_justify="left",
        expand=has_wide,
    )
    for number, row in enumerate(part.rows):
        table.add_row(*map(_text, row), end_section=number == part.line_after)
    return table


def _column(column: Column, *, wraps: bool) -> RichColumn:
    return RichColumn(
        Text(plain(column.name)),
        justify="right" if column.right else "left",
        style=_TONES.get(column.tone, column.tone),
        no_wrap=column.cut or not wraps,
        ratio=1 if column.wide else None,
        overflow="ellipsis" if column.cut else "fold",
    )


def _text(one: str | Cell | Verbatim | Bar) -> Text:
    if isinstance(one, Bar):
        return _bar(one)
    if isinstance(one, Verbatim):
        return Text(lines(one.text))
    cell = Cell(one) if isinstance(one, str) else one
    return Text(plain(cell.text), style=_TONES.get(cell.tone, cell.tone))


def _bar(bar: Bar) -> Text:
    text, end = Text(), 0.0
    for number, (name, part) in enumerate(bar.parts.items()):
        start, end = end, end + part
        blocks = "█" * (round(end * _BAR_WIDTH) - round(start * _BAR_WIDTH))
        named = f"{plain(name)}={share(part)}  " if share(part) else ""
        text.append(named if bar.named else blocks, style=SHADES[number % len(SHADES)])
    return text
