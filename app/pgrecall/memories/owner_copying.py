"""Copies an owner's memories to another."""

from __future__ import annotations

from uuid import UUID

from pgrecall.core.steps import Mode, Operation, needs
from pgrecall.core.validation import require_bool, require_name
from pgrecall.schema import Tables
from pgrecall.schema.owner import require_owner
from pgrecall.schema.verbs import call


@needs(Mode(unlimited=True))
def copy(
    tables: Tables,
    /,
    agent_id: str | UUID,
    to_id: str | UUID,
    *,
    events: bool = True,
    actor: str | None = None,
) -> Operation[int]:
    """Copies the memories of an agent to another, in one transaction. Returns their number.

    They keep ids, but for those of keys, counters, votes, status and links, and with
    `events` their history; aliases of names are copied, too. Memories that the other has, by id
    or by text, are left out, so a call can be repeated. `actor` is noted where a history begins.

    Raises InputError.
    """
    require_bool("events", events)
    if actor is not None:
        require_name("actor", actor)
    named = {"actor": actor} if actor is not None else {}
    [[copied]] = yield call(
        tables,
        "copy_owner",
        agent=require_owner(tables, agent_id),
        target=require_owner(tables, to_id),
        with_events=events,
        **named,
    )
    return int(copied)
