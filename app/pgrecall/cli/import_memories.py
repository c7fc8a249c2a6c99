"""pgrecall import"""

from __future__ import annotations

import time
from pathlib import Path
from typing import Annotated

from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeRemainingColumn

from pgrecall.cli.app import App
from pgrecall.cli.database import Agent
from pgrecall.cli.embedding import EmbedsTexts
from pgrecall.cli.output import Output, complaints, counted, plain
from pgrecall.cli.written import argument, option
from pgrecall.errors import InputError
from pgrecall.memories.importing import Imported, import_file

app = App(panel="Store and search")


@app.declare("pgrecall import memories.jsonl --agent zoe", name="import")
def import_(
    repo: EmbedsTexts,
    file: Annotated[Path, argument("A JSON Lines file; may be gzipped.")],
    agent: Agent,
    check_compliance: Annotated[bool, option("Refuse memories that are not compliant.")] = True,
) -> Output:
    """Store each line of a JSON Lines file as a memory.

    A line is an object with content and, optionally, id, created_at (ISO 8601 with a zone),
    memory_type, importance, entities, tags, metadata and the other fields of NewMemory. The local
    model embeds each text that comes without an embedding. An interrupted import can be repeated:
    nothing is stored twice.
    """
    if not file.is_file():
        raise InputError(f"{file} is not a file")
    columns = (
        TextColumn("{task.description}", markup=False),
        BarColumn(),
        TaskProgressColumn(),
        TextColumn("{task.fields[rate]:,.0f} memories/s"),
        TimeRemainingColumn(),
    )
    start = time.monotonic()
    with Progress(*columns, console=complaints) as progress:
        task = progress.add_task(plain(file.name), total=file.stat().st_size, rate=0.0)

        def advance(done: Imported, position: int) -> None:
            seconds = time.monotonic() - start
            rate = (done.added + done.already_there + done.duplicates) / seconds
            progress.update(task, completed=position, rate=rate)

        done = import_file(
            repo, agent, file, check_compliance=check_compliance, on_progress=advance
        )
    seconds = time.monotonic() - start
    record = {
        "added": done.added,
        "already_there": done.already_there,
        "duplicates": done.duplicates,
        "seconds": round(seconds, 3),
    }
    said = (
        f"{counted(done.added, 'memory', 'memories')} added for {agent} in {seconds:.1f} s, "
        f"{done.already_there:,} known by id, {done.duplicates:,} known by text"
    )
    return Output([record], said)
