"""Stores a memory under its key, or replaces the one that has the key."""

from __future__ import annotations

from pgrecall.core.memory import NewMemory
from pgrecall.core.steps import Operation, Verb
from pgrecall.errors import InvalidMemory
from pgrecall.memories.added import Added
from pgrecall.memories.event_fields import noted
from pgrecall.memories.preparing import Policy, prepared
from pgrecall.memories.staging import GIVEN, given_fields, upsert_statement
from pgrecall.schema import Tables
from pgrecall.schema.owner import require_owner


def upsert(
    tables: Tables,
    /,
    agent_id: str,
    memory: NewMemory,
    *,
    reason: str | None = None,
    actor: str | None = None,
    run: str | None = None,
    check_compliance: bool = True,
) -> Operation[Added]:
    """Stores a memory under its key, or gives the memory that has this key its text and fields.

    The id, counters, history, labels and links stay; new labels are added. So do `created_at`,
    `trust` with its parts, its decay and the `tier` if they are unset, and the usefulness once
    there was feedback; all other fields are replaced, also by their defaults. The memory is then
    active and valid by its own fields, even if it was archived or invalidated; if it was
    superseded, its successor is superseded in turn. The history records old and new values,
    `reason` and `actor`. Of two clients that write the same key at once, the last wins, and there
    is one memory.

    The outcome is inserted, replaced, or known if nothing differs. Raises what `add` raises, and
    InvalidMemory for a memory without a key.
    """
    policy = Policy.of("keep", None, check_compliance, actor)
    noted(reason=reason, actor=actor, run=run)
    agent_id = require_owner(tables, agent_id)
    if getattr(memory, "key", None) is None:
        raise InvalidMemory("upsert needs a NewMemory with a key")
    [incoming] = yield from prepared(tables, agent_id, [memory], policy, named=False)
    given = given_fields(incoming.values)
    options = {"check_compliance": check_compliance, "reason": reason, "actor": actor, "run": run}
    bound = {GIVEN + name: value for name, value in given.items()}
    [row] = yield Verb(
        upsert_statement(tables, tuple(given)), {"agent": agent_id, **options, **bound}
    )
    return Added(row.memory_id, row.outcome)
