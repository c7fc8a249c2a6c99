"""`python -m benchmarks.index`: how much rank indexes find, and how fast, beside what peers do."""

from __future__ import annotations

import json
import time
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console

from benchmarks.index.cases import CASES
from benchmarks.index.comparison import Comparison
from benchmarks.index.databases import Databases
from benchmarks.index.machine import machine
from benchmarks.index.plot import draw, pyplot
from benchmarks.index.report import print_comparisons, print_indexes, print_verdicts
from benchmarks.index.setting import Setting
from benchmarks.index.verdicts import verdicts
from benchmarks.progress import progress_bar
from benchmarks.server import server

SETTINGS = """
shared_buffers = '8GB'  # the four databases of the growth case are in use at once
maintenance_work_mem = '2GB'
max_wal_size = '8GB'
autovacuum = off  # tables are vacuumed once loaded; nothing may disturb what is timed
"""


def main(
    cases: Annotated[str, typer.Option(help="Their numbers.")] = ",".join(map(str, CASES)),
    rounds: Annotated[int, typer.Option(min=2, help="Questions, each asked once.")] = 40,
    scale: Annotated[float, typer.Option(min=0.001, max=1, help="Of all row counts.")] = 1.0,
    seed: Annotated[int, typer.Option(help="Decides all the data.")] = 0,
    passages: Annotated[
        Path | None,
        typer.Option(
            exists=True, help="JSON lines, gzipped: content, created_at, entities; for case 3."
        ),
    ] = None,
    json_: Annotated[Path | None, typer.Option("--json", help="All numbers, as JSON.")] = None,
    plot: Annotated[Path | None, typer.Option(help="Recall against time, as PNG.")] = None,
) -> None:
    """Measures rank indexes on an embedded server of its own, each case in one go."""
    chosen = _chosen(cases)
    if plot is not None:
        pyplot()  # its absence shows now, not after an hour
    console = Console()
    setting = Setting(scale, rounds, seed, datetime.now(UTC), passages)
    start = time.monotonic()
    found: list[Comparison] = []
    shown = 0
    with server(SETTINGS) as url:
        databases = Databases(url)
        conditions: dict[str, Any] = {
            "machine": machine(),
            "server": databases.version(),
            "scale": scale,
            "rounds": rounds,
            "seed": seed,
        }
        console.print(f"{conditions['machine']}, {conditions['server']}", highlight=False)
        for place, number in enumerate(chosen):
            case = CASES[number]
            console.rule(f"{number}. {case.title}", align="left")
            if not case.sources(setting):
                console.print("skipped: it needs --passages")
                continue
            with progress_bar() as progress:
                comparisons = case.run(setting, databases, progress)
            print_indexes(console, databases.built[shown:])
            shown = len(databases.built)
            print_comparisons(console, comparisons)
            found += comparisons
            later = {s for other in chosen[place + 1 :] for s in CASES[other].sources(setting)}
            databases.keep_only(later)
            if json_ is not None:
                json_.write_text(_as_json(found, databases, conditions), encoding="utf-8")
    if found:
        print_verdicts(console, verdicts(found))
    if found and scale < 1:
        console.print("the goals are meant for --scale 1")
    if plot is not None:
        draw(found, plot)
    console.print(f"{(time.monotonic() - start) / 60:.0f} minutes in all")


def _chosen(cases: str) -> list[int]:
    try:
        return sorted({_known(int(number)) for number in cases.split(",")})
    except ValueError:
        raise typer.BadParameter(f"--cases takes numbers, got {cases!r}") from None


def _known(number: int) -> int:
    if number not in CASES:
        raise typer.BadParameter(f"there is no case {number}, only {', '.join(map(str, CASES))}")
    return number


def _as_json(found: list[Comparison], databases: Databases, conditions: dict[str, Any]) -> str:
    return json.dumps(
        conditions
        | {
            "indexes": [built.record() for built in databases.built],
            "comparisons": [comparison.record() for comparison in found],
            "goals": [verdict.record() for verdict in verdicts(found)],
        },
        indent=2,
        ensure_ascii=False,
    )


if __name__ == "__main__":
    typer.run(main)
