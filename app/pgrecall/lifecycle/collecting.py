"""Garbage collection: archives old memories and deletes those of low trust."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any
from uuid import UUID

from pgrecall.core.ids import new_id
from pgrecall.core.interruption import says_how_far
from pgrecall.core.limits import MAX_BATCH
from pgrecall.core.steps import Ask, Job, Part
from pgrecall.core.validation import require_bool, require_callable, require_count
from pgrecall.errors import InputError
from pgrecall.lifecycle import collection_steps
from pgrecall.lifecycle.garbage import GarbagePolicy, GarbageRun

BATCH_SIZE = 1_000
NUMBERS = ("scanned", "archived", "deleted", "swept", "events", "runs")


def collect_garbage(
    policy: GarbagePolicy | None = None,
    *,
    agent_id: str | UUID | None = None,
    dry_run: bool = False,
    batch_size: int = BATCH_SIZE,
    on_progress: Callable[[GarbageRun], Any] | None = None,
) -> Job[GarbageRun]:
    """Archives and deletes memories by a policy, of one agent or of all.

    For each agent: memories below the policy's thresholds, too old or expired (see GarbagePolicy),
    then the least trusted beyond its cap, then events that are too old, then counters and
    links of memories that are gone, then earlier runs that are too old. Each batch of `batch_size`
    is a transaction of its own that locks only the rows it changes, in key order. So it can run
    beside writers, twice at once, and be interrupted without losing what it did. Each change is
    recorded as an event, each run as a row of gc_runs. `dry_run` only counts. `on_progress` is
    called after each batch with the run so far.

    Raises InputError.
    """
    policy = GarbagePolicy() if policy is None else policy
    if not isinstance(policy, GarbagePolicy):
        raise InputError(f"policy must be a GarbagePolicy, got {type(policy).__name__}")
    require_bool("dry_run", dry_run)
    require_callable("on_progress", on_progress)
    require_count("batch_size", batch_size, at_least=1, at_most=MAX_BATCH)
    owners: list[tuple[str, bool]] = yield Part(partial(collection_steps.owners, agent_id=agent_id))
    run = _Run(policy, None if agent_id is None else owners[0][0], dry_run, on_progress)
    if dry_run:
        return (yield from run.counted(owners))
    return (yield from run.collected(owners, batch_size))


class _Run:
    """One garbage collection and its numbers so far."""

    def __init__(
        self,
        policy: GarbagePolicy,
        owner_id: str | None,
        dry_run: bool,
        on_progress: Callable[[GarbageRun], Any] | None,
    ) -> None:
        self._policy = policy
        self._of_all = owner_id is None
        self._run = None if dry_run else collection_steps.Collection(new_id(), owner_id)
        self._numbers: Counter[str] = Counter()
        self._start = time.monotonic()
        self._on_progress = on_progress

    def counted(self, owners: list[tuple[str, bool]]) -> Job[GarbageRun]:
        for owner_id, has_memories in owners:
            self._numbers["owners"] += has_memories
            row = yield Part(
                partial(collection_steps.count_garbage, owner_id=owner_id, policy=self._policy)
            )
            yield from self._add(row)
        if self._of_all:
            counted = partial(collection_steps.count_runs, policy=self._policy)
            self._numbers["runs"] += yield Part(counted)
        return self._so_far()

    def collected(self, owners: list[tuple[str, bool]], batch_size: int) -> Job[GarbageRun]:
        run = self._run
        assert run is not None
        with says_how_far(self._done):
            yield Part(partial(collection_steps.begin_run, run=run, policy=self._policy))
            collect = partial(collection_steps.collect_batch, run=run, batch_size=batch_size)
            for owner_id, has_memories in owners:
                self._numbers["owners"] += has_memories
                after: UUID | None = None
                more = True
                while more:
                    row = yield Part(partial(collect, owner_id=owner_id, after=after))
                    yield from self._add(row)
                    after, more = row.last_id, row.more
            row = yield Part(partial(collection_steps.end_run, run=run))
        return replace(self._so_far(), runs=row.runs, seconds=row.seconds)

    def _done(self) -> str:
        done = self._so_far()
        return (
            f"{done.scanned:,} memories were looked at, {done.archived:,} archived and "
            f"{done.deleted:,} deleted"
        )

    def _add(self, row: Any) -> Job[None]:
        self._numbers.update({name: getattr(row, name) for name in NUMBERS})
        if self._on_progress is not None:
            yield Ask(self._on_progress, (self._so_far(),))

    def _so_far(self) -> GarbageRun:
        return GarbageRun(
            id=None if self._run is None else self._run.id,
            dry_run=self._run is None,
            owners=self._numbers["owners"],
            scanned=self._numbers["scanned"],
            archived=self._numbers["archived"],
            deleted=self._numbers["deleted"],
            swept=self._numbers["swept"],
            events=self._numbers["events"],
            runs=self._numbers["runs"],
            seconds=time.monotonic() - self._start,
        )
