"""The commands put together, and errors turned into messages and exit codes."""

from __future__ import annotations

import signal
import sys
from collections.abc import Mapping
from importlib.metadata import version
from typing import Annotated, ClassVar

import typer
from rich.text import Text

from pgrecall.cli.app import LateGroup
from pgrecall.cli.output import complaints, plain
from pgrecall.cli.written import option
from pgrecall.errors import (
    DatabaseError,
    DatabaseUnavailable,
    DuplicateMemory,
    ExtraMissing,
    InputError,
    MemoryNotFound,
    PgRecallError,
    PgvectorUnusable,
    SchemaError,
    SupersessionConflict,
)

EXIT_CODES: tuple[tuple[type[PgRecallError], int], ...] = (
    (InputError, 2),
    (ExtraMissing, 2),
    (MemoryNotFound, 2),
    (DuplicateMemory, 2),
    (SupersessionConflict, 2),
    (DatabaseUnavailable, 3),
    (PgvectorUnusable, 3),
    (SchemaError, 4),
    (DatabaseError, 5),
    (PgRecallError, 1),
)


class _Commands(LateGroup):
    modules: ClassVar[Mapping[str, str]] = {
        **dict.fromkeys(("add", "upsert"), "add"),
        "import": "import_memories",
        "export": "export_memories",
        **dict.fromkeys(("search", "plan"), "search_command"),
        **dict.fromkeys(("list", "get", "owners"), "list_memories"),
        "explain": "explain",
        "context": "assemble",
        **dict.fromkeys(("outcome", "feedback", "trust", "history"), "use"),
        **dict.fromkeys(("supersede", "invalidate", "revive"), "correct"),
        **dict.fromkeys(("approve", "reject", "promote", "demote"), "correct"),
        **dict.fromkeys(("near-duplicates", "clusters", "consolidate"), "curate"),
        **dict.fromkeys(("complete-tasks", "prune"), "curate"),
        "gc": "collect",
        "delete": "delete_command",
        "erase": "erase",
        **dict.fromkeys(("label", "unlabel", "labels", "labelled"), "label_memories"),
        **dict.fromkeys(("link", "unlink", "links"), "link_memories"),
        "profiles": "profile_commands",
        "evaluate": "evaluate",
        "tune": "tune",
        "migrate": "migrate_commands",
        "status": "status_command",
        "config": "show_configuration",
        "server": "server",
        "serve": "serve",
        "keys": "key_commands",
        "mcp": "mcp_command",
        "index": "rank_indexes",
        "demo": "demonstrate",
    }


app = typer.Typer(
    name="pgrecall",
    cls=_Commands,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode="rich",
    help="Rank the memories of AI agents inside PostgreSQL.",
    epilog=(
        "[bold]First steps:[/]\n"
        'pgrecall add "Zoe plays the cello." --agent zoe\n'
        'pgrecall search "which instrument?" --agent zoe\n\n'
        "The database is the one of --database-url or PGRECALL_DATABASE_URL. Without either, an "
        "embedded one in your data folder is used.\n\n"
        "[bold]Exit codes:[/] 0 done, 2 bad input, 3 database unavailable, 4 schema missing or of "
        "another version, 5 refused by the database, 1 any other failure, a confirmation declined, "
        "or recall below --min-recall."
    ),
)


def _print_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"pgrecall {version('pgrecall')}")
        raise typer.Exit


@app.callback()
def _options(
    version: Annotated[
        bool,
        option("Show the version and exit.", "--version", callback=_print_version, is_eager=True),
    ] = False,
) -> None:
    """Options before a command."""


def main() -> None:
    """Runs the command line; an error of pgrecall is a message and an exit code."""
    for stop in (signal.SIGTERM, getattr(signal, "SIGHUP", signal.SIGTERM)):
        signal.signal(stop, _leave)
    try:
        app()
    except PgRecallError as error:
        _print_error(error)
        sys.exit(next(code for kind, code in EXIT_CODES if isinstance(error, kind)))
    except OSError as error:
        _print_error(error)
        sys.exit(1)


def _print_error(error: Exception) -> None:
    message = Text("error: ", style="bold red").append(plain(str(error)), style="not bold default")
    complaints.print(message, soft_wrap=True)


def _leave(number: int, _: object) -> None:
    """Leaves as at the end of a command, so that an embedded server is stopped too."""
    sys.exit(128 + number)
