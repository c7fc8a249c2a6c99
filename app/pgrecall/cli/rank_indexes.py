"""pgrecall index build, maintain, list, check, drop"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, TypedDict, Unpack

import typer
from rich.console import Console
from rich.progress import BarColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn
from rich.table import Column

from pgrecall.cli.app import App
from pgrecall.cli.database import Agent, AnyAgent
from pgrecall.cli.embedding import EmbedsTexts
from pgrecall.cli.options import K, Profiles
from pgrecall.cli.output import Output, complaints, plain, right, table
from pgrecall.cli.written import option
from pgrecall.core.quoting import LONGEST, shortened
from pgrecall.errors import InputError
from pgrecall.execution import MemoryRepository
from pgrecall.execution.method import method_of_job
from pgrecall.execution.namespace import Namespace, R_co
from pgrecall.memories.lines import lines_of, naming_line
from pgrecall.rank_index.index import (
    AT_LEAST,
    EF_CONSTRUCTION,
    M,
    RankIndex,
    RankIndexCheck,
    RankIndexStatus,
)
from pgrecall.rank_index.maintaining import Progress as ShowProgress
from pgrecall.scoring.profiles import BUILT_IN
from pgrecall.search.checking import SAMPLE, check_rank_index

POLL = 1.0
"""Seconds between two looks at how far the server is."""

app = App(
    name="index",
    panel="Administer",
    help="Build and check rank indexes, which make searches of large agents fast.",
    no_args_is_help=True,
)

AtLeast = Annotated[
    int, option(f"Only agents with this many memories or more. Default: {AT_LEAST}.")
]


class Checks(Namespace[R_co]):
    """Checks of rank indexes, which only this command makes."""

    check = method_of_job(lambda: check_rank_index)


class Building(TypedDict, total=False):
    """The arguments of `build` and `maintain`."""

    at_least: AtLeast
    m: Annotated[int, option(f"HNSW: links of each node. Default: {M}.", "--m")]
    ef_construction: Annotated[
        int,
        option(
            f"HNSW: candidates looked at for each node while building. Default: {EF_CONSTRUCTION}."
        ),
    ]


@app.declare("pgrecall index build", "pgrecall index build --agent zoe --at-least 1")
def build(repo: MemoryRepository, agent: AnyAgent = None, **options: Unpack[Building]) -> Output:
    """Build rank indexes for one agent, or for all agents with many memories.

    Readers and writers do not wait. An existing index is replaced once the new one is ready.
    """
    with _progress(repo) as show:
        built = repo.rank_indexes.build(agent_id=agent, on_progress=show, **options)
    return _built(built, "nothing to build: no agent has so many memories")


@app.declare("pgrecall index maintain")
def maintain(repo: MemoryRepository, agent: AnyAgent = None, **options: Unpack[Building]) -> Output:
    """Rebuild rank indexes that are due, and build those that are missing. Made for cron.

    `pgrecall index list` shows what is due and why. Searches continue meanwhile.
    """
    with _progress(repo) as show:
        built = repo.rank_indexes.maintain(agent_id=agent, on_progress=show, **options)
    return _built(built, "nothing is due")


@app.declare("pgrecall index list", name="list")
def list_(repo: MemoryRepository, agent: AnyAgent = None, at_least: AtLeast = AT_LEAST) -> Output:
    """List rank indexes: what has changed since each was built, and which are due."""
    found = repo.rank_indexes.status(agent_id=agent, at_least=at_least)
    shown = table(
        Column("agent", overflow="fold"),
        *right("memories", "written", "changed", "used", "MiB", "built"),
        Column("due", style="yellow"),
        rows=map(_row, found),
    )
    return Output(
        (status.record() for status in found),
        shown,
        otherwise=f"no rank indexes, and no agent has {at_least:,} memories or more",
    )


@app.declare(
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
    k: K = 10,
    profiles: Profiles = None,
    min_recall: Annotated[float, option("Exit with 1 if a profile has less recall.")] = 0.0,
) -> Output:
    """Compare searches by the rank index with exact ones: their recall and their speed."""
    texts = None if queries is None else _texts(queries)
    if not any(status.index for status in repo.rank_indexes.status(agent_id=agent)):
        raise InputError(
            f"{shortened(agent)} has no rank index to check; `pgrecall index build` builds one"
        )
    found: list[RankIndexCheck] = []
    with _bar() as progress:
        for profile in profiles or BUILT_IN.values():
            task = progress.add_task(f"checking {profile.name}", total=None)

            def show(done: int, total: int, task: int = task) -> None:
                progress.update(task, completed=done, total=total)  # type: ignore[arg-type]

            found.append(
                Checks(repo).check(
                    agent, sample=sample, queries=texts, k=k, profile=profile, on_progress=show
                )
            )
    is_low = any(each.recall < min_recall for each in found)
    columns = right("queries", "in index", "recall", "worst", "exact ms", "index ms", "faster")
    return Output(
        (each.record() for each in found),
        table(Column("profile", style="bold"), *columns, rows=map(_checked, found)),
        problem=typer.Exit(1) if is_low else None,
    )


@app.declare("pgrecall index drop --agent zoe")
def drop(repo: MemoryRepository, agent: Agent) -> Output:
    """Drop an agent's rank index. Its searches are exact from then on."""
    dropped = repo.rank_indexes.drop(agent)
    return Output([{"dropped": dropped}], "dropped" if dropped else "there was no rank index")


@contextmanager
def _progress(repo: MemoryRepository) -> Iterator[ShowProgress]:
    """A bar for the agents and one for the index that the server is building."""
    with _bar() as progress:
        agents = progress.add_task("waiting for writers", total=None)
        graph = progress.add_task("graph", total=1.0, visible=False)
        over = threading.Event()
        current = ""

        def watch() -> None:
            while not over.wait(POLL):
                of_it = repo.rank_indexes.status(agent_id=current, at_least=1) if current else ()
                share = next((status.progress for status in of_it), None)
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
            over.set()
            watcher.join()


def _bar() -> Progress:
    return Progress(
        SpinnerColumn(),
        TextColumn("{task.description}", markup=False),
        BarColumn(),
        TextColumn("{task.percentage:>3.0f} %"),
        TimeElapsedColumn(),
        # Disabled alone, it prints an empty line before Rich 14.3.
        console=complaints if complaints.is_terminal else Console(quiet=True),
        transient=True,
        disable=not complaints.is_terminal,
    )


def _built(built: list[RankIndex], otherwise: str) -> Output:
    rows = ((one.agent_id, f"{one.memories:,}", f"{one.seconds:.1f}") for one in built)
    shown = table("agent", *right("memories", "seconds"), rows=rows)
    return Output((one.record() for one in built), shown, otherwise=otherwise)


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


def _checked(each: RankIndexCheck) -> tuple[str, ...]:
    return (
        each.profile,
        str(each.queries),
        str(each.in_index),
        f"{each.recall:.3f}" if each.in_index else "index not used",
        f"{each.worst:.2f}" if each.in_index else "",
        f"{each.exact_ms:.1f}",
        f"{each.index_ms:.1f}",
        f"{each.exact_ms / each.index_ms:.1f} ×",
    )


def _texts(path: Path) -> list[str]:
    """The lines of a file that are not empty."""
    found = []
    for number, line, _ in lines_of(path):
        with naming_line(path, number):
            found.append(line.decode().strip())
    if not found:
        raise InputError(f"{shortened(path, LONGEST)} has no queries")
    return found
