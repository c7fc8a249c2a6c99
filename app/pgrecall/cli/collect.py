"""pgrecall gc"""

from __future__ import annotations

from typing import Annotated

from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

from pgrecall.cli.app import App
from pgrecall.cli.database import AnyAgent
from pgrecall.cli.output import Output, complaints
from pgrecall.cli.written import option
from pgrecall.execution import MemoryRepository
from pgrecall.lifecycle.collecting import BATCH_SIZE
from pgrecall.lifecycle.garbage import GarbagePolicy, GarbageRun

app = App(panel="Curate")


@app.declare("pgrecall gc --dry-run", "pgrecall gc --agent zoe --max-age-hours 2160")
def gc(
    repo: MemoryRepository,
    agent: AnyAgent = None,
    min_trust_threshold: Annotated[
        float, option("Archive memories with less trust; 0: none.")
    ] = 0.2,
    max_age_hours: Annotated[float, option("Archive memories that are older.")] = 720,
    delete_threshold: Annotated[float, option("Delete memories with less trust; 0: none.")] = 0.1,
    max_live: Annotated[
        int | None, option("Keep this many live memories of an agent; archive the least trusted.")
    ] = None,
    max_event_age_hours: Annotated[
        float | None, option("Delete events of the history that are older, from 24 on.")
    ] = None,
    max_run_age_hours: Annotated[
        float | None, option("Delete rows of gc_runs that are older, from 24 on.")
    ] = None,
    any_age: Annotated[bool, option("Ignore age.", "--any-age")] = False,
    policy: Annotated[str, option("Name of these rules in gc_runs.")] = "default",
    dry_run: Annotated[bool, option("Count, but change nothing.", "--dry-run")] = False,
    batch_size: Annotated[int, option("Memories per transaction.")] = BATCH_SIZE,
) -> Output:
    """Collect garbage: archive memories with little trust, old or expired ones, and delete the
    least trusted.

    Works in short transactions, safely beside writers and other runs. Each run is a row in
    gc_runs.
    """
    chosen = GarbagePolicy(
        name=policy,
        min_trust_threshold=min_trust_threshold,
        max_age_hours=None if any_age else max_age_hours,
        delete_threshold=delete_threshold,
        max_live=max_live,
        max_event_age_hours=max_event_age_hours,
        max_run_age_hours=max_run_age_hours,
    )
    columns = (SpinnerColumn(), TextColumn("{task.description}"), TimeElapsedColumn())
    with Progress(*columns, console=complaints, transient=True) as progress:
        task = progress.add_task("collecting garbage", total=None)
        run = repo.upkeep.collect_garbage(
            chosen,
            agent_id=agent,
            dry_run=dry_run,
            batch_size=batch_size,
            on_progress=lambda run: progress.update(task, description=_said(run)),
        )
    start = "dry run: " if dry_run else ""
    return Output([run.record()], f"{start}{_said(run)} in {run.seconds:.1f} s")


def _said(run: GarbageRun) -> str:
    return (
        f"{run.scanned:,} live memories scanned, {run.archived:,} archived, "
        f"{run.deleted:,} deleted, {run.swept:,} leftovers, "
        f"{run.events:,} old events and {run.runs:,} old runs removed"
    )
