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
from tests.mutants import Mutant, mutants

ROOT = Path(__file__).parents[2]


def survives(mutant: Mutant, server: str) -> bool:
    """Whether the tests of a mutant pass: all those whose names begin like this."""
    with tempfile.TemporaryDirectory() as folder:
        copy = Path(folder)
        for name in ("app", "benchmarks", "migrations", "sql", "tests"):
            shutil.copytree(ROOT / name, copy / name)
        for name in ("pyproject.toml", "alembic.ini"):
            shutil.copy(ROOT / name, copy / name)
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
    summary = done.stdout.splitlines()[-1]
    assert "failed" in summary or "error" not in summary, done.stdout  # of a test, not before it
    return done.returncode == 0


def main(words: list[str]) -> int:
    """How many are alive."""
    alive = 0
    with embedded.database() as server:
        hurry(server)
        for one in mutants():
            if not words or any(word in one.file or word in one.tests for word in words):
                lives = survives(one, server)
                alive += lives
                state = "ALIVE " if lives else "killed"
                print(f"{state} {one.file} by {one.tests}", flush=True)  # noqa: T201
    return alive


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]) > 0)
