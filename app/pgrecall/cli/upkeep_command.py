"""pgrecall upkeep run"""

from __future__ import annotations

from typing import Any

from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

from pgrecall.cli.app import App
from pgrecall.cli.call import Call
from pgrecall.cli.output import Output, plain, table, warnings
from pgrecall.core.display import numbers
from pgrecall.lifecycle.upkeep import UpkeepRun, UpkeepTask

app = App(name="upkeep", help="Do what has to be done from time to time.", no_args_is_help=True)


@app.method(
    "upkeep.run",
    "pgrecall upkeep run --dry-run",
    "pgrecall upkeep run --within 3600",
    "pgrecall upkeep run --max-event-age-hours 8760",
)
def run(call: Call) -> Output:
    """Do what is due: archive what has expired, bring rank indexes up to date, take statistics.

    Made for cron. Readers and writers do not wait. Without --agent, of all agents and teams.
    """
    columns = (TextColumn("{task.description}"), BarColumn(), TimeElapsedColumn())
    quiet = not warnings.is_interactive
    with Progress(*columns, console=warnings, transient=True, disable=quiet) as progress:
        bar = progress.add_task("looking for what is due", total=None)

        def advance(task: UpkeepTask, done: int, total: int) -> None:
            shown = f"{task.task}: {plain(task.name)}"
            progress.update(bar, description=shown, completed=done, total=total)

        made: UpkeepRun = call(on_progress=advance)
    rows = [_row(task, "due" if made.dry_run else "done") for task in made.done]
    rows += [_row(task, "left") for task in made.left]
    shown = table("task", "of", "why", *numbers("seconds"), "", rows=rows)
    return Output([made], shown if rows else "nothing is due")


def _row(task: UpkeepTask, state: str) -> tuple[Any, ...]:
    return str(task.task), task.name, task.why, f"{task.seconds:.1f}", state
