"""`python -m benchmarks.everyday`: searches of small agents, one at a time and many at once."""

from __future__ import annotations

from typing import Annotated

import typer
from rich.console import Console

from benchmarks.everyday import agents, processes, small, throughput
from benchmarks.index.machine import machine
from benchmarks.loading import load_rows
from benchmarks.measurement import print_table
from benchmarks.progress import progress_bar, tracked
from benchmarks.server import server


def main(
    rounds: Annotated[int, typer.Option(min=2, help="Of agents up to 1,000 memories.")] = 400,
    scale: Annotated[float, typer.Option(min=0.001, max=1, help="Of the agents of 100.")] = 1.0,
    seed: Annotated[int, typer.Option(help="Decides all the data.")] = 0,
    clients: Annotated[bool, typer.Option(help="Also many clients at once.")] = True,
) -> None:
    """Times searches beside what people write by hand, in turn."""
    console = Console()
    console.print(machine(), highlight=False)
    with progress_bar() as progress, server() as url:
        rows = agents.rows(scale, seed)
        load_rows(url, tracked(progress, rows, len(rows), "loading"))
        for size, timed in small.timings(url, rounds, scale, seed, progress).items():
            print_table(console, f"agents of {size:,}", small.measurements(size, timed))
        if clients:
            found = throughput.measurements(url, scale, seed, progress)
            print_table(console, "many clients, agents of 1,000", found)
            found = processes.measurements(url, scale, seed, progress)
            print_table(console, f"processes of {processes.THREADS} threads, the same", found)


if __name__ == "__main__":
    typer.run(main)
