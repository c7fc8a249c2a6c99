"""`python -m benchmarks.evaluation`: evaluating, fast; and what weights and floors do."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from benchmarks.evaluation import owners, quality, speed, tuning
from benchmarks.measurement import print_table
from benchmarks.progress import progress_bar
from benchmarks.server import server
from pgrecall.core.drawing import drawn
from pgrecall.evaluation.evaluation_grid import floor_grids


def main(
    seed: Annotated[int, typer.Option(help="Decides all made-up data.")] = 0,
    passages: Annotated[
        Path | None,
        typer.Option(exists=True, help="JSON lines, gzipped: content; to hide answers among."),
    ] = None,
    held_out: Annotated[
        bool, typer.Option("--held-out", help="Asks the owners' questions that are kept apart.")
    ] = False,
    tuning_alone: Annotated[
        bool, typer.Option("--tuning", help="Only tunes: by few questions and all, and its time.")
    ] = False,
) -> None:
    """Evaluates labelled questions, and times evaluating beside one search a query."""
    console = Console()
    if tuning_alone:
        _print_tuning(console, seed)
        return
    with progress_bar() as progress, server() as url:
        found = quality.measured(url, passages, progress)
    quality.print_quality(console, found)
    with progress_bar() as progress, server() as url:
        by_owner, without_dates = owners.measured(url, held_out, progress)
        silent = owners.silence(url, progress)
    owners.print_owners(console, by_owner, without_dates)
    for grid in floor_grids(by_owner):
        console.print(drawn(grid))
    owners.print_silence(console, silent, by_owner)
    with progress_bar() as progress, server() as url:
        times = speed.measured(url, seed, progress)
    title = f"5 profiles, {speed.QUERIES} queries, {speed.MEMORIES:,} memories"
    print_table(console, title, times)
    _print_tuning(console, seed)


def _print_tuning(console: Console, seed: int) -> None:
    with progress_bar() as progress, server() as url:
        gains = tuning.gains(url, progress)
    tuning.print_gains(console, gains)
    with progress_bar() as progress, server() as url:
        times = tuning.timed(url, seed, progress)
    title = f"tune, {tuning.QUESTIONS} questions, {tuning.MEMORIES:,} memories"
    print_table(console, title, times)


if __name__ == "__main__":
    typer.run(main)
