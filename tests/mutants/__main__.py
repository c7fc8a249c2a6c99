"""Breaks one guard after the other in a copy of this checkout, and expects tests to notice.

`python -m tests.mutants` runs them all, with words only those whose file or test names one. It is
for those who make tests shorter: what remains has to go red.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from pgrecall import embedded
from pgrecall.testing import hurry
from tests.mutants import (
    frameworks,
    lifecycle,
    looking_up,
    moving_in,
    outside,
    rank_index,
    reliability,
    scoring,
    search_path,
    searching,
    service,
    statements,
)
from tests.mutants.mutant import Mutant

ROOT = Path(__file__).parents[2]
GROUPS = (
    frameworks,
    lifecycle,
    looking_up,
    moving_in,
    outside,
    rank_index,
    reliability,
    scoring,
    search_path,
    searching,
    service,
    statements,
)
MUTANTS = [one for group in GROUPS for one in group.MUTANTS]


def survives(mutant: Mutant, server: str) -> bool:
    """Whether the tests of a mutant pass: all those whose names begin like this."""
    with tempfile.TemporaryDirectory() as folder:
        copy = Path(folder) / "copy"
        names = ("app", "benchmarks", "migrations", "sql", "tests", "pyproject.toml", "alembic.ini")
        for name in names:
            whole = ROOT / name
            (shutil.copytree if whole.is_dir() else shutil.copy)(whole, _made(copy) / name)
        file = copy / mutant.file
        text = file.read_text()
        assert text.count(mutant.old) == 1, mutant
        file.write_text(text.replace(mutant.old, mutant.new, 1))
        path, _, name = mutant.tests.partition("::")
        chosen = [f"tests/{mutant.tests}"] if name.endswith("]") else [f"tests/{path}", "-k", name]
        done = subprocess.run(
            [sys.executable, "-m", "pytest", "-q", "-x", *chosen],
            cwd=copy,
            env=os.environ
            | {"PYTHONPATH": str(copy / "app"), "PGRECALL_TEST_DATABASE_URL": server},
            capture_output=True,
            text=True,
        )
    assert done.returncode in (0, 1), done.stdout + done.stderr
    told = done.stdout.splitlines()[-1]
    assert "failed" in told or "error" not in told, done.stdout  # of a test itself, not before it
    return done.returncode == 0


def _made(folder: Path) -> Path:
    folder.mkdir(exist_ok=True)
    return folder


def main(words: list[str]) -> int:
    """How many are alive."""
    alive = 0
    with embedded.database() as server:
        hurry(server)
        for one in MUTANTS:
            if not words or any(word in one.file or word in one.tests for word in words):
                lives = survives(one, server)
                alive += lives
                told = f"{'ALIVE ' if lives else 'killed'} {one.file} by {one.tests}"
                print(told, flush=True)  # noqa: T201
    return alive


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]) > 0)
