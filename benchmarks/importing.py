"""`python -m benchmarks.importing`: what imports and commands cost, each in a new process."""

from __future__ import annotations

import os
import shlex
import statistics
import subprocess
import sys
from time import perf_counter

from rich.console import Console
from rich.table import Table

from pgrecall import LocalEmbedder, MemoryRepository, embedded, migrate
from pgrecall.migrate.connecting import engine_of

ROUNDS = 20
BASE = "import sqlalchemy, psycopg"
STATEMENTS = {
    BASE: None,
    "import pgrecall": 1.3,
    "import sqlalchemy, psycopg, pgrecall": 1.3,
    "from pgrecall import MemoryRepository": None,
    "from pgrecall import migrate": None,
    "pgrecall --version": None,
    "pgrecall search cello --agent zoe": 2.5,
    "pgrecall list --agent zoe": 2.5,
    "pgrecall context cello --agent zoe": 2.5,
}
"""Statements, and commands on a server that runs, with the goals, as multiples of the first, where
there are any. Commands that have one should also end within 0.6 s."""
ENVIRONMENT = {name: value for name, value in os.environ.items() if "BYTECODE" not in name}
"""Modules are compiled once, as those of an installed package are."""


def seconds(statement: str, url: str) -> tuple[float, float]:
    """CPU time, and time by the clock."""
    if statement.startswith("pgrecall "):
        statement = (
            f"import contextlib, sys\nsys.argv = {shlex.split(statement)}\n"
            "from pgrecall.cli import main\nwith contextlib.suppress(SystemExit):\n    main()"
        )
    code = f"{statement}\nimport time\nprint(time.process_time())"
    command = [sys.executable, "-c", code]
    environment = ENVIRONMENT | {"PGRECALL_DATABASE_URL": url}
    began = perf_counter()
    done = subprocess.run(
        command, check=True, capture_output=True, encoding="utf-8", env=environment
    )
    return float(done.stdout.splitlines()[-1]), perf_counter() - began


def main() -> None:
    """Measures in rounds, so that a disturbance meets all, and prints ratios within a round."""
    with embedded.database() as url:
        migrate.upgrade(url)
        repo = MemoryRepository(engine_of(url), embedder=LocalEmbedder())
        repo.add("zoe", "Zoe plays the cello.")
        for statement in STATEMENTS:  # compiles the modules
            seconds(statement, url)
        rounds = [{one: seconds(one, url) for one in STATEMENTS} for _ in range(ROUNDS)]
    table = Table(title=f"{ROUNDS} rounds, ms; medians but for the least")
    table.add_column("statement", no_wrap=True)
    for heading in ("least CPU", "CPU", "of the first", "goal", "clock"):
        table.add_column(heading, justify="right")
    for statement, goal in STATEMENTS.items():
        cpu, clock = zip(*(one[statement] for one in rounds), strict=True)
        ratio = statistics.median(one[statement][0] / one[BASE][0] for one in rounds)
        table.add_row(
            statement,
            f"{min(cpu) * 1000:.0f}",
            f"{statistics.median(cpu) * 1000:.0f}",
            f"{ratio:.2f}",
            f"≤ {goal}" if goal else "",
            f"{statistics.median(clock) * 1000:.0f}",
        )
    Console().print(table)


if __name__ == "__main__":
    main()
