"""`python -m benchmarks.versions OTHER`: this checkout beside another, in turn on one machine."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.table import Table

from benchmarks.progress import progress_bar

TIMED = Path(__file__).with_name("timed.py")


def main(
    other: Annotated[Path, typer.Argument(help="A checkout after `make .venv/test`.")],
    rounds: Annotated[int, typer.Option(min=1, help="How often each is run, in turn.")] = 3,
) -> None:
    """Prints the best time of each call in both, and their ratio."""
    pythons = {"other": str(other / ".venv" / "bin" / "python"), "this": sys.executable}
    best: dict[str, dict[str, float]] = {name: {} for name in pythons}
    with progress_bar() as progress:
        task = progress.add_task("running both in turn", total=2 * rounds)
        for _ in range(rounds):
            for name, python in pythons.items():
                for call, took in _run(python).items():
                    best[name][call] = min(took, best[name].get(call, took))
                progress.advance(task)
    table = Table("call", "other, ms", "this, ms", "ratio", show_edge=False)
    for call, took in best["this"].items():
        before = best["other"][call]
        table.add_row(call, f"{before:.2f}", f"{took:.2f}", f"{took / before:.2f}")
    Console().print(table)


def _run(python: str) -> dict[str, float]:
    done = subprocess.run([python, TIMED], check=True, stdout=subprocess.PIPE)
    found: dict[str, float] = json.loads(done.stdout)
    return found


if __name__ == "__main__":
    typer.run(main)
