"""The table of hits: rank, score, the parts of the score as a bar, age and text."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING
from uuid import UUID

from pgrecall.core.display import LONGEST_TEXT, Bar, Cell, Column, Grid, age, line, numbers

if TYPE_CHECKING:
    from pgrecall.scoring.scored_memory import ScoredMemory


def hit_grid(
    hits: Sequence[ScoredMemory],
    *,
    title: str = "",
    ids: Mapping[UUID, str] | None = None,
    as_of: datetime | None = None,
) -> Grid:
    """A table of hits, with the parts of each score below the text."""
    as_of = as_of or datetime.now(UTC)
    is_judged = any(hit.reranking for hit in hits)
    columns = [
        Column("#", right=True, tone="dim"),
        Column("score", right=True, tone="bold"),
        *(numbers("reranked") if is_judged else ()),
        Column("made of"),
        *numbers("age"),
        Column("id", tone="dim"),
        Column("memory", wide=True),
    ]
    rows: list[Sequence[str | Cell | Bar]] = []
    for rank, hit in enumerate(hits, start=1):
        memory = hit.memory
        rows.append(
            (
                str(rank),
                f"{hit.score:.3f}",
                *([hit.reranking] if is_judged else []),
                Bar(hit.contributions),
                age(memory.created_at, as_of),
                ids[memory.id] if ids else str(memory.id),
                Cell(line(memory.content, LONGEST_TEXT), "dim" if hit.beside else ""),
            )
        )
        rows.append((*[""] * (len(columns) - 1), Bar(hit.contributions, named=True)))
    return Grid(columns, rows, title)
