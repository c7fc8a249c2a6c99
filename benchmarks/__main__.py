"""`python -m benchmarks`: what ranking inside the database costs and saves, as ratios."""

from __future__ import annotations

import json
from typing import Annotated

import typer
from rich.console import Console

from benchmarks.contenders import contenders, profile_contenders
from benchmarks.data import AGENTS, DIMENSIONS, Corpus
from benchmarks.loading import Order, load
from benchmarks.measuring import Timing, measured
from benchmarks.progress import progress_bar
from benchmarks.report import as_json, print_tables
from benchmarks.server import server

QUERIES = 20


def main(
    rows: Annotated[
        int, typer.Option(min=1_000, help=f"Memories of all {AGENTS} agents together.")
    ] = 100_000,
    rounds: Annotated[int, typer.Option(min=2, help="How often each contender is timed.")] = 60,
    seed: Annotated[int, typer.Option(help="Decides all the data.")] = 0,
    as_json_: Annotated[bool, typer.Option("--json", help="One JSON object, no tables.")] = False,
) -> None:
    """Measures one agent's searches among the memories of ten, in two layouts."""
    console = Console()
    corpus = Corpus.of(rows, seed)
    results: dict[str, dict[str, Timing]] = {}
    with progress_bar() as progress:
        for order in Order:
            with server() as url:
                load(url, corpus, order, progress)
                with contenders(url) as entered:
                    results[order] = measured(entered, corpus.queries(QUERIES), rounds, progress)
    with progress_bar() as progress, server() as url:
        load(url, Corpus.of(rows // AGENTS, seed), Order.INTERLEAVED, progress)
        with profile_contenders(url) as entered:
            few = f"{rows // AGENTS // AGENTS:,} memories of one agent"
            results[few] = measured(entered, corpus.queries(QUERIES), rounds, progress)
    if as_json_:
        conditions = {"rows": rows, "agents": AGENTS, "dimensions": DIMENSIONS}
        print(json.dumps(as_json(results, **conditions, rounds=rounds, seed=seed), indent=2))
    else:
        console.print(
            f"{rows // AGENTS:,} memories of one agent among {rows:,}, {DIMENSIONS} dimensions, "
            f"{rounds} rounds"
        )
        print_tables(console, results)


if __name__ == "__main__":
    typer.run(main)
