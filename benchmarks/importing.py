"""`python -m benchmarks.importing`: CPU time of imports and commands, each in a new process."""

from __future__ import annotations

import os
import shlex
import statistics
import subprocess
import sys

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
    "pgrecall context cello --agent zoe": 2.5,
}
"""Statements, and commands on a server that runs, with the goals, as multiples of the first, where
there are any."""


def seconds(statement: str) -> float:
    if statement.startswith("pgrecall "):
        statement = (
            f"import contextlib, sys\nsys.argv = {shlex.split(statement)}\n"
            "from pgrecall.cli import main\nwith contextlib.suppress(SystemExit):\n    main()"
        )
    code = f"{statement}\nimport time\nprint(time.process_time())"
    command = [sys.executable, "-c", code]
    done = subprocess.run(command, check=True, capture_output=True, encoding="utf-8")
    return float(done.stdout.splitlines()[-1])


def main() -> None:
    """Measures in rounds, so that a disturbance meets all, and prints ratios within a round."""
    with embedded.database() as url:
        migrate.upgrade(url)
        repo = MemoryRepository(engine_of(url), embedder=LocalEmbedder())
        repo.add("zoe", "Zoe plays the cello.")
        os.environ["PGRECALL_DATABASE_URL"] = url
        rounds = [{one: seconds(one) for one in STATEMENTS} for _ in range(ROUNDS)]
    table = Table(title=f"CPU time, {ROUNDS} rounds")
    for heading in ("statement", "fastest, ms", "median, ms", "of the first", "goal"):
        table.add_column(heading, justify="left" if heading == "statement" else "right")
    for statement, goal in STATEMENTS.items():
        found = [one[statement] for one in rounds]
        ratio = statistics.median(one[statement] / one[BASE] for one in rounds)
        table.add_row(
            statement,
            f"{min(found) * 1000:.0f}",
            f"{statistics.median(found) * 1000:.0f}",
            f"{ratio:.2f}",
            f"≤ {goal}" if goal else "",
        )
    Console().print(table)


if __name__ == "__main__":
    main()
