"""The commands put together, and errors turned into messages and exit codes."""

from __future__ import annotations

import sys

import typer

from pgrecall.cli import (
    adding,
    demonstrating,
    explaining,
    importing,
    migrating,
    profiling,
    searching,
    status,
)
from pgrecall.cli.output import complaints
from pgrecall.errors import (
    DatabaseError,
    DatabaseUnavailable,
    ExtraMissing,
    InputError,
    PgRecallError,
    PgvectorUnusable,
    SchemaError,
)

EXIT_CODES: tuple[tuple[type[PgRecallError], int], ...] = (
    (InputError, 2),
    (ExtraMissing, 2),
    (DatabaseUnavailable, 3),
    (PgvectorUnusable, 3),
    (SchemaError, 4),
    (DatabaseError, 5),
    (PgRecallError, 1),
)

app = typer.Typer(
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
app.add_typer(migrating.app, name="migrate")
app.add_typer(profiling.app, name="profiles")
app.command("add")(adding.add)
app.command("import")(importing.import_)
app.command("search")(searching.search)
app.command("explain")(explaining.explain)
app.command("status")(status.status)
app.command("demo")(demonstrating.demo)


def main() -> None:
    """Runs the command line; an error of pgrecall ends it with a message, not a traceback."""
    try:
        app()
    except PgRecallError as error:
        complaints.print(f"[bold red]error:[/] {_plain(error)}", soft_wrap=True)
        sys.exit(next(code for kind, code in EXIT_CODES if isinstance(error, kind)))


def _plain(error: PgRecallError) -> str:
    from rich.markup import escape

    return escape(str(error))
