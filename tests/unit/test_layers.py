"""The rooms of the package: imports run downwards only, and every module can be guessed."""

from __future__ import annotations

import ast
from collections import Counter
from pathlib import Path

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
    "cli",
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
    assert len({file.relative_to(PACKAGE).parts[0] for file in files}) <= 16
