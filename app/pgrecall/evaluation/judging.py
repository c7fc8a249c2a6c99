"""Judgements by people, and the judged queries that follow from them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any
from uuid import UUID

from pgrecall.core.steps import READS, VERB, Operation, needs
from pgrecall.core.validation import require_bool, require_id, require_query
from pgrecall.evaluation.checked_query import JudgedQuery
from pgrecall.memories.event_fields import note
from pgrecall.schema import Tables
from pgrecall.schema.tables import require_owner
from pgrecall.schema.verbs import call


@needs(VERB)
def judge(
    tables: Tables,
    /,
    agent_id: str | UUID,
    memory_id: UUID | str,
    query: str,
    answers: bool | None = True,
    *,
    reason: str | None = None,
    actor: str | None = None,
    metadata: Mapping[str, Any] | None = None,
) -> Operation[bool]:
    """Records a person's judgement: that the memory answers the query, or not. None takes it back.

    `evaluation.judged_queries` returns what was judged, for `evaluate` and `tune`. A judgement is
    an event in the memory's history, and is exported and erased with it. It changes no counter and
    no score, unlike `feedback`. Of several judgements of a memory and a query the last one counts.
    Returns False if that said the same; then nothing is recorded.

    Raises MemoryNotFound or InputError.
    """
    if answers is not None:
        require_bool("answers", answers)
    [(changed,)] = yield call(
        tables,
        "judge",
        agent=require_owner(tables, agent_id),
        memory_id=require_id(memory_id),
        query=require_query(query),
        answers=answers,
        **note(reason=reason, actor=actor, metadata=metadata),
    )
    return bool(changed)


@needs(READS)
def judged_queries(tables: Tables, /, agent_id: str | UUID) -> Operation[list[JudgedQuery]]:
    """The queries that people judged memories by, for `evaluate` and `tune`.

    `relevant` are the memories that answer, and `irrelevant` those that do not; a query whose
    `relevant` is empty counts for floors alone. Memories that no search returns any more, since
    they were deleted, forgotten, superseded or archived or have expired, are left out.
    """
    owner_id = require_owner(tables, agent_id)
    named = owner_id.removeprefix(tables.prefix)
    rows = yield call(tables, "judged_queries", agent=owner_id)
    return [
        JudgedQuery(row.query, row.memory_ids, agent_id=named, irrelevant=row.irrelevant)
        for row in rows
    ]
