"""The steps of a garbage collection, each a short transaction."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from pgrecall import statements
from pgrecall.garbage import GarbagePolicy
from pgrecall.operations.noting import noted
from pgrecall.schema import Tables
from pgrecall.steps import Execute, Operation
from pgrecall.validation import require_owner

EVERY_OWNER = ""
"""In the log: no owner is called so."""


@dataclass(frozen=True, slots=True)
class Run:
    """A run of the garbage collection that is under way."""

    id: UUID
    owner_id: str | None
    start: float
    """By the monotonic clock of the client."""

    @property
    def seconds(self) -> float:
        return time.monotonic() - self.start


def owners(tables: Tables, agent_id: str | None = None) -> Operation[list[str]]:
    """Who has memories, in order; or the one that is named. Raises InputError."""
    if agent_id is not None:
        return [require_owner(tables, agent_id)]
    rows = yield Execute(statements.owners(tables))
    return [row.owner_id for row in rows]


def owners_of_orphans(tables: Tables) -> Operation[list[str]]:
    """Who has counters, labels or links but no memory at all."""
    rows = yield Execute(statements.owners_of_orphans(tables))
    return [row.owner_id for row in rows]


def count_garbage(tables: Tables, owner_id: str, policy: GarbagePolicy) -> Operation[Any]:
    """What a run would do to the owner's memories: scanned, archived, deleted, swept."""
    [row] = yield Execute(
        statements.count_garbage(tables), {"owner_id": owner_id, **policy.parameters}
    )
    return row


def begin_run(tables: Tables, run: Run, policy: GarbagePolicy) -> Operation[None]:
    """Opens the log's row, so that a run that is cut off can be seen."""
    yield Execute(
        statements.begin_run(tables),
        {
            "owner_id": EVERY_OWNER if run.owner_id is None else run.owner_id,
            "run_id": run.id,
            "policy_name": policy.name,
            **{f"run_{name}": value for name, value in policy.parameters.items()},
        },
    )


def collect_batch(
    tables: Tables,
    run: Run,
    owner_id: str,
    policy: GarbagePolicy,
    after: UUID | None,
    batch_size: int,
) -> Operation[tuple[UUID | None, dict[str, int]]]:
    """Goes through the next memories after an id, or the first; the last batch sweeps too.

    Returns the last one's id, None after the last batch, and the numbers.
    """
    parameters = {
        "owner_id": owner_id,
        "after": after,
        "batch_size": batch_size,
        **policy.parameters,
        **_by(policy),
    }
    [row] = yield Execute(statements.collect_batch(tables, first=after is None), parameters)
    if row.deleted_ids:
        for trace in statements.delete_traces(tables):
            yield Execute(trace, {"owner_id": owner_id, "ids": row.deleted_ids})
        yield Execute(
            statements.forget_positions(tables), {"owner_id": owner_id, "ids": row.deleted_ids}
        )
    numbers = {"scanned": row.scanned, "archived": row.archived, "deleted": len(row.deleted_ids)}
    last_id: UUID | None = row.last_id
    if row.scanned < batch_size:
        last_id = None
        numbers["swept"] = yield from _swept(tables, owner_id, batch_size)
    yield from _note(tables, run, numbers)
    return last_id, numbers


def archive_excess(
    tables: Tables, run: Run, owner_id: str, policy: GarbagePolicy, batch_size: int
) -> Operation[dict[str, int]]:
    """Archives the least trusted beyond the policy's max_live."""
    rows = yield Execute(
        statements.archive_excess(tables),
        {
            "owner_id": owner_id,
            "batch_size": batch_size,
            "max_live": policy.max_live,
            **_by(policy),
        },
    )
    numbers = {"archived": len(rows)}
    yield from _note(tables, run, numbers)
    return numbers


def sweep(tables: Tables, run: Run, owner_id: str, batch_size: int) -> Operation[dict[str, int]]:
    """Removes what is left of memories that are gone."""
    numbers = {"swept": (yield from _swept(tables, owner_id, batch_size))}
    yield from _note(tables, run, numbers)
    return numbers


def end_run(tables: Tables, run: Run) -> Operation[float]:
    """Closes the log's row and returns the seconds it tells."""
    return (yield from _note(tables, run, {}, finished=True))


def _by(policy: GarbagePolicy) -> dict[str, Any]:
    return noted(reason=f"garbage collection by policy {policy.name}", actor="garbage collection")


def _note(
    tables: Tables, run: Run, numbers: dict[str, int], *, finished: bool = False
) -> Operation[float]:
    seconds = run.seconds
    yield Execute(
        statements.note_run(tables),
        {
            "owner_id": EVERY_OWNER if run.owner_id is None else run.owner_id,
            "run_id": run.id,
            "run_seconds": seconds,
            "is_finished": finished,
            **{
                f"more_{name}": numbers.get(name, 0)
                for name in ("scanned", "archived", "deleted", "swept")
            },
        },
    )
    return seconds


def _swept(tables: Tables, owner_id: str, batch_size: int) -> Operation[int]:
    swept = 0
    for statement in statements.sweep(tables):
        rows = yield Execute(statement, {"owner_id": owner_id, "batch_size": batch_size})
        swept += len(rows)
    return swept
