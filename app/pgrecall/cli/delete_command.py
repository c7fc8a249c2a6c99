"""pgrecall delete"""

from __future__ import annotations

from typing import Annotated, Unpack

import typer

from pgrecall.cli.app import App
from pgrecall.cli.database import Agent
from pgrecall.cli.memory_ids import OptionalIds
from pgrecall.cli.options import Actor, Reason
from pgrecall.cli.output import Output, counted, number, plain
from pgrecall.cli.written import option
from pgrecall.execution import MemoryRepository
from pgrecall.ranking.filters import FilterArguments

app = App(panel="Curate")


@app.declare(
    "pgrecall delete 0197a3c2 0197a3d8 --agent zoe",
    "pgrecall delete --tag draft --created-before 2026-01-01 --dry-run --agent zoe",
)
def delete(
    repo: MemoryRepository,
    agent: Agent,
    memory: OptionalIds = None,
    dry_run: Annotated[bool, option("Only count them.", "--dry-run")] = False,
    yes: Annotated[bool, option("Do not ask for confirmation.", "--yes", "-y")] = False,
    reason: Reason = None,
    actor: Actor = None,
    **filters: Unpack[FilterArguments],
) -> Output:
    """Delete memories by their ids, or all that pass filters. Their history remains."""
    ids = memory or None
    if ids is None and not yes and not dry_run:
        found = repo.delete(agent, dry_run=True, **filters)
        question = f"Delete {counted(found, 'memory', 'memories')} of {plain(agent)}?"
        typer.confirm(f"{question} This cannot be undone.", abort=True, err=True)
    done = repo.delete(agent, ids, dry_run=dry_run, reason=reason, actor=actor, **filters)
    return number("deleted", done, "to be deleted" if dry_run else "deleted")
