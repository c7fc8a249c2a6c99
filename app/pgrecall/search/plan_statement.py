"""EXPLAIN of one of our own statements."""

from __future__ import annotations

from typing import Any

from sqlalchemy import ClauseElement, Executable
from sqlalchemy.dialects.postgresql import dialect
from sqlalchemy.ext.compiler import compiles
from sqlalchemy.sql.compiler import SQLCompiler

_NAMED = dialect(paramstyle="named")  # type: ignore[no-untyped-call]


class Explain(Executable, ClauseElement):
    """The plan of a statement, to be executed with its parameters; `run` measures it too."""

    inherit_cache = False

    def __init__(self, statement: Any, *, run: bool) -> None:
        self.statement = statement
        self.run = run


@compiles(Explain)
def _written(explain: Explain, compiler: SQLCompiler, **options: Any) -> str:
    how = "VERBOSE, ANALYZE, BUFFERS" if explain.run else "VERBOSE"
    return f"EXPLAIN ({how}) {compiler.process(explain.statement, **options)}"


def written(statement: Any) -> str:
    """The text of a statement with the names of its parameters."""
    return str(statement.compile(dialect=_NAMED))
