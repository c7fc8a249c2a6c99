"""The steps of a garbage collection, each a transaction of its own."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any
from uuid import UUID

from pgrecall.core.steps import VERB, Operation, needs
from pgrecall.lifecycle.garbage import GarbagePolicy
from pgrecall.schema import TEAM, Tables
from pgrecall.schema.owner import require_owner
from pgrecall.schema.verbs import call

ACTOR = "garbage collection"


@dataclass(frozen=True, slots=True)
class Collection:
    """A garbage collection under way."""

    id: UUID
    owner_id: str | None
    """The owner whose memories are collected; None: every owner."""


def owners(tables: Tables, agent_id: str | UUID | None = None) -> Operation[list[tuple[str, bool]]]:
    """The owners to collect, ordered by id, and whether each has memories.

    An owner without memories may have left counters, links or history. If `agent_id` is
    given, only that owner. Raises InputError.
    """
    if agent_id is not None:
        return [(require_owner(tables, agent_id), True)]
    rows = yield call(tables, "owners_of_memories", with_leftovers=True)
    return [
        (row.agent_id, row.has_memories)
        for row in rows
        if row.agent_id.startswith(TEAM) == bool(tables.prefix)
    ]


@needs(VERB)
def count_garbage(tables: Tables, owner_id: str, policy: GarbagePolicy) -> Operation[Any]:
    """Counts of a run without its changes, for one owner: scanned, archived, deleted and so on."""
    [row] = yield call(tables, "count_garbage", agent=owner_id, **policy.parameters)
    return row


@needs(VERB)
def count_runs(tables: Tables, policy: GarbagePolicy) -> Operation[int]:
    """How many runs over all owners a run over all would delete from gc_runs."""
    age = policy.max_run_age_hours
    [row] = yield call(tables, "count_runs", agent=None, max_run_age_hours=age)
    return int(row.count_runs)


@needs(VERB)
def begin_run(tables: Tables, run: Collection, policy: GarbagePolicy) -> Operation[None]:
    """Writes the run's row in gc_runs first, so that an interrupted run can be seen."""
    arguments = {"agent": run.owner_id, "run": run.id, "policy": policy.name, **policy.parameters}
    yield call(tables, "begin_garbage_run", **arguments)


@needs(VERB)
def collect_batch(
    tables: Tables, run: Collection, owner_id: str, after: UUID | None, batch_size: int
) -> Operation[Any]:
    """Collects the owner's next `batch_size` memories after an id, or the first ones.

    Returns the numbers, `last_id` for the next call, and whether there are `more`.
    """
    arguments = {"agent": owner_id, "run": run.id, "after": after, "batch_size": batch_size}
    [row] = yield call(tables, "collect_garbage_batch", actor=ACTOR, **arguments)
    return row


@needs(VERB)
def end_run(tables: Tables, run: Collection) -> Operation[Any]:
    """Completes the run's row in gc_runs and returns it."""
    [row] = yield call(tables, "end_garbage_run", agent=run.owner_id, run=run.id)
    return row
