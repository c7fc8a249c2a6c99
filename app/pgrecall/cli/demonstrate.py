"""pgrecall demo"""

from __future__ import annotations

import shlex
import shutil
import sys
import time
from dataclasses import replace
from pathlib import Path
from typing import Annotated

from pgrecall.cli import demo as demo_
from pgrecall.cli.app import App
from pgrecall.cli.configuration import current
from pgrecall.cli.database import Database
from pgrecall.cli.embedding import EmbedderName, make_embedder
from pgrecall.cli.memory_ids import short_ids
from pgrecall.cli.output import Output, console
from pgrecall.cli.parsers import option
from pgrecall.schema import DEFAULT_SCHEMA
from pgrecall.scoring.profiles import DEFAULT
from pgrecall.scoring.scored_memory import hit_grid

app = App()


@app.function("pgrecall demo")
def demo(
    database: Database,
    k: Annotated[int, option("How many memories each search returns.", "-k")] = 5,
    embedder: EmbedderName = None,
) -> None:
    """Store realistic memories and search them four times; none is about the last query."""
    with replace(database, embedder=make_embedder(embedder)).repository() as repo:
        start = time.monotonic()
        added = demo_.store(repo)
        seconds = time.monotonic() - start
        total = repo.count(demo_.AGENT)
        formula = " + ".join(f"{weight:g} {name}" for name, weight in DEFAULT.weights.items())
        what = f"stored in {seconds:.1f} s" if added else "stored by an earlier run"
        console.print(
            f"[bold]{total} memories of an assistant[/], {what}. Scored by {DEFAULT.name}: "
            f"{formula}; each number is what a signal contributes.\n",
            highlight=False,
        )
        for query in demo_.QUERIES:
            start = time.monotonic()
            hits = repo.search(demo_.AGENT, query, k=k, profile=DEFAULT)
            milliseconds = (time.monotonic() - start) * 1000
            ids = short_ids(repo, demo_.AGENT, [hit.memory.id for hit in hits])
            title = f"“{query}”  ({milliseconds:.0f} ms)"
            notice = [hits.notice] if hits.notice else []
            Output((), hit_grid(hits, title=title, ids=ids), *notice, "").print(json=False)
    command = [_program(), "search", "what does Ines like?", "--agent", demo_.AGENT]
    values = {"database_url": database.url_option, "schema": database.schema, "embedder": embedder}
    known = {"schema": DEFAULT_SCHEMA} | {name: value for name, (value, _) in current().items()}
    for name, value in values.items():
        if value is not None and value != known.get(name):
            command += [f"--{name.replace('_', '-')}", value]
    print(f"Try your own: {shlex.join(command)}")  # noqa: T201


def _program() -> str:
    """The command that calls this program from this folder: its name where the shell finds it."""
    program = Path(sys.argv[0])
    installed = shutil.which(program.name)
    if installed is not None and Path(installed).resolve() == program.resolve():
        return program.name
    return str(program.relative_to(Path.cwd()) if program.is_relative_to(Path.cwd()) else program)
