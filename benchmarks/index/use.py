"""`python -m benchmarks.index.use`: whether a rank index stays as good while it is used."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import cycle
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import psycopg
import typer
from rich.console import Console
from rich.progress import Progress
from rich.table import Table
from sqlalchemy import create_engine

from benchmarks.contenders import K
from benchmarks.data import VOCABULARY
from benchmarks.index.approaches import EXACT, INDEX, Approaches
from benchmarks.index.asking import Asked, Question
from benchmarks.index.comparison import Comparison, Outcome, compared_together
from benchmarks.index.databases import Databases, Loaded
from benchmarks.index.goals import USED
from benchmarks.index.machine import machine
from benchmarks.index.memories import Memories
from benchmarks.index.setting import AGENT, Setting
from benchmarks.index.verdicts import USE_CASE, cost
from benchmarks.loading import vacuum
from benchmarks.progress import progress_bar
from benchmarks.server import server
from pgrecall import MemoryRepository, NewMemory, profiles

SIZES = (40_000, 100_000)
SEARCHES = 50_000
DAYS, BATCHES = 30, 6
"""Of the simulated month. After each batch of days time passes, and searches are measured before
the last maintenance, at their worst."""
A_DAY = 6
"""Runs of maintenance."""
PROFILES = (
    *(profiles.last_access, profiles.half_life, profiles.tiered),
    *(profiles.five_factor, profiles.hybrid),
)
PER_ADDED, PER_DELETED, PER_FEEDBACK = 25, 100, 20
"""A memory is added, deleted or judged once in so many searches."""
SETTINGS = """
shared_buffers = '4GB'
maintenance_work_mem = '1GB'
max_wal_size = '8GB'
autovacuum = off  # tables are vacuumed between the batches; nothing may disturb what is timed
synchronous_commit = off  # nothing that is timed commits
"""
LET_PASS = """
UPDATE pgrecall.agent_memories
   SET created_at = created_at - interval '{days} days',
       inserted_at = inserted_at - interval '{days} days';
UPDATE pgrecall.memory_usage SET last_accessed_at = last_accessed_at - interval '{days} days';
UPDATE pgrecall.memory_events SET occurred_at = occurred_at - interval '{days} days';
UPDATE pgrecall.rank_indexes
   SET as_of = as_of - interval '{days} days', built_at = built_at - interval '{days} days',
       written_until = written_until - interval '{days} days'
"""


@dataclass(frozen=True)
class Batch:
    """How searches did after some days of use, and what these days were."""

    searches: int
    """From the build on."""
    used: int
    """Rows in the table of memories used since the build."""
    maintenance: float
    """Seconds."""
    builds: int
    by_index: float
    """The share of the searches that a rank index answered."""
    comparisons: Sequence[Comparison]
    """One per profile."""
    fresh: Sequence[Comparison]
    """The same of a copy of the first day, asked in the same rounds: how fast a machine is may
    change within minutes."""

    def record(self) -> dict[str, Any]:
        """The numbers as plain JSON values."""
        return {
            "searches": self.searches,
            "used": self.used,
            "maintenance_s": round(self.maintenance, 2),
            "builds": self.builds,
            "by_index": round(self.by_index, 4),
            "profiles": {
                one.question.partition(",")[0]: {
                    "times_fresh": round(cost(one, first, INDEX), 3),
                    "exact_times_fresh": round(cost(one, first, EXACT), 3),
                    **{name: outcome.record() for name, outcome in one.outcomes.items()},
                }
                for one, first in zip(self.comparisons, self.fresh, strict=True)
            },
        }


class Month:
    """An agent whose memories are searched, added, deleted and judged for a month."""

    def __init__(self, loaded: Loaded, fresh: Loaded, searches: int, rounds: int) -> None:
        source = loaded.source
        assert isinstance(source, Memories)
        self._loaded, self._fresh, self._source = loaded, fresh, source
        self._searches = searches
        questions = source.questions(searches + rounds)
        self._measured, self._questions = questions[:rounds], iter(questions[rounds:])
        self._random = np.random.default_rng(source.seed + 2)
        self._profiles = cycle(PROFILES)
        self._done = 0

    def batches(self, progress: Progress) -> Iterator[Batch]:
        """The fresh index first."""
        yield Batch(0, self._used(), 0.0, 0, 1.0, *self._compared(progress))
        task = progress.add_task(f"{self._source.name}: searches", total=self._searches)
        maintenance, builds = 0.0, 0
        for every in np.array_split(np.arange(self._searches), BATCHES):
            by_index = 0
            parts = np.array_split(every, A_DAY * DAYS // BATCHES)
            for number, part in enumerate(parts, 1):
                with self._repository() as repo:
                    for _ in part:
                        by_index += self._search(repo)
                        progress.update(task, completed=self._done)
                if number == len(parts):
                    self._let_pass(DAYS // BATCHES)
                    share = by_index / len(every)
                    found = self._compared(progress)
                    yield Batch(self._done, self._used(), maintenance, builds, share, *found)
                    maintenance, builds = 0.0, 0
                with self._repository() as repo:
                    start = time.perf_counter()
                    builds += len(repo.rank_indexes.maintain(agent_id=AGENT))
                    maintenance += time.perf_counter() - start
        progress.remove_task(task)

    def _search(self, repo: MemoryRepository) -> bool:
        """One search that counts, and sometimes something else. Whether an index answered."""
        question, profile = self._worded(next(self._questions)), next(self._profiles)
        hits = repo.search(
            AGENT, question.vector, k=K, profile=profile, query_text=question.text, touch=True
        )
        self._done += 1
        if self._done % PER_FEEDBACK == 0 and hits:
            repo.feedback(AGENT, hits[0].memory.id, "useful")
        if self._done % PER_ADDED == 0:
            new = NewMemory(f"{question.text} {self._done}", embedding=question.vector)
            repo.add(AGENT, new)
        if self._done % PER_DELETED == 0 and hits:
            repo.delete(AGENT, hits[-1].memory.id)
        return hits.strategy == "index"

    def _compared(self, progress: Progress) -> tuple[list[Comparison], list[Comparison]]:
        """Of the memories as they are, and of the copy of the first day."""
        found: dict[Loaded, list[Comparison]] = {self._loaded: [], self._fresh: []}
        with ExitStack() as stack:
            approaches = {loaded: Approaches(loaded, stack) for loaded in found}
            for profile in PROFILES:
                groups = {
                    loaded.url: of.ours(Asked(AGENT, profile, {}))
                    for loaded, of in approaches.items()
                }
                questions = [*map(self._worded, self._measured)]
                outcomes = compared_together(groups, questions, progress, profile.name)
                for loaded, of_profile in found.items():
                    of_profile.append(
                        Comparison(
                            USE_CASE,
                            self._source.name,
                            f"{profile.name}, after {self._done:,} searches",
                            outcomes[loaded.url],
                            USED,
                        )
                    )
        return found[self._loaded], found[self._fresh]

    def _worded(self, question: Question) -> Question:
        words = self._random.choice(VOCABULARY, 3)
        return Question(question.vector, text=" ".join(words))

    def _let_pass(self, days: int) -> None:
        with psycopg.connect(self._loaded.url) as connection:
            connection.execute(LET_PASS.format(days=days).encode())
        vacuum(self._loaded.url, "agent_memories", "memory_usage", "memory_events", "rank_indexes")
        with psycopg.connect(self._loaded.url, autocommit=True) as connection:
            connection.execute("CHECKPOINT")  # all rows were rewritten

    def _used(self) -> int:
        with psycopg.connect(self._loaded.url) as connection:
            [(used,)] = connection.execute(
                "SELECT pgrecall.used_positions(relation) FROM pgrecall.rank_indexes"
            ).fetchall()
            [(count,)] = connection.execute(f"SELECT count(*) FROM pgrecall.{used}").fetchall()
            return int(count)

    @contextmanager
    def _repository(self) -> Iterator[MemoryRepository]:
        """A new one each time: a client caches for some seconds when an index was built."""
        engine = create_engine(self._loaded.engine_url, pool_size=1)
        try:
            yield MemoryRepository(engine)
        finally:
            engine.dispose()


def sources(setting: Setting) -> list[Memories]:
    return [setting.one_agent(rows) for rows in SIZES]


def run(setting: Setting, databases: Databases, progress: Progress) -> list[Comparison]:
    """The comparisons of the copy of the first day and of the end."""
    found: list[Comparison] = []
    for source in sources(setting):
        searches = max(round(SEARCHES * setting.scale), A_DAY * DAYS)
        loaded = databases.prepared(source, progress)
        month = Month(loaded, databases.copy(loaded), searches, setting.rounds)
        batches = [*month.batches(progress)]
        print_batches(Console(), source.name, batches)
        found += [*batches[-1].fresh, *batches[-1].comparisons]
    return found


def print_batches(console: Console, name: str, batches: Sequence[Batch]) -> None:
    """After each batch of days: × fresh time, × exact time, recall@10 of each profile."""
    heads = ["searches", "used", "maint. s", "builds", "by index"]
    table = Table(title=f"{name}: ms, × fresh, exact ms, recall@10", title_justify="left")
    for head in (*heads, *(profile.name for profile in PROFILES)):
        table.add_column(head, justify="right")
    for batch in batches:
        cells = (
            _cell(one.outcomes, cost(one, first, INDEX))
            for one, first in zip(batch.comparisons, batch.fresh, strict=True)
        )
        table.add_row(
            f"{batch.searches:,}",
            f"{batch.used:,}",
            f"{batch.maintenance:.1f}",
            f"{batch.builds}",
            f"{100 * batch.by_index:.0f} %",
            *cells,
        )
    console.print(table)


def _cell(outcomes: Any, times_fresh: float) -> str:
    index: Outcome = outcomes[INDEX]
    exact: Outcome = outcomes[EXACT]
    return (
        f"{index.timing.median * 1000:.1f} ×{times_fresh:.2f} "
        f"{exact.timing.median * 1000:.0f} {index.recall:.3f}"
    )


def main(
    memories: Annotated[int, typer.Option(min=5_000)] = SIZES[0],
    searches: Annotated[int, typer.Option(min=A_DAY * DAYS)] = SEARCHES,
    dimensions: Annotated[int, typer.Option(min=8)] = 384,
    rounds: Annotated[int, typer.Option(min=2, help="Questions measured.")] = 40,
    seed: Annotated[int, typer.Option(help="Decides all the data.")] = 0,
    json_: Annotated[Path | None, typer.Option("--json", help="All numbers, as JSON.")] = None,
) -> None:
    """Replays a month of use on an embedded server of its own."""
    source = Memories(
        ((AGENT, memories),), (AGENT,), datetime.now(UTC), seed, dimensions=dimensions
    )
    console, found = Console(), list[Batch]()
    with server(SETTINGS) as url, progress_bar() as progress:
        databases = Databases(url)
        conditions = {"machine": machine(), "server": databases.version(), "data": source.name}
        loaded = databases.prepared(source, progress)
        month = Month(loaded, databases.copy(loaded), searches, rounds)
        for batch in month.batches(progress):
            found.append(batch)
            if json_ is not None:
                records = [one.record() for one in found]
                json_.write_text(json.dumps(conditions | {"batches": records}, indent=2))
    console.print(f"{conditions['machine']}, {conditions['server']}", highlight=False)
    print_batches(console, source.name, found)


if __name__ == "__main__":
    typer.run(main)
