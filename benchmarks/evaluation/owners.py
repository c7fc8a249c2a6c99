"""What profiles find for twelve owners: among long memories, in dialogues, by dates."""

from __future__ import annotations

import statistics
from collections.abc import Mapping

from rich.console import Console
from rich.progress import Progress
from rich.table import Table
from sqlalchemy import create_engine

from benchmarks.labelled.owners import queries, questions, stored
from pgrecall import Evaluation, MemoryRepository, Profile, migrate, profiles
from pgrecall.core.embedders import LocalEmbedder
from pgrecall.evaluation.results import Difference
from pgrecall.migrate.connecting import database_url
from pgrecall.scoring.signals import Importance, Keyword, Recency, Similarity

K = 10
MANY = 500
"""More than an owner has."""
BEFORE = Profile(
    "hybrid before",
    {
        Similarity(): 0.6,
        Keyword(b=0): 0.3,
        Recency(half_life=90): 0.05,
        Importance(): 0.05,
    },
)
"""Its weights of before, and words that do not know length."""
UNSHIFTED = Profile(
    "hybrid, unshifted",
    {
        Similarity() if signal.name == Similarity.name else signal: weight
        for signal, weight in profiles.hybrid
    },
    redistribute=True,
)
COMPARED = (*profiles.BUILT_IN.values(), UNSHIFTED, BEFORE)
"""The first is hybrid, what differences are against."""


GENERAL = (
    *("What is the capital of Mongolia?", "How do I prove Fermat's last theorem?"),
    *("Who won the 1966 world cup final?", "Explain photosynthesis in chloroplasts."),
    *("What is the boiling point of tungsten?", "List the moons of Jupiter."),
    *("How does a diesel engine work?", "Translate 'butterfly' into Finnish."),
    *("What is quantum entanglement?", "When was the Ottoman empire founded?"),
    *("Write a haiku about volcanoes.", "What does HTTP status 418 mean?"),
    *("How tall is Mount Kilimanjaro?", "Who painted Guernica?"),
    *("What is the GDP of Peru?", "Which enzyme unwinds DNA?"),
)
"""Questions that are beside every owner's subjects."""
FLOORS = (0.06, 0.08, 0.1, 0.12, 0.14, 0.15, 0.2)


def measured(url: str, held_out: bool, progress: Progress) -> tuple[Evaluation, Evaluation]:
    """What profiles find and floors do, and what hybrid finds without the dates in questions."""
    engine = create_engine(database_url(url))
    migrate.upgrade(url)
    repo = MemoryRepository(engine, embedder=LocalEmbedder())
    task = progress.add_task("owners", total=3)
    owners = stored(repo)
    progress.advance(task)
    asked = [
        query for owner in owners for query in queries(owner, held_out=held_out, unanswered=True)
    ]
    found = repo.evaluation.evaluate(None, asked, agents=owners, profiles=COMPARED, k=K)
    progress.advance(task)
    undated = [profiles.hybrid.renamed("hybrid, no dates")]
    without_dates = repo.evaluation.evaluate(
        None, asked, agents=owners, profiles=undated, k=K, dates="off"
    )
    progress.advance(task)
    engine.dispose()
    return found, without_dates


def silence(url: str, progress: Progress) -> Mapping[float, float]:
    """Floor of relevance → the share of general questions, put to each owner, that nothing
    reaches it for; of owners that are stored."""
    engine = create_engine(database_url(url))
    repo = MemoryRepository(engine, embedder=LocalEmbedder())
    owners = dict.fromkeys(question.owner for question in questions())
    best = []
    asked = [(owner, query) for owner in owners for query in GENERAL]
    for owner, query in progress.track(asked, description="general questions"):
        hits = repo.search(owner, query, k=MANY, touch=False, min_relevance=0)
        best.append(max(hit.relevance or 0.0 for hit in hits))
    engine.dispose()
    return {floor: statistics.fmean(one < floor for one in best) for floor in FLOORS}


def print_silence(console: Console, silent: Mapping[float, float], answered: Evaluation) -> None:
    """Beside what each floor costs the questions that have an answer."""
    table = Table(title="general questions that return nothing", title_justify="left")
    for column in ("min_relevance", "silent", f"recall@{K} of those with an answer"):
        table.add_column(column, justify="right")
    recalls = {one.min_relevance: one.recall for one in answered.floors or ()}
    for floor, share in silent.items():
        table.add_row(f"{floor:g}", f"{share:.2f}", f"{recalls[floor]:.3f}")
    console.print(table)


def print_owners(console: Console, found: Evaluation, without_dates: Evaluation) -> None:
    """recall@K of each group, similarity and keyword alone first, and how far hybrid is ahead."""
    groups = list(found.profiles[0].by_group)
    table = _table(f"recall@{K} over twelve owners", groups)
    for one in (*found.baselines, *found.profiles, *without_dates.profiles):
        means = [one.by_group[group].means["recall"] for group in groups]
        table.add_row(
            one.profile.name, *(f"{mean:.3f}" for mean in (*means, one.overall.means["recall"]))
        )
    console.print(table)
    table = _table(f"recall@{K} less that of hybrid, 95 %", groups)
    for one in (*found.baselines, found.profiles[-1]):
        scores = (*(one.by_group[group] for group in groups), one.overall)
        table.add_row(one.profile.name, *(_said(of.differences["recall"]) for of in scores))
    console.print(table)
    overall = found.profiles[0].overall
    console.print(
        f"{overall.queries} questions of {overall.owners} owners, "
        f"intervals over {overall.intervals_over}"
    )


def _table(title: str, groups: list[str]) -> Table:
    table = Table(title=title, title_justify="left")
    table.add_column("profile")
    for column in (*groups, "all"):
        table.add_column(column, justify="right")
    return table


def _said(found: Difference) -> str:
    return f"{found.mean:+.3f} [{found.low:+.3f}, {found.high:+.3f}]"
