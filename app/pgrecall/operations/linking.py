"""Links between memories."""

from __future__ import annotations

from uuid import UUID

from pgrecall import statements
from pgrecall.errors import InputError
from pgrecall.link import Link
from pgrecall.operations.labelling import locked
from pgrecall.operations.noting import noted
from pgrecall.schema import Tables
from pgrecall.steps import Execute, Operation
from pgrecall.validation import require_given_share, require_ids, require_name, require_owner


def link(
    tables: Tables,
    /,
    agent_id: str,
    source_id: UUID,
    target_id: UUID,
    kind: str = "related",
    *,
    weight: float = 1.0,
    actor: str | None = None,
) -> Operation[None]:
    """Links two memories of the agent; a link of this kind that is there takes the new weight.

    Raises MemoryNotFound where one of the two is not there, InputError for a memory and itself.
    """
    agent_id = require_owner(tables, agent_id)
    bound = _pair(agent_id, source_id, target_id, kind) | noted(reason=None, actor=actor)
    share = require_given_share("weight", weight)
    yield from locked(tables, agent_id, [source_id, target_id])
    yield Execute(statements.link(tables), bound | {"link_weight": share})


def unlink(
    tables: Tables,
    /,
    agent_id: str,
    source_id: UUID,
    target_id: UUID,
    kind: str = "related",
    *,
    actor: str | None = None,
) -> Operation[bool]:
    """Takes a link away; returns whether it was there."""
    agent_id = require_owner(tables, agent_id)
    bound = _pair(agent_id, source_id, target_id, kind) | noted(reason=None, actor=actor)
    rows = yield Execute(statements.unlink(tables), bound)
    return bool(rows[0][0])


def links(tables: Tables, /, agent_id: str, memory_id: UUID) -> Operation[list[Link]]:
    """The links from and to a memory, strongest first."""
    agent_id = require_owner(tables, agent_id)
    [memory_id] = require_ids([memory_id])
    rows = yield Execute(statements.links_of(tables), {"owner_id": agent_id, "this_id": memory_id})
    return [Link(**row._mapping) for row in rows]


def _pair(agent_id: str, source_id: UUID, target_id: UUID, kind: str) -> dict[str, object]:
    ids = require_ids([source_id, target_id])
    if len(ids) < 2:
        raise InputError(f"a link leads from one memory to another, got {source_id} twice")
    return {
        "owner_id": agent_id,
        "this_id": source_id,
        "that_id": target_id,
        "link_kind": require_name("kind", kind),
    }
