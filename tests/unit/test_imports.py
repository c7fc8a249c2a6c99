"""What importing pgrecall loads."""

from __future__ import annotations

import ast
import inspect
import json
import subprocess
import sys
from importlib.metadata import requires
from pkgutil import resolve_name

import pgrecall

COMMAND_LINE = {"platformdirs", "rich", "typer"}
MIGRATING = {"alembic", "mako"}
SEARCHING = {"psycopg", "sqlalchemy"}
TRACING = {"opentelemetry"}
NUMPY = {"numpy"} if not any("numpy" in line for line in requires("pgvector") or ()) else set()
"""Versions of pgvector that need NumPy load it."""
LATE = {"sqlalchemy.orm", "sqlalchemy.ext.asyncio", "pgrecall.evaluation", "pgrecall.lifecycle"}
SEARCHED = """
from pgrecall import MemoryRepository, errors
from sqlalchemy import create_engine
try:
    MemoryRepository(create_engine("postgresql+psycopg:///?host=/nowhere")).search("agent")
except errors.DatabaseUnavailable:
    pass
"""


STEPS = (
    ("import pgrecall", COMMAND_LINE | MIGRATING | NUMPY | SEARCHING | {"pgrecall.core"}),
    (SEARCHED, COMMAND_LINE | MIGRATING | NUMPY | TRACING | LATE),
    ("from pgrecall import AsyncMemoryRepository", COMMAND_LINE | MIGRATING | NUMPY | TRACING),
    ("pgrecall.LocalEmbedder().embed_query('tea')", COMMAND_LINE | MIGRATING | NUMPY),
    ("from pgrecall import migrate; migrate.sql()", COMMAND_LINE | NUMPY),
    ("[getattr(pgrecall, name) for name in pgrecall.__all__]", COMMAND_LINE | NUMPY),
    ("assert not hasattr(pgrecall, 'nothing')", COMMAND_LINE | NUMPY),
)
"""What is done one after the other, and what is not to be loaded by then."""


def test_importing_loads_only_what_is_needed() -> None:
    each = loaded(*(statement for statement, _ in STEPS))

    for (statement, unwanted), modules in zip(STEPS, each, strict=True):
        assert modules & unwanted == set(), statement


def test_what_is_loaded_later_can_be_named_as_an_attribute() -> None:
    names = "pgrecall.migrate.upgrade, pgrecall.MemoryRepository.search, pgrecall.RetentionPolicy()"

    assert {"alembic", "sqlalchemy"} <= loaded(f"import pgrecall; {names}")[0]


def test_each_name_is_where_type_checkers_are_told_it_is() -> None:
    tree = ast.parse(inspect.getsource(pgrecall))
    told = {
        alias.name: f"{node.module}.{alias.name}"
        for node in ast.walk(tree)
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("pgrecall")
        for alias in node.names
    }

    assert sorted(told) == pgrecall.__all__
    for name, place in told.items():
        assert getattr(pgrecall, name) is resolve_name(place), name


def loaded(*statements: str) -> list[set[str]]:
    """The modules there are after each of the statements, in one new process."""
    tell = "print(json.dumps(sorted(sys.modules)))"
    code = "\n".join(["import json, sys", *(f"{one}\n{tell}" for one in statements)])
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, encoding="utf-8")
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    return [set(json.loads(line)) for line in lines]
