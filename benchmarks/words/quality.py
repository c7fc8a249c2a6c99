"""How well the labelled questions are answered, by meaning and words in several proportions."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from rich.console import Console
from rich.table import Table
from sqlalchemy import create_engine

from benchmarks.labelled.loading import NOW, queries, stored
from pgrecall import Evaluation, MemoryRepository, Profile, migrate, profiles
from pgrecall.core.embedders import LocalEmbedder
from pgrecall.migrate.connecting import database_url
from pgrecall.scoring.signals import Keyword, Similarity

K = 5
PARTS = (1.0, 0.8, 0.7, 0.6, 0.5, 0.4, 0.2, 0.0)
"""Of similarity; the rest is the keyword signal's."""


def compared() -> list[Profile]:
    """What is compared."""
    mixed = [
        Profile(
            f"{part:g} similarity + {1 - part:g} keyword",
            {Similarity(): part, Keyword(): round(1 - part, 9)},
        )
        for part in PARTS
    ]
    return [*mixed, profiles.five_factor, profiles.hybrid]


def measured(url: str, passages: Path | None) -> dict[str, Evaluation]:
    """Set of memories → evaluation."""
    engine = create_engine(database_url(url))
    migrate.upgrade(url)
    repo = MemoryRepository(engine, embedder=LocalEmbedder())
    found = {
        name: repo.evaluation.evaluate(agent, queries(agent), profiles=compared(), k=K, as_of=NOW)
        for name, agent in stored(repo, passages).items()
    }
    engine.dispose()
    return found


def print_quality(console: Console, found: Mapping[str, Evaluation]) -> None:
    for name, evaluation in found.items():
        groups = list(evaluation.profiles[0].by_group)
        table = Table(title=name, title_justify="left")
        table.add_column("profile")
        for column in (f"recall@{K}", "MRR", *groups):
            table.add_column(column, justify="right")
        for one in evaluation.profiles:
            shares = [one.overall.means["recall"], one.overall.means["mrr"]]
            shares += [one.by_group[group].means["recall"] for group in groups]
            table.add_row(one.profile.name, *(f"{share:.3f}" for share in shares))
        console.print(table)
