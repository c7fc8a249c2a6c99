"""pgrecall import"""

from __future__ import annotations

import time
from pathlib import Path
from typing import Annotated

import typer
from rich.progress import (
    BarColumn,
    Progress,
    TaskProgressColumn,
    TextColumn,
    TimeRemainingColumn,
)

from pgrecall.cli.app import App
from pgrecall.cli.database import Agent, AsJson, DatabaseUrl, Schema, repository
from pgrecall.cli.output import complaints, console, plain, print_json
from pgrecall.errors import InputError
from pgrecall.memories.importing import Imported, import_file
from pgrecall.schema import DEFAULT_SCHEMA

app = App(panel="Remember and recall")


@app.command("import")
def import_(
    file: Annotated[Path, typer.Argument(help="JSON Lines, gzipped or not.")],
    agent: Agent,
    check_compliance: Annotated[
        bool, typer.Option(help="Refuse memories that are not compliant.")
    ] = True,
    database_url: DatabaseUrl = None,
    schema: Schema = DEFAULT_SCHEMA,
    json: AsJson = False,
) -> None:
    """Store every line of a JSON Lines file as a memory.

    A line is an object: content, and if wanted id, created_at (ISO 8601 with a zone),
    memory_type, importance, confidence, entities, tags, metadata and the other fields of
    NewMemory; text without an embedding is embedded by the local model. Cut off, it can be
    started again: what is there is not stored twice, nor is text that a memory holds already.
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
    with (
        repository(database_url, schema) as repo,
        Progress(*columns, console=complaints) as progress,
    ):
        task = progress.add_task(plain(file.name), total=file.stat().st_size, rate=0.0)
        start = time.monotonic()

        def advance(done: Imported, position: int) -> None:
            seconds = time.monotonic() - start
            rate = (done.added + done.already_there + done.duplicates) / seconds
            progress.update(task, completed=position, rate=rate)

        done = import_file(
            repo, agent, file, check_compliance=check_compliance, on_progress=advance
        )
        seconds = time.monotonic() - start
    if json:
        print_json(
            {
                "added": done.added,
                "already_there": done.already_there,
                "duplicates": done.duplicates,
                "seconds": round(seconds, 3),
            }
        )
    else:
        console.print(
            f"{done.added:,} memories added for {plain(agent)} in {seconds:.1f} s, "
            f"{done.already_there:,} were there already, {done.duplicates:,} said what others say",
            markup=False,
            highlight=False,
        )
