"""pgrecall index build, maintain, list, check, drop"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.progress import BarColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

from pgrecall.cli.app import App
from pgrecall.cli.call import Call
from pgrecall.cli.output import Output, plain, table, warnings
from pgrecall.core.display import Column, numbers
from pgrecall.execution import MemoryRepository
from pgrecall.rank_index.index import RankIndexStatus
from pgrecall.rank_index.maintaining import Progress as OnProgress

POLL = 1.0
"""Seconds between two reads of the server's progress."""

app = App(
    name="index",
    help="Build and check rank indexes, which make searches of large agents fast.",
    no_args_is_help=True,
)


@app.method(
    "rank_indexes.build",
    "pgrecall index build",
    "pgrecall index build --agent zoe --at-least 1",
    without=("as_of",),
)
def build(call: Call) -> Output:
    """Build rank indexes for one agent, or for all agents with many memories.

    Readers and writers do not wait. An existing index is replaced once the new one is ready.
    """
    return _build(call, "nothing to build: no agent has so many memories")


@app.method("rank_indexes.maintain", "pgrecall index maintain")
def maintain(call: Call) -> Output:
    """Rebuild rank indexes that are due, and build those that are missing. Made for cron.

    `pgrecall index list` shows what is due and why. Searches continue meanwhile.
    """
    return _build(call, "nothing is due")


@app.method("rank_indexes.status", "pgrecall index list")
def list_(call: Call) -> Output:
    """List rank indexes: what has changed since each was built, and which are due."""
    shown = table(
        "agent",
        *numbers("memories", "written", "changed", "used", "MiB", "built"),
        Column("due", tone="warn"),
        rows=map(_row, statuses := call()),
    )
    least = call.arguments["at_least"]
    nothing = f"no rank indexes, and no agent has {least:,} memories or more"
    return Output(statuses, shown, otherwise=nothing)


@app.method("rank_indexes.drop", "pgrecall index drop --agent zoe")
def drop(call: Call) -> Output:
    dropped = call()
    return Output([{"dropped": dropped}], "dropped" if dropped else "there was no rank index")


def _build(call: Call, otherwise: str) -> Output:
    with _progress(call.repo) as advance:
        indexes = call(on_progress=advance)
    rows = ((one.agent_id, f"{one.memories:,}", f"{one.seconds:.1f}") for one in indexes)
    shown = table("agent", *numbers("memories", "seconds"), rows=rows)
    return Output(indexes, shown, otherwise=otherwise)


@contextmanager
def _progress(repo: MemoryRepository) -> Iterator[OnProgress]:
    """A bar of the agents, and one of the index that the server builds."""
    with _bar() as progress:
        agents = progress.add_task("waiting for writers", total=None)
        graph = progress.add_task("graph", total=1.0, visible=False)
        ended = threading.Event()
        current = ""

        def watch() -> None:
            while not ended.wait(POLL):
                statuses = repo.rank_indexes.status(agent_id=current, at_least=1) if current else ()
                share = next((status.progress for status in statuses), None)
                progress.update(graph, completed=share or 0.0, visible=share is not None)

        def show(agent_id: str, done: int, total: int) -> None:
            nonlocal current
            current = agent_id
            name = f"building for {plain(agent_id)}" if agent_id else "built"
            progress.update(agents, description=name, completed=done, total=total)

        watcher = threading.Thread(target=watch, daemon=True)
        watcher.start()
        try:
            yield show
        finally:
            ended.set()
            watcher.join()


def _bar() -> Progress:
    return Progress(
        SpinnerColumn(),
        TextColumn("{task.description}", markup=False),
        BarColumn(),
        TextColumn("{task.percentage:>3.0f} %"),
        TimeElapsedColumn(),
        # Disabled alone, it prints an empty line before Rich 14.3.
        console=warnings if warnings.is_terminal else Console(quiet=True),
        transient=True,
        disable=not warnings.is_terminal,
    )


def _row(status: RankIndexStatus) -> tuple[str, ...]:
    index = status.index
    if index is None:
        memories = f"{status.memories or 0:,}"
        return status.agent_id, memories, *[""] * 5, status.due or ""
    return (
        status.agent_id,
        *(f"{n:,}" for n in (index.memories, status.written, status.changed, status.used)),
        f"{status.bytes / 2**20:,.1f}",
        f"{index.built_at:%Y-%m-%d %H:%M}",
        status.due or "",
    )
