"""`python -m benchmarks.reranking`: what a reranker costs beside its own time."""

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
from pgrecall import MemoryRepository, Rerank
from pgrecall.migrate.connecting import database_url

K, TOP, BUDGET, GOAL = 10, 20, 4_000, 2
SEARCH, CONTEXT = f"search, {K}", f"context, {K}"
ASKED: dict[str, Any] = {"query_text": "which?", "touch": False}


def last_first(query: str, texts: list[str]) -> list[float]:
    """A reranker that takes no time."""
    return [float(place) for place in range(len(texts))]


def contenders(repo: MemoryRepository) -> dict[str, tuple[str, Callable[[Any], Any]]]:
    """What is compared, by name: beside which other one, and a function of a query."""
    rerank = Rerank(last_first, top=TOP)

    def search(query: Any, k: int = K, **how: Any) -> Any:
        return repo.search(AGENT, query, k=k, **{**ASKED, **how})

    def context(query: Any, **how: Any) -> Any:
        return repo.context(AGENT, query, k=K, max_tokens=BUDGET, **ASKED, **how)

    return {
        SEARCH: (SEARCH, search),
        f"  {TOP} without a reranker": (SEARCH, lambda query: search(query, k=TOP)),
        f"  the best {TOP} reranked": (SEARCH, lambda query: search(query, rerank=rerank)),
        "search, touch": ("search, touch", lambda query: search(query, touch=True)),
        f"  the best {TOP} reranked, touch": (
            "search, touch",
            lambda query: search(query, touch=True, rerank=rerank),
        ),
        CONTEXT: (CONTEXT, context),
        f"  the best {TOP} reranked first": (
            CONTEXT,
            lambda query: context(query, rerank=rerank),
        ),
    }


def main(
    rows: Annotated[int, typer.Option(min=1_000, help="Memories, of ten agents.")] = 100_000,
    rounds: Annotated[int, typer.Option(min=5)] = 60,
    seed: Annotated[int, typer.Option(help="Decides all the data.")] = 0,
) -> None:
    """Measures a reranker that takes no time, as ratios to the same call without it."""
    corpus = Corpus.of(rows, seed)
    with progress_bar() as progress, server() as url:
        load(url, corpus, Order.INTERLEAVED, progress)
        engine = create_engine(database_url(url))
        compared = contenders(MemoryRepository(engine))
        functions = {name: function for name, (_, function) in compared.items()}
        timings = measured(functions, corpus.queries(rounds), rounds, progress)
        engine.dispose()
    found = []
    for name, timing in timings.items():
        other = compared[name][0]
        found.append(Measurement(name, timing.median * 1000, "ms"))
        if name != other:
            goal = GOAL if "reranked" in name else None
            ratio = timing.over(timings[other])
            found.append(Measurement("    over the call without", ratio, "×", goal))
    title = f"{rows // AGENTS:,} memories of one agent, a reranker of no time, medians"
    print_table(Console(), title, found)


if __name__ == "__main__":
    typer.run(main)
