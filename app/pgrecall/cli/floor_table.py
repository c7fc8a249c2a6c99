"""The table of evaluate with each floor of relevance."""

from __future__ import annotations

from typing import Annotated

from rich.console import RenderableType

from pgrecall.cli.output import right, table
from pgrecall.cli.written import option
from pgrecall.errors import InputError
from pgrecall.evaluation.floors import Floor, FloorEvaluation

Precision = Annotated[
    float | None,
    option(
        "Propose a min_relevance: of the queries that find nothing, at least this share has "
        "no answer, 0 to 1."
    ),
]

STEPS = 20
"""Floors shown, evenly from 0 to 1, as far as they leave anything."""


def floors_shown(found: FloorEvaluation | None, precision: float | None) -> list[RenderableType]:
    """A table of floors by step, the profile's and the proposed one among them."""
    if found is None:
        if precision is not None:
            raise InputError("--precision needs queries that name no relevant memory")
        return []
    proposed = None if precision is None else found.proposed(precision)
    own = found.profile.min_relevance
    floors = {number / STEPS for number in range(STEPS + 1)}
    floors |= {own} if own is not None else set()
    floors |= {proposed.min_relevance} if proposed is not None else set()
    rows = []
    for floor in map(found.at, sorted(floors)):
        what = ["the profile's"] if floor.min_relevance == own else []
        what += ["proposed"] if floor == proposed else []
        rows.append((*_cells(floor), ", ".join(what)))
        if floor.silent == 1 and floor.lost == 1:
            break
    title = (
        f"min_relevance: {len(found.unanswered):,} queries without an answer, "
        f"{len(found.answered):,} with one, by {found.profile.name}"
    )
    silent = ("nothing found, no answer", "nothing found, answer")
    columns = right("min_relevance", *silent, "precision", f"recall@{found.k}", "")
    shown: list[RenderableType] = [table(*columns, rows=rows, title=title)]
    if precision is not None and proposed is None:
        shown.append(f"no min_relevance reaches a precision of {precision:g}")
    return shown


def _cells(floor: Floor) -> tuple[str, ...]:
    return (
        f"{floor.min_relevance:.3f}",
        f"{floor.silent:.3f}",
        f"{floor.lost:.3f}",
        "" if floor.precision is None else f"{floor.precision:.3f}",
        f"{floor.recall:.3f}",
    )
