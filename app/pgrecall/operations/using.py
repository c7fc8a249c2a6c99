"""What use tells of a memory: outcomes, trust, feedback, and its history."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal
from uuid import UUID

from pgrecall import statements
from pgrecall.errors import InputError, InvalidMemory
from pgrecall.event import Event
from pgrecall.labelled_query import LabelledQuery
from pgrecall.memory import Memory
from pgrecall.operations.noting import noted
from pgrecall.operations.reading import existing_memory
from pgrecall.schema import Tables
from pgrecall.steps import Execute, Operation
from pgrecall.validation import (
    require_bool,
    require_change,
    require_ids,
    require_name,
    require_one_of,
    require_owner,
    require_query,
    require_text,
)

Feedback = Literal["useful", "not_useful", "outdated", "incorrect"]
OUTCOMES = ("success", "failure")


def record_outcome(
    tables: Tables,
    /,
    agent_id: str,
    memory_id: UUID,
    outcome: Literal["success", "failure"],
    *,
    reason: str | None = None,
    actor: str | None = None,
    metadata: Mapping[str, Any] | None = None,
    query: str | None = None,
    touch: bool = True,
) -> Operation[Memory]:
    """Records that using the memory went well or wrong; returns it as it is afterwards.

    System D's rule, in one statement: the counters are incremented first, then trust moves by
    +0.05 / (1 + 0.1 · success_count) or -0.08 / (1 + 0.05 · failure_count), and by +0.02 once
    there are more than 5 retrievals and the success rate is over 0.8; it stays in [0, 1]. The
    usage part of trust is stored anew and does not move trust by itself. Trust that was never
    assessed stays unknown. `touch` counts the use as a retrieval too; pass False where the search
    that found the memory has counted it. `query` is what it was found for, kept in the history as
    a label: see `recorded_queries`.

    Raises MemoryNotFound or InputError.
    """
    require_one_of("outcome", outcome, OUTCOMES)
    require_bool("touch", touch)
    parameters = _noted_for(query, noted(reason=reason, actor=actor, metadata=metadata))
    parameters |= {"success": outcome == "success", "touch": touch}
    statement = statements.record_outcome(tables)
    return (yield from _changed(tables, agent_id, memory_id, statement, parameters))


def adjust_trust(
    tables: Tables,
    /,
    agent_id: str,
    memory_id: UUID,
    delta: float,
    reason: str,
    actor: str,
    *,
    metadata: Mapping[str, Any] | None = None,
) -> Operation[Memory]:
    """Adds `delta`, in [-1, 1], to the memory's trust, which stays in [0, 1]; returns the memory.

    Raises MemoryNotFound, or InvalidMemory where trust was never assessed.
    """
    change = require_change("delta", delta)
    require_text("reason", reason)
    if not reason.strip():
        raise InputError("a manual change of trust needs a reason")
    require_name("actor", actor)
    parameters = noted(reason=reason, actor=actor, metadata=metadata) | {"delta": change}
    agent_id = require_owner(tables, agent_id)
    [memory_id] = require_ids([memory_id])
    rows = yield Execute(
        statements.adjust_trust(tables),
        {"owner_id": agent_id, "this_id": memory_id, **parameters},
    )
    memory = yield from existing_memory(tables, agent_id, memory_id)
    if not rows:
        raise InvalidMemory(
            f"the trust of memory {memory_id} was never assessed; set it with update(trust=…)"
        )
    return memory


def feedback(
    tables: Tables,
    /,
    agent_id: str,
    memory_id: UUID,
    kind: Feedback,
    context: str | None = None,
    *,
    actor: str | None = None,
    metadata: Mapping[str, Any] | None = None,
    query: str | None = None,
) -> Operation[Memory]:
    """Records what was thought of the memory; returns it as it is afterwards.

    usefulness becomes the posterior mean of helpfulness (2·u₀ + Σ up) / (2 + Σ up + Σ down), u₀
    being the usefulness set on write, 0.5 by default: `useful` is one vote up, `not_useful` one
    down, `outdated` one down and a mark for review, `incorrect` three down. `context` is free
    text, kept as the reason in the history; `query`, what the memory was found for, is kept there
    as a label: see `recorded_queries`.

    Raises MemoryNotFound or InputError.
    """
    require_one_of("feedback", kind, statements.FEEDBACK)
    up, down = statements.FEEDBACK[kind]
    parameters = _noted_for(query, noted(reason=context, actor=actor, metadata=metadata))
    parameters["note_metadata"]["kind"] = kind
    parameters |= {"up": up, "down": down, "outdated": kind == "outdated"}
    statement = statements.record_feedback(tables)
    return (yield from _changed(tables, agent_id, memory_id, statement, parameters))


def history(tables: Tables, /, agent_id: str, memory_id: UUID) -> Operation[list[Event]]:
    """What happened to the memory, oldest first; also of one that has been deleted since."""
    agent_id = require_owner(tables, agent_id)
    [memory_id] = require_ids([memory_id])
    rows = yield Execute(statements.history(tables), {"owner_id": agent_id, "this_id": memory_id})
    return [Event(**row._mapping) for row in rows]


def recorded_queries(tables: Tables, /, agent_id: str) -> Operation[list[LabelledQuery]]:
    """What feedback and outcomes tell of past queries: labels for `evaluate` and `tune`.

    Of each query named when they were recorded (`query=`, in psql the metadata's key query) the
    memories that more votes were for than against, asked about the moment of the last. Bear in mind
    that the same votes have moved usefulness and trust: profiles that weigh these look better here
    than they are.
    """
    agent_id = require_owner(tables, agent_id)
    rows = yield Execute(statements.recorded_queries(tables), {"owner_id": agent_id})
    return [
        LabelledQuery(row.query, sorted(row.memory_ids), as_of=row.as_of)
        for row in rows
        if row.query.strip()  # of other white space too
    ]


def _noted_for(query: str | None, parameters: dict[str, Any]) -> dict[str, Any]:
    """With the query that the memory was found for."""
    if query is not None:
        parameters["note_metadata"][statements.QUERY] = require_query(query)
    return parameters


def _changed(
    tables: Tables, agent_id: str, memory_id: UUID, statement: Any, parameters: dict[str, Any]
) -> Operation[Memory]:
    agent_id = require_owner(tables, agent_id)
    [memory_id] = require_ids([memory_id])
    yield Execute(statement, {"owner_id": agent_id, "this_id": memory_id, **parameters})
    return (yield from existing_memory(tables, agent_id, memory_id))
