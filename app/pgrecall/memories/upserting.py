"""Stores memories under their keys, or replaces those that have the keys."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Unpack
from uuid import UUID

from pgrecall.core.memory import NewMemory, NewMemoryDict, NewMemoryFields
from pgrecall.core.steps import VERB, Operation, Run, needs
from pgrecall.core.validation import in_list
from pgrecall.errors import InvalidMemory
from pgrecall.memories.added import Added, Batch
from pgrecall.memories.adding import stored_batch
from pgrecall.memories.embed import Incoming, Policy, Position, prepared
from pgrecall.memories.event_fields import check_audit_fields
from pgrecall.memories.incoming import as_new
from pgrecall.memories.memory_statements import with_memory
from pgrecall.schema import Tables
from pgrecall.schema.tables import require_owner


@needs(VERB)
def upsert(
    tables: Tables,
    /,
    agent_id: str | UUID,
    memory: NewMemory | NewMemoryDict | str,
    *,
    reason: str | None = None,
    actor: str | None = None,
    run: str | None = None,
    check_compliance: bool = True,
    **fields: Unpack[NewMemoryFields],
) -> Operation[Added]:
    """Stores a memory under its key, or gives the memory that has this key its text and fields.

    The memory is given as to `add`. The id, counters, history and links stay. So do `created_at`,
    `trust` with its parts, its decay and the `tier` if they are unset, and the usefulness once
    there was feedback; all other fields are replaced, also by their defaults. The memory is then
    active and valid by its own fields; if it was superseded, its successor is superseded in turn.
    The history records old and new values, `reason` and `actor`.

    The outcome is inserted, replaced, or known if nothing differs. Raises what `add` raises, and
    InvalidMemory for a memory without a key.
    """
    policy = Policy.of("keep", None, check_compliance, actor, run=run)
    check_audit_fields(reason=reason, actor=actor, run=run)
    agent_id = require_owner(tables, agent_id)
    new = _with_key(as_new(memory, fields, upsert))
    [incoming] = yield from prepared(tables, agent_id, [new], policy, named=False)
    [row] = yield _upsert(tables, agent_id, incoming, policy, reason)
    return Added(row.memory_id, row.outcome)


def upsert_many(
    tables: Tables,
    /,
    agent_id: str | UUID,
    memories: Iterable[NewMemory | NewMemoryDict],
    *,
    reason: str | None = None,
    actor: str | None = None,
    run: str | None = None,
    check_compliance: bool = True,
) -> Operation[Batch]:
    """Upserts a batch in one transaction, and returns the ids in its order; `upsert` has the rules.

    If one memory is bad, nothing is changed, and the error names its position, counted from 0. Of
    memories in the batch with the same key, the last wins. Raises what `upsert` raises.
    """
    policy = Policy.of("keep", None, check_compliance, actor, run=run)
    check_audit_fields(reason=reason, actor=actor, run=run)
    agent_id = require_owner(tables, agent_id)
    several = None if isinstance(memories, Mapping) else in_list(memories)
    if several is None:
        raise InvalidMemory(f"memories must be a list of memories, got {type(memories).__name__}")
    keyed = []
    for position, memory in enumerate(several):
        with Position(position, len(several), named=True):
            keyed.append(_with_key(as_new(memory)))
    batch = yield from prepared(tables, agent_id, keyed, policy, named=True)
    if not batch:
        return Batch()
    firsts: dict[UUID, int] = {}
    for ordinal, incoming in enumerate(batch):
        firsts.setdefault(incoming["id"], ordinal)
    new = {ordinal: batch[ordinal] for ordinal in firsts.values()}
    added = yield from stored_batch(tables, agent_id, new, policy)
    # In the order of the key, so that two batches never wait for each other in turn.
    for ordinal in sorted(range(len(batch)), key=lambda ordinal: batch[ordinal]["id"]):
        if ordinal not in added or not added[ordinal].inserted:
            [row] = yield _upsert(tables, agent_id, batch[ordinal], policy, reason)
            added[ordinal] = Added(row.memory_id, row.outcome)
    return Batch(added[ordinal] for ordinal in range(len(batch)))


def _with_key(memory: NewMemory) -> NewMemory:
    if memory.key is None:
        raise InvalidMemory("upsert needs a memory with a key")
    return memory


def _upsert(
    tables: Tables, agent_id: str, memory: Incoming, policy: Policy, reason: str | None
) -> Run:
    return with_memory(
        tables,
        "upsert",
        "memory",
        memory,
        agent=agent_id,
        check_compliance=policy.check_compliance,
        reason=reason,
        actor=policy.actor,
        run=policy.run,
    )
