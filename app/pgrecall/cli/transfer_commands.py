"""pgrecall export, copy"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Unpack, cast

from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeRemainingColumn

from pgrecall.cli.app import App
from pgrecall.cli.call import Call
from pgrecall.cli.output import Output, counted, number, plain, print_lines, warnings, working
from pgrecall.cli.parsers import argument, option
from pgrecall.core.limits import STATUSES
from pgrecall.errors import InputError
from pgrecall.execution import MemoryRepository
from pgrecall.memories.file_export import export_file
from pgrecall.memories.listing import MOST
from pgrecall.ranking.filters import FilterArguments

app = App()
MOST_REASONS = 10
"""Reasons of rejected lines that are printed."""
MOST_OFFERED = 1_000
MOST_SHOWN = 80
"""Characters of a text in a dry run."""
OF_SYSTEMS = "From another system"


@contextmanager
def bar(name: str, total: int | None) -> Iterator[Callable[[int, int], None]]:
    """Bar, share, rate and time left. Yields advance(position, memories so far)."""
    columns = (
        TextColumn("{task.description}", markup=False),
        BarColumn(),
        TaskProgressColumn(),
        TextColumn("{task.fields[rate]:,.0f} memories/s"),
        TimeRemainingColumn(),
    )
    start = time.monotonic()
    with Progress(*columns, console=warnings) as progress:
        task = progress.add_task(plain(name), total=total, rate=0.0)

        def advance(position: int, memories: int) -> None:
            rate = memories / (time.monotonic() - start)
            progress.update(task, completed=position, rate=rate)

        yield advance


class Exporting(FilterArguments, total=False):
    """The arguments of an export."""

    agents: Annotated[
        Sequence[str],
        option("Only this agent. May be repeated. Default: all agents and teams.", "--agent", "-a"),
    ]


@app.function(
    "pgrecall export zoe.jsonl --agent zoe",
    "pgrecall export everything.jsonl.gz --events",
    "pgrecall export - --agent zoe > zoe.jsonl",
    "pgrecall export facts.jsonl --agent zoe --type fact",
)
def export(
    repo: MemoryRepository,
    file: Annotated[
        Path,
        argument("A new file: .jsonl, gzipped if it ends with .gz; - is standard output."),
    ],
    events: Annotated[bool, option("Export the history of each memory too.", "--events")] = False,
    resume: Annotated[
        bool, option("Go on with an interrupted export, with the same options.", "--resume")
    ] = False,
    **arguments: Unpack[Exporting],
) -> Output:
    """Write memories to a file, with all that belongs to them.

    A line has every field of a memory, its embedding, counters, votes, status and links;
    pgrecall import makes the same memory of it, with the same id and the same scores. All lines
    show the database at one moment, except in an export that was resumed. With filters, only the
    memories that pass are exported, whatever their status and validity.
    """
    agents = arguments.pop("agents", None)
    filters = cast(FilterArguments, arguments)
    is_piped = str(file) == "-"
    if is_piped and resume:
        raise InputError("--resume needs a file: what standard output has taken cannot be read")
    start = time.monotonic()
    total = None if filters or resume else count_exported(repo, agents)
    with bar(file.name, total) as advance:
        if is_piped:
            number = repo.transfer.export(
                print_lines, agent_id=agents, events=events, filters=filters
            )
        else:
            number = export_file(
                repo,
                file,
                agent_id=agents,
                events=events,
                filters=filters,
                resume=resume,
                on_progress=lambda exported: advance(exported, exported),
            )
    seconds = time.monotonic() - start
    text = f"{counted(number, 'memory', 'memories')} written to {file} in {seconds:.1f} s"
    if is_piped:
        return Output([], notes=[text])
    return Output([{"exported": number, "file": str(file), "seconds": round(seconds, 3)}], text)


@app.method(
    "transfer.copy",
    "pgrecall copy bea --agent zoe",
    to_id=argument("Agent that gets the memories, or with --of-team the team.", metavar="TO"),
    events=option("Copy the history of each memory too."),
)
def copy(call: Call) -> Output:
    """Copy an agent's memories to another, with the same ids and all that belongs to them.

    What the other has already is left out, so the command can be repeated.
    """
    with working("copying"):
        return number("copied", call(), "memory copied", "memories copied")


def count_exported(repo: MemoryRepository, agents: Sequence[str] | None) -> int:
    """The number of memories of these owners, or of all."""
    if agents is not None:
        return sum(
            repo.count(agent, statuses=STATUSES, include_invalid=True) for agent in {*agents}
        )
    number = 0
    for store in (repo,) if repo._tables.prefix else (repo, repo.teams):
        after = None
        while page := store.owners(limit=MOST, after=after):
            number += sum(owner.memories for owner in page)
            if (after := page.next) is None:
                break
    return number
