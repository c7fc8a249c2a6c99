"""The README's code runs as it stands there, in a process where nothing is set."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

README = (Path(__file__).parents[2] / "README.md").read_text(encoding="utf-8")

RUN_ALL = """
import json, subprocess, sys
from pgrecall import embedded

blocks = json.load(sys.stdin)
names = {}
for code in blocks["python"]:
    exec(compile(code, "README.md", "exec"), names)
names["repo"]._bind.dispose()
psql = [embedded.binaries() / "psql", "--no-psqlrc", "--set=ON_ERROR_STOP=1"]
psql.append(names["url"].replace("+psycopg", ""))
subprocess.run(psql, input="\\n".join(blocks["sql"]), text=True, check=True)
"""


def blocks(language: str) -> list[str]:
    found = re.findall(rf"```{language}\n(.*?)```", README, flags=re.DOTALL)
    assert found, language
    return found


@pytest.fixture
def folder() -> Iterator[Path]:
    """A short name: a server's socket lies in it."""
    with tempfile.TemporaryDirectory(prefix="readme-") as name:
        Path(name).chmod(0o755)  # as root, the server runs as another user
        yield Path(name)


def run(code: str, folder: Path, given: str = "") -> subprocess.CompletedProcess[str]:
    """In a process with no variable set but where to look for programs and for a home."""
    home = {name: str(folder) for name in ("HOME", "TMPDIR", "XDG_DATA_HOME", "XDG_RUNTIME_DIR")}
    return subprocess.run(
        [sys.executable, "-W", "error", "-c", code],
        input=given,
        capture_output=True,
        text=True,
        cwd=folder,
        env={"PATH": os.environ["PATH"], **home},
        check=False,
    )


def test_the_first_block_is_a_program_that_leaves_nothing_behind(folder: Path) -> None:
    done = run(blocks("python")[0], folder)

    assert (done.returncode, done.stderr) == (0, "")
    assert list(folder.glob("pgrecall-*")) == []


def test_all_blocks_run_in_order_in_python_and_in_psql(folder: Path) -> None:
    given = {language: blocks(language) for language in ("python", "sql")}

    done = run(RUN_ALL, folder, json.dumps(given))

    assert (done.returncode, done.stderr) == (0, "")
    assert "embedded.database()" in given["python"][0]
    assert "Ines drinks her tea without milk." in done.stdout
    assert "True duplicate" in done.stdout
    assert "Quaybook 4.19 ships on Monday." in done.stdout
    assert "reinforcement" in done.stdout
