"""Where judged queries come from: a file, or what was recorded."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer

from pgrecall.core.quoting import listed
from pgrecall.errors import InputError
from pgrecall.evaluation.judged_query import JudgedQuery
from pgrecall.evaluation.queries_file import load_queries
from pgrecall.execution import MemoryRepository

QueriesFile = Annotated[
    Path | None,
    typer.Argument(
        help="A .jsonl file: query or embedding, relevant (ids), and if wanted group, time, "
        "query_time and agent.",
        show_default=False,
    ),
]
Recorded = Annotated[
    bool,
    typer.Option(
        "--recorded", help="Take the queries that feedback and outcomes were recorded with."
    ),
]
Seed = Annotated[int, typer.Option(help="Of everything that is left to chance.")]


def require_source(file: Path | None, *, recorded: bool) -> None:
    """Raises InputError unless there is one source."""
    if (file is None) != recorded:
        raise InputError("give a file of judged queries, or --recorded")
    if file is not None and not file.is_file():
        raise InputError(f"{file} is not a file")


def queries_of(
    repo: MemoryRepository, agents: Sequence[str] | None, file: Path | None
) -> list[JudgedQuery]:
    """The file's queries, or those recorded; raises InputError where there are none."""
    if file is not None:
        return load_queries(file, agents[0] if agents and len(agents) == 1 else None)
    if not agents:
        raise InputError("--recorded needs --agent: whose queries were recorded")
    queries = [query for agent in agents for query in repo.evaluation.recorded_queries(agent)]
    if not queries:
        raise InputError(
            f"nothing was recorded for {listed(agents)} with a query; say so when recording: "
            "feedback(…, query=…), record_outcome(…, query=…)"
        )
    return queries
