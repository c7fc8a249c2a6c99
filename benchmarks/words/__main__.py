"""`python -m benchmarks.words`: what the keyword signal finds, and what it costs."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from benchmarks.index.__main__ import SETTINGS
from benchmarks.index.databases import Databases
from benchmarks.index.machine import machine
from benchmarks.index.setting import Setting
from benchmarks.measurement import print_table
from benchmarks.progress import progress_bar
from benchmarks.server import server
from benchmarks.words import dialogues, quality, speed


def main(
    rounds: Annotated[int, typer.Option(min=2, help="Questions, each asked once.")] = 40,
    scale: Annotated[float, typer.Option(min=0.001, max=1, help="Of all row counts.")] = 1.0,
    seed: Annotated[int, typer.Option(help="Decides all made-up data.")] = 0,
    passages: Annotated[
        Path | None,
        typer.Option(exists=True, help="JSON lines, gzipped: content; to hide answers among."),
    ] = None,
    json_: Annotated[Path | None, typer.Option("--json", help="All numbers, as JSON.")] = None,
) -> None:
    """Asks labelled questions by several profiles, and times hybrid beside the others."""
    console = Console()
    setting = Setting(scale, rounds, seed, datetime.now(UTC), None)
    with server(SETTINGS) as url:
        databases = Databases(url)
        console.print(f"{machine()}, {databases.version()}", highlight=False)
        with console.status("asking"):
            found = quality.measured(url, passages)
        quality.print_quality(console, found)
        with progress_bar() as progress:
            costs = speed.measured(setting, databases, progress)
        speed.print_costs(console, costs)
    with progress_bar() as progress, server() as url:
        turns = dialogues.measured(url, setting, progress)
    print_table(console, "turns around the hits, beside the search without", turns)
    if json_ is not None:
        written = {
            "quality": {name: evaluation.record() for name, evaluation in found.items()},
            "speed": [cost.record() for cost in costs],
        }
        json_.write_text(json.dumps(written, indent=2, ensure_ascii=False), encoding="utf-8")


if __name__ == "__main__":
    typer.run(main)
