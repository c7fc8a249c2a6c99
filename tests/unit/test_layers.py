"""The package: its rooms, what it depends on, and its errors.

Imports run downwards only, and every module can be guessed.
"""

from __future__ import annotations

import ast
import re
import sys
import tomllib
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from packaging.version import Version

from pgrecall import errors

PACKAGE = Path(__file__).parents[2] / "app" / "pgrecall"
FLOORS = (
    "errors",
    "core",
    "scoring",
    "schema",
    "ranking",
    "rank_index",
    "search",
    "memories",
    "lifecycle",
    "context",
    "evaluation",
    "execution",
    "migrate",
    "embedded",
    "testing",
    "mcp",
    "service",
    "cli",
    "langchain",
    "langgraph",
)
FLOOR = {room: floor for floor, room in enumerate(FLOORS)}


def imported_rooms(file: Path) -> set[str]:
    rooms = set()
    for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[0] == "pgrecall":
            path = (node.module or "").split(".")[1:]
            rooms |= {path[0]} if path else {alias.name for alias in node.names}
    return rooms


def test_every_import_goes_to_the_same_room_or_to_a_lower_floor() -> None:
    upwards = []
    for file in PACKAGE.rglob("*.py"):
        room = file.relative_to(PACKAGE).parts[0].removesuffix(".py")
        if room == "__init__":
            continue
        upwards += [
            f"{file.relative_to(PACKAGE)} imports {other}"
            for other in imported_rooms(file)
            if other != room and FLOOR[other] >= FLOOR[room]
        ]
    assert upwards == []


def test_no_file_is_long_and_no_two_modules_have_one_name() -> None:
    files = [file for file in PACKAGE.rglob("*.py") if file.name != "__init__.py"]
    lines = {file: len(file.read_text(encoding="utf-8").splitlines()) for file in files}

    assert [file for file, number in lines.items() if number > 400] == []
    names = Counter(file.name for file in files)
    assert [name for name, number in names.items() if number > 1] == []
    assert len({file.relative_to(PACKAGE).parts[0] for file in files}) <= 20


ROOT = Path(__file__).parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]


def declared() -> Iterator[Requirement]:
    """What users install, ourselves aside."""
    for lines in (PROJECT["dependencies"], *PROJECT["optional-dependencies"].values()):
        for line in lines:
            if Requirement(line).name != "pgrecall":
                yield Requirement(line)


def test_each_bound_is_the_version_that_the_lowest_tests_pin() -> None:
    lines = (ROOT / "tests" / "lowest.txt").read_text(encoding="utf-8").splitlines()
    pins = dict(line.split("==") for line in lines if line and not line.startswith("#"))
    tested = {canonicalize_name(name): Version(version) for name, version in pins.items()}
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    of_core = Version(re.findall(r"^CORE := psycopg==(\S+)", makefile, re.MULTILINE)[0])

    for requirement in declared():
        [bound] = requirement.specifier
        assert bound.operator == ">=", f"{requirement} must have no upper bound"
        if requirement.name == "mcp":  # needs a newer pydantic than the others' lowest
            continue
        if requirement.name == "psycopg" and Version(bound.version) == of_core:
            continue
        assert Version(bound.version) == tested[canonicalize_name(requirement.name)], requirement


def test_everything_imported_is_declared() -> None:
    names = {requirement.name.replace("-", "_") for requirement in declared()}
    names = names - {"opentelemetry_api"} | {"opentelemetry"}
    names |= {"pytest"}  # which imports pgrecall.testing
    names -= {"wordllama"}  # whose files are read
    names -= {"httptools"}  # by which uvicorn parses
    found = {
        module.partition(".")[0]
        for file in (ROOT / "app").rglob("*.py")
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8")))
        for module in modules(node)
    }

    assert found - set(sys.stdlib_module_names) - {"pgrecall"} == names


def modules(node: ast.AST) -> list[str]:
    """The modules that an import names."""
    if isinstance(node, ast.Import):
        return [alias.name for alias in node.names]
    return [node.module] if isinstance(node, ast.ImportFrom) and node.module else []


CLASSES = [
    value
    for value in vars(errors).values()
    if isinstance(value, type) and issubclass(value, errors.PgRecallError)
]


def test_an_error_says_its_message_or_its_docstring() -> None:
    for error in CLASSES:
        assert error.__doc__ is not None
        assert str(error()) == error.__doc__.splitlines()[0]
        assert str(error("what happened")) == "what happened"


def test_the_tree_in_the_docstring_is_the_tree() -> None:
    drawn = re.findall(r"^([│├└─ ]*)(\w+)", errors.__doc__ or "", re.MULTILINE)
    parents: dict[int, str] = {}
    tree = {}
    for indent, name in drawn[1:]:
        depth = len(indent) // 4
        parents[depth] = name
        tree[name] = parents.get(depth - 1)

    assert tree == {
        error.__name__: None if error is errors.PgRecallError else error.__bases__[0].__name__
        for error in CLASSES
    }


def test_engines_are_made_in_one_place_which_pins_their_search_path() -> None:
    """Elsewhere only for tests, whose own tables stand on the path, and to ask an embedded server
    how busy it is."""
    opens = re.compile(r"\b(create_engine|create_async_engine|psycopg\.(Async)?(c|C)onnect\w*)\(")
    found = {
        str(file.relative_to(PACKAGE))
        for file in PACKAGE.rglob("*.py")
        if opens.search(file.read_text(encoding="utf-8"))
    }

    assert found == {"migrate/connecting.py", "testing.py", "embedded/keeping.py"}


def test_the_index_of_decisions_lists_those_that_stand() -> None:
    files = {file.name: file.read_text(encoding="utf-8") for file in ROOT.glob("adr/0*.md")}
    index = (ROOT / "adr" / "README.md").read_text(encoding="utf-8")

    assert sorted(re.findall(r"^- \[(.*)\]\((.*)\)$", index, re.MULTILINE)) == sorted(
        (text.splitlines()[0].removeprefix("# "), name) for name, text in files.items()
    )
    gone = re.findall(r"^\| (\d{4}) \|", index, re.MULTILINE)
    numbers = sorted([*gone, *(name[:4] for name in files)])
    assert numbers == [f"{number:04}" for number in range(1, len(numbers) + 1)]
