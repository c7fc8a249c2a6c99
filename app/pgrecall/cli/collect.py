"""pgrecall gc"""

from __future__ import annotations

from typing import Annotated

import typer
from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

from pgrecall.cli.app import App
from pgrecall.cli.database import AsJson, DatabaseUrl, Schema
from pgrecall.cli.output import complaints, console, print_json
from pgrecall.cli.show import OfTeam, memories
from pgrecall.lifecycle.collecting import BATCH_SIZE
from pgrecall.lifecycle.garbage import GarbagePolicy, GarbageRun
from pgrecall.schema import DEFAULT_SCHEMA

app = App(panel="Curate")


@app.command()
def gc(
    agent: Annotated[
        str | None, typer.Option("--agent", "-a", help="Only this agent's memories.")
    ] = None,
    min_trust_threshold: Annotated[
        float, typer.Option(help="Archive below this trust; 0: none.")
    ] = 0.2,
    max_age_hours: Annotated[float, typer.Option(help="Archive what is older.")] = 720,
    delete_threshold: Annotated[float, typer.Option(help="Delete below this; 0: none.")] = 0.1,
    max_live: Annotated[
        int | None, typer.Option(help="Archive the least trusted beyond so many.")
    ] = None,
    any_age: Annotated[bool, typer.Option("--any-age", help="Do not look at age.")] = False,
    policy: Annotated[str, typer.Option(help="A name for the log.")] = "default",
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only count.")] = False,
    batch_size: Annotated[int, typer.Option(help="Memories per transaction.")] = BATCH_SIZE,
    of_team: OfTeam = False,
    database_url: DatabaseUrl = None,
    schema: Schema = DEFAULT_SCHEMA,
    json: AsJson = False,
) -> None:
    """Archive memories that are not trusted, too old or expired; delete those not trusted at all.

    Of every agent, or of one. Short transactions, safe beside writers and twice at once; each run
    leaves a row in gc_runs, a dry run none.
    """
    chosen = GarbagePolicy(
        name=policy,
        min_trust_threshold=min_trust_threshold,
        max_age_hours=None if any_age else max_age_hours,
        delete_threshold=delete_threshold,
        max_live=max_live,
    )
    columns = (SpinnerColumn(), TextColumn("{task.description}"), TimeElapsedColumn())
    with (
        memories(database_url, schema, of_team) as repo,
        Progress(*columns, console=complaints, transient=True) as progress,
    ):
        task = progress.add_task("collecting garbage", total=None)

        def show(run: GarbageRun) -> None:
            progress.update(task, description=_said(run))

        run = repo.upkeep.collect_garbage(
            chosen, agent_id=agent, dry_run=dry_run, batch_size=batch_size, on_progress=show
        )
    if json:
        print_json(run.record())
    else:
        console.print(
            ("[bold]dry run:[/] " if dry_run else "") + f"{_said(run)} in {run.seconds:.1f} s",
            highlight=False,
        )


def _said(run: GarbageRun) -> str:
    return (
        f"{run.scanned:,} live memories scanned, {run.archived:,} archived, "
        f"{run.deleted:,} deleted, {run.swept:,} leftovers swept"
    )
