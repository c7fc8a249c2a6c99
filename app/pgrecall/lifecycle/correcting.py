"""Corrections: supersede, invalidate, revive, approval."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Unpack
from uuid import UUID

from pgrecall.core.memory import NewMemory, NewMemoryDict, NewMemoryFields
from pgrecall.core.steps import VERB, Operation, needs
from pgrecall.core.validation import require_bool, require_id, require_ids
from pgrecall.memories.added import Added
from pgrecall.memories.embed import Policy, prepared
from pgrecall.memories.event_fields import check_audit_fields, note
from pgrecall.memories.incoming import as_new
from pgrecall.memories.memory_statements import with_memory
from pgrecall.schema import Tables
from pgrecall.schema.tables import require_owner
from pgrecall.schema.verbs import call


@needs(VERB)
def supersede(
    tables: Tables,
    /,
    agent_id: str | UUID,
    memory_id: UUID | str,
    new: NewMemory | NewMemoryDict | str,
    *,
    reason: str | None = None,
    actor: str | None = None,
    run: str | None = None,
    force: bool = False,
    check_compliance: bool = True,
    **fields: Unpack[NewMemoryFields],
) -> Operation[Added]:
    """Stores `new` in place of a memory, which stays in the table but is no longer recalled.

    `new` is given as to `add`. The old memory is invalidated from the moment the new one begins to
    hold (its valid_from, by default now). The new memory's importance is at least the old one's,
    and it takes over the subject if it names none. If it is the same as another active memory, that
    one becomes the successor. The new memory must not require approval.

    Raises SupersessionConflict if the old memory is valid until later than the new one begins, does
    not begin earlier, or was already superseded or forgotten; `force` overrides this. Also raises
    MemoryNotFound, and what `add` raises.
    """
    agent_id = require_owner(tables, agent_id)
    memory_id = require_id(memory_id)
    require_bool("force", force)
    check_audit_fields(reason=reason, actor=actor, run=run)
    policy = Policy.of("keep", None, check_compliance, actor)
    memory = as_new(new, fields, supersede)
    [incoming] = yield from prepared(tables, agent_id, [memory], policy, named=False)
    [row] = yield with_memory(
        tables,
        "supersede",
        "new",
        incoming,
        agent=agent_id,
        memory_id=memory_id,
        force=force,
        check_compliance=check_compliance,
        reason=reason,
        actor=actor,
        metadata={} if run is None else {"run": run},
    )
    return Added(row.successor, row.outcome, row.similarity)


@needs(VERB)
def invalidate(
    tables: Tables,
    /,
    agent_id: str | UUID,
    memory_ids: UUID | str | Iterable[UUID | str],
    *,
    reason: str | None = None,
    actor: str | None = None,
) -> Operation[int]:
    """Forgets memories: they stay stored, but are not recalled any more. Returns how many changed.

    Ids that the agent does not have or that are already invalidated are ignored.
    `invalidation_reason` becomes forgotten; `reason` is recorded in the history.
    """
    return (yield from _several(tables, "invalidate", agent_id, memory_ids, reason, actor))


@needs(VERB)
def revive(
    tables: Tables,
    /,
    agent_id: str | UUID,
    memory_ids: UUID | str | Iterable[UUID | str],
    *,
    reason: str | None = None,
    actor: str | None = None,
    force: bool = False,
) -> Operation[int]:
    """Makes memories recallable again that were invalidated, archived or have expired. Returns how
    many there were.

    Their status becomes active; an expiry in the past is removed. Memories that wait for approval
    are ignored. Raises DuplicateMemory if another active memory says the same by now, and
    SupersessionConflict if one was superseded and its successor is valid, unless `force`. If it
    raises, nothing is changed.
    """
    require_bool("force", force)
    return (yield from _several(tables, "revive", agent_id, memory_ids, reason, actor, force=force))


@needs(VERB)
def approve(
    tables: Tables,
    /,
    agent_id: str | UUID,
    memory_ids: UUID | str | Iterable[UUID | str],
    *,
    reason: str | None = None,
    actor: str | None = None,
) -> Operation[int]:
    """Decides reviews in favour of memories. Returns how many there were.

    Pending ones become active, and take the place of the same text as any new memory does. Those
    that feedback called outdated lose their mark `needs_review`. Other ids are ignored.

    Raises DuplicateMemory if an active memory says the same, even one that was invalidated, which
    `revive` brings back. Then nothing is changed.
    """
    return (yield from _several(tables, "approve", agent_id, memory_ids, reason, actor))


@needs(VERB)
def reject(
    tables: Tables,
    /,
    agent_id: str | UUID,
    memory_ids: UUID | str | Iterable[UUID | str],
    *,
    reason: str | None = None,
    actor: str | None = None,
) -> Operation[int]:
    """Archives memories that wait for approval, or that feedback called outdated. Returns how many
    there were.

    Other ids are ignored. `revive` makes a rejected memory active after all.
    """
    return (yield from _several(tables, "reject", agent_id, memory_ids, reason, actor))


def _several(
    tables: Tables,
    name: str,
    agent_id: str | UUID,
    memory_ids: UUID | str | Iterable[UUID | str],
    reason: str | None,
    actor: str | None,
    **options: bool,
) -> Operation[int]:
    """Calls a verb that returns the ids of the memories it changed. Returns how many."""
    agent_id = require_owner(tables, agent_id)
    note(reason=reason, actor=actor)
    ids = require_ids(memory_ids)
    if not ids:
        return 0
    rows = yield call(
        tables, name, agent=agent_id, memory_ids=ids, reason=reason, actor=actor, **options
    )
    return len(rows)
