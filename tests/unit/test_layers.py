"""Imports run downwards only."""

from __future__ import annotations

import ast
from pathlib import Path

PACKAGE = Path(__file__).parents[2] / "app" / "pgrecall"
FLOORS = """
errors added event label link near_duplicate term bootstrap weight_search query_plan
quoting
signals embedding dates
profile
profile_file
profiles memory embedders token_counting labelled_query
rank_space context_style
scored_memory cluster schema rank_index
floors
explanation hits context evaluation
tuning chart
scorer compiler validation ids steps resources
custom_condition garbage
metadata_filter
filters incoming checked_query score_function
search_arguments
statements
recall_files
operations
jobs
repository
migrate embedded importing overview
queries_file
demo
cli
"""
FLOOR = {room: floor for floor, rooms in enumerate(FLOORS.splitlines()) for room in rooms.split()}


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
