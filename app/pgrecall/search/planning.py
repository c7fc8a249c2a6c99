"""Shows the statement and the query plan of a search."""

from __future__ import annotations

import re
from typing import Any, Literal, Unpack
from uuid import UUID

from pgrecall.core.steps import READS, Operation, Run, needs
from pgrecall.core.validation import require_bool
from pgrecall.core.vectors import VectorLike
from pgrecall.rank_index.strategy import first_attempt
from pgrecall.ranking.arguments import SearchArguments
from pgrecall.ranking.exact import search_statement
from pgrecall.ranking.hits import Strategy
from pgrecall.ranking.question import Question
from pgrecall.schema import Tables
from pgrecall.search.owner_by_owner import each_owner
from pgrecall.search.plan_statement import Explain, written
from pgrecall.search.query_plan import QueryPlan
from pgrecall.search.searching import require_strategy


@needs(READS)
def plan(
    tables: Tables,
    /,
    agent_id: str | UUID,
    query: VectorLike | str | None = None,
    *,
    k: int = 10,
    strategy: Strategy = "auto",
    run: bool = False,
    **arguments: Unpack[SearchArguments],
) -> Operation[QueryPlan]:
    """The statement that a search with these arguments runs first, and PostgreSQL's plan for it.

    Takes the arguments of `search`. `run` also executes it, so that the plan has times and buffers.
    No retrieval is counted. In psql, recall_plan does the same for recall.
    """
    require_strategy(strategy)
    require_bool("run", run)
    asked = Question.of(tables, agent_id, query, k=k, arguments=arguments)
    wanted = yield from asked.resolved(tables)
    wanted = each_owner(wanted)[0]
    attempt = yield from first_attempt(tables, wanted, strategy)
    how: Literal["exact", "index"] = "exact"
    statement: Any = search_statement(tables, wanted)
    parameters = wanted.parameters
    if attempt is not None:
        how, statement = "index", attempt.statement
        parameters = attempt.parameters(attempt.candidates)
    rows = yield Run(Explain(statement, run=run), parameters)
    lines = (re.sub(r"\[[-0-9.e,]{40,}\]", "[…]", row[0]) for row in rows)
    return QueryPlan(written(statement), "\n".join(lines), how)
