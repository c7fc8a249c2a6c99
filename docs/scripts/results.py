"""The tables of benchmarks/RESULTS.md, so that no figure of a chart is copied by hand."""

from __future__ import annotations

import re
from pathlib import Path

RESULTS = Path(__file__).parents[2] / "benchmarks" / "RESULTS.md"

Rows = dict[str, list[str]]
"""The first cell of each row → the others; the heading is a row, too."""


def table(section: str, first: str) -> Rows:
    """The table of a section that begins with this line, or follows it."""
    text = RESULTS.read_text(encoding="utf-8")
    found = re.search(rf"^##+ {re.escape(section)}$(.*?)(?=^## |\Z)", text, re.M | re.S)
    if found is None:
        raise LookupError(f"RESULTS.md has no section {section!r}")
    lines = found[1].splitlines()
    begin = next((n for n, line in enumerate(lines) if line.lstrip("| ").startswith(first)), None)
    if begin is None:
        raise LookupError(f"the section {section!r} has no table that begins with {first!r}")
    rows: Rows = {}
    for line in lines[begin:]:
        if line.startswith("|"):
            name, *cells = (cell.strip() for cell in line.strip()[1:-1].split("|"))
            if not re.fullmatch("-+", name):
                rows.setdefault(name, cells)
        elif rows:
            break
    return rows


def number(cell: str) -> float:
    """The number that a cell begins with: of "17.4 (≥ 15)" 17.4."""
    found = re.match(r"[\d,.]+", cell)
    if found is None:
        raise ValueError(f"{cell!r} has no number")
    return float(found[0].rstrip(",").replace(",", ""))
