"""Upkeep: does what is due, within a time."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from datetime import datetime
from functools import partial
from typing import Any
from uuid import UUID

from pgrecall.core.ids import new_id
from pgrecall.core.steps import VERB, Ask, Job, Operation, Part, needs
from pgrecall.core.validation import require_bool, require_callable, require_count, require_seconds
from pgrecall.errors import InputError
from pgrecall.lifecycle import collection_steps
from pgrecall.lifecycle.collecting import BATCH_SIZE
from pgrecall.lifecycle.garbage import UpkeepPolicy
from pgrecall.lifecycle.health import MOST_MEMORIES, Health, LastUpkeep, Problem, TableState
from pgrecall.lifecycle.upkeep import UpkeepKind, UpkeepRun, UpkeepTask
from pgrecall.rank_index.building import Build, states, wait_for_writers
from pgrecall.rank_index.index import AT_LEAST
from pgrecall.rank_index.maintaining import PATIENCE, maintained, settings, tidied
from pgrecall.schema import Tables
from pgrecall.schema.verbs import call

Progress = Callable[[UpkeepTask, int, int], Any]
"""Called with the task that is next, the number done, and the total."""


def run_upkeep(
    *,
    agent_id: str | UUID | None = None,
    within: float | None = None,
    policy: UpkeepPolicy | None = None,
    at_least: int = AT_LEAST,
    dry_run: bool = False,
    on_progress: Progress | None = None,
) -> Job[UpkeepRun]:
    """Does what is due for one agent, or for all agents and teams. Made for cron.

    In this order: memories that have expired are archived, with whatever else `policy` says;
    statistics of tables that have changed much are taken; rank indexes are dropped, built or
    brought up to date, as `rank_indexes.maintain` does it. Of an agent for which nothing is due,
    only its index is read, unless `policy` judges by trust, age or number.

    A task begins only if it should end `within` these seconds, by what the last build took;
    garbage is collected in batches until then. If a transaction that was writing memories does not
    end within a minute, rank indexes are left. What is left is done by the next run. Two runs at
    once do no harm, and an interrupted run loses nothing. `dry_run` only says what is due. On an
    Engine each task is a transaction or several. `on_progress(task, done, total)` is called before
    each.

    Raises InputError, and DatabaseError where a task fails.
    """
    policy = UpkeepPolicy() if policy is None else policy
    if not isinstance(policy, UpkeepPolicy):
        raise InputError(f"policy must be an UpkeepPolicy, got {type(policy).__name__}")
    within = require_seconds("within", within)
    how = settings(at_least)
    require_bool("dry_run", dry_run)
    require_callable("on_progress", on_progress)
    began = time.monotonic()
    until = began + (math.inf if within is None else within)
    owner_id: str | None = None
    if agent_id is not None:
        [(owner_id, _)] = yield Part(partial(collection_steps.owners, agent_id=agent_id))
    asking = partial(due_tasks, owner_id=owner_id, policy=policy, at_least=at_least)
    due: list[UpkeepTask] = yield Part(asking)
    done: list[UpkeepTask] = []
    left: list[UpkeepTask] = []
    if dry_run:
        return UpkeepRun(id=None, dry_run=True, done=due, left=[], seconds=time.monotonic() - began)
    run = collection_steps.Collection(new_id(), owner_id)
    yield Part(partial(_begin, run=run, policy=policy))
    waits = False
    for number, task in enumerate(due):
        if on_progress is not None:
            yield Ask(on_progress, (task, number, len(due)))
        expected = 0.0 if task.task is UpkeepKind.GARBAGE else task.seconds
        if time.monotonic() + expected > until:
            left.append(task)
            continue
        match task.task:
            case UpkeepKind.GARBAGE:
                finished = yield from _collected(task.name, run, until)
            case UpkeepKind.STATISTICS:
                yield Part(partial(take_statistics, relation=task.name))
                finished = True
            case UpkeepKind.DROP_INDEX:
                yield from _maintained(task.name, how)
                finished = True
            case UpkeepKind.BUILD_INDEX | UpkeepKind.PLACE:
                waited: datetime | None = None
                if not waits:
                    seconds = min(PATIENCE, until - time.monotonic())
                    waiting = partial(wait_for_writers, owner_id=task.name, seconds=seconds)
                    waited = yield Part(waiting)
                finished = waited is not None
                waits = not finished
                if finished:
                    yield from _maintained(task.name, how, waited)
        (done if finished else left).append(task)
    yield from tidied()
    made = UpkeepRun(
        id=run.id, dry_run=False, done=done, left=left, seconds=time.monotonic() - began
    )
    yield Part(partial(_end, run=run, tasks=made.tasks, unfinished=bool(left)))
    return made


def _maintained(owner_id: str, how: Build, waited: datetime | None = None) -> Job[None]:
    """Does what is due for this rank index; only drops it if nobody has waited for writers."""
    known = yield Part(partial(states, owner_id=owner_id, at_least=how.at_least))
    doable = [one for one in known if one.shrunk or waited is not None]
    yield from maintained(doable, how, waited=waited)


def _collected(owner_id: str, run: collection_steps.Collection, until: float) -> Job[bool]:
    """Collects garbage in batches; False if there was no time for all of them."""
    after: UUID | None = None
    while True:
        row = yield Part(
            partial(
                collection_steps.collect_batch,
                run=run,
                owner_id=owner_id,
                after=after,
                batch_size=BATCH_SIZE,
            )
        )
        if not row.more:
            return True
        if time.monotonic() > until:
            return False
        after = row.last_id


@needs(VERB)
def due_tasks(
    tables: Tables, owner_id: str | None, policy: UpkeepPolicy, at_least: int
) -> Operation[list[UpkeepTask]]:
    """The tasks that are due for an owner, or for all."""
    rows = yield call(
        tables,
        "upkeep_due",
        agent=owner_id,
        at_least=at_least,
        **policy.parameters,
    )
    return [UpkeepTask(UpkeepKind(row.task), row.name, row.why, row.seconds) for row in rows]


@needs(VERB)
def health(tables: Tables, /, *, max_memories: int = MOST_MEMORIES) -> Operation[Health]:
    """Returns what needs doing, the last upkeep, and the state of the tables, of all owners.

    It reads indexes and the server's counters, and counts the memories of owners without a rank
    index. Owners, which are agents and teams, of more than `max_memories` are a problem. A role
    that row-level security restricts is told only that. Raises InputError.
    """
    require_count("max_memories", max_memories, at_least=1, at_most=2**63 - 1)
    problems = yield call(tables, "health", max_memories=max_memories)
    last = yield call(tables, "last_upkeep")
    of_tables = yield call(tables, "table_states")
    return Health(
        problems=[Problem(*row) for row in problems],
        last_upkeep=LastUpkeep(*last[0]) if last else None,
        tables=[TableState(*row) for row in of_tables],
    )


@needs(VERB)
def take_statistics(tables: Tables, relation: str) -> Operation[None]:
    """Analyses a table."""
    yield call(tables, "take_statistics", relation=relation)


@needs(VERB)
def _begin(
    tables: Tables, run: collection_steps.Collection, policy: UpkeepPolicy
) -> Operation[None]:
    """Adds the run's row to gc_runs, as one that was interrupted."""
    yield from collection_steps.begin_run(tables, run=run, policy=policy)
    yield from _end(tables, run, {}, unfinished=True)


@needs(VERB)
def _end(
    tables: Tables, run: collection_steps.Collection, tasks: dict[str, int], unfinished: bool
) -> Operation[None]:
    """Completes the run's row in gc_runs."""
    arguments = {"agent": run.owner_id, "run": run.id, "done": tasks, "unfinished": unfinished}
    yield call(tables, "end_upkeep", **arguments)
