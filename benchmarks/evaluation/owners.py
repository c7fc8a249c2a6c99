"""What profiles find for twelve owners: among long memories, in dialogues, by dates."""

from __future__ import annotations

import statistics
from collections.abc import Mapping

from rich.console import Console
from rich.progress import Progress
from rich.table import Table
from sqlalchemy import create_engine

from benchmarks.labelled.owners import queries, stored
from pgrecall import MemoryRepository, migrate, profiles
from pgrecall.embedders import LocalEmbedder
from pgrecall.migrate.connecting import database_url

K = 10

Found = Mapping[str, Mapping[str, list[float]]]
"""Profile → group → recall@K of each question, of all owners."""


def measured(url: str, held_out: bool, progress: Progress) -> Found:
    engine = create_engine(database_url(url))
    migrate.upgrade(url)
    repo = MemoryRepository(engine, embedder=LocalEmbedder())
    compared = list(profiles.BUILT_IN.values())
    found: dict[str, dict[str, list[float]]] = {profile.name: {} for profile in compared}
    owners = stored(repo)
    task = progress.add_task("owners", total=len(owners))
    for owner in owners:
        asked = queries(owner, held_out=held_out)
        if asked:
            for one in repo.evaluate(owner, asked, profiles=compared, k=K).profiles:
                of_profile = found[one.profile.name]
                for query, recall in zip(asked, one.per_query["recall"], strict=True):
                    of_profile.setdefault(query.group or "", []).append(recall)
        progress.advance(task)
    engine.dispose()
    return found


def print_owners(console: Console, found: Found) -> None:
    groups = list(next(iter(found.values())))
    table = Table(title=f"recall@{K} over twelve owners", title_justify="left")
    table.add_column("profile")
    for group in (*groups, "all"):
        table.add_column(group, justify="right")
    for profile, by_group in found.items():
        every = [recall for recalls in by_group.values() for recall in recalls]
        means = [statistics.fmean(by_group[group]) for group in groups]
        table.add_row(profile, *(f"{mean:.3f}" for mean in (*means, statistics.fmean(every))))
    console.print(table)
