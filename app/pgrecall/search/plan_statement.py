"""EXPLAIN as a SQLAlchemy statement."""

from __future__ import annotations

from typing import Any

from sqlalchemy import ClauseElement, Executable
from sqlalchemy.dialects.postgresql import dialect
from sqlalchemy.ext.compiler import compiles
from sqlalchemy.sql.compiler import SQLCompiler

_NAMED = dialect(paramstyle="named")  # type: ignore[no-untyped-call]


class Explain(Executable, ClauseElement):
    """EXPLAIN of a statement; execute it with the statement's parameters. `run` adds ANALYZE."""

    inherit_cache = False

    def __init__(self, statement: Any, *, run: bool) -> None:
        self.statement = statement
        self.run = run


@compiles(Explain)
def _written(explain: Explain, compiler: SQLCompiler, **options: Any) -> str:
    how = "VERBOSE, ANALYZE, BUFFERS" if explain.run else "VERBOSE"
    return f"EXPLAIN ({how}) {compiler.process(explain.statement, **options)}"


def written(statement: Any) -> str:
    """The text of a statement, with named parameters."""
    return str(statement.compile(dialect=_NAMED))
