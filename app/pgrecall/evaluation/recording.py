"""What recorded use tells of past queries."""

from __future__ import annotations

from sqlalchemy import Text

from pgrecall.core.steps import Operation, Verb
from pgrecall.evaluation.labelled_query import LabelledQuery
from pgrecall.schema import Tables
from pgrecall.schema.owner import require_owner
from pgrecall.schema.verbs import verb


def recorded_queries(tables: Tables, /, agent_id: str) -> Operation[list[LabelledQuery]]:
    """What feedback and outcomes tell of past queries: labels for `evaluate` and `tune`.

    Of each query named when they were recorded (`query=`, in psql the metadata's key query) the
    memories that more votes were for than against, asked about the moment of the first vote for
    one of them; memories created later are no labels. They are `recorded`: they are ranked by
    usefulness, importance, confidence and trust as they were before that moment, and as if no
    memory had ever been retrieved, since counters do not tell when. So the votes that made a label
    do not make it look better found.
    """
    owner_id = require_owner(tables, agent_id)
    called = verb(tables, "recorded_queries", {"agent": Text})
    rows = yield Verb(called, {"agent": owner_id}, refuses=False)
    return [
        LabelledQuery(row.query, row.memory_ids, as_of=row.as_of, agent_id=agent_id, recorded=True)
        for row in rows
        if row.query.strip()  # of other white space too
    ]
