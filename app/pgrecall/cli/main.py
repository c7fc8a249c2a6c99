"""The commands put together, and errors turned into messages and exit codes."""

from __future__ import annotations

import os
import signal
import sys
from importlib.metadata import version
from typing import Annotated

import typer
from rich.markup import escape

from pgrecall.cli import (
    add,
    assemble,
    collect,
    correct,
    curate,
    demonstrate,
    evaluate,
    explain,
    import_memories,
    label_memories,
    link_memories,
    migrate_commands,
    profile_commands,
    rank_indexes,
    search_command,
    several,
    status_command,
    terms,
    tune,
    use,
)
from pgrecall.cli.app import App
from pgrecall.cli.output import complaints, plain
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

app = App(
    name="pgrecall",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode="rich",
    help="Ranks the memories of AI agents inside PostgreSQL.",
    epilog=(
        "The database is [bold]--database-url[/bold] or PGRECALL_DATABASE_URL; without either, an "
        "embedded one in your data folder. Exit codes: 0 done, 2 bad input, 3 database "
        "unavailable, 4 schema missing or of another version, 5 database error, 1 anything else."
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
        typer.Option(
            "--version", callback=_print_version, is_eager=True, help="Show the version and exit."
        ),
    ] = False,
) -> None:
    """What can be given before a command."""


MODULES = (
    add,
    import_memories,
    search_command,
    assemble,
    explain,
    terms,
    evaluate,
    tune,
    use,
    correct,
    several,
    curate,
    collect,
    label_memories,
    link_memories,
    status_command,
    demonstrate,
)
"""With commands, in the order of the help."""
for module in MODULES:
    app.registered_commands += module.app.registered_commands
app.add_typer(migrate_commands.app, name="migrate", rich_help_panel="The database")
app.add_typer(rank_indexes.app, name="index", rich_help_panel="The database")
app.add_typer(profile_commands.app, name="profiles", rich_help_panel="Remember and recall")


def main() -> None:
    """Runs the command line; an error of pgrecall ends it with a message, not a traceback."""
    for stop in (signal.SIGTERM, getattr(signal, "SIGHUP", signal.SIGTERM)):
        signal.signal(stop, _leave)
    try:
        app()
    except PgRecallError as error:
        complaints.print(f"[bold red]error:[/] {escape(plain(str(error)))}", soft_wrap=True)
        sys.exit(next(code for kind, code in EXIT_CODES if isinstance(error, kind)))
    except BrokenPipeError:  # whoever read our output has seen enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    except OSError as error:
        complaints.print(f"[bold red]error:[/] {escape(plain(str(error)))}", soft_wrap=True)
        sys.exit(1)


def _leave(number: int, _: object) -> None:
    """Leaves as at the end of a command, so that an embedded server is stopped too."""
    sys.exit(128 + number)
