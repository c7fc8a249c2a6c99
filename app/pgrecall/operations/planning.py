"""Showing what a search runs."""

from __future__ import annotations

import re
from typing import Any, Literal, Unpack

from pgrecall import statements
from pgrecall.embedding import VectorLike
from pgrecall.hits import Strategy
from pgrecall.operations.candidates import first_attempt
from pgrecall.operations.question import Question
from pgrecall.operations.ranking import require_strategy
from pgrecall.query_plan import QueryPlan
from pgrecall.schema import Tables
from pgrecall.search_arguments import SearchArguments
from pgrecall.steps import Execute, Operation
from pgrecall.validation import require_bool


def plan(
    tables: Tables,
    /,
    agent_id: str,
    embedding: VectorLike | str | None = None,
    *,
    k: int = 10,
    strategy: Strategy = "auto",
    run: bool = False,
    **arguments: Unpack[SearchArguments],
) -> Operation[QueryPlan]:
    """The statement that a search with these arguments runs first, and PostgreSQL's plan for it.

    Takes the arguments of `search`. `run` runs it too, so that the plan tells times and buffers.
    Counts no retrieval. In psql, recall_plan shows the same of recall.
    """
    require_strategy(strategy)
    require_bool("run", run)
    asked = Question.of(tables, agent_id, embedding, k=k, arguments=arguments)
    wanted = yield from asked.resolved(tables)
    attempt = yield from first_attempt(tables, wanted, strategy)
    how: Literal["exact", "index"] = "exact"
    statement: Any = statements.search(tables, wanted)
    parameters = wanted.parameters
    if attempt is not None:
        how, statement = "index", attempt.statement
        parameters = attempt.parameters(attempt.candidates)
    rows = yield Execute(statements.Explain(statement, run=run), parameters)
    lines = (re.sub(r"\[[-0-9.e,]{40,}\]", "[…]", row[0]) for row in rows)
    return QueryPlan(statements.written(statement), "\n".join(lines), how)
