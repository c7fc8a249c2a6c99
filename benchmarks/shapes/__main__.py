"""`python -m benchmarks.shapes OTHER`: each call of this checkout beside the same of another.

Both have the same memories in a database of their own on one server, and take turns: some calls of
the one, as many of the other, each of them first in turn. The ids that they return are compared. A
checkout beside itself shows the machine's noise.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from datetime import UTC, datetime
from pathlib import Path
from statistics import quantiles
from typing import Annotated, Any

import typer

from benchmarks.measuring import print_machine, print_table, say
from benchmarks.server import server
from pgrecall.testing import new_database

WORKER = Path(__file__).with_name("worker.py")
WARM = 8
"""Calls that are not counted: psycopg prepares after five, PostgreSQL plans for all after that."""
LEAST = 40.0
"""Milliseconds that the calls of a round take at least, but for the slowest."""


class Worker:
    """A checkout's process, which executes calls when asked."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self._process = process
        self.calls: list[str] = self._line()

    def run(self, call: str, times: int) -> dict[str, Any]:
        """What so many calls took, in milliseconds, and the ids that each returned."""
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps({"call": call, "times": times}) + "\n")
        self._process.stdin.flush()
        found: dict[str, Any] = self._line()
        return found

    def _line(self) -> Any:
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        if not line:
            raise typer.Exit(1)  # it has written why
        return json.loads(line)


def main(
    other: Annotated[Path, typer.Argument(help="A checkout after `make .venv/test`.")],
    only: Annotated[str, typer.Option(help="A part of the names of the calls.")] = "",
    rounds: Annotated[int, typer.Option(min=2, help="How often both take their turn.")] = 30,
    big: Annotated[int, typer.Option(help="Memories of the owner that has most.")] = 10_000,
) -> None:
    """Prints the lower quartile of each call in both, and their ratio."""
    print_machine()
    pythons = {"other": str(other / ".venv" / "bin" / "python"), "this": sys.executable}
    words = [datetime.now(UTC).isoformat(), str(big)]
    with server() as url, ExitStack() as opened:
        say("filling two databases")
        workers = [
            opened.enter_context(_started(python, opened.enter_context(new_database(url)), *words))
            for python in pythons.values()
        ]
        names = [name for name in workers[1].calls if only in name and name in workers[0].calls]
        rows = ([name, *_compared(name, workers, rounds)] for name in names)
        print_table("call|other, ms|this, ms|ratio|ids", rows)


def _compared(name: str, workers: list[Worker], rounds: int) -> list[str]:
    warm = [worker.run(name, WARM) for worker in workers]
    slowest = max(sorted(one["ms"])[WARM // 2] for one in warm)
    times = max(1, min(50, round(LEAST / slowest)))
    same = warm[0]["ids"] == warm[1]["ids"]
    took: list[list[float]] = [[], []]
    for turn in range(rounds):
        found: dict[int, Any] = {}
        for place in (0, 1) if turn % 2 else (1, 0):
            found[place] = workers[place].run(name, times)
            took[place] += found[place]["ms"]
        same = same and found[0]["ids"] == found[1]["ids"]
    before, after = (quantiles(one, n=4)[0] for one in took)
    named = any(one["ids"][0] for one in warm)
    return [
        *(f"{before:.3f}", f"{after:.3f}", f"{after / before:.2f}"),
        ("same" if same else "differ") if named else "",
    ]


@contextmanager
def _started(python: str, *words: str) -> Iterator[Worker]:
    command = [python, str(WORKER), *words]
    pipe = subprocess.PIPE
    with subprocess.Popen(command, stdin=pipe, stdout=pipe, encoding="utf-8") as process:
        yield Worker(process)
        assert process.stdin is not None
        process.stdin.close()


if __name__ == "__main__":
    typer.run(main)
