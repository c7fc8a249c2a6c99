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
from typing import NamedTuple

ROOT = Path(__file__).parents[1]
RACES, INDEXES = "integration/test_races.py", "integration/test_rank_index"
TENANTS = "integration/test_row_level_security.py"
CORPUS = "integration/test_bad_input.py::test_a_bad_value_works_or_is_refused_before_anything_is"


class Mutant(NamedTuple):
    """What is changed, and the tests that have to fail then."""

    file: str
    old: str
    new: str
    tests: str


MUTANTS = [
    Mutant(
        "sql/verbs/touch.sql",
        "u.retrieval_count + 1",
        "1 + (SELECT o.retrieval_count FROM memory_usage o "
        "WHERE o.agent_id = u.agent_id AND o.memory_id = u.memory_id)",
        f"{RACES}::test_touches_of_overlapping_sets_lose_no_count",
    ),
    Mutant(
        "sql/verbs/lock_memories.sql",
        "FOR NO KEY UPDATE",
        "",
        f"{RACES}::test_feedback_and_outcomes_on_one_memory_are_all_counted_and_noted_in_order",
    ),
    Mutant(
        "sql/verbs/lock_memories.sql",
        "FOR NO KEY UPDATE",
        "",
        f"{RACES}::test_labels_and_links_given_and_taken_by_all_are_told_as_they_were",
    ),
    Mutant(
        "sql/verbs/supersede.sql",
        "    PERFORM lock_same(agent, ARRAY[new.content_hash], ARRAY[supersede.memory_id]);\n",
        "",
        f"{RACES}::test_of_rivals_that_supersede_one_memory_exactly_one_wins",
    ),
    Mutant(
        "sql/verbs/lock_same.sql",
        "FOR NO KEY UPDATE",
        "",
        f"{RACES}::test_texts_that_are_updated_and_revived_at_once_stay_one_of_each",
    ),
    Mutant(
        "sql/recall/history.sql",
        "LANGUAGE sql STABLE",
        "LANGUAGE sql STABLE SECURITY DEFINER",
        f"{TENANTS}::test_a_function_tells_a_tenant_nothing_of_another[history]",
    ),
    Mutant(
        "sql/policies/row_level_security.sql",
        "agent_id = ANY (",
        "true OR agent_id = ANY (",
        f"{TENANTS}::test_a_method_tells_a_tenant_nothing_of_another",
    ),
    Mutant(
        "sql/signals/frequency.sql",
        "/ cap",
        "/ (cap + 1e-6)",
        "integration/test_profiles_agree.py::test_the_three_agree",
    ),
    Mutant(
        "sql/rank_index/await_writers.sql",
        "WHILE EXISTS (",
        "WHILE false AND EXISTS (",
        f"{INDEXES}_building.py::test_what_was_written_before_and_committed_after_is_not_missed",
    ),
    Mutant(
        "app/pgrecall/rank_index.py",
        "timedelta(days=28)",
        "timedelta(days=364)",
        f"{INDEXES}_maintenance.py::test_a_year_of_use_with_the_maintenance_it_prescribes_finds_"
        "what_exact_ranking_finds",
    ),
    Mutant(
        "app/pgrecall/quoting.py",
        "_SHORT = 60",
        "_SHORT = 6_000",
        f"{CORPUS}_written[label]",
    ),
]


def survives(mutant: Mutant) -> bool:
    """Whether the tests of a mutant pass."""
    with tempfile.TemporaryDirectory() as folder:
        copy = Path(folder) / "copy"
        for name in ("app", "migrations", "sql", "tests", "pyproject.toml", "alembic.ini"):
            whole = ROOT / name
            (shutil.copytree if whole.is_dir() else shutil.copy)(whole, _made(copy) / name)
        file = copy / mutant.file
        text = file.read_text()
        assert mutant.old in text, mutant
        file.write_text(text.replace(mutant.old, mutant.new, 1))
        done = subprocess.run(
            [sys.executable, "-m", "pytest", "-q", "-x", f"tests/{mutant.tests}"],
            cwd=copy,
            env=os.environ | {"PYTHONPATH": str(copy / "app")},
            capture_output=True,
            text=True,
        )
    assert done.returncode in (0, 1), done.stdout + done.stderr
    assert "error" not in done.stdout.splitlines()[-1], done.stdout
    return done.returncode == 0


def _made(folder: Path) -> Path:
    folder.mkdir(exist_ok=True)
    return folder


if __name__ == "__main__":
    words = sys.argv[1:]
    alive = 0
    for one in MUTANTS:
        if not words or any(word in one.file or word in one.tests for word in words):
            lives = survives(one)
            alive += lives
            told = f"{'ALIVE ' if lives else 'killed'} {one.file} by {one.tests}"
            print(told, flush=True)  # noqa: T201
    sys.exit(alive > 0)
