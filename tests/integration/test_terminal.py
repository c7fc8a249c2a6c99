"""Commands on terminals of any width, in pipes, and under the Tab key."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from pgrecall import MemoryRepository, NewMemory
from pgrecall.cli.output import console, warnings
from tests.integration.commands import CONTROLS, EVIL, Run
from tests.integration.serving import PROGRAM
from tests.integration.test_context_command import repo

__all__ = ["repo"]
QUESTION = "what does Ines drink?"


@pytest.fixture
def runs_on(commands_url: str) -> str:
    return commands_url


@pytest.fixture
def notes(repo: MemoryRepository, agent: str) -> str:
    """An agent with twelve memories, one of them hostile."""
    texts = [f"Ines drinks tea number {n} of the day in the kitchen." for n in range(11)]
    repo.add_many(agent, [*texts, NewMemory(f"Ines drinks {EVIL}", importance=0.9)])
    return agent


@pytest.mark.parametrize("width", [60, 80, 100, 110, 140, 200])
@pytest.mark.parametrize("profile", ["hybrid", "five_factor"])
def test_hits_fit_the_width_with_bars_whole_words_and_no_zeros(
    run: Run, notes: str, monkeypatch: pytest.MonkeyPatch, width: int, profile: str
) -> None:
    monkeypatch.setattr(console, "width", width)

    done = run("search", QUESTION, "-a", notes, "-k", "12", "--no-touch", "-p", profile)

    assert done.code == 0
    assert max(map(len, done.out.splitlines())) <= width
    assert done.out.count("█") >= 12
    assert not re.search(r"(?<!\d)\.00\b", done.out)
    assert {"similarity", "recency"} <= {*re.findall(r"[a-z_]+", done.out)} or width == 60
    assert not re.search(r"\b(simil|keywo|recen|impor|frequ|confi)\b", done.out)
    assert "[bold]x[/bold]" in re.sub(r"[\s│]", "", done.out)
    assert not CONTROLS & set(done.out)


def test_a_cursor_stands_on_one_line(run: Run, notes: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(warnings, "width", 40)

    done = run("list", "-a", notes, "-n", "2")

    [line] = [one for one in done.err.splitlines() if "--after" in one]
    assert len(line) > 80
    rest = run("list", "-a", notes, "--after", line.split("--after ")[1], "--json")
    assert len(rest.records) == 10


def test_tables_of_numbers_are_wrapped_and_not_cut(
    run: Run, notes: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    [one, *_] = run("list", "-a", notes, "--json").records
    file = tmp_path / "queries.jsonl"
    file.write_text(json.dumps({"query": QUESTION, "relevant": [one["id"]]}))
    monkeypatch.setattr(console, "width", 80)

    judged = run("evaluate", file, "-a", notes, "-p", "hybrid", "-p", "trust").out
    why = run("explain", one["id"], QUESTION, "-a", notes).out

    for out, words in ((judged, "recall@10 MRR nDCG@10 similarity"), (why, "contribution weight")):
        assert max(map(len, out.splitlines())) <= 80
        assert {*words.split()} <= {*out.split()}
        assert "…" not in out


def test_memories_are_counted(run: Run, notes: str) -> None:
    assert run("list", "--count", "-a", notes, "-n", 5).out == "12\n"
    counted = ("list", "--count", "-a", notes)
    words = '{"content": {"$match": "kitchen"}}'
    assert run(*counted, "--filter", words, "--json").records == [{"memories": 11}]
    assert run("list", "--count", "-a", "nobody").out == "0\n"


TABS = {
    "pgrecall sea": ["search"],
    "pgrecall --ver": ["--version"],
    "pgrecall migrate dow": ["down"],
    "pgrecall search x --min-": ["--min-score", "--min-relevance"],
    "pgrecall context x --style m": ["markdown"],
    "pgrecall search x --profile h": ["hybrid", "half_life"],
    "pgrecall search x -p h": ["hybrid", "half_life"],
    "pgrecall search x --json --status act": ["active"],
    "pgrecall list --agent t": [],
    "pgrecall nothing --x": [],
}


@pytest.mark.parametrize(("line", "offered"), TABS.items())
def test_tab_completes_commands_options_and_known_words(line: str, offered: list[str]) -> None:
    asked = {
        "_PGRECALL_COMPLETE": "complete_bash",
        "COMP_WORDS": line,
        "COMP_CWORD": str(line.count(" ")),
    }
    done = subprocess.run(
        [str(PROGRAM)], env=os.environ | asked, capture_output=True, text=True, check=True
    )
    assert (done.stderr, done.stdout.split()) == ("", offered)


def test_the_version_loads_neither_driver_nor_framework() -> None:
    program = (
        "import sys\nsys.argv = ['pgrecall', '--version']\nfrom pgrecall.cli import main\n"
        "try:\n    main()\nexcept SystemExit:\n    pass\n"
        "print({'sqlalchemy', 'psycopg', 'pydantic', 'alembic'} & {*sys.modules})"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    assert re.fullmatch(r"pgrecall \d+\.\d+.*\nset\(\)\n", done.stdout)
