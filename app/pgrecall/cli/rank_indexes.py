"""pgrecall index build, maintain, list, check, drop"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.progress import BarColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

from pgrecall.cli.app import App
from pgrecall.cli.call import Call
from pgrecall.cli.database import Agent
from pgrecall.cli.embedding import EmbedsTexts
from pgrecall.cli.options import Profiles
from pgrecall.cli.output import Output, plain, table, warnings
from pgrecall.cli.parsers import option
from pgrecall.core.display import Column, numbers
from pgrecall.core.quoting import LONGEST, shortened
from pgrecall.errors import InputError
from pgrecall.execution import MemoryRepository
from pgrecall.execution.method import method_of_job
from pgrecall.execution.namespace import Namespace, R_co
from pgrecall.memories.lines import lines_of, naming_line
from pgrecall.rank_index.index import RankIndexCheck, RankIndexStatus
from pgrecall.rank_index.maintaining import Progress as OnProgress
from pgrecall.scoring.profiles import BUILT_IN
from pgrecall.search.checking import SAMPLE, check_rank_index

POLL = 1.0
"""Seconds between two reads of the server's progress."""

app = App(
    name="index",
    help="Build and check rank indexes, which make searches of large agents fast.",
    no_args_is_help=True,
)


class Checks(Namespace[R_co]):
    """Checks of rank indexes, which only this command makes."""

    check = method_of_job(lambda: check_rank_index)


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


@app.function(
    "pgrecall index check --agent zoe --profile hybrid",
    "pgrecall index check --agent zoe --queries queries.txt --min-recall 0.95",
)
def check(
    repo: EmbedsTexts,
    agent: Agent,
    sample: Annotated[int, option("Use this many memories of the agent as queries.")] = SAMPLE,
    queries: Annotated[
        Path | None, option("Use these queries instead: a file with one per line.")
    ] = None,
    k: Annotated[int, option("How many memories to return.", "-k")] = 10,
    profiles: Profiles = None,
    min_recall: Annotated[float, option("Exit with 1 if a profile has less recall.")] = 0.0,
) -> Output:
    """Compare searches by the rank index with exact ones: their recall and their speed."""
    texts = None if queries is None else _texts(queries)
    if not any(status.index for status in repo.rank_indexes.status(agent_id=agent)):
        raise InputError(
            f"{shortened(agent)} has no rank index to check; `pgrecall index build` builds one"
        )
    checks: list[RankIndexCheck] = []
    with _bar() as progress:
        for profile in profiles or BUILT_IN.values():
            task = progress.add_task(f"checking {profile.name}", total=None)

            def advance(done: int, total: int, task: int = task) -> None:
                progress.update(task, completed=done, total=total)  # type: ignore[arg-type]

            checks.append(
                Checks(repo).check(
                    agent, sample=sample, queries=texts, k=k, profile=profile, on_progress=advance
                )
            )
    is_low = any(check.recall < min_recall for check in checks)
    columns = numbers("queries", "in index", "recall", "worst", "exact ms", "index ms", "faster")
    shown = table(Column("profile", tone="bold"), *columns, rows=map(_check_row, checks))
    return Output(checks, shown, problem=typer.Exit(1) if is_low else None)


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


def _check_row(check: RankIndexCheck) -> tuple[str, ...]:
    return (
        check.profile,
        str(check.queries),
        str(check.in_index),
        f"{check.recall:.3f}" if check.in_index else "index not used",
        f"{check.worst:.2f}" if check.in_index else "",
        f"{check.exact_ms:.1f}",
        f"{check.index_ms:.1f}",
        f"{check.exact_ms / check.index_ms:.1f} ×",
    )


def _texts(path: Path) -> list[str]:
    """The lines of a file that are not empty."""
    texts = []
    for number, line, _ in lines_of(path):
        with naming_line(path, number):
            texts.append(line.decode().strip())
    if not texts:
        raise InputError(f"{shortened(path, LONGEST)} has no queries")
    return texts
