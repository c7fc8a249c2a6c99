"""`python -m benchmarks.peers`: the composite score by other packages and by pgrecall."""

from __future__ import annotations

from itertools import groupby
from typing import Annotated

import typer

from benchmarks.measuring import print_machine, print_table
from benchmarks.peers.given import memories
from benchmarks.peers.rounds import compared


def main(
    rounds: Annotated[int, typer.Option(min=4, help="Of agents up to 1,000 memories.")] = 60,
    scale: Annotated[float, typer.Option(min=0.001, max=1, help="Of 1,000 agents of 100.")] = 0.1,
    seed: Annotated[int, typer.Option(help="Decides all the data.")] = 0,
) -> None:
    """Times searches and writing, measures recall and size, of every package in turn."""
    print_machine()
    found = compared(memories(scale, seed), rounds, scale, seed)
    of = groupby(found.searches, lambda one: (one.setting, one.memories))
    for (setting, size), searches in of:
        print_table(
            f"{setting}: agents of {size:,}|ms|95 %|× ours|recall|returned",
            (
                [one.by, one.median_ms, one.p95_ms, one.over_ours, one.recall, one.returned]
                for one in searches
            ),
        )
    print_table(
        "|setting|written a second|bytes a memory",
        (
            [one.by, one.setting, one.written_per_second, one.bytes_per_memory]
            for one in found.stores
        ),
    )


if __name__ == "__main__":
    typer.run(main)
