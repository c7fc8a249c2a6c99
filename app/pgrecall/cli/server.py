"""pgrecall server start, stop"""

from __future__ import annotations

from dataclasses import asdict
from typing import Annotated

from pgrecall import embedded
from pgrecall.cli.app import App
from pgrecall.cli.database import data_folder
from pgrecall.cli.output import Output, facts, size
from pgrecall.cli.parsers import option
from pgrecall.core.display import Verbatim, plain

app = App(
    name="server",
    help="Keep the embedded database running between commands, which then start sooner.",
    no_args_is_help=True,
)


@app.function("pgrecall server start", "pgrecall server start --json")
def start() -> Output:
    """Start the embedded server, and leave it running. Commands without --database-url use it.

    Shows its data folder, its URL, who uses it and its size, also if it runs already.
    """
    folder = data_folder()
    folder.parent.mkdir(parents=True, exist_ok=True)
    status = embedded.start(folder)
    rows = [
        ("data folder", str(status.folder)),
        ("PostgreSQL", f"{status.version}, runs until it is stopped"),
        ("other processes", ", ".join(map(str, status.users)) or "none use it"),
        ("connections", str(status.connections)),
        ("size", size(status.bytes)),
    ]
    url = Verbatim(f" URL: {plain(str(status.url))}\n")  # to be copied: neither cut nor wrapped
    return Output([asdict(status)], facts(rows), url)


@app.function("pgrecall server stop")
def stop(
    force: Annotated[bool, option("Also if others use it; ends their connections.")] = False,
) -> Output:
    """Stop the embedded server, unless others use it."""
    ran = embedded.stop(data_folder(), force=force)
    text = "the embedded server has stopped" if ran else "the embedded server does not run"
    return Output([{"stopped": ran}], text)
