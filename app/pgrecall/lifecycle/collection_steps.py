"""The steps of a garbage collection, each a call that is a transaction of its own."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from sqlalchemy import BigInteger, Boolean, Double, Integer, Text, Uuid

from pgrecall.core.steps import Operation, Verb
from pgrecall.lifecycle.garbage import GarbagePolicy
from pgrecall.schema import TEAM, Tables
from pgrecall.schema.owner import require_owner
from pgrecall.schema.verbs import verb

ACTOR = "garbage collection"
_ARGUMENTS: Mapping[str, Any] = {
    "agent": Text(),
    "run": Uuid(),
    "min_trust_threshold": Double(),
    "max_age_hours": Double(),
    "delete_threshold": Double(),
    "max_live": BigInteger(),
    "policy": Text(),
    "with_leftovers": Boolean(),
    "after": Uuid(),
    "batch_size": Integer(),
    "actor": Text(),
}
"""Of the functions called here, with their types."""


@dataclass(frozen=True, slots=True)
class Run:
    """A run of the garbage collection that is under way."""

    id: UUID
    owner_id: str | None
    """Whose memories are looked at; None: those of every owner."""


def owners(tables: Tables, agent_id: str | None = None) -> Operation[list[tuple[str, bool]]]:
    """Whose memories to look at, in order, and whether there are any, not only what they left.

    Or the one that is named. Raises InputError.
    """
    if agent_id is not None:
        return [(require_owner(tables, agent_id), True)]
    rows = yield _called(tables, "owners_of_memories", with_leftovers=True)
    return [
        (row.agent_id, row.has_memories)
        for row in rows
        if row.agent_id.startswith(TEAM) == bool(tables.prefix)
    ]


def count_garbage(tables: Tables, owner_id: str, policy: GarbagePolicy) -> Operation[Any]:
    """What a run would do to the owner's memories: scanned, archived, deleted, swept."""
    [row] = yield _called(tables, "count_garbage", agent=owner_id, **policy.parameters)
    return row


def begin_run(tables: Tables, run: Run, policy: GarbagePolicy) -> Operation[None]:
    """Opens the log's row, so that a run that is cut off can be seen."""
    given = {"agent": run.owner_id, "run": run.id, "policy": policy.name, **policy.parameters}
    yield _called(tables, "begin_garbage_run", **given)


def collect_batch(
    tables: Tables, run: Run, owner_id: str, after: UUID | None, batch_size: int
) -> Operation[Any]:
    """Goes through the owner's next memories after an id, or the first.

    Returns the numbers, `last_id` to go on after, and whether there is `more`.
    """
    given = {"agent": owner_id, "run": run.id, "after": after, "batch_size": batch_size}
    [row] = yield _called(tables, "collect_garbage_batch", actor=ACTOR, **given)
    return row


def end_run(tables: Tables, run: Run) -> Operation[float]:
    """Closes the log's row and returns the seconds it tells."""
    [row] = yield _called(tables, "end_garbage_run", agent=run.owner_id, run=run.id)
    return float(row.seconds)


def _called(tables: Tables, name: str, **given: Any) -> Verb:
    return Verb(verb(tables, name, {argument: _ARGUMENTS[argument] for argument in given}), given)
