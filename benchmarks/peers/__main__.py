"""`python -m benchmarks.peers`: the composite score by other packages and by pgrecall."""

from __future__ import annotations

import json
from dataclasses import asdict
from typing import Annotated

import typer
from rich.console import Console

from benchmarks.data import DIMENSIONS
from benchmarks.index.machine import machine
from benchmarks.peers.given import memories
from benchmarks.peers.report import print_results
from benchmarks.peers.rounds import compared
from benchmarks.progress import progress_bar


def main(
    rounds: Annotated[int, typer.Option(min=4, help="Of agents up to 1,000 memories.")] = 60,
    scale: Annotated[float, typer.Option(min=0.001, max=1, help="Of 1,000 agents of 100.")] = 0.1,
    seed: Annotated[int, typer.Option(help="Decides all the data.")] = 0,
    as_json: Annotated[bool, typer.Option("--json", help="One JSON object, no tables.")] = False,
) -> None:
    """Times searches and writing, measures recall and size, of every package in turn."""
    rows = memories(scale, seed)
    with progress_bar() as progress:
        found = compared(rows, rounds, scale, seed, progress)
    if as_json:
        conditions = {
            "machine": machine(),
            "memories": sum(map(len, rows.values())),
            "agents": len(rows),
            "dimensions": DIMENSIONS,
            "rounds": rounds,
            "seed": seed,
        }
        print(json.dumps(conditions | asdict(found), indent=2))
    else:
        console = Console()
        console.print(machine(), highlight=False)
        print_results(console, found)


if __name__ == "__main__":
    typer.run(main)
