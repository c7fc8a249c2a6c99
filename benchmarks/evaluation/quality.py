"""What profiles, weights, half-lives and floors do to what is found, on the labelled questions."""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from rich.console import Console
from rich.progress import Progress
from rich.table import Table
from sqlalchemy import create_engine

from benchmarks.labelled.loading import NOW, queries, stored
from pgrecall import Evaluation, JudgedQuery, MemoryRepository, Profile, Tuning, migrate, profiles
from pgrecall.core.embedders import LocalEmbedder
from pgrecall.evaluation.results import METRICS
from pgrecall.migrate.connecting import database_url

K = 10
PARTS = (0.2, 0.4, 0.6, 0.8, 0.9, 1.0)
"""Weights of similarity in five_factor; the others keep their proportions."""
FLOORS = (0.0, 0.05, 0.1, 0.15, 0.2, 0.25, 0.3)
"""Of similarity."""
STARTS = (profiles.five_factor, profiles.hybrid)


@dataclass(frozen=True)
class Floor:
    """What is left above a floor: of what is returned, and of what answers."""

    floor: float
    returned: float
    """Hits of K, on average."""
    precise: float
    """The share of them that answers, over all questions."""
    recall: float


@dataclass(frozen=True)
class Quality:
    """Of one set of memories."""

    name: str
    memories: int
    profiles: Evaluation
    weights: Evaluation
    floors: Sequence[Floor]
    tunings: Sequence[Tuning]


def measured(url: str, passages: Path | None, progress: Progress) -> list[Quality]:
    engine = create_engine(database_url(url))
    migrate.upgrade(url)
    repo = MemoryRepository(engine, embedder=LocalEmbedder())
    sets = stored(repo, passages)
    found = [_quality(repo, name, agent, progress) for name, agent in sets.items()]
    engine.dispose()
    return found


def _quality(repo: MemoryRepository, name: str, agent: str, progress: Progress) -> Quality:
    asked = queries(agent)
    task = progress.add_task(name, total=2 + len(FLOORS) + len(STARTS))

    def evaluated(compared: Sequence[Profile]) -> Evaluation:
        evaluation = repo.evaluation.evaluate(agent, asked, profiles=compared, k=K, as_of=NOW)
        progress.advance(task)
        return evaluation

    by_profile = evaluated(list(profiles.BUILT_IN.values()))
    by_weight = evaluated([_leaning(part) for part in PARTS])
    floors = []
    for floor in FLOORS:
        floors.append(_above(repo, agent, asked, floor))
        progress.advance(task)
    tunings = []
    for start in STARTS:
        tunings.append(repo.evaluation.tune(agent, asked, start=start, k=K, as_of=NOW))
        progress.advance(task)
    return Quality(name, repo.count(agent), by_profile, by_weight, floors, tunings)


def _leaning(part: float) -> Profile:
    weights = profiles.five_factor.weights
    rest = 1 - weights["similarity"]
    others = {
        name: (1 - part) * weight / rest for name, weight in weights.items() if name != "similarity"
    }
    leaning = profiles.five_factor.with_weights(similarity=part, **others)
    return leaning.renamed(f"five_factor, similarity {part:g}")


def _above(repo: MemoryRepository, agent: str, asked: Sequence[JudgedQuery], floor: float) -> Floor:
    returned, answers, recalls = 0, 0, []
    for query in asked:
        hits = repo.search(
            agent,
            query.query,
            k=K,
            profile=profiles.hybrid,
            as_of=NOW,
            min_similarity=floor,
            touch=False,
        )
        relevant = set(query.relevant)
        found = len(relevant & {hit.memory.id for hit in hits})
        returned += len(hits)
        answers += found
        recalls.append(found / len(relevant))
    precise = answers / returned if returned else 0.0
    return Floor(floor, returned / len(asked), precise, statistics.fmean(recalls))


def print_quality(console: Console, found: Sequence[Quality]) -> None:
    for one in found:
        console.print(f"\n{one.name}", style="bold")
        _print_evaluation(console, "profiles", one.profiles)
        _print_evaluation(console, "weights", one.weights)
        table = Table(title="hybrid above a floor of similarity", title_justify="left")
        for column in ("min_similarity", f"hits of {K}", "of them answers", f"recall@{K}"):
            table.add_column(column, justify="right")
        for floor in one.floors:
            numbers = (floor.returned, floor.precise, floor.recall)
            table.add_row(f"{floor.floor:g}", *(f"{number:.3f}" for number in numbers))
        console.print(table)
        for tuning in one.tunings:
            _print_tuning(console, tuning)


def _print_evaluation(console: Console, title: str, evaluation: Evaluation) -> None:
    table = Table(title=title, title_justify="left")
    table.add_column("profile")
    for column in (f"recall@{K}", "MRR", f"nDCG@{K}", "nDCG over the first, 95 %"):
        table.add_column(column, justify="right")
    for one in evaluation.profiles:
        difference = one.overall.differences.get("ndcg")
        table.add_row(
            one.profile.name,
            *(f"{one.overall.means[metric]:.3f}" for metric in METRICS),
            ""
            if difference is None
            else f"{difference.mean:+.3f} [{difference.low:+.3f}, {difference.high:+.3f}]",
        )
    console.print(table)


def _print_tuning(console: Console, tuning: Tuning) -> None:
    difference = tuning.difference
    weights = ", ".join(f"{name} {weight:g}" for name, weight in tuning.found.weights.items())
    before, after = (one.overall.means["ndcg"] for one in tuning.held_out.profiles)
    console.print(
        f"tuned from {tuning.start.name}: {weights}; nDCG@{K} on held-out queries "
        f"{before:.3f} → {after:.3f}, {difference.mean:+.3f} "
        f"[{difference.low:+.3f}, {difference.high:+.3f}]: {tuning.verdict}",
        highlight=False,
    )
