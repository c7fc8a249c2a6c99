"""pgrecall index build|maintain|list|check|drop"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.progress import BarColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn
from rich.table import Table
from rich.text import Text

from pgrecall.cli.app import App
from pgrecall.cli.database import Agent, AsJson, DatabaseUrl, Schema
from pgrecall.cli.options import K
from pgrecall.cli.output import complaints, console, plain, print_json
from pgrecall.cli.profile_commands import named_or_loaded
from pgrecall.cli.show import OfTeam, memories
from pgrecall.core.quoting import LONGEST, shortened
from pgrecall.errors import InputError
from pgrecall.execution import MemoryRepository
from pgrecall.memories.importing import lines_of, naming_line
from pgrecall.rank_index.index import (
    AT_LEAST,
    EF_CONSTRUCTION,
    M,
    RankIndex,
    RankIndexCheck,
    RankIndexStatus,
)
from pgrecall.rank_index.maintaining import Progress as ShowProgress
from pgrecall.schema import DEFAULT_SCHEMA
from pgrecall.scoring.profiles import BUILT_IN
from pgrecall.search.checking import SAMPLE

POLL = 0.3
"""Seconds between two looks at how far the server is."""

app = App(help="Rank indexes: fast searches for agents with many memories.", no_args_is_help=True)

AnyAgent = Annotated[str | None, typer.Option("--agent", "-a", help="Only this agent's.")]
AtLeast = Annotated[int, typer.Option(help="For agents of at least so many memories.")]
Links = Annotated[int, typer.Option("--m", help="HNSW: links of a node.")]
Construction = Annotated[
    int, typer.Option("--ef-construction", help="HNSW: candidates looked at for each node.")
]


@app.command()
def build(
    agent: AnyAgent = None,
    at_least: AtLeast = AT_LEAST,
    m: Links = M,
    ef_construction: Construction = EF_CONSTRUCTION,
    of_team: OfTeam = False,
    database_url: DatabaseUrl = None,
    schema: Schema = DEFAULT_SCHEMA,
    json: AsJson = False,
) -> None:
    """Build rank indexes: of one agent, or of every agent with many memories.

    Nothing that reads or writes memories waits for it. An index that is there is replaced when the
    new one is ready. Searches use it from --at-least memories on.
    """
    with memories(database_url, schema, of_team) as repo, _progress(repo) as show:
        built = repo.rank_indexes.build(
            agent_id=agent,
            at_least=at_least,
            m=m,
            ef_construction=ef_construction,
            on_progress=show,
        )
    _print_built(built, "nothing to build: no agent has so many memories", json=json)


@app.command()
def maintain(
    agent: AnyAgent = None,
    at_least: AtLeast = AT_LEAST,
    m: Links = M,
    ef_construction: Construction = EF_CONSTRUCTION,
    of_team: OfTeam = False,
    database_url: DatabaseUrl = None,
    schema: Schema = DEFAULT_SCHEMA,
    json: AsJson = False,
) -> None:
    """Build anew what is due, and indexes for agents that have grown large; for cron.

    `pgrecall index list` tells what is due and why. Searches go on meanwhile.
    """
    with memories(database_url, schema, of_team) as repo, _progress(repo) as show:
        built = repo.rank_indexes.maintain(
            agent_id=agent,
            at_least=at_least,
            m=m,
            ef_construction=ef_construction,
            on_progress=show,
        )
    _print_built(built, "nothing is due", json=json)


@app.command("list")
def list_(
    agent: AnyAgent = None,
    at_least: AtLeast = AT_LEAST,
    of_team: OfTeam = False,
    database_url: DatabaseUrl = None,
    schema: Schema = DEFAULT_SCHEMA,
    json: AsJson = False,
) -> None:
    """List rank indexes, what has happened since each was built, and which are due."""
    with memories(database_url, schema, of_team) as repo:
        found = repo.rank_indexes.status(agent_id=agent, at_least=at_least)
    if json:
        for status in found:
            print_json(status.record())
    elif not found:
        console.print(f"no rank indexes, and no agent of {at_least:,} memories without one")
    else:
        console.print(_listed(found))


@app.command()
def check(
    agent: Agent,
    sample: Annotated[int, typer.Option(help="So many of its memories as queries.")] = SAMPLE,
    queries: Annotated[
        Path | None, typer.Option(help="A file of queries instead, one text a line.")
    ] = None,
    k: K = 10,
    profile: Annotated[
        list[str] | None,
        typer.Option("--profile", "-p", help="Profiles or files; by default the built-in ones."),
    ] = None,
    min_recall: Annotated[
        float, typer.Option(help="Exit with 1 when a profile finds less than this share.")
    ] = 0.0,
    of_team: OfTeam = False,
    database_url: DatabaseUrl = None,
    schema: Schema = DEFAULT_SCHEMA,
    json: AsJson = False,
) -> None:
    """Compare searches through the rank index with exact ones: how much they find, how fast."""
    texts = None if queries is None else _texts(queries)
    chosen = [named_or_loaded(name) for name in profile or BUILT_IN]
    found: list[RankIndexCheck] = []
    with memories(database_url, schema, of_team) as repo, _bar() as progress:
        if not any(status.index for status in repo.rank_indexes.status(agent_id=agent)):
            raise InputError(
                f"{'team' if of_team else 'agent'} {shortened(agent)} has no rank index to check; "
                "`pgrecall index build` builds one"
            )
        for one in chosen:
            task = progress.add_task(f"checking {one.name}", total=None)

            def show(done: int, total: int, task: int = task) -> None:
                progress.update(task, completed=done, total=total)  # type: ignore[arg-type]

            found.append(
                repo.rank_indexes.check(
                    agent, sample=sample, queries=texts, k=k, profile=one, on_progress=show
                )
            )
    if json:
        for each in found:
            print_json(each.record())
    else:
        console.print(_checked(found))
    if any(each.recall < min_recall for each in found):
        raise typer.Exit(1)


@app.command()
def drop(
    agent: Agent,
    of_team: OfTeam = False,
    database_url: DatabaseUrl = None,
    schema: Schema = DEFAULT_SCHEMA,
    json: AsJson = False,
) -> None:
    """Drop an agent's rank index; its searches score every memory from then on."""
    with memories(database_url, schema, of_team) as repo:
        dropped = repo.rank_indexes.drop(agent)
    if json:
        print_json({"dropped": dropped})
    else:
        console.print("dropped" if dropped else "there was none")


@contextmanager
def _progress(repo: MemoryRepository) -> Iterator[ShowProgress]:
    """A bar for the agents and one for the index that the server is building."""
    with _bar() as progress:
        agents = progress.add_task("waiting for writers", total=None)
        graph = progress.add_task("graph", total=1.0, visible=False)
        over = threading.Event()

        def watch() -> None:
            while not over.wait(POLL):
                share = repo.rank_indexes.progress()
                progress.update(graph, completed=share or 0.0, visible=share is not None)

        def show(agent_id: str, done: int, total: int) -> None:
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


def _print_built(built: list[RankIndex], otherwise: str, *, json: bool) -> None:
    if json:
        for index in built:
            print_json(index.record())
    elif not built:
        console.print(otherwise)
    else:
        table = Table(show_edge=False)
        for column in ("agent", "memories", "seconds"):
            table.add_column(column, justify="left" if column == "agent" else "right")
        for index in built:
            table.add_row(
                Text(plain(index.agent_id)), f"{index.memories:,}", f"{index.seconds:.1f}"
            )
        console.print(table)


def _listed(found: list[RankIndexStatus]) -> Table:
    table = Table(show_edge=False)
    table.add_column("agent", overflow="fold")
    for column in ("memories", "written", "changed", "used", "MiB", "built"):
        table.add_column(column, justify="right")
    table.add_column("due", style="yellow")
    for status in found:
        index = status.index
        table.add_row(
            Text(plain(status.agent_id)),
            f"{status.memories or 0:,}" if index is None else f"{index.memories:,}",
            *(
                "" if index is None else f"{n:,}"
                for n in (status.written, status.changed, status.used)
            ),
            "" if index is None else f"{status.bytes / 2**20:,.1f}",
            "" if index is None else f"{index.built_at:%Y-%m-%d %H:%M}",
            status.due or "",
        )
    return table


def _checked(found: list[RankIndexCheck]) -> Table:
    table = Table(show_edge=False)
    table.add_column("profile", style="bold")
    for column in ("queries", "in index", "recall", "worst", "exact ms", "index ms", "faster"):
        table.add_column(column, justify="right")
    for each in found:
        table.add_row(
            Text(plain(each.profile)),
            str(each.queries),
            str(each.in_index),
            f"{each.recall:.3f}" if each.in_index else "index not used",
            f"{each.worst:.2f}" if each.in_index else "",
            f"{each.exact_ms:.1f}",
            f"{each.index_ms:.1f}",
            f"{each.exact_ms / each.index_ms:.1f} ×",
        )
    return table


def _texts(path: Path) -> list[str]:
    """The lines of a file that are not empty."""
    found = []
    for number, line, _ in lines_of(path):
        with naming_line(path, number):
            found.append(line.decode().strip())
    if not found:
        raise InputError(f"{shortened(path, LONGEST)} has no queries")
    return found
