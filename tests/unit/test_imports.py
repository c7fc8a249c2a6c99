"""What importing pgrecall loads; how long it takes is measured by `make bench-import`."""

from __future__ import annotations

import json
import subprocess
import sys
from importlib.metadata import requires

import pytest

COMMAND_LINE = {"platformdirs", "rich", "typer"}
MIGRATING = {"alembic", "mako"}
SEARCHING = {"psycopg", "sqlalchemy"}
TRACING = {"opentelemetry"}
NUMPY = {"numpy"} if not any("numpy" in line for line in requires("pgvector") or ()) else set()
"""Versions of pgvector that need NumPy load it."""
SEARCHED = """
from pgrecall import MemoryRepository, errors
from sqlalchemy import create_engine
try:
    MemoryRepository(create_engine("postgresql+psycopg:///?host=/nowhere")).search("agent")
except errors.DatabaseUnavailable:
    pass
"""


@pytest.mark.parametrize(
    ("statement", "unwanted"),
    [
        ("import pgrecall", COMMAND_LINE | MIGRATING | NUMPY | SEARCHING),
        ("from pgrecall import AsyncMemoryRepository", COMMAND_LINE | MIGRATING | NUMPY | TRACING),
        (SEARCHED, COMMAND_LINE | MIGRATING | NUMPY | TRACING),
        ("from pgrecall import migrate; migrate.sql()", COMMAND_LINE | NUMPY),
    ],
)
def test_importing_loads_only_what_is_needed(statement: str, unwanted: set[str]) -> None:
    assert loaded(statement) & unwanted == set()


def test_what_is_loaded_later_can_be_named_as_an_attribute() -> None:
    names = "pgrecall.migrate.upgrade, pgrecall.MemoryRepository.search, pgrecall.GarbagePolicy()"

    assert {"alembic", "sqlalchemy"} <= loaded(f"import pgrecall; {names}")


def test_every_public_name_is_there() -> None:
    loaded("import pgrecall; [getattr(pgrecall, name) for name in pgrecall.__all__]")


def test_an_unknown_name_is_refused_as_by_any_module() -> None:
    loaded("import pgrecall; assert not hasattr(pgrecall, 'nothing')")


def loaded(statement: str) -> set[str]:
    """The top-level modules there are after the statement, in a new process."""
    code = f"{statement}\nimport json, sys\nprint(json.dumps(sorted(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, encoding="utf-8")
    assert done.returncode == 0, done.stderr
    return {name.partition(".")[0] for name in json.loads(done.stdout)}
