"""What commands print: tables for people, one JSON object per line for machines."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from datetime import datetime
from pathlib import Path
from typing import Any
from unicodedata import category
from uuid import UUID

from rich.console import Console
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from pgrecall.errors import InputError
from pgrecall.scoring.scored_memory import ScoredMemory

PIPED_WIDTH = 140
TABLE_WIDTH = 130
BAR_WIDTH = 20
COLORS = ("cyan", "green", "magenta", "yellow", "blue", "red", "bright_white", "bright_cyan")
UNITS = ((365.25, "y"), (30.44, "mo"), (1.0, "d"), (1 / 24, "h"), (1 / 1440, "min"))


def _console(*, stderr: bool = False) -> Console:
    console = Console(stderr=stderr)
    return console if console.is_terminal else Console(stderr=stderr, width=PIPED_WIDTH)


console = _console()
complaints = _console(stderr=True)


def print_json(record: Mapping[str, Any]) -> None:
    """One object on one line."""
    print(json.dumps(record, ensure_ascii=False))  # noqa: T201


def require_writable(path: Path) -> None:
    """Raises InputError for a file that could not be written, as far as it can be seen before."""
    if not path.parent.is_dir():
        raise InputError(f"{path.parent} is not a folder")
    if path.is_dir():
        raise InputError(f"{path} cannot be written: it is a folder")
    if not os.access(path if path.exists() else path.parent, os.W_OK):
        raise InputError(f"{path} cannot be written: no permission")


LEAST_SHOWN = 0.05
"""What a signal has to contribute to some hit to have a column of its own."""


def print_hits(
    hits: Sequence[ScoredMemory], ids: Mapping[UUID, str], as_of: datetime, title: str
) -> None:
    """Hits with rank, id, score, each signal's contribution, age and text."""
    console.print(Text(plain(title), style="bold"))
    if not hits:
        console.print("[yellow]nothing found[/]")
    elif console.width >= TABLE_WIDTH:
        console.print(_table(hits, ids, as_of))
    else:
        _print_narrow(hits, ids, as_of)


def _table(hits: Sequence[ScoredMemory], ids: Mapping[UUID, str], as_of: datetime) -> Table:
    colors = dict(zip(hits[0].signals, COLORS, strict=False))
    shown = [
        signal
        for signal in hits[0].signals
        if any(hit.contributions[signal] >= LEAST_SHOWN for hit in hits)
    ]
    rest = [signal for signal in hits[0].signals if signal not in shown]
    table = Table(show_edge=False, pad_edge=False)
    table.add_column("#", justify="right", style="dim")
    table.add_column("id", style="dim", no_wrap=True)
    table.add_column("score", justify="right", style="bold", no_wrap=True)
    table.add_column("made of", no_wrap=True, min_width=BAR_WIDTH)
    for signal in shown:
        style = colors.get(signal, "")
        table.add_column(signal, justify="right", style=style, max_width=5, overflow="fold")
    if rest:
        table.add_column("rest", justify="right", style="dim", no_wrap=True)
    table.add_column("age", justify="right", no_wrap=True)
    table.add_column("memory", ratio=1, overflow="fold")
    for rank, hit in enumerate(hits, start=1):
        table.add_row(
            str(rank),
            ids[hit.memory.id],
            f"{hit.score:.3f}",
            _bar(hit.contributions),
            *(_share(hit.contributions[signal]) for signal in shown),
            *([_share(sum(hit.contributions[signal] for signal in rest))] if rest else []),
            age(hit.memory.created_at, as_of),
            _one_line(hit),
        )
    return table


def _print_narrow(hits: Sequence[ScoredMemory], ids: Mapping[UUID, str], as_of: datetime) -> None:
    for rank, hit in enumerate(hits, start=1):
        line = Text(f"{rank:>2}  ").append(f"{hit.score:.3f}", style="bold").append(" =")
        for (signal, share), color in zip(hit.contributions.items(), COLORS, strict=False):
            line.append(f" {signal} {_share(share)}", style=color)
        line.append(f"  {age(hit.memory.created_at, as_of)}  {ids[hit.memory.id]}", style="dim")
        console.print(line)
        console.print(Padding(_one_line(hit), (0, 0, 0, 4)))


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
