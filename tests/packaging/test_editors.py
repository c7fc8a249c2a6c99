"""What an editor shows of a repository, and what a type checker finds in code that calls it."""

from __future__ import annotations

import inspect
import subprocess
import sys
from pathlib import Path

import jedi
import pytest

from tests.methods import NOWHERE, NOWHERE_LATER, method, public
from tests.packaging import stubs

MADE = """
from uuid import UUID
from pgrecall import AsyncMemoryRepository, Context, Hits, Memory, MemoryChanges, MemoryRepository
from sqlalchemy import create_engine
from sqlalchemy.ext.asyncio import create_async_engine

URL = "postgresql+psycopg://"
repo = MemoryRepository(create_engine(URL))
later = AsyncMemoryRepository(create_async_engine(URL))
ID = UUID(int=0)
"""
RIGHT = """
hits: Hits = repo.search("a", "b", k=3, tags=["c"], profile="hybrid", lend=None)
memory: Memory = repo.teams.update("a", ID, importance=0.9, trust=None, reason="b")
changes: MemoryChanges = {"importance": 0.9}
repo.update("a", ID, **changes)
labelled: int = repo.labels.add("a", ID, "b")

async def main() -> Context:
    await later.labels.add("a", ID, "b")
    return await later.context("a", "b", max_tokens=100, teams=["c"])
"""
WRONG = {
    'repo.search("a", "b", tag=["c"])': "call-arg",
    'repo.search("a", "b", min_trust="c")': "arg-type",
    'repo.update("a", ID, importence=0.9)': "call-arg",
    'repo.update("a", ID, importance="much")': "arg-type",
    'repo.update("a", ID, key="b")': "call-arg",
    'repo.labels.add("a", "b", "c")': "arg-type",
    'repo.links.add("a", ID)': "call-arg",
    'found: Hits = later.search("a", "b")': "assignment",
    "repo.link": "attr-defined",
}


def test_the_stub_is_up_to_date() -> None:
    assert stubs.PATH.read_text(encoding="utf-8") == stubs.stub(), "make stubs writes it anew"


@pytest.mark.parametrize("called", ["repo.", "await later.teams."])
def test_an_editor_shows_every_argument_and_docstring(called: str) -> None:
    repository = NOWHERE_LATER if "later" in called else NOWHERE
    for name in public(repository):
        there = method(repository, name)
        arguments = [*inspect.signature(there).parameters]
        code = f"{MADE}\nasync def main():\n    {called}{name}("
        script = jedi.Script(code)
        [shown] = script.get_signatures()
        [hovered] = script.help(column=len(f"    {called}{name}") - 1)
        completed = {one.name for one in script.complete()}

        assert [one.name for one in shown.params] == arguments, name
        assert {f"{one}=" for one in arguments} <= completed, name
        assert inspect.getdoc(there) in hovered.docstring(), name


def test_mypy_knows_every_type(tmp_path: Path) -> None:
    program = tmp_path / "program.py"
    wrong = "".join(f"{line}\n" for line in WRONG)
    program.write_text(f"{MADE}{RIGHT}{wrong}", encoding="utf-8")
    before = f"{MADE}{RIGHT}".count("\n")
    mypy = [sys.executable, "-m", "mypy", "--strict", "--hide-error-context", "--no-pretty"]
    done = subprocess.run(
        [*mypy, f"--cache-dir={tmp_path}", "program.py"],
        cwd=tmp_path,
        capture_output=True,
        encoding="utf-8",
    )
    errors = [line for line in done.stdout.splitlines() if ": error: " in line]
    places = [(int(line.split(":")[1]) - before, line.rpartition("[")[2][:-1]) for line in errors]

    assert places == [*enumerate(WRONG.values(), start=1)], done.stdout + done.stderr
