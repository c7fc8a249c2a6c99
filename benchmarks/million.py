"""`python -m benchmarks.million`: a rank index of 1,000,000 memories beside one of 100,000.

Fresh, after a tenth more memories, after searches that count, and maintained. Takes hours, and
20 GiB of memory and of disk.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from datetime import UTC, datetime
from itertools import cycle, islice
from typing import Annotated

import psycopg
import typer

from benchmarks.index.comparing import ALONE, EXACT, INDEX, K, compared, indexed, searching
from benchmarks.index.memories import AGENT, Meanings, Memories
from benchmarks.loading import copy_rows, vacuum
from benchmarks.measuring import measured, print_machine, print_table, say
from benchmarks.server import repository, server
from pgrecall import profiles

SETTINGS = """
shared_buffers = '8GB'
maintenance_work_mem = '4GB'  # a graph that does not fit is built many times slower
max_wal_size = '8GB'
autovacuum = off  # tables are vacuumed once filled; nothing may disturb what is timed
synchronous_commit = off  # nothing that is timed commits
"""
SIZES = (1_000_000, 100_000)
PROFILES = (profiles.five_factor, ALONE)
HEADING = "median, ms|p99, ms|exact, ms|times as fast|recall@10|by the index"


class Owner:
    """An agent in a database of its own; a tenth of its memories come later."""

    def __init__(self, url: str, rows: int, source: Memories, stack: ExitStack) -> None:
        self.url = stack.enter_context(indexed(url, source, rows=rows))
        self.name, self.source, self._rows = f"{rows:,}", source, rows

    def grow(self) -> None:
        with psycopg.connect(self.url) as connection:
            copy_rows(connection, islice(self.source, self._rows, None))
        vacuum(self.url, "agent_memories", "memory_usage")

    def use(self, searches: int, rounds: int) -> None:
        """Searches that count, by questions that are not measured."""
        with repository(self.url) as repo:
            asked = self.source.questions(rounds + searches)[rounds:]
            for question, profile in zip(asked, cycle(PROFILES), strict=False):
                repo.search(AGENT, question.vector, k=K, profile=profile, touch=True)

    def maintain(self) -> None:
        with repository(self.url) as repo:
            repo.maintenance.run(agent_id=AGENT)


def searched(owners: list[Owner], stage: str, rounds: int, exact: int) -> Iterator[list[object]]:
    """Exact search answers the first questions alone, the index all."""
    for owner in owners:
        questions = owner.source.questions(rounds)
        for profile in PROFILES:
            beside = compared(owner.url, questions[:exact], profile)
            with repository(owner.url) as repo:
                asking = {INDEX: searching(repo, "auto", profile)}
                timing = measured(asking, questions, rounds)[INDEX]
            index = beside[INDEX]
            yield [
                *(stage, owner.name, profile.name, timing.ms, timing.p99, beside[EXACT].timing.ms),
                *(index.faster, f"{index.recall:.3f}", f"{index.by_index:.0%}"),
            ]


def main(
    meanings: Annotated[Meanings, typer.Option(help="Of embeddings.")] = Meanings.CONTINUOUS,
    rounds: Annotated[int, typer.Option(min=2, help="Questions to each owner.")] = 200,
    exact: Annotated[int, typer.Option(min=2, help="Of them by exact search, too.")] = 20,
    searches: Annotated[int, typer.Option(min=20, help="That count.")] = 2_000,
    scale: Annotated[float, typer.Option(min=0.001, max=1, help="Of all row counts.")] = 1.0,
    seed: Annotated[int, typer.Option(help="Decides all the data.")] = 0,
) -> None:
    """Prints a table for each stage."""
    print_machine()
    now = datetime.now(UTC)
    stages: dict[str, Callable[[Owner], None]] = {
        "fresh": lambda owner: None,
        "grown by a tenth": Owner.grow,
        f"after {searches:,} searches that count": lambda owner: owner.use(searches, rounds),
        "maintained": Owner.maintain,
    }
    with server(SETTINGS) as url, ExitStack() as stack:
        owners = []
        for size in SIZES:
            rows = round(size * scale)
            source = Memories(rows + rows // 10, now, seed, meanings, dimensions=256)
            owners.append(Owner(url, rows, source, stack))
        for stage, work in stages.items():
            for owner in owners:
                began = time.perf_counter()
                work(owner)
                say(f"{stage}, {owner.name}: {time.perf_counter() - began:.1f} s")
            rows_of_stage = searched(owners, stage, rounds, exact)
            print_table(f"stage|memories|profile|{HEADING}", rows_of_stage)


if __name__ == "__main__":
    typer.run(main)
