"""The table of hits: rank, score, the parts of the score as a bar, age and text."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from pgrecall.core.display import LONGEST_TEXT, Bar, Cell, Column, Grid, age, line
from pgrecall.core.memory import Memory

if TYPE_CHECKING:
    from pgrecall.scoring.scored_memory import ScoredMemory

LEAST_SHOWN = 0.05
"""A signal has its own column if it contributes at least this to some hit."""
BAR_WIDTH, NARROW_BAR_WIDTH = 20, 10
_TABLE, _LINE = 66, 30
"""Characters of a table without ids and signals, of which the text has 30; and of a line."""
_SIGNALS = 36
"""Characters that signals need at least in a table; with less, each hit is a line."""


def _fitting(names: Sequence[str], room: int, around: int) -> list[str]:
    """The first of these signals, as many as have room beside the rest."""
    room -= len("rest") + around
    shown = []
    for name in names:
        room -= len(name) + around
        if room < 0:
            break
        shown.append(name)
    return shown


def hit_grid(
    hits: Sequence[ScoredMemory],
    *,
    title: str = "",
    id_of: Callable[[Memory], str] = lambda memory: str(memory.id),
    as_of: datetime | None = None,
    width: int | None = None,
    matches: frozenset[str] = frozenset(),
) -> Grid:
    """A table of hits in a width of characters; None: as wide as it needs. `matches` are the roots
    of the words to emphasise."""
    as_of = as_of or datetime.now(UTC)
    signals = [*hits[0].contributions] if hits else []
    greatest = {name: max(hit.contributions.get(name, 0.0) for hit in hits) for name in signals}
    leading = sorted(signals, key=lambda name: -greatest[name])
    leading = [name for name in leading if greatest[name] >= LEAST_SHOWN]
    ids = [id_of(hit.memory) for hit in hits]
    reranking = [hit.reranking for hit in hits]
    stacked, fitting = False, leading
    if width is not None:
        if any(reranking):
            width -= max(map(len, ("reranked", *reranking))) + 3
        room = width - _TABLE - max(map(len, ids), default=0)
        stacked = room < _SIGNALS
        fitting = _fitting(leading, width - _LINE, 6) if stacked else _fitting(leading, room, 3)
    shown = [name for name in signals if name in fitting]
    rests = [
        share(sum(part for name, part in hit.contributions.items() if name not in shown))
        if shown
        else ""
        for hit in hits
    ]
    columns = [
        Column("#", right=True, tone="dim"),
        Column("score", right=True, tone="bold"),
        *([Column("reranked", right=True)] if any(reranking) else []),
        Column("made of"),
        *(Column(name, right=True, shade=signals.index(name)) for name in shown),
        *([Column("rest", right=True, tone="dim")] if any(rests) else []),
        Column("age", right=True),
        Column("id", tone="dim"),
        Column("memory", wide=True),
    ]
    rows: list[tuple[str | Cell | Bar, ...]] = [
        (
            str(rank),
            f"{hit.score:.3f}",
            *([judged] if any(reranking) else []),
            Bar(hit.contributions),
            *(share(hit.contributions.get(name, 0.0)) for name in shown),
            *([rest] if any(rests) else []),
            age(hit.memory.created_at, as_of),
            id_,
            Cell("".join(_text(hit)), "dim" if hit.beside else "", matches),
        )
        for rank, (hit, rest, id_, judged) in enumerate(
            zip(hits, rests, ids, reranking, strict=True), start=1
        )
    ]
    return Grid(columns, rows, title, stacked=stacked)


def share(contribution: float) -> str:
    """A contribution without the 0 before the point; empty if it is less than can be shown."""
    shown = f"{contribution:.2f}"
    return "" if float(shown) == 0 else shown.removeprefix("0")


def _text(hit: ScoredMemory) -> Iterator[str]:
    """The text, with the share that a neighbour lent to its score."""
    yield line(hit.memory.content, LONGEST_TEXT)
    if hit.lent:
        yield f"  +{share(hit.lent)} lent"
