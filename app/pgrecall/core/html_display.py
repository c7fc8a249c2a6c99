"""The HTML by which notebooks show records. Every text in it is escaped."""

from __future__ import annotations

from collections.abc import Iterator
from html import escape

from pgrecall.core.display import Bar, Cell, Column, Grid, Part, Verbatim, lines, plain

SHADES = ("#2a9fb8", "#4c9a52", "#a5559e", "#c79a2b", "#4a6fc4", "#c4524a", "#8a8f98", "#8a6a3c")
_BAR_WIDTH = 160
_TONES = {
    "bold": "font-weight:bold",
    "dim": "opacity:.6",
    "good": "color:#2e8540",
    "bad": "color:#c4362b",
    "": "",
}


def html_of(*parts: Part) -> str:
    """The parts as HTML, one below the other."""
    return "".join(map(_part, parts))


def _part(part: Part) -> str:
    if isinstance(part, str):
        return f"<p>{escape(plain(part))}</p>"
    if isinstance(part, Verbatim):
        return f'<pre style="white-space:pre-wrap">{escape(lines(part.text))}</pre>'
    return "".join(_table(part))


def _table(grid: Grid) -> Iterator[str]:
    yield "<table>"
    if grid.title:
        yield f"<caption>{escape(plain(grid.title))}</caption>"
    yield "<thead><tr>"
    for column in grid.columns:
        color = "" if column.shade is None else f"color:{SHADES[column.shade % len(SHADES)]}"
        yield f"<th{_style(_aligned(column), color)}>{escape(plain(column.name))}</th>"
    yield "</tr></thead><tbody>"
    for number, row in enumerate(grid.rows):
        line = "border-bottom:1px solid" if number == grid.line_after else ""
        yield "<tr>"
        for cell, column in zip(row, grid.columns, strict=True):
            width = "" if column.wide else "white-space:nowrap"
            style = _style(_aligned(column), _TONES[column.tone], width, line)
            yield f"<td{style}>{_cell(cell)}</td>"
        yield "</tr>"
    yield "</tbody></table>"


def _aligned(column: Column) -> str:
    return f"text-align:{'right' if column.right else 'left'}"


def _style(*rules: str) -> str:
    kept = ";".join(rule for rule in rules if rule)
    return f' style="{kept}"' if kept else ""


def _cell(cell: str | Cell | Bar) -> str:
    if isinstance(cell, Bar):
        return _bar(cell)
    written = Cell(cell) if isinstance(cell, str) else cell
    return "".join(_span(text, tone) for text, tone in written.spans())


def _span(text: str, tone: str) -> str:
    if tone == "match":
        return f"<mark>{escape(text)}</mark>"
    return f"<span{_style(_TONES[tone])}>{escape(text)}</span>" if tone else escape(text)


def _bar(bar: Bar) -> str:
    """The parts of a bar, each with its name and number as a tip."""
    parts = (
        f'<span title="{escape(plain(name))} {bar.parts[name]:.3f}" style="display:inline-block;'
        f'height:.8em;width:{length}px;background:{SHADES[number % len(SHADES)]}"></span>'
        for number, (name, length) in enumerate(bar.lengths(_BAR_WIDTH))
        if length > 0
    )
    return "".join(parts)
