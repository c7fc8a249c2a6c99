"""Hits of a search, as commands show them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from uuid import UUID

from rich.console import RenderableType
from rich.padding import Padding
from rich.table import Column, Table
from rich.text import Text

from pgrecall.cli.output import age, console, plain, right, table
from pgrecall.scoring.scored_memory import ScoredMemory

TABLE_WIDTH = 130
BAR_WIDTH = 20
COLORS = ("cyan", "green", "magenta", "yellow", "blue", "red", "bright_white", "bright_cyan")
LEAST_SHOWN = 0.05
"""A signal has its own column if it contributes at least this to some hit."""


def render_hits(
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


def _one_line(hit: ScoredMemory) -> Text:
    """The text, dim for a turn beside a hit, with the share that a neighbour lent to its score."""
    line = Text(plain(hit.memory.content), style="dim" if hit.beside else "")
    return line.append(f"  +{_share(hit.lent)} lent", style="dim") if hit.lent else line


def _bar(contributions: Mapping[str, float]) -> Text:
    """The contributions end to end: the bar's length is the score, its colors the signals."""
    bar = Text()
    end = 0.0
    for share, color in zip(contributions.values(), COLORS, strict=False):
        start, end = end, end + share
        bar.append("█" * (round(end * BAR_WIDTH) - round(start * BAR_WIDTH)), style=color)
    return bar
