"""Learning from use: outcomes, trust, feedback, and the history."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields
from datetime import UTC, datetime, timedelta
from typing import Any, Literal, get_args
from uuid import UUID

from pgrecall.core.checks import COSINE
from pgrecall.core.memory import Memory, leading_memory
from pgrecall.core.steps import READS, VERB, Operation, needs
from pgrecall.core.validation import (
    require_aware,
    require_bool,
    require_count,
    require_id,
    require_name,
    require_one_of,
    require_query,
    require_text,
)
from pgrecall.errors import InputError
from pgrecall.lifecycle.event import Change, Event
from pgrecall.memories.event_fields import note
from pgrecall.memories.listing import MOST
from pgrecall.schema import Tables
from pgrecall.schema.tables import require_owner
from pgrecall.schema.verbs import MEMORY, call

_EVENT = ", ".join(field.name for field in fields(Event) if field.name != "memory_id")

Outcome = Literal["success", "failure"]
Feedback = Literal["useful", "not_useful", "outdated", "incorrect"]


@needs(VERB)
def record_outcome(
    tables: Tables,
    /,
    agent_id: str | UUID,
    memory_id: UUID | str,
    outcome: Outcome,
    *,
    reason: str | None = None,
    actor: str | None = None,
    metadata: Mapping[str, Any] | None = None,
    query: str | None = None,
    touch: bool = True,
    key: str | None = None,
) -> Operation[Memory]:
    """Records that using the memory succeeded or failed. Returns the memory afterwards.

    By Grace's rule the counter is incremented first, then trust changes by +0.05 / (1 + 0.1 ·
    success_count) or -0.08 / (1 + 0.05 · failure_count), and by another +0.02 if there are more
    than 5 retrievals and the success rate is over 0.8. Trust that was never assessed stays unknown.

    An outcome sets `last_accessed_at`. `touch` also counts a retrieval; pass False if the search
    that found the memory has counted it. `query` is what the memory was found for, for the history.
    `key` is your own name for this outcome: a call that is repeated with it counts once.

    Raises MemoryNotFound or InputError.
    """
    require_one_of("outcome", outcome, get_args(Outcome))
    require_bool("touch", touch)
    arguments = {
        **_named(tables, agent_id, memory_id),
        "outcome": outcome,
        "touch": touch,
        "query": None if query is None else require_query(query),
        "key": None if key is None else require_name("key", key),
        **note(reason=reason, actor=actor, metadata=metadata),
    }
    return (yield from _changed(tables, "record_outcome", arguments))


@needs(VERB)
def adjust_trust(
    tables: Tables,
    /,
    agent_id: str | UUID,
    memory_id: UUID | str,
    delta: float,
    reason: str,
    actor: str,
    *,
    metadata: Mapping[str, Any] | None = None,
) -> Operation[Memory]:
    """Adds `delta`, in [-1, 1], to the memory's trust, which stays in [0, 1]. Returns the memory.

    Raises MemoryNotFound, InputError, or InvalidMemory if trust was never assessed.
    """
    change = COSINE("delta", delta)
    require_text("reason", reason)
    if not reason.strip():
        raise InputError("a manual change of trust needs a reason")
    require_name("actor", actor)
    arguments = {
        **_named(tables, agent_id, memory_id),
        "delta": change,
        **note(reason=reason, actor=actor, metadata=metadata),
    }
    return (yield from _changed(tables, "adjust_trust", arguments))


@needs(VERB)
def feedback(
    tables: Tables,
    /,
    agent_id: str | UUID,
    memory_id: UUID | str,
    kind: Feedback,
    context: str | None = None,
    *,
    actor: str | None = None,
    metadata: Mapping[str, Any] | None = None,
    query: str | None = None,
    key: str | None = None,
) -> Operation[Memory]:
    """Records what was thought of the memory. Returns the memory afterwards.

    usefulness becomes (2·u₀ + Σ up) / (2 + Σ up + Σ down), where u₀ is the usefulness set on write.
    `useful` is one vote up, `not_useful` one down, `outdated` one down and a mark for review,
    `incorrect` three down. `context` is free text, stored in the history as the reason. `query` is
    what the memory was found for. `key` is your own name for it, as for `record_outcome`.

    Raises MemoryNotFound or InputError.
    """
    require_one_of("feedback", kind, get_args(Feedback))
    about = note(reason=context, actor=actor, metadata=metadata)
    arguments = {
        **_named(tables, agent_id, memory_id),
        "kind": kind,
        "context": about.pop("reason"),
        "query": None if query is None else require_query(query),
        "key": None if key is None else require_name("key", key),
        **about,
    }
    return (yield from _changed(tables, "record_feedback", arguments))


@needs(READS)
def history(
    tables: Tables, /, agent_id: str | UUID, memory_id: UUID | str
) -> Operation[list[Event]]:
    """The events of a memory, oldest first; also if it has been deleted since."""
    arguments = _named(tables, agent_id, memory_id)
    rows = yield call(tables, "history", _EVENT, **arguments)
    return [Event(memory_id=arguments["memory_id"], **row._asdict()) for row in rows]


@needs(READS)
def changes(
    tables: Tables,
    /,
    *,
    agent_id: str | UUID | None = None,
    since: datetime | None = None,
    actor: str | None = None,
    limit: int = 100,
) -> Operation[list[Change]]:
    """The newest events of one agent, or of all: what changed, and who did it. Newest first.

    `since` is a moment, by default a day ago; `actor` restricts them to what this actor did.
    `limit` is at most 10,000. Of a memory that was stored and deleted since, the deletion remains.
    Raises InputError.
    """
    require_count("limit", limit, at_least=1, at_most=MOST)
    since = require_aware("since", since)
    if actor is not None:
        require_name("actor", actor)
    rows = yield call(
        tables,
        "changes",
        since=datetime.now(UTC) - timedelta(days=1) if since is None else since,
        agent=None if agent_id is None else require_owner(tables, agent_id),
        by_actor=actor,
        most=limit,
        of_teams=bool(tables.prefix),
    )
    found = []
    for row in rows:
        of_event = row._asdict()
        owner = of_event.pop("agent_id").removeprefix(tables.prefix)
        content = of_event.pop("content")
        found.append(
            Change(
                agent_id=None if tables.prefix else owner,
                team_id=owner if tables.prefix else None,
                content=content,
                event=Event(**of_event),
            )
        )
    return found


def _named(tables: Tables, agent_id: str | UUID, memory_id: UUID | str) -> dict[str, Any]:
    agent_id = require_owner(tables, agent_id)
    memory_id = require_id(memory_id)
    return {"agent": agent_id, "memory_id": memory_id}


def _changed(tables: Tables, name: str, arguments: Mapping[str, Any]) -> Operation[Memory]:
    [row] = yield call(tables, name, MEMORY, **arguments)
    return leading_memory(row)
