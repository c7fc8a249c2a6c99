"""`python -m benchmarks.frameworks`: what stores of frameworks cost over the repository."""

from __future__ import annotations

import random
from collections.abc import Callable
from itertools import count
from typing import Annotated, Any

import typer
from rich.console import Console
from sqlalchemy import create_engine

from benchmarks.measurement import Measurement, print_table
from benchmarks.measuring import measured
from benchmarks.progress import progress_bar
from benchmarks.server import server
from pgrecall import LocalEmbedder, MemoryRepository, NewMemory, migrate
from pgrecall.langchain import RecallRetriever, RecallVectorStore
from pgrecall.langgraph import RecallStore

NAMESPACE, OWNER, K, GOAL = ("memories", "ada"), "memories.ada", 10, 1.1
WORDS = (
    *("tea", "coffee", "train", "garden", "violin", "parcel", "boiler", "key", "report", "meeting"),
    *("monday", "porto", "green", "late", "broken", "new", "office", "kitchen", "sister", "doctor"),
)


def contenders(repo: MemoryRepository) -> dict[str, dict[str, Callable[[str], Any]]]:
    """What is done → by whom; the repository comes first. Each takes a text."""
    store = RecallStore(repo)
    documents = RecallVectorStore(repo, agent_id=OWNER)
    retriever = RecallRetriever(repository=repo, agent_id=OWNER, k=K)
    numbers = count()

    def memory(text: str) -> NewMemory:
        return NewMemory(text, key=f"own {next(numbers)}")

    return {
        f"search, {K}": {
            "repository": lambda text: repo.search(OWNER, text, k=K),
            "RecallStore": lambda text: store.search(NAMESPACE, query=text, limit=K),
            "RecallVectorStore": lambda text: documents.similarity_search(text, k=K),
            "RecallRetriever": retriever.invoke,
        },
        "get": {
            "repository": lambda text: repo.get(OWNER, key="7"),
            "RecallStore": lambda text: store.get(NAMESPACE, "7"),
            "RecallVectorStore": lambda text: documents.get_by_ids(["7"]),
        },
        "write": {
            "repository": lambda text: repo.upsert(OWNER, memory(text)),
            "RecallStore": lambda text: store.put(NAMESPACE, f"{next(numbers)} ", {"text": text}),
        },
    }


def main(
    rows: Annotated[int, typer.Option(min=100, help="Memories of the agent.")] = 1_000,
    rounds: Annotated[int, typer.Option(min=20)] = 300,
    seed: Annotated[int, typer.Option(help="Decides all the data.")] = 0,
) -> None:
    """Measures the same calls by both, as ratios within a round."""
    rng, found = random.Random(seed), list[Measurement]()

    def text() -> str:
        return " ".join(rng.choices(WORDS, k=8))

    with progress_bar() as progress, server() as url:
        migrate.upgrade(url)
        engine = create_engine(url)
        repo = MemoryRepository(engine, embedder=LocalEmbedder())
        store = RecallStore(repo)
        for key in range(rows):
            store.put(NAMESPACE, str(key), {"text": text()})
        with engine.connect().execution_options(isolation_level="AUTOCOMMIT") as connection:
            connection.exec_driver_sql("VACUUM ANALYZE")
        for what, by in contenders(repo).items():
            queries = [text() for _ in range(rounds)]
            timings = measured(by, queries, rounds, progress, what=what)
            for name, timing in timings.items():
                found.append(Measurement(f"{what}: {name}", timing.median * 1000, "ms"))
                if name != "repository":
                    ratio = timing.over(timings["repository"])
                    found.append(Measurement("    over the repository", ratio, "×", GOAL))
        engine.dispose()
    print_table(Console(), f"{rows:,} memories, medians", found)


if __name__ == "__main__":
    typer.run(main)
