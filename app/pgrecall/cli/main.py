"""The commands put together, and errors turned into messages and exit codes."""

from __future__ import annotations

import signal
import sys
from collections.abc import Mapping
from importlib.metadata import version
from typing import Annotated, Any, ClassVar

import typer

from pgrecall.cli.app import LazyGroup
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

EXIT_CODES: tuple[tuple[Any, int], ...] = (
    ((InputError, ExtraMissing, MemoryNotFound, DuplicateMemory, SupersessionConflict), 2),
    ((DatabaseUnavailable, PgvectorUnusable), 3),
    (SchemaError, 4),
    (DatabaseError, 5),
    (PgRecallError, 1),
)


class _Commands(LazyGroup):
    panels: ClassVar[Mapping[str, Mapping[str, str]]] = {
        "Store and search": {
            "memory_commands": "add upsert list get owners",
            "import_command": "import",
            "transfer_commands": "export",
            "search_commands": "search explain context",
        },
        "Learn from use": {"use_commands": "outcome feedback trust history"},
        "Correct": {"use_commands": "supersede invalidate revive approve reject"},
        "Curate": {"curation_commands": "consolidate delete erase"},
        "Links": {"use_commands": "link unlink links"},
        "Choose a profile": {
            "profile_commands": "profiles",
            "evaluation_commands": "judge evaluate tune",
        },
        "Administer": {
            "migrate_commands": "migrate",
            "status_command": "status",
            "show_configuration": "config",
            "server": "server",
            "serve": "serve",
            "open_studio": "studio",
            "key_commands": "keys",
            "mcp_command": "mcp",
            "rank_indexes": "index",
            "maintain_command": "maintain",
            "demonstrate": "demo",
        },
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
        "Uses --database-url, then PGRECALL_DATABASE_URL, then database_url of your settings file "
        "(see `pgrecall config`), then an embedded database in your data folder.\n\n"
        "[bold]Exit codes:[/] 0 done, 2 bad input, 3 database unavailable, 4 schema missing or of "
        "another version, 5 refused by the database, 1 any other failure, a confirmation declined, "
        "or something that `status` says needs doing."
    ),
)


def _print_version(requested: bool) -> None:
    if requested:
        typer.echo(f"pgrecall {version('pgrecall')}")
        raise typer.Exit


@app.callback()
def _options(
    show_version: Annotated[
        bool,
        typer.Option(
            "--version", help="Show the version and exit.", callback=_print_version, is_eager=True
        ),
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
    from rich.text import Text

    from pgrecall.cli.output import warnings
    from pgrecall.core.display import plain

    message = Text("error: ", style="bold red").append(plain(str(error)), style="not bold default")
    warnings.print(message, soft_wrap=True)


def _leave(number: int, _: object) -> None:
    """Leaves as at the end of a command, so that an embedded server is stopped too."""
    sys.exit(128 + number)
