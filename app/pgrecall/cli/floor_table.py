"""What pgrecall evaluate shows of floors."""

from __future__ import annotations

from typing import Annotated

import typer
from rich.table import Table

from pgrecall.cli.output import console, plain
from pgrecall.errors import InputError
from pgrecall.evaluation.floors import Floor, FloorEvaluation

Precision = Annotated[
    float | None,
    typer.Option(
        help="Propose the min_relevance by which at least this share of the questions that "
        "return nothing have no answer.",
    ),
]

STEPS = 20
"""Floors shown, evenly from 0 to 1, as far as they leave anything."""


def print_floors(found: FloorEvaluation | None, precision: float | None) -> None:
    """A table of floors by step, the profile's and the proposed one among them."""
    if found is None:
        if precision is not None:
            raise InputError("--precision needs queries that name no relevant memory")
        return
    proposed = None if precision is None else found.proposed(precision)
    own = found.profile.min_relevance
    shown = {number / STEPS for number in range(STEPS + 1)}
    shown |= {own} if own is not None else set()
    shown |= {proposed.min_relevance} if proposed is not None else set()
    table = Table(
        title=f"nothing known: {len(found.unanswered):,} questions without an answer, "
        f"{len(found.answered):,} with one, by {plain(found.profile.name)}",
        title_justify="left",
        show_edge=False,
    )
    for name in (
        *("min_relevance", "without: silent", "with: silent", "precision", f"recall@{found.k}"),
        "",
    ):
        table.add_column(name, justify="right", no_wrap=True)
    for floor in map(found.at, sorted(shown)):
        what = ["the profile's"] if floor.min_relevance == own else []
        what += ["proposed"] if floor == proposed else []
        table.add_row(*_cells(floor), ", ".join(what))
        if floor.silent == 1 and floor.lost == 1:
            break
    console.print(table)
    if precision is not None and proposed is None:
        console.print(f"no floor keeps to a precision of {precision:g}", highlight=False)


def _cells(floor: Floor) -> tuple[str, ...]:
    return (
        f"{floor.min_relevance:.3f}",
        f"{floor.silent:.3f}",
        f"{floor.lost:.3f}",
        "" if floor.precision is None else f"{floor.precision:.3f}",
        f"{floor.recall:.3f}",
    )
