"""Maintenance: does what is due, within a time."""

from __future__ import annotations

import math
import time
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from typing import Any, Final
from uuid import UUID

from pgrecall.core.ids import new_id
from pgrecall.core.steps import VERB, Ask, Job, Operation, Part, needs, says_how_far
from pgrecall.core.validation import require_bool, require_callable, require_seconds
from pgrecall.errors import InputError
from pgrecall.lifecycle.retention import RetentionPolicy
from pgrecall.rank_index import maintaining
from pgrecall.rank_index.building import Build, states, wait_for_writers
from pgrecall.rank_index.index import AT_LEAST
from pgrecall.schema import Tables
from pgrecall.schema.tables import require_owner
from pgrecall.schema.verbs import call

BATCH_SIZE = 1_000
ACTOR = "maintenance"
TASKS: Final = ("retention", "old runs", "statistics", "drop index", "build index", "place")
"""Kinds of tasks, as the function `_maintenance_due` of sql/verbs names them."""
_COUNTS = ("scanned", "archived", "deleted", "completed", "orphans", "events")


@dataclass(frozen=True, slots=True)
class MaintenanceTask:
    """A task of maintenance."""

    task: str
    """Its kind, one of TASKS."""
    name: str
    """The agent or team, or the table of statistics."""
    why: str
    seconds: float
    """About how long it takes."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MaintenanceRun:
    """The results of maintenance, or with dry_run of one that could be."""

    id: UUID | None
    """The id of its row in maintenance_runs; None for a dry run, which has no row."""
    dry_run: bool
    scanned: int
    """Number of live memories examined, of agents for which anything was due."""
    archived: int
    deleted: int
    completed: int
    """Number of tasks that had gone stale."""
    orphans: int
    """Number of counters and links removed because their memories no longer exist."""
    events: int
    """Number of events that were too old."""
    runs: int
    """Number of rows of maintenance_runs that were too old."""
    done: Sequence[MaintenanceTask]
    left: Sequence[MaintenanceTask]
    """For which there was no time; the next run does them."""
    seconds: float

    @property
    def tasks(self) -> dict[str, int]:
        """How many tasks of each kind were done, and how many are `left`."""
        counted = Counter(one.task for one in self.done)
        return dict(counted) | ({"left": len(self.left)} if self.left else {})

    def record(self) -> dict[str, Any]:
        """The run as plain JSON values."""
        return asdict(self) | {
            "id": None if self.id is None else str(self.id),
            "seconds": round(self.seconds, 3),
        }


Progress = Callable[[MaintenanceTask, int, int], Any]
"""Called with the task that is next, the number done, and the total."""


def run(
    policy: RetentionPolicy | None = None,
    *,
    agent_id: str | UUID | None = None,
    dry_run: bool = False,
    within: float | None = None,
    at_least: int = AT_LEAST,
    on_progress: Progress | None = None,
) -> Job[MaintenanceRun]:
    """Does what is due for one agent, or for all agents and teams. Made for cron.

    Memories that have expired are archived, with whatever else `policy` says; old events, and
    counters and links of memories that no longer exist, are removed; statistics are taken; rank
    indexes are dropped, built (for agents with `at_least` active memories) or brought up to date.
    `dry_run` only says what is due, in `done` and in numbers.

    It can run beside writers and twice at once, and an interrupted run loses nothing. A task begins
    only if it should end `within` these seconds; the next run does what is left. Each change is
    recorded as an event, each run as a row of maintenance_runs. `on_progress(task, done, total)` is
    called before each task.

    Raises InputError, and DatabaseError where a task fails.
    """
    policy = RetentionPolicy() if policy is None else policy
    if not isinstance(policy, RetentionPolicy):
        raise InputError(f"policy must be a RetentionPolicy, got {type(policy).__name__}")
    within = require_seconds("within", within)
    how = maintaining.settings(at_least)
    require_bool("dry_run", dry_run)
    require_callable("on_progress", on_progress)
    began = time.monotonic()
    until = began + (math.inf if within is None else within)
    found: list[tuple[MaintenanceTask, dict[str, int]]] = yield Part(
        partial(_due, agent_id=agent_id, policy=policy, at_least=at_least)
    )
    done: list[MaintenanceTask] = []
    left: list[MaintenanceTask] = []
    counts: Counter[str] = Counter(dict.fromkeys((*_COUNTS, "runs"), 0))
    run_id = None if dry_run else new_id()

    def so_far() -> MaintenanceRun:
        seconds = time.monotonic() - began
        return MaintenanceRun(
            id=run_id, dry_run=dry_run, done=done, left=left, seconds=seconds, **counts
        )

    if run_id is None:
        for task, numbers in found:
            counts.update(numbers)
            done.append(task)
        return so_far()
    yield Part(partial(_begin, agent_id=agent_id, run=run_id, policy=policy))
    waits = False
    with says_how_far(
        lambda: (
            f"{counts['archived']:,} memories were archived and {counts['deleted']:,} deleted, and "
            f"{len(done)} of {len(found)} tasks done"
        )
    ):
        for number, (task, _) in enumerate(found):
            if on_progress is not None:
                yield Ask(on_progress, (task, number, len(found)))
            expected = 0.0 if task.task == "retention" else task.seconds
            finished = time.monotonic() + expected <= until
            if not finished:
                pass
            elif task.task == "retention":
                finished = yield from _retained(task.name, run_id, until, counts)
            elif task.task == "old runs":
                deleting = partial(_delete_old_runs, agent_id=agent_id, run=run_id)
                counts["runs"] += yield Part(deleting)
            elif task.task == "statistics":
                yield Part(partial(_take_statistics, relation=task.name))
            elif task.task == "drop index":
                yield from _maintained(task.name, how)
            else:
                waited = None
                if not waits:
                    seconds = min(maintaining.PATIENCE, until - time.monotonic())
                    waited = yield Part(
                        partial(wait_for_writers, owner_id=task.name, seconds=seconds)
                    )
                waits = waited is None
                finished = not waits
                if finished:
                    yield from _maintained(task.name, how, waited)
            (done if finished else left).append(task)
        yield Part(partial(_log_usage, agent_id=agent_id))
        yield from maintaining.tidied()
        tasks = so_far().tasks
        yield Part(partial(_end, agent_id=agent_id, run=run_id, tasks=tasks))
    return so_far()


def _maintained(owner_id: str, how: Build, waited: Any = None) -> Job[None]:
    """Does what is due for this rank index; only drops it if nobody has waited for writers."""
    known = yield Part(partial(states, owner_id=owner_id, at_least=how.at_least))
    for one in known:
        if one.shrunk or waited is not None:
            yield from maintaining.maintained(one, how, waited)


def _retained(owner_id: str, run_id: UUID, until: float, counts: Counter[str]) -> Job[bool]:
    """Applies the policy in batches; False if there was no time for all of them."""
    retain = partial(_retain, owner_id=owner_id, run=run_id, batch_size=BATCH_SIZE)
    after: UUID | None = None
    while True:
        row = yield Part(partial(retain, after=after))
        counts.update({name: getattr(row, name) for name in _COUNTS})
        if not row.more:
            return True
        if time.monotonic() > until:
            return False
        after = row.last_id


def _owner(tables: Tables, agent_id: str | UUID | None) -> str | None:
    return None if agent_id is None else require_owner(tables, agent_id)


@needs(VERB)
def _due(
    tables: Tables, agent_id: str | UUID | None, policy: RetentionPolicy, at_least: int
) -> Operation[list[tuple[MaintenanceTask, dict[str, int]]]]:
    """The tasks that are due for an agent, or for all, and what each changes."""
    owner_id = _owner(tables, agent_id)
    arguments = {"agent": owner_id, "policy": policy.record(), "at_least": at_least}
    rows = yield call(tables, "_maintenance_due", **arguments)
    return [(MaintenanceTask(row.task, row.name, row.why, row.seconds), row.counts) for row in rows]


@needs(VERB)
def _begin(
    tables: Tables, agent_id: str | UUID | None, run: UUID, policy: RetentionPolicy
) -> Operation[None]:
    """Writes the run's row first, so that an interrupted run can be seen."""
    arguments = {"agent": _owner(tables, agent_id), "policy": policy.record(), "run": run}
    yield call(tables, "_begin_maintenance", **arguments)


@needs(VERB)
def _retain(
    tables: Tables, owner_id: str, run: UUID, after: UUID | None, batch_size: int
) -> Operation[Any]:
    """Applies the policy of the run to the next memories after an id, or to the first ones."""
    arguments = {"agent": owner_id, "run": run, "after": after, "batch_size": batch_size}
    [row] = yield call(tables, "_retain_batch", actor=ACTOR, **arguments)
    return row


@needs(VERB)
def _delete_old_runs(tables: Tables, agent_id: str | UUID | None, run: UUID) -> Operation[int]:
    [row] = yield call(tables, "_delete_old_runs", agent=_owner(tables, agent_id), run=run)
    return int(row[0])


@needs(VERB)
def _take_statistics(tables: Tables, relation: str) -> Operation[None]:
    """Analyses a table."""
    yield call(tables, "_take_statistics", relation=relation)


@needs(VERB)
def _log_usage(tables: Tables, agent_id: str | UUID | None) -> Operation[None]:
    yield call(tables, "_log_all_usage", agent=_owner(tables, agent_id))


@needs(VERB)
def _end(
    tables: Tables, agent_id: str | UUID | None, run: UUID, tasks: dict[str, int]
) -> Operation[None]:
    """Completes the run's row."""
    yield call(tables, "_end_maintenance", agent=_owner(tables, agent_id), run=run, tasks=tasks)
