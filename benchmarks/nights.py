"""`python -m benchmarks.nights`: a month of use by one agent, with maintenance each night.

Searches that count, memories added and corrected, by the repository, on a server whose autovacuum
works as installed. At the end each question is asked in turn of this database, of a copy that was
made on the first day, and of a fresh one that has the same memories: how fast a machine is may
change in half an hour. The size is compared with that of the fresh one.
"""

from __future__ import annotations

import json
import time
from collections.abc import Sequence
from datetime import UTC, datetime
from itertools import cycle, islice
from statistics import median
from typing import Annotated
from uuid import UUID

import numpy as np
import psycopg
import typer
from sqlalchemy import make_url

from benchmarks.index.comparing import K
from benchmarks.index.memories import AGENT, Memories
from benchmarks.loading import vacuum
from benchmarks.measuring import print_machine, print_table, say
from benchmarks.server import log_lines, repository, server
from pgrecall import MemoryRepository, NewMemory, RetentionPolicy, migrate, profiles
from pgrecall.testing import new_database

BEGINNING, SEARCHES, ADDED, CORRECTED, NIGHTS = 20_000, 50_000, 20_000, 2_000, 30
MEASURED, PART = 300, 1_000
PROFILES = (profiles.five_factor, profiles.last_access, profiles.half_life)
QUIET = 61
"""Seconds between the last day and its night. A build notes apart what was used in the last minute,
and each search looks there too. Here a whole day takes no longer."""
DIMENSIONS = 256
SETTINGS = "shared_buffers = '2GB'\nmaintenance_work_mem = '1GB'\nmax_wal_size = '8GB'\n"


class Month:
    """An agent that is asked, learns and is corrected by day, and is looked after by night."""

    def __init__(self, scale: float, seed: int) -> None:
        self._scale = scale
        total = BEGINNING + ADDED + 2 * CORRECTED
        source = Memories(round(total * scale), datetime.now(UTC), seed, dimensions=DIMENSIONS)
        questions = source.questions(MEASURED + round(SEARCHES * scale) + NIGHTS)
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


def night(repo: MemoryRepository) -> None:
    """Does what is due."""
    repo.maintenance.run(RetentionPolicy(max_run_age_hours=720))


def main(
    scale: Annotated[float, typer.Option(min=0.01, max=1, help="Of all numbers.")] = 1.0,
    seed: Annotated[int, typer.Option(help="Decides all the data.")] = 0,
) -> None:
    """Measures a month on an embedded server of its own."""
    print_machine()
    with server(SETTINGS) as url, new_database(url) as used, new_database(url) as fresh:
        for one in (used, fresh):
            migrate.upgrade(one, dimensions=DIMENSIONS)
        month, total = Month(scale, seed), round(BEGINNING * scale)
        with repository(used) as repo:
            say(f"the first {total:,} memories")
            for _ in range(0, total, PART):
                month.store(repo, min(PART, total))
            night(repo)
        with (
            new_database(url, str(make_url(used).database)) as copied,
            repository(copied) as first,
            repository(used) as repo,
            repository(fresh) as target,
        ):
            for day in range(NIGHTS):
                say(f"day {day + 1}")
                month.day(repo)
                if day == NIGHTS - 1:
                    morning, evening = month.measured([first, repo])
                    time.sleep(QUIET)
                night(repo)
            _move(repo, target)
            vacuum(fresh, "agent_memories", "memory_usage", "memory_events")
            night(target)
            began, ended, moved = month.measured([first, repo, target])
            grown, loaded = size(used), size(fresh)
        found = [
            ["a search, first day, ms", 1000 * median(began)],
            ["a search, at the end, ms", 1000 * median(ended)],
            ["a search of a fresh load, ms", 1000 * median(moved)],
            ["the same question, last evening / first day", _ratio(evening, morning)],
            ["the same question, at the end / first day", _ratio(ended, began)],
            ["the same question, at the end / fresh load", _ratio(ended, moved)],
            ["all tables, at the end, MiB", grown / 2**20],
            ["all tables / fresh load", grown / loaded],
            ["lines above INFO, of the server", len(loud_lines(used))],
        ]
    print_table("a month|", found)


def _ratio(later: Sequence[float], earlier: Sequence[float]) -> float:
    return float(median(b / a for a, b in zip(earlier, later, strict=True)))


def _move(source: MemoryRepository, target: MemoryRepository) -> None:
    """All memories with their history."""
    say("a fresh load")

    def store(lines: Sequence[str]) -> None:
        target.transfer.restore(AGENT, [json.loads(line) for line in lines])

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
