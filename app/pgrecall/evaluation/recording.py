"""Derives judged queries from recorded feedback and outcomes."""

from __future__ import annotations

from uuid import UUID

from pgrecall.core.limits import is_blank
from pgrecall.core.steps import READS, Operation, needs
from pgrecall.evaluation.judged_query import JudgedQuery
from pgrecall.schema import Tables
from pgrecall.schema.owner import require_owner
from pgrecall.schema.verbs import call


@needs(READS)
def recorded_queries(tables: Tables, /, agent_id: str | UUID) -> Operation[list[JudgedQuery]]:
    """Judged queries from recorded use, for `evaluate` and `tune`.

    A query is recorded by `query=` of feedback and outcomes (in psql, the key query of the
    metadata). Its answers are the memories with more votes for than against. It is asked at the
    moment of the first vote for one of them; memories created later do not count as answers.

    The queries are `recorded`: usefulness, importance, confidence and trust are taken as they were
    before that moment, and retrievals are ignored, since counters do not tell when they happened.
    Therefore a vote does not improve the rank of its own memory.
    """
    owner_id = require_owner(tables, agent_id)
    named = owner_id.removeprefix(tables.prefix)
    rows = yield call(tables, "recorded_queries", agent=owner_id)
    return [
        JudgedQuery(row.query, row.memory_ids, as_of=row.as_of, agent_id=named, recorded=True)
        for row in rows
        if not is_blank(row.query)  # as older versions recorded them
    ]
