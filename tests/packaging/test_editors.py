"""What an editor shows of a repository, and what a type checker finds in code that calls it."""

from __future__ import annotations

import inspect
import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from shutil import copytree, ignore_patterns

import pytest
from hatch_build import write_stubs

from tests.methods import NOWHERE, method, public
from tests.packaging.language_server import LanguageServer, language_server

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
hits: Hits = repo.search("a", "b", k=3, tags=["c"], profile="hybrid", weights=None)
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
    'repo.search("a", "b", min_trust="c")': "arg-type",
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


def calls(called: str, names: list[str]) -> tuple[str, int]:
    """A program that calls each method on a line of its own, and the line before the first."""
    before = f"{MADE}\nasync def main():\n"
    lines = "".join(f"    {called}{name}()\n" for name in names)
    return before + lines, before.count("\n")


@pytest.fixture(scope="module")
def pyright(installed: Path, program: Path) -> Iterator[LanguageServer]:
    """As an editor starts it, in the folder of the program."""
    environment = Path(sys.prefix)
    configured = {"extraPaths": [str(installed)], "venv": environment.name}
    configured["venvPath"] = str(environment.parent)
    (program.parent / "pyrightconfig.json").write_text(json.dumps(configured))
    start = [str(Path(sys.executable).with_name("basedpyright-langserver")), "--stdio"]
    with language_server(start, program.parent) as server:
        yield server


@pytest.mark.parametrize("called", ["repo.", "await later."])
def test_hovering_shows_signature_and_docstring(
    pyright: LanguageServer, program: Path, called: str
) -> None:
    names = public(NOWHERE)
    code, before = calls(called, names)
    path = program.with_name(f"calls_{len(called)}.py")
    path.write_text(code, encoding="utf-8")
    pyright.open(path)
    for line, name in enumerate(names, before):  # counted from 0
        hovered = pyright.at("textDocument/hover", path, line, len(f"    {called}{name}") - 1)
        shown = hovered["contents"]["value"]
        there = method(NOWHERE, name)

        for one in (*inspect.signature(there).parameters, *(inspect.getdoc(there) or "").split()):
            assert one in shown, (name, one, shown)


def test_pyright_knows_every_type(pyright: LanguageServer, program: Path) -> None:
    errors = [one for one in pyright.found_in(program) if one["severity"] == 1]

    found = wrong_lines([one["range"]["start"]["line"] + 1 for one in errors])
    assert found == [*WRONG], errors


OURS = "[mypy]\nfollow_imports = skip\n[mypy-pgrecall.*]\nfollow_imports = normal\n"
"""What other packages declare takes ten seconds, and pyright reads it above."""


def test_mypy_knows_every_type(program: Path) -> None:
    (program.parent / "mypy.ini").write_text(OURS, encoding="utf-8")
    mypy = [sys.executable, "-m", "mypy", "--strict", "--hide-error-context", "--no-pretty"]
    done = subprocess.run(
        [*mypy, f"--cache-dir={program.parent}", program.name],
        cwd=program.parent,
        capture_output=True,
        encoding="utf-8",
    )
    errors = [line for line in done.stdout.splitlines() if ": error: " in line]
    kinds = [line.rpartition("[")[2][:-1] for line in errors]

    assert wrong_lines([int(line.split(":")[1]) for line in errors]) == [*WRONG], done.stdout
    assert kinds == [*WRONG.values()]
