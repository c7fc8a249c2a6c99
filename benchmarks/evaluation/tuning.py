"""Tuning: the gain for owners that did not choose, by few questions and by all; and its time."""

from __future__ import annotations

import random
import statistics
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import NamedTuple

import numpy as np
from rich.console import Console
from rich.progress import Progress
from rich.table import Table
from sqlalchemy import create_engine

from benchmarks.data import AGENT, Corpus, Row
from benchmarks.labelled.owners import queries, stored
from benchmarks.loading import load_rows
from benchmarks.measurement import Measurement
from benchmarks.progress import tracked
from benchmarks.words.texts import asked_words, drawn_words
from pgrecall import JudgedQuery, MemoryRepository, Profile, migrate, profiles
from pgrecall.core.embedders import LocalEmbedder
from pgrecall.migrate.connecting import database_url
from pgrecall.scoring.signals import Keyword, Similarity, Usefulness

K = 10
FEW = 60
PARTS = 3
"""Of the twelve owners, each judged by what is found by questions to the others."""
SAMPLES = 3
"""Draws of FEW questions for each part."""
STARTS = (profiles.hybrid, profiles.five_factor)
METRICS = ("ndcg", "recall")
MEMORIES, QUESTIONS, GOAL = 20_000, 300, 120.0
PLANTED = Profile("planted", {Similarity(): 0.3, Keyword(): 0.5, Usefulness(): 0.2})
"""Labels the questions whose tuning is timed."""


@dataclass(frozen=True)
class Gain:
    """Over owners that did not choose, means of all parts."""

    start: str
    questions: str
    before: dict[str, float]
    after: dict[str, float]
    promised: float
    """The gain in nDCG that the tunings reported, by cross-validation."""
    proposed: int
    """How many of the tunings proposed something; the others count as no gain."""
    tunings: int


def gains(url: str, progress: Progress) -> list[Gain]:
    engine = create_engine(database_url(url))
    migrate.upgrade(url)
    repo = MemoryRepository(engine, embedder=LocalEmbedder())
    owners = stored(repo)
    random.Random(0).shuffle(owners)
    asked = {
        owner: [query for part in (False, True) for query in queries(owner, held_out=part)]
        for owner in owners
    }
    task = progress.add_task("tuning", total=len(STARTS) * PARTS * (SAMPLES + 1))
    found = []
    for start in STARTS:
        few, every = [], []
        for part in range(PARTS):
            judged = [query for owner in owners[part::PARTS] for query in asked[owner]]
            others = [
                query
                for place, owner in enumerate(owners)
                if place % PARTS != part
                for query in asked[owner]
            ]
            for seed in range(SAMPLES):
                chosen = random.Random(seed).sample(others, FEW)
                few.append(_judged(repo, start, chosen, judged))
                progress.advance(task)
            every.append(_judged(repo, start, others, judged))
            progress.advance(task)
        found += [_gain(start, f"{FEW}", few), _gain(start, "all", every)]
    engine.dispose()
    return found


class Judged(NamedTuple):
    """The metrics of the start and of what is proposed, the gain that was promised, and whether
    anything is proposed."""

    before: Mapping[str, float]
    after: Mapping[str, float]
    promised: float
    is_proposed: bool


def _judged(
    repo: MemoryRepository,
    start: Profile,
    chosen: Sequence[JudgedQuery],
    judged: Sequence[JudgedQuery],
) -> Judged:
    tuning = repo.evaluation.tune(None, chosen, start=start, k=K)
    before = repo.evaluation.evaluate(None, judged, profiles=[start], k=K).profiles[0]
    after, promised = before, 0.0
    if tuning.proposed is not None:
        promised = tuning.difference.mean
        after = repo.evaluation.evaluate(None, judged, profiles=[tuning.proposed], k=K).profiles[0]
    is_proposed = tuning.proposed is not None
    return Judged(before.overall.means, after.overall.means, promised, is_proposed)


def _gain(start: Profile, questions: str, several: Sequence[Judged]) -> Gain:
    def means(metrics: Sequence[Mapping[str, float]]) -> dict[str, float]:
        return {name: statistics.fmean(one[name] for one in metrics) for name in METRICS}

    return Gain(
        start.name,
        questions,
        means([one.before for one in several]),
        means([one.after for one in several]),
        statistics.fmean(one.promised for one in several),
        sum(one.is_proposed for one in several),
        len(several),
    )


def print_gains(console: Console, found: Sequence[Gain]) -> None:
    table = Table(title="gain for owners that did not choose", title_justify="left")
    table.add_column("start")
    for column in ("judged", "proposed", "promised", f"nDCG@{K}", f"recall@{K}", "of all's gain"):
        table.add_column(column, justify="right")
    whole = {one.start: one for one in found}  # the last of each start is that of all questions
    for one in found:
        shares = (
            (one.after[name] - one.before[name])
            / (whole[one.start].after[name] - whole[one.start].before[name])
            for name in METRICS
        )
        table.add_row(
            one.start,
            one.questions,
            f"{one.proposed}/{one.tunings}",
            f"{one.promised:+.3f}",
            *(f"{one.before[name]:.3f}\n→ {one.after[name]:.3f}" for name in METRICS),
            ", ".join(f"{share:.0%}" for share in shares),
        )
    console.print(table)


def timed(url: str, seed: int, progress: Progress) -> list[Measurement]:
    """The time of one tuning with every signal, by QUESTIONS about MEMORIES of one agent."""
    rows = tracked(progress, _rows(seed), MEMORIES, "loading")
    load_rows(url, rows)
    engine = create_engine(database_url(url))
    repo = MemoryRepository(engine)
    asked = _questions(repo, seed)
    task = progress.add_task("tuning", total=None)

    def told(done: int, of: int) -> None:
        progress.update(task, completed=done, total=of)

    start = time.perf_counter()
    tuning = repo.evaluation.tune(AGENT, asked, start="five_factor", k=K, on_progress=told)
    seconds = time.perf_counter() - start
    engine.dispose()
    after = tuning.held_out.profiles[1].overall.means["ndcg"]
    return [
        Measurement("tune", seconds, "s", GOAL),
        Measurement("nDCG@10 of five_factor, held out", after - tuning.difference.mean, ""),
        Measurement("nDCG@10 of what is found, held out", after, ""),
    ]


def _rows(seed: int) -> Iterator[Row]:
    """Of one agent, with words of a large vocabulary."""
    dice = np.random.default_rng(seed)
    for row in Corpus.of(MEMORIES, seed):
        yield replace(row, agent_id=AGENT, content=" ".join(drawn_words(dice, 30)))


def _questions(repo: MemoryRepository, seed: int) -> list[JudgedQuery]:
    dice, now = np.random.default_rng(seed + 1), datetime.now(UTC)
    result = []
    for vector in Corpus.of(MEMORIES, seed).queries(QUESTIONS):
        text = " ".join(asked_words(dice))
        asked = JudgedQuery(vector.tolist(), (), query_text=text, as_of=now)
        hits = repo.search(
            AGENT, vector.tolist(), query_text=text, k=3, profile=PLANTED, as_of=now, touch=False
        )
        result.append(replace(asked, relevant=[hit.memory.id for hit in hits]))
    return result
