"""Shows the statement and the query plan of a search."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Literal, Unpack
from uuid import UUID

from pgrecall.core.display import Displayed, Part, Verbatim, lines, quoted
from pgrecall.core.statement import Statement
from pgrecall.core.steps import READS, Operation, Run, needs
from pgrecall.core.validation import require_bool
from pgrecall.core.vectors import VectorLike
from pgrecall.rank_index.strategy import plan_index_use
from pgrecall.ranking.arguments import SearchArguments
from pgrecall.ranking.hits import Strategy
from pgrecall.ranking.question import Question
from pgrecall.schema import Tables
from pgrecall.search.scatter_gather import each_owner
from pgrecall.search.searching import diverse, require_diverse, require_strategy
from pgrecall.search.statements import of_all, of_candidates


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
    diversity: float = 0.0,
    **arguments: Unpack[SearchArguments],
) -> Operation[QueryPlan]:
    """The statement that a search with these arguments runs first, and PostgreSQL's plan for it.

    Takes the arguments of `search`; a reranker judges after it. `run` also executes it, so that the
    plan has times and buffers. No retrieval is counted.
    """
    require_strategy(strategy)
    require_bool("run", run)
    diversity = require_diverse(diversity, k, arguments, rerank=None)
    question = Question.of(tables, agent_id, query, k=k, arguments=arguments)
    search = yield from question.resolved(tables)
    if diversity:
        search = diverse(search, diversity)
    search = each_owner(search)[0]
    attempt = yield from plan_index_use(tables, search, strategy, of_candidates)
    how: Literal["exact", "index"] = "exact" if attempt is None else "index"
    asked_for = of_all(tables, search) if attempt is None else attempt.run(attempt.candidates)
    assert isinstance(asked_for.statement, Statement)
    written = asked_for.statement.named
    options = "VERBOSE, ANALYZE, BUFFERS" if run else "VERBOSE"
    explained = Statement(f"EXPLAIN ({options}) {written}")
    rows = yield Run(explained, asked_for.parameters, may_prepare=False)
    lines = (re.sub(r"\[[-0-9.e,]{40,}\]", "[…]", row[0]) for row in rows)
    return QueryPlan(written, "\n".join(lines), how)


@dataclass(frozen=True, slots=True)
class QueryPlan(Displayed):
    """The statement of a search and its plan."""

    statement: str
    """SQL with named parameters."""
    plan: str
    """The output of EXPLAIN, with long vectors shortened."""
    strategy: Literal["exact", "index"]
    """index: the search tries a rank index first."""

    def __repr__(self) -> str:
        return f"QueryPlan({self.strategy!r}, {quoted(self.statement)}, {quoted(self.plan, 200)})"

    def __str__(self) -> str:
        return lines(f"{self.statement}\n\n{self.plan}")

    def _parts(self) -> Iterable[Part]:
        return [Verbatim(self.statement), Verbatim(self.plan)]

    def record(self) -> dict[str, Any]:
        """The fields as plain JSON values."""
        return {"strategy": self.strategy, "statement": self.statement, "plan": self.plan}
