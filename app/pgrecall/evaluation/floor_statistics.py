"""Evaluates floors of relevance by judged queries."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, cast
from uuid import UUID

from pgrecall.core.steps import Operation, Run
from pgrecall.errors import InputError
from pgrecall.evaluation.checked_query import CheckedQuery
from pgrecall.evaluation.floors import FloorEvaluation, Reach
from pgrecall.evaluation.reach import reach_statement
from pgrecall.ranking.arguments import SearchArguments
from pgrecall.ranking.gathered import gathered_search
from pgrecall.ranking.question import Question
from pgrecall.schema import Tables
from pgrecall.scoring.profile import Profile


def evaluate_floors(
    tables: Tables,
    checked: Sequence[CheckedQuery],
    profile: Profile,
    k: int,
    arguments: SearchArguments,
) -> Operation[FloorEvaluation]:
    """The reach of every query, computed by one exact statement each."""
    answered: list[Reach] = []
    unanswered: list[Reach] = []
    for number, query in enumerate(checked):
        assert query.agent_id is not None
        of_query: dict[str, Any] = {
            **arguments,
            "profile": profile,
            "as_of": query.as_of or arguments.get("as_of"),
            "query_text": query.query_text,
            "query_entities": query.query_entities,
            "query_time": query.query_time,
            "min_relevance": 0.0,
        }
        try:
            question = Question.of(
                tables,
                query.agent_id,
                query.query,
                k=k,
                arguments=cast("SearchArguments", of_query),
            )
        except InputError as error:
            raise type(error)(f"query {number}: {error}") from None
        wanted = yield from question.resolved(tables, query.vector)
        parameters = {**wanted.parameters, "ids": list(query.relevant)}
        statement = reach_statement(*(yield from gathered_search(tables, wanted)))
        rows = yield Run(statement, parameters)
        found = Reach(rows[0].best, tuple(_relevant(rows).values()), len(query.relevant))
        (answered if query.relevant else unanswered).append(found)
    return FloorEvaluation(k, profile, tuple(answered), tuple(unanswered))


def _relevant(rows: Sequence[Any]) -> dict[UUID, tuple[float, float]]:
    """Maps ids to relevance. If two owners have a memory of one id, the better one counts."""
    found: dict[UUID, tuple[float, float]] = {}
    for row in rows:
        if row.id is not None:
            reach = row.relevance, -1.0 if row.above is None else row.above
            found[row.id] = max(found.get(row.id, reach), reach)
    return found
