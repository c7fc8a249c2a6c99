"""Links between memories."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any
from uuid import UUID

from pgrecall.core.steps import ALONE, READS, VERB, Operation, needs
from pgrecall.core.validation import require_given_share, require_id, require_name
from pgrecall.errors import InputError
from pgrecall.memories.event_fields import note
from pgrecall.schema import Tables
from pgrecall.schema.tables import require_owner
from pgrecall.schema.verbs import call


@dataclass(frozen=True, slots=True, kw_only=True)
class Link:
    """A link from one memory to another; `weight`, in [0, 1], is its strength."""

    source_id: UUID
    target_id: UUID
    kind: str
    weight: float


@needs(VERB)
def link(
    tables: Tables,
    /,
    agent_id: str | UUID,
    source_id: UUID | str,
    target_id: UUID | str,
    kind: str = "related",
    *,
    weight: float = 1.0,
    actor: str | None = None,
) -> Operation[None]:
    """Links two memories of the agent. An existing link of this kind gets the new weight.

    Raises MemoryNotFound if one of them does not exist, and InputError if they are the same.
    """
    arguments = _pair(tables, agent_id, source_id, target_id, kind, actor)
    arguments["weight"] = require_given_share("weight", weight)
    yield call(tables, "link", **arguments)


@needs(ALONE)
def unlink(
    tables: Tables,
    /,
    agent_id: str | UUID,
    source_id: UUID | str,
    target_id: UUID | str,
    kind: str = "related",
    *,
    actor: str | None = None,
) -> Operation[bool]:
    """Removes a link. Returns whether it existed."""
    arguments = _pair(tables, agent_id, source_id, target_id, kind, actor)
    rows = yield call(tables, "unlink", **arguments)
    return bool(rows[0][0])


@needs(READS)
def links(tables: Tables, /, agent_id: str | UUID, memory_id: UUID | str) -> Operation[list[Link]]:
    """The links from and to a memory, strongest first."""
    agent_id = require_owner(tables, agent_id)
    memory_id = require_id(memory_id)
    rows = yield call(tables, "links", agent=agent_id, memory_id=memory_id)
    return [Link(**row._asdict()) for row in rows]


def _pair(
    tables: Tables,
    agent_id: str | UUID,
    source_id: UUID | str,
    target_id: UUID | str,
    kind: str,
    actor: str | None,
) -> dict[str, Any]:
    agent_id = require_owner(tables, agent_id)
    source_id, target_id = require_id(source_id), require_id(target_id)
    if source_id == target_id:
        raise InputError(f"a link leads from one memory to another, got {source_id} twice")
    return {
        "agent": agent_id,
        "source_id": source_id,
        "target_id": target_id,
        "kind": require_name("kind", kind),
        "actor": note(reason=None, actor=actor)["actor"],
    }
