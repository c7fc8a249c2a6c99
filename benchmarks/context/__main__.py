"""`python -m benchmarks.context`: a context of 20 beside a search of 20."""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated, Any

import typer
from rich.console import Console
from sqlalchemy import create_engine

from benchmarks.data import AGENT, AGENTS, Corpus
from benchmarks.loading import Order, load
from benchmarks.measurement import Measurement, print_table
from benchmarks.measuring import measured
from benchmarks.progress import progress_bar
from benchmarks.server import server
from pgrecall import MemoryRepository
from pgrecall.migrate.connecting import database_url

K, BUDGET, GOAL = 20, 4_000, 1.3
SEARCH = f"search, {K}"


def contenders(repo: MemoryRepository) -> dict[str, Callable[[Any], Any]]:
    """What is compared, by name; each takes a query."""

    def context(query: Any, **how: Any) -> Any:
        return repo.context(AGENT, query, k=K, max_tokens=BUDGET, **how)

    return {
        SEARCH: lambda query: repo.search(AGENT, query, k=K, touch=False),
        f"context of {K}": lambda query: context(query, touch=False),
        "  half kept for facts": lambda query: context(query, reserve={"fact": 0.5}, touch=False),
        "  without near duplicates": lambda query: context(query, max_similarity=0.92, touch=False),
        "  diversity 0.3": lambda query: context(query, diversity=0.3, touch=False),
        "search, touch": lambda query: repo.search(AGENT, query, k=K),
        f"context of {K}, touch": context,
    }


def main(
    rows: Annotated[int, typer.Option(min=1_000, help="Memories, of ten agents.")] = 100_000,
    rounds: Annotated[int, typer.Option(min=5)] = 60,
    seed: Annotated[int, typer.Option(help="Decides all the data.")] = 0,
) -> None:
    """Measures contexts on an embedded server, as ratios to the plain search within a round."""
    corpus = Corpus.of(rows, seed)
    with progress_bar() as progress, server() as url:
        load(url, corpus, Order.INTERLEAVED, progress)
        engine = create_engine(database_url(url))
        timings = measured(
            contenders(MemoryRepository(engine)), corpus.queries(rounds), rounds, progress
        )
        engine.dispose()
    found = []
    for name, timing in timings.items():
        found.append(Measurement(name, timing.median * 1000, "ms"))
        touches = name.endswith("touch")
        other = timings["search, touch" if touches else SEARCH]
        if timing is not other:
            goal = GOAL if name.startswith("context") else None
            found.append(Measurement("    over the search", timing.over(other), "×", goal))
    title = f"{rows // AGENTS:,} memories of one agent, {BUDGET:,} tokens, medians"
    print_table(Console(), title, found)


if __name__ == "__main__":
    typer.run(main)
