"""pgrecall export"""

from __future__ import annotations

import time
from pathlib import Path
from typing import Annotated, Unpack

from pgrecall.cli.app import App
from pgrecall.cli.output import Output, counted, print_lines, progress_bar
from pgrecall.cli.parsers import argument, option
from pgrecall.errors import InputError
from pgrecall.execution import MemoryRepository
from pgrecall.memories.file_export import export_file
from pgrecall.ranking.filters import FilterArguments

app = App()


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
    agents: Annotated[
        list[str] | None,
        option("Only this agent. May be repeated. Default: all agents and teams.", "--agent", "-a"),
    ] = None,
    events: Annotated[bool, option("Export the history of each memory too.", "--events")] = False,
    resume: Annotated[
        bool, option("Go on with an interrupted export, with the same options.", "--resume")
    ] = False,
    **filters: Unpack[FilterArguments],
) -> Output:
    """Write memories to a file, with all that belongs to them.

    A line has every field of a memory, its embedding, counters, votes, status and links;
    pgrecall import makes the same memory of it, with the same id and the same scores. All lines
    show the database at one moment, except in an export that was resumed. With a filter, only
    memories that are active, valid and pass it are exported, unless --include-inactive is given.
    """
    is_piped = str(file) == "-"
    if is_piped and resume:
        raise InputError("--resume needs a file: what standard output has taken cannot be read")
    start = time.monotonic()
    with progress_bar(file.name) as advance:
        if is_piped:
            number = repo.transfer.export(print_lines, agent_id=agents, events=events, **filters)
        else:
            number = export_file(
                repo,
                file,
                agent_id=agents,
                events=events,
                **filters,
                resume=resume,
                on_progress=lambda done: advance(done, None, f"{file.name}: {done:,} memories"),
            )
    seconds = time.monotonic() - start
    text = f"{counted(number, 'memory', 'memories')} written to {file} in {seconds:.1f} s"
    if is_piped:
        return Output([], notes=[text])
    return Output([{"exported": number, "file": str(file), "seconds": round(seconds, 3)}], text)
