"""Hits of a search, as commands show them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from uuid import UUID

from rich.console import RenderableType
from rich.text import Text

from pgrecall.cli.output import console
from pgrecall.core.display import Part, plain, roots_of
from pgrecall.scoring.hit_grid import hit_grid
from pgrecall.scoring.scored_memory import ScoredMemory


def render_hits(
    hits: Sequence[ScoredMemory],
    ids: Mapping[UUID, str],
    as_of: datetime,
    title: str,
    query: str | None = None,
) -> list[Part | RenderableType]:
    """Hits with rank, score, the parts of the score, age, id and text."""
    heading = Text(plain(title), style="bold")
    if not hits:
        return [heading, Text("nothing found", style="yellow")]
    shown = hit_grid(
        hits,
        id_of=lambda memory: ids[memory.id],
        as_of=as_of,
        width=console.width,
        matches=roots_of(query),
    )
    return [heading, shown]
