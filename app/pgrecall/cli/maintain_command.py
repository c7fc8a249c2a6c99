"""pgrecall maintain"""

from __future__ import annotations

import sys
from dataclasses import asdict, replace
from typing import Annotated, Any

import typer

from pgrecall.cli.app import App
from pgrecall.cli.call import Call
from pgrecall.cli.curation_commands import Yes
from pgrecall.cli.output import Output, progress_bar, table, warnings
from pgrecall.cli.parsers import option
from pgrecall.core.display import numbers
from pgrecall.errors import InputError
from pgrecall.lifecycle.maintenance import MaintenanceRun
from pgrecall.lifecycle.retention import RetentionPolicy

app = App()


@app.method(
    "maintenance.run",
    "pgrecall maintain --dry-run",
    "pgrecall maintain --within 3600",
    "pgrecall maintain --grace --agent zoe --yes",
    dry_run=option("Say what is due, but change nothing."),
    within=option("Seconds. No task begins that would take longer; the next run does the rest."),
    at_least=option("Build rank indexes for agents with this many memories or more."),
)
def maintain(
    call: Call,
    grace: Annotated[
        bool,
        option("Rules of Grace: archive below trust 0.2 or after 720 hours, delete below 0.1."),
    ] = False,
    yes: Yes = False,
) -> Output:
    """Do what is due: archive what has expired, bring rank indexes up to date, take statistics.

    Made for cron. Readers and writers do not wait. Without --agent, of all agents and teams. Only
    the options of a policy archive or delete more: then it shows what it would do, and asks.
    """
    policy = call.arguments["policy"]
    if grace:
        given = {name: rule for name, rule in asdict(policy).items() if rule is not None}
        policy = replace(RetentionPolicy.grace(), **given)
    if policy.removes_memories and not yes and not call.arguments["dry_run"]:
        if not sys.stdin.isatty():
            raise InputError(
                "this policy archives or deletes memories that have not expired: look at what it "
                "would do with --dry-run, then pass --yes"
            )
        due: MaintenanceRun = call(policy=policy, dry_run=True)
        if due.archived or due.deleted:
            warnings.print(*_shown(due), sep="\n")
            typer.confirm("Do this?", abort=True, err=True)
    with progress_bar("looking for what is due") as advance:
        made: MaintenanceRun = call(
            policy=policy,
            on_progress=lambda task, done, total: advance(done, total, f"{task.task}: {task.name}"),
        )
    return Output([made], *_shown(made))


def _shown(run: MaintenanceRun) -> list[Any]:
    tasks = [(task, "due" if run.dry_run else "done") for task in run.done]
    tasks += [(task, "left") for task in run.left]
    if not tasks:
        return ["nothing is due"]
    rows = [(task.task, task.name, task.why, f"{task.seconds:.1f}", state) for task, state in tasks]
    shown = table("task", "of", "why", *numbers("seconds"), "", rows=rows)
    return [
        shown,
        f"{'dry run: ' if run.dry_run else ''}{run.archived:,} memories archived, "
        f"{run.deleted:,} deleted, {run.completed:,} tasks completed, {run.orphans:,} orphans, "
        f"{run.events:,} old events and {run.runs:,} old runs removed",
    ]
