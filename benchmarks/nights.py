"""`python -m benchmarks.nights`: a month of use by one agent, with an upkeep each night.

Searches that count, memories added and corrected, by the repository, on a server whose autovacuum
works as installed. At the end each question is asked in turn of this database, of a copy that was
made on the first day, and of a fresh one that has the same memories: how fast a machine is may
change in half an hour. The size is compared with that of the fresh one.
"""

from __future__ import annotations

import json
import logging
import time
from collections import Counter
from collections.abc import Sequence
from datetime import UTC, datetime
from itertools import cycle, islice
from pathlib import Path
from statistics import median
from typing import Annotated
from uuid import UUID

import numpy as np
import psycopg
import typer
from rich.console import Console
from rich.progress import Progress
from sqlalchemy import make_url

from benchmarks.contenders import K
from benchmarks.index.machine import machine
from benchmarks.index.setting import AGENT, Setting
from benchmarks.loading import vacuum
from benchmarks.measurement import Measurement, print_table
from benchmarks.progress import progress_bar
from benchmarks.server import log_lines, repository, server
from pgrecall import MemoryRepository, NewMemory, UpkeepPolicy, migrate, profiles
from pgrecall.testing import new_database

BEGINNING, SEARCHES, ADDED, CORRECTED, NIGHTS = 20_000, 50_000, 20_000, 2_000, 30
MEASURED, PART = 300, 1_000
PROFILES = (profiles.five_factor, profiles.last_access, profiles.half_life)
QUIET = 61
"""Seconds between the last day and its night. A build notes apart what was used in the last minute,
and each search looks there too. Here a whole day takes no longer."""
DIMENSIONS = 256
OWNERS, OF_EACH = 1_000, 20
SLOWER, LARGER, IDLE = 1.2, 1.3, 2.0
"""Goals: times the first day, times a fresh load, seconds for OWNERS with nothing due."""
SETTINGS = "shared_buffers = '2GB'\nmaintenance_work_mem = '1GB'\nmax_wal_size = '8GB'\n"


class Loud(logging.Handler):
    """Keeps what is above INFO."""

    def __init__(self) -> None:
        super().__init__(logging.WARNING)
        self.lines: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        self.lines.append(record.getMessage())


class Month:
    """An agent that is asked, learns and is corrected by day, and is looked after by night."""

    def __init__(self, scale: float, seed: int) -> None:
        self._scale = scale
        setting = Setting(scale, 2, seed, datetime.now(UTC), None)
        source = setting.one_agent(BEGINNING + ADDED + 2 * CORRECTED, dimensions=DIMENSIONS)
        questions = source.questions(MEASURED + setting.rows(SEARCHES) + NIGHTS)
        self._measured, self._questions = questions[:MEASURED], iter(questions[MEASURED:])
        self._coming = (
            NewMemory(row.content, embedding=np.asarray(row.embedding).tolist()) for row in source
        )
        self._random = np.random.default_rng(seed)
        self._ids: list[UUID] = []

    def store(self, repo: MemoryRepository, number: int) -> None:
        new = [*islice(self._coming, number)]
        self._ids += repo.add_many(AGENT, new, duplicates="keep")

    def day(self, repo: MemoryRepository) -> None:
        """A part of the searches, additions and corrections, mixed."""
        searches, added, corrected = (
            round(number * self._scale / NIGHTS) for number in (SEARCHES, ADDED, CORRECTED)
        )
        steps = ["search"] * searches + ["add"] * added + ["correct"] * corrected
        self._random.shuffle(steps)
        for step, profile in zip(steps, cycle(PROFILES), strict=False):
            if step == "search":
                question = next(self._questions).vector
                repo.search(AGENT, question, k=K, profile=profile, touch=True)
            elif step == "add":
                self.store(repo, 1)
            else:
                place = int(self._random.integers(len(self._ids)))
                [new] = islice(self._coming, 1)
                self._ids[place] = repo.supersede(AGENT, self._ids[place], new, force=True)

    def measured(self, repos: Sequence[MemoryRepository]) -> list[list[float]]:
        """Seconds of each question to each of these, in turn by all profiles, once warm."""
        times: list[list[float]] = [[] for _ in repos]
        for question, profile in zip([*self._measured[:30], *self._measured], cycle(PROFILES)):
            for repo, its in zip(repos, times, strict=True):
                began = time.perf_counter()
                repo.search(AGENT, question.vector, k=K, profile=profile, touch=False)
                its.append(time.perf_counter() - began)
        return [its[30:] for its in times]


def night(repo: MemoryRepository) -> Counter[str]:
    """Does what is due, and returns the number of tasks of each kind."""
    run = repo.upkeep.run(policy=UpkeepPolicy(max_run_age_hours=720))
    return Counter({str(kind): number for kind, number in run.tasks.items()})


def main(
    scale: Annotated[float, typer.Option(min=0.01, max=1, help="Of all numbers.")] = 1.0,
    seed: Annotated[int, typer.Option(help="Decides all the data.")] = 0,
    json_: Annotated[Path, typer.Option("--json")] = Path("build/nights.json"),
) -> None:
    """Measures a month on an embedded server of its own."""
    console, loud = Console(), Loud()
    logging.getLogger().addHandler(loud)
    console.print(machine(), highlight=False)
    with server(SETTINGS) as url, new_database(url) as used, new_database(url) as fresh:
        for one in (used, fresh):
            migrate.upgrade(one, dimensions=DIMENSIONS)
        month, total, tasks = Month(scale, seed), round(BEGINNING * scale), Counter[str]()
        with repository(used) as repo, progress_bar() as progress:
            for _ in progress.track(range(0, total, PART), description="the beginning"):
                month.store(repo, min(PART, total))
            night(repo)
        with (
            new_database(url, str(make_url(used).database)) as copied,
            repository(copied) as first,
            repository(used) as repo,
            repository(fresh) as target,
            progress_bar() as progress,
        ):
            for day in progress.track(range(NIGHTS), description="days"):
                month.day(repo)
                if day == NIGHTS - 1:
                    morning, evening = month.measured([first, repo])
                    time.sleep(QUIET)
                tasks += night(repo)
            _move(repo, target, progress)
            vacuum(fresh, "agent_memories", "memory_usage", "memory_events")
            target.upkeep.run()
            began, ended, moved = month.measured([first, repo, target])
            grown, loaded = size(used), size(fresh)
        with new_database(url) as many:
            idle_s = idle(many, scale)
        logged = loud_lines(used)
        found = [
            Measurement("the same question, last evening", _ratio(evening, morning), "× first day"),
            Measurement("a search, first day", 1000 * median(began), "ms"),
            Measurement("a search, at the end", 1000 * median(ended), "ms"),
            Measurement(
                "the same question, at the end", _ratio(ended, began), "× first day", SLOWER
            ),
            Measurement("a search of a fresh load of them", 1000 * median(moved), "ms"),
            Measurement("the same question, at the end", _ratio(ended, moved), "× fresh load"),
            Measurement("all tables, at the end", grown / 2**20, "MiB"),
            Measurement("of them, a fresh load", loaded / 2**20, "MiB"),
            Measurement("at the end", grown / loaded, "× fresh load", LARGER),
            Measurement("an upkeep of 1,000 owners, nothing due", idle_s, "s", IDLE),
            Measurement("lines above INFO, of clients", len(loud.lines), "", 0),
            Measurement("lines above INFO, of the server", len(logged), "", 0),
        ]
    print_table(console, "a month", found)
    console.print(", ".join(f"{number} × {kind}" for kind, number in tasks.items()))
    for line in [*sorted({*loud.lines})[:20], *logged[:20]]:
        console.print(line, highlight=False, markup=False)
    json_.parent.mkdir(parents=True, exist_ok=True)
    json_.write_text(json.dumps([{one.what: one.value} for one in found]), encoding="utf-8")


def idle(url: str, scale: float) -> float:
    """Seconds of an upkeep of many owners with nothing due."""
    migrate.upgrade(url, dimensions=DIMENSIONS)
    random = np.random.default_rng(0)
    with repository(url) as repo:
        for owner in range(round(OWNERS * scale)):
            vectors = random.standard_normal((OF_EACH, DIMENSIONS))
            new = [NewMemory(f"{owner} {n}", embedding=v.tolist()) for n, v in enumerate(vectors)]
            repo.add_many(f"agent {owner}", new)
        repo.upkeep.run()
        run = repo.upkeep.run()
    if run.done:
        raise RuntimeError(f"something was due: {run.done}")
    return run.seconds


def _ratio(later: Sequence[float], earlier: Sequence[float]) -> float:
    return float(median(b / a for a, b in zip(earlier, later, strict=True)))


def _move(source: MemoryRepository, target: MemoryRepository, progress: Progress) -> None:
    """All memories with their history."""
    task = progress.add_task("a fresh load")

    def store(lines: Sequence[str]) -> None:
        target.transfer.restore(AGENT, [json.loads(line) for line in lines])
        progress.advance(task, len(lines))

    source.transfer.export(store, agent_id=AGENT, events=True)


def size(url: str) -> int:
    """Bytes of all tables of the schema, with indexes and TOAST."""
    query = """
        SELECT sum(pg_total_relation_size(c.oid))::bigint FROM pg_class c
         WHERE c.relnamespace = 'pgrecall'::regnamespace AND c.relkind = 'r'"""
    with psycopg.connect(url) as connection:
        [(found,)] = connection.execute(query).fetchall()
    return int(found)


def loud_lines(url: str) -> list[str]:
    """What the server has logged above INFO."""
    levels = ("WARNING", "ERROR", "FATAL", "PANIC")
    return [line for line in log_lines(url) if any(f" {level}:" in line for level in levels)]


if __name__ == "__main__":
    typer.run(main)
