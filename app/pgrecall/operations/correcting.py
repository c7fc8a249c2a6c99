"""Correcting what is remembered: supersede, invalidate, revive, importance, tiers."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any
from uuid import UUID

from sqlalchemy import Row, Select

from pgrecall import statements
from pgrecall.added import Added
from pgrecall.errors import DuplicateMemory, InvalidMemory, MemoryNotFound, SupersessionConflict
from pgrecall.memory import Memory, NewMemory
from pgrecall.operations.noting import noted
from pgrecall.operations.preparing import Policy, prepared
from pgrecall.operations.reading import existing_memory
from pgrecall.operations.storing import one_by_one
from pgrecall.quoting import shortened
from pgrecall.schema import Tables
from pgrecall.steps import Execute, Operation
from pgrecall.validation import require_bool, require_given_share, require_ids, require_owner


def supersede(
    tables: Tables,
    /,
    agent_id: str,
    memory_id: UUID,
    new: NewMemory | str,
    *,
    reason: str | None = None,
    actor: str | None = None,
    force: bool = False,
    check_compliance: bool = True,
) -> Operation[Added]:
    """Stores `new` in the place of a memory, which stays but is not recalled any longer.

    The old memory is invalidated from the moment the new one begins to hold (its valid_from, by
    default now), with the reason superseded and the new one as its successor. The new memory's
    importance is at least the old one's, and it takes over the subject where it names none. If
    its text is that of another active memory, that one becomes the successor. Repeated with the
    same id or key, it changes nothing.

    Raises SupersessionConflict where the two overlap in time (the old one says that it holds until
    later than the new one begins, or begins no earlier), or the old one has been superseded or
    forgotten already; `force` does it all the same. Raises MemoryNotFound, and what `add` raises.
    """
    agent_id = require_owner(tables, agent_id)
    [memory_id] = require_ids([memory_id])
    require_bool("force", force)
    note = noted(reason=reason, actor=actor)
    policy = Policy.of("keep", None, check_compliance, actor)
    [incoming] = yield from prepared(tables, agent_id, [new], policy, named=False)
    values = incoming.values
    rows = yield Execute(
        statements.lock_for_supersession(tables),
        {
            "owner_id": agent_id,
            "this_id": memory_id,
            "start": values["valid_from"],
            "content": values["content"],
            "incoming_id": incoming.id,
        },
    )
    old = next((row for row in rows if row.id == memory_id), None)
    if old is None:
        raise MemoryNotFound(f"agent {shortened(agent_id)} has no memory {memory_id}")
    if old.repeated:
        return Added(old.superseded_by, "known")
    if old.same or incoming.id == memory_id:
        raise InvalidMemory(f"memory {memory_id} says the same: there is nothing to supersede")
    if not force:
        _require_no_conflict(memory_id, old)
    if values["valid_until"] is not None and values["valid_until"] <= old.moment:
        raise InvalidMemory(
            f"valid_until {values['valid_until']} must be after valid_from {old.moment}"
        )
    importance = max(values["importance"], old.importance)
    values |= {"importance": importance, "valid_from": old.moment}
    if values["subject"] is None:
        values["subject"] = old.subject
    [added] = yield from one_by_one(tables, agent_id, [incoming], policy)
    if added.outcome == "known":
        successor = yield from existing_memory(tables, agent_id, UUID(int=added.int))
        if successor.status != "active" or successor.invalidated_at is not None:
            raise SupersessionConflict(
                f"memory {added} was stored before and is not recalled any longer, so it cannot "
                f"take the place of {memory_id}; give the new one another id or key"
            )
    changed = {"owner_id": agent_id, **note}
    if not added.inserted:
        yield Execute(
            statements.raise_importance(tables),
            changed | {"this_id": UUID(int=added.int), "new_importance": importance},
        )
    yield Execute(
        statements.supersede(tables),
        changed | {"this_id": memory_id, "moment": old.moment, "successor": UUID(int=added.int)},
    )
    return added


def _require_no_conflict(memory_id: UUID, old: Row[Any]) -> None:
    if old.superseded_by is not None:
        raise SupersessionConflict(
            f"memory {memory_id} has been superseded already, by {old.superseded_by}; supersede "
            "that one, or pass force=True"
        )
    if old.invalidated_at is not None:
        raise SupersessionConflict(
            f"memory {memory_id} was forgotten at {old.invalidated_at}; revive it first, or pass "
            "force=True"
        )
    if old.overlaps:
        raise SupersessionConflict(
            f"memory {memory_id} holds from {old.valid_from} until {old.valid_until}, and the new "
            f"one from {old.moment}: they overlap, so both cannot be right about that time; pass "
            "force=True if the new one is"
        )


def invalidate(
    tables: Tables,
    /,
    agent_id: str,
    memory_ids: UUID | Iterable[UUID],
    *,
    reason: str | None = None,
    actor: str | None = None,
) -> Operation[int]:
    """Forgets memories: they stay, but are not recalled from now on. Returns how many.

    Ids the agent does not have, and those that are invalidated already, are passed over.
    `invalidation_reason` becomes forgotten; `reason` is the caller's, kept in the history.
    """
    statement = statements.invalidate(tables)
    return (yield from _several(tables, statement, agent_id, memory_ids, reason, actor))


def revive(
    tables: Tables,
    /,
    agent_id: str,
    memory_ids: UUID | Iterable[UUID],
    *,
    reason: str | None = None,
    actor: str | None = None,
) -> Operation[int]:
    """Makes memories recallable again that were invalidated, put away or have expired.

    Their status becomes active, invalidation and a passed expiry are taken away; valid_from and
    valid_until stay. Returns how many there were. Raises DuplicateMemory where another active
    memory says the same by now; nothing is changed then.
    """
    agent_id = require_owner(tables, agent_id)
    ids = require_ids(memory_ids)
    taken = []
    if ids:
        taken = yield Execute(statements.texts_taken(tables), {"owner_id": agent_id, "ids": ids})
    if taken:
        raise DuplicateMemory(
            f"memory {taken[0].id} cannot be revived: memory {taken[0].other_id} says the same"
        )
    statement = statements.revive(tables)
    return (yield from _several(tables, statement, agent_id, ids, reason, actor))


def set_importance(
    tables: Tables,
    /,
    agent_id: str,
    memory_id: UUID,
    importance: float,
    *,
    reason: str | None = None,
    actor: str | None = None,
) -> Operation[Memory]:
    """Overrides a memory's importance, in [0, 1]; returns the memory.

    Raises MemoryNotFound or InvalidMemory.
    """
    share = require_given_share("importance", importance, error=InvalidMemory)
    agent_id = require_owner(tables, agent_id)
    [memory_id] = require_ids([memory_id])
    yield Execute(
        statements.set_importance(tables),
        {
            "owner_id": agent_id,
            "this_id": memory_id,
            "new_importance": share,
            **noted(reason=reason, actor=actor),
        },
    )
    return (yield from existing_memory(tables, agent_id, memory_id))


def promote(
    tables: Tables,
    /,
    agent_id: str,
    memory_ids: UUID | Iterable[UUID],
    *,
    reason: str | None = None,
    actor: str | None = None,
) -> Operation[int]:
    """Moves memories one tier up, short → medium → long; returns how many moved.

    The new tier sets their expiry anew (`tier_defaults`): by default, only short expires.
    """
    statement = statements.move_tier(tables, up=True)
    return (yield from _several(tables, statement, agent_id, memory_ids, reason, actor))


def demote(
    tables: Tables,
    /,
    agent_id: str,
    memory_ids: UUID | Iterable[UUID],
    *,
    reason: str | None = None,
    actor: str | None = None,
) -> Operation[int]:
    """Moves memories one tier down, long → medium → short; returns how many moved.

    The new tier sets their expiry anew (`tier_defaults`): by default, short expires in 24 hours.
    """
    statement = statements.move_tier(tables, up=False)
    return (yield from _several(tables, statement, agent_id, memory_ids, reason, actor))


def _several(
    tables: Tables,
    statement: Select[Any],
    agent_id: str,
    memory_ids: UUID | Iterable[UUID],
    reason: str | None,
    actor: str | None,
) -> Operation[int]:
    agent_id = require_owner(tables, agent_id)
    bound = {"owner_id": agent_id, **noted(reason=reason, actor=actor)}
    ids = require_ids(memory_ids)
    if not ids:
        return 0
    rows = yield Execute(statement, bound | {"ids": ids})
    return len(rows)
