"""What an editor shows of a repository, and what a type checker finds in code that calls it."""

from __future__ import annotations

import ast
import inspect
import os
import re
import subprocess
import sys
from pathlib import Path
from shutil import copytree, ignore_patterns
from typing import Any

import pytest
from hatch_build import write_stubs

from tests.methods import NOWHERE, NOWHERE_LATER, method, public

APP = Path(__file__).parents[2] / "app"

MADE = """
from uuid import UUID
from pgrecall import Added, AsyncMemoryRepository, Context, Hits, Memory, MemoryChanges
from pgrecall import MemoryRepository, NewMemory, NewMemoryDict
from sqlalchemy import create_engine
from sqlalchemy.ext.asyncio import create_async_engine

URL = "postgresql+psycopg://"
repo = MemoryRepository(create_engine(URL))
later = AsyncMemoryRepository(create_async_engine(URL))
ID = UUID(int=0)
"""
RIGHT = """
hits: Hits = repo.search("a", "b", k=3, filter={"tags": "c"}, profile="hybrid")
memory: Memory = repo.teams.update("a", ID, importance=0.9, trust=None, reason="b")
changes: MemoryChanges = {"importance": 0.9}
repo.update("a", ID, **changes)
added: Added = repo.add("a", "b", importance=0.8, tags=["c"], key="d")
repo.upsert("a", "b", key="c", embedding=None)
repo.supersede("a", ID, {"content": "b", "metadata": {"c": 1}})
rows: list[NewMemoryDict] = [{"content": "b", "id": str(ID), "importance": 0.8}]
repo.add_many("a", [*rows, "c", NewMemory("d"), {"content": "e", "turn": 1, "session": "f"}])
repo.links.add("a", ID, ID, "c")
repo.delete("a", ["b", ID], dry_run=True)

async def main() -> Context:
    await later.links.add("a", ID, ID)
    return await later.context("a", "b", max_tokens=100, teams=["c"])
"""
WRONG = {
    'repo.search("a", "b", tag=["c"])': "call-arg",
    'repo.search("a", "b", min_score="c")': "arg-type",
    'repo.update("a", ID, importence=0.9)': "call-arg",
    'repo.update("a", ID, importance="much")': "arg-type",
    'repo.update("a", ID, key="b")': "call-arg",
    'repo.add("a", "b", importance="much")': "arg-type",
    'repo.add("a", "b", tag=["c"])': "call-arg",
    'repo.add("a", {"content": "b", "tag": ["c"]})': "arg-type",
    'repo.add_many("a", [{"importance": 0.8}])': "list-item",
    'repo.links.add("a", 5, ID)': "arg-type",
    'repo.links.add("a", ID)': "call-arg",
    'found: Hits = later.search("a", "b")': "assignment",
    "repo.link": "attr-defined",
}


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the package as a wheel has it."""
    folder = tmp_path_factory.mktemp("installed")
    copytree(APP, folder, ignore=ignore_patterns("__pycache__"), dirs_exist_ok=True)
    write_stubs(folder, folder)
    return folder


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("program") / "program.py"
    path.write_text(f"{MADE}{RIGHT}" + "".join(f"{line}\n" for line in WRONG), encoding="utf-8")
    return path


def wrong_lines(lines: list[int]) -> list[str]:
    """The lines of WRONG that are found wrong."""
    before = f"{MADE}{RIGHT}".count("\n")
    return [[*WRONG][line - before - 1] for line in lines]


@pytest.mark.parametrize("repository", [NOWHERE, NOWHERE_LATER], ids=["sync", "async"])
def test_a_stub_shows_every_argument_and_docstring(installed: Path, repository: Any) -> None:
    is_async = repository is NOWHERE_LATER
    stub = (installed / type(repository).__module__.replace(".", "/")).with_suffix(".pyi")
    shown = {
        f"{owner.name.removeprefix('Async' * is_async)}.{one.name}": one
        for owner in ast.parse(stub.read_text(encoding="utf-8")).body
        if isinstance(owner, ast.ClassDef)
        for one in owner.body
        if isinstance(one, ast.AsyncFunctionDef if is_async else ast.FunctionDef)
    }
    for name in public(repository):
        there = method(repository, name)
        owner = type(there.__self__).__name__.removeprefix("Async")
        one = shown[f"{owner}.{there.__name__}"]
        _, *arguments = (each.arg for each in (*one.args.args, *one.args.kwonlyargs))
        assert arguments == [*inspect.signature(there).parameters], name
        assert ast.get_docstring(one) == inspect.getdoc(there), name


OURS = "[mypy]\nfollow_imports = skip\n[mypy-pgrecall.*]\nfollow_imports = normal\n"
"""What other packages declare takes ten seconds."""


def test_mypy_knows_every_type(installed: Path, program: Path) -> None:
    (program.parent / "mypy.ini").write_text(OURS, encoding="utf-8")
    mypy = [sys.executable, "-m", "mypy", "--strict", "--hide-error-context", "--no-pretty"]
    done = subprocess.run(
        [*mypy, f"--cache-dir={program.parent}", program.name],
        cwd=program.parent,
        env=os.environ | {"MYPYPATH": str(installed)},
        capture_output=True,
        encoding="utf-8",
    )
    errors = [
        line for line in done.stdout.splitlines() if re.match(r"program\.py:\d+: error", line)
    ]
    kinds = [line.rpartition("[")[2][:-1] for line in errors]

    assert wrong_lines([int(line.split(":")[1]) for line in errors]) == [*WRONG], done.stdout
    assert kinds == [*WRONG.values()]
