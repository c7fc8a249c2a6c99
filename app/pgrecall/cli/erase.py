"""pgrecall erase"""

from __future__ import annotations

from typing import Annotated

import typer
from rich.progress import Progress

from pgrecall.cli.app import App
from pgrecall.cli.database import Agent
from pgrecall.cli.memory_ids import MemoryIds
from pgrecall.cli.output import Output, complaints, counted, plain, working
from pgrecall.cli.written import option
from pgrecall.errors import InputError
from pgrecall.execution import MemoryRepository
from pgrecall.lifecycle.erased import Erased

app = App(panel="Curate")


@app.declare(
    "pgrecall erase 0197a3c2 --agent zoe --vacuum",
    "pgrecall erase --everything --agent zoe --dry-run",
)
def erase(
    repo: MemoryRepository,
    agent: Agent,
    memory: MemoryIds = (),  # type: ignore[assignment]  # Typer makes it a list
    everything: Annotated[
        bool, option("Erase the agent, instead of some memories.", "--everything")
    ] = False,
    dry_run: Annotated[bool, option("Count, but change nothing.", "--dry-run")] = False,
    vacuum: Annotated[
        bool, option("Then remove the deleted rows from the tables: VACUUM.", "--vacuum")
    ] = False,
    yes: Annotated[bool, option("Do not ask for confirmation.", "--yes", "-y")] = False,
) -> Output:
    """Delete memories, or everything of an agent, and leave nothing: neither history nor counters.

    `delete` keeps the history. An interrupted erasure of an agent can be started again.
    """
    if bool(memory) == everything:
        raise InputError("name memories by their ids, or --everything of the agent; not both")
    if not yes and not dry_run:
        what = "everything" if everything else counted(len(memory), "memory", "memories")
        question = f"Erase {what} of {plain(agent)}? This cannot be undone."
        typer.confirm(question, abort=True, err=True)
    if not everything:
        with working("erasing"):
            erased = repo.erase(agent, memory, dry_run=dry_run, vacuum=vacuum)
        return Output([erased.record()], *_said(erased))
    with Progress(console=complaints, transient=True) as progress:
        task = progress.add_task("erasing", total=None)
        erased = repo.upkeep.erase_owner(
            agent,
            dry_run=dry_run,
            on_progress=lambda done, of: progress.update(task, completed=done.memories, total=of),
        )
    if vacuum and not dry_run:
        with working("vacuuming"):
            repo.erase(agent, (), vacuum=True)
    return Output([erased.record()], *_said(erased))


def _said(erased: Erased) -> list[str]:
    counts = (
        counted(erased.memories, "memory", "memories"),
        counted(erased.counters, "counter", "counters"),
        counted(erased.labels, "label", "labels"),
        counted(erased.links, "link", "links"),
        counted(erased.events, "event", "events"),
        counted(erased.positions, "position", "positions"),
        counted(erased.mentions, "mention", "mentions"),
        counted(erased.runs, "run of the garbage collection", "runs of the garbage collection"),
    )
    start = "dry run: " if erased.dry_run else ""
    lines = [f"{start}{', '.join(counts)} erased"]
    if erased.derived:
        lines.append(
            "not erased, but made from erased memories: " + ", ".join(map(str, erased.derived))
        )
    return lines
