"""What an editor shows of a repository, and what a type checker finds in code that calls it."""

from __future__ import annotations

import ast
import inspect
import json
import subprocess
import sys
from pathlib import Path
from shutil import copytree, ignore_patterns

import jedi
import pytest
from hatch_build import write_stubs

from tests.methods import NOWHERE, NOWHERE_LATER, method, public
from tests.packaging.language_server import language_server

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
hits: Hits = repo.search("a", "b", k=3, tags=["c"], profile="hybrid", lend=None)
memory: Memory = repo.teams.update("a", ID, importance=0.9, trust=None, reason="b")
changes: MemoryChanges = {"importance": 0.9}
repo.update("a", ID, **changes)
added: Added = repo.add("a", "b", importance=0.8, tags=["c"], key="d", labels=["e"])
repo.upsert("a", "b", key="c", embedding=None)
repo.supersede("a", ID, {"content": "b", "metadata": {"c": 1}})
rows: list[NewMemoryDict] = [{"content": "b", "id": str(ID), "importance": 0.8}]
repo.add_many("a", [*rows, "c", NewMemory("d"), {"content": "e", "turn": 1, "session": "f"}])
labelled: int = repo.labels.add(ID, "b", "c")
repo.delete("a", ["b", ID], dry_run=True)

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
    'repo.add("a", "b", importance="much")': "arg-type",
    'repo.add("a", "b", tag=["c"])': "call-arg",
    'repo.add("a", {"content": "b", "tag": ["c"]})': "arg-type",
    'repo.add_many("a", [{"importance": 0.8}])': "list-item",
    'repo.labels.add("a", 5, "c")': "arg-type",
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


@pytest.mark.parametrize("called", ["repo.", "await later.teams."])
def test_an_editor_shows_every_argument_and_docstring(installed: Path, called: str) -> None:
    repository = NOWHERE_LATER if "later" in called else NOWHERE
    project = jedi.Project(installed, added_sys_path=[str(installed)])
    for name in public(repository):
        there = method(repository, name)
        arguments = [*inspect.signature(there).parameters]
        code = f"{MADE}\nasync def main():\n    {called}{name}("
        script = jedi.Script(code, project=project)
        [shown] = script.get_signatures()
        completed = {one.name for one in script.complete()}

        assert [one.name for one in shown.params] == arguments, name
        assert {f"{one}=" for one in arguments} <= completed, name
        assert inspect.getdoc(there) in shown.docstring(), name


@pytest.mark.parametrize("called", ["repo.", "later."])
def test_a_definition_is_one_line_and_leads_to_the_function(called: str) -> None:
    repository = NOWHERE_LATER if "later" in called else NOWHERE
    for name in public(repository):
        script = jedi.Script(f"{MADE}\n{called}{name}")
        [place] = script.goto()
        assert place.module_path is not None
        text = place.module_path.read_text(encoding="utf-8")
        line = text.splitlines()[place.line - 1]
        [function] = jedi.Script(text).goto(place.line, line.index(")"), follow_imports=True)
        assert function.module_path is not None
        defined = ast.parse(function.module_path.read_text(encoding="utf-8"))
        [found] = (one for one in defined.body if getattr(one, "lineno", 0) == function.line)

        assert isinstance(found, ast.FunctionDef)
        assert ast.get_docstring(found) == inspect.getdoc(method(repository, name)), name


@pytest.mark.parametrize("called", ["repo.", "await later."])
def test_hovering_shows_signature_and_docstring(
    installed: Path, tmp_path: Path, called: str
) -> None:
    (tmp_path / "pyrightconfig.json").write_text(json.dumps({"extraPaths": [str(installed)]}))
    names = public(NOWHERE)
    lines = "".join(f"    {called}{name}\n" for name in names)
    code = f"{MADE}\nasync def main() -> None:\n{lines}"
    path = tmp_path / "program.py"
    path.write_text(code, encoding="utf-8")
    start = [str(Path(sys.executable).with_name("basedpyright-langserver")), "--stdio"]
    with language_server(start, tmp_path) as server:
        server.open(path)
        before = code.count("\n") - len(names)
        for number, name in enumerate(names):
            column = len(f"    {called}{name}") - 1
            hovered = server.at("textDocument/hover", path, before + number, column)
            shown = hovered["contents"]["value"]
            there = method(NOWHERE, name)

            for one in (
                *inspect.signature(there).parameters,
                *(inspect.getdoc(there) or "").split(),
            ):
                assert one in shown, (name, one, shown)


def test_mypy_knows_every_type(program: Path) -> None:
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


def test_pyright_agrees(program: Path) -> None:
    pyright = [sys.executable, "-m", "basedpyright", "--level=error", "--outputjson"]
    done = subprocess.run(
        [*pyright, f"--pythonpath={sys.executable}", program.name],
        cwd=program.parent,
        capture_output=True,
        encoding="utf-8",
    )
    errors = json.loads(done.stdout)["generalDiagnostics"]

    found = wrong_lines([one["range"]["start"]["line"] + 1 for one in errors])
    assert found == [*WRONG], done.stdout
