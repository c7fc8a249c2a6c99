"""`python -m benchmarks.life`: what writing, touching and collecting cost."""

from __future__ import annotations

from typing import Annotated

import typer
from rich.console import Console

from benchmarks.data import DIMENSIONS, Corpus
from benchmarks.life.adding import BATCH, adding
from benchmarks.life.alike import alike
from benchmarks.life.collecting import collecting
from benchmarks.life.touching import touching
from benchmarks.measurement import print_table
from benchmarks.progress import progress_bar
from benchmarks.server import server


def main(
    rows: Annotated[int, typer.Option(min=1_000, help="Memories that are there.")] = 100_000,
    seed: Annotated[int, typer.Option(help="Decides all the data.")] = 0,
    only_alike: Annotated[
        int, typer.Option("--alike", help="Only batches of so many memories that are alike.")
    ] = 0,
) -> None:
    """Measures the life of memories on an embedded server, with the goals where there are any."""
    console = Console()
    if only_alike:
        with progress_bar() as progress, server() as url:
            found = alike(url, only_alike, progress)
        print_table(console, f"adding {only_alike:,} memories that have something in common", found)
        return
    with progress_bar() as progress, server() as url:
        found = touching(url, Corpus.of(rows, seed), progress)
    title = f"touching 10 of {rows:,} memories, {DIMENSIONS} dimensions"
    print_table(console, title, found)
    for index in (False, True):
        with progress_bar() as progress, server() as url:
            found = adding(url, progress, index=index, seed=seed)
        what = "with the optional index on embeddings" if index else "as installed"
        print_table(console, f"adding {BATCH:,} memories, {what}", found)
    with progress_bar() as progress, server() as url:
        found = collecting(url, rows, progress)
    print_table(console, f"garbage collection of {rows:,} memories of one agent", found)


if __name__ == "__main__":
    typer.run(main)
