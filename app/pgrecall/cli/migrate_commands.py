"""pgrecall migrate up|down|status|grant|revoke|language|embedding-index|sql"""

from __future__ import annotations

from typing import Annotated

import typer
from rich.table import Table

from pgrecall import migrate
from pgrecall.cli.app import App
from pgrecall.cli.database import AsJson, DatabaseUrl, Schema, located
from pgrecall.cli.output import console, print_json
from pgrecall.errors import InputError
from pgrecall.migrate import Status
from pgrecall.schema import DEFAULT_SCHEMA

app = App(
    help="Create or change the schema. Without a subcommand: up.", invoke_without_command=True
)

Dimensions = Annotated[
    int | None,
    typer.Option(help="Length of embeddings, for a new schema; it cannot change later.  [256]"),
]
EmbeddingType = Annotated[
    str | None, typer.Option(help="vector (4 bytes a component) or halfvec (2).  [vector]")
]
Language = Annotated[
    str | None,
    typer.Option(
        help="By which words are compared: a text search configuration; simple for any.  [english]"
    ),
]


@app.callback()
def default(
    context: typer.Context,
    dimensions: Dimensions = None,
    embedding_type: EmbeddingType = None,
    language: Language = None,
    database_url: DatabaseUrl = None,
    schema: Schema = DEFAULT_SCHEMA,
) -> None:
    """Create or change the schema. Without a subcommand: up."""
    if context.invoked_subcommand is None:
        up(dimensions, embedding_type, language, database_url, schema)
        return
    names = ("dimensions", "embedding_type", "language", "database_url", "schema")
    given = [
        name
        for name in names
        if (source := context.get_parameter_source(name)) and source.name == "COMMANDLINE"
    ]
    if given:  # a subcommand reads its own options; ignored ones would hit the wrong database
        options = ", ".join("--" + name.replace("_", "-") for name in given)
        raise InputError(f"write {options} after `{context.invoked_subcommand}`, not before it")


@app.command()
def up(
    dimensions: Dimensions = None,
    embedding_type: EmbeddingType = None,
    language: Language = None,
    database_url: DatabaseUrl = None,
    schema: Schema = DEFAULT_SCHEMA,
) -> None:
    """Bring the schema up to date, creating it where there is none.

    Safe to run again and by several at once; indexes are built without blocking writers.
    """
    with located(database_url) as (url, _):
        _print(
            migrate.upgrade(
                url,
                dimensions=dimensions,
                embedding_type=embedding_type,
                language=language,
                schema=schema,
            )
        )


@app.command()
def down(
    revision: Annotated[str, typer.Argument(help="Revision to go down to.")] = "base",
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Do not ask.")] = False,
    database_url: DatabaseUrl = None,
    schema: Schema = DEFAULT_SCHEMA,
) -> None:
    """Take the schema down; down to base deletes every memory in it."""
    with located(database_url) as (url, _):
        if not yes:
            what = "deletes ALL memories in" if revision == "base" else f"goes to {revision} in"
            typer.confirm(f"This {what} schema {schema!r}. Go on?", abort=True, err=True)
        _print(migrate.downgrade(url, schema=schema, revision=revision))


@app.command()
def status(
    database_url: DatabaseUrl = None, schema: Schema = DEFAULT_SCHEMA, json: AsJson = False
) -> None:
    """Show how far the schema has been migrated."""
    with located(database_url) as (url, _):
        found = migrate.status(url, schema=schema)
    _show(found, json)


Roles = Annotated[
    list[str] | None, typer.Option(metavar="NAME", help="May search, explain and read history.")
]


@app.command()
def grant(
    reader: Roles = None,
    writer: Annotated[
        list[str] | None, typer.Option(metavar="NAME", help="May also change memories.")
    ] = None,
    maintainer: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME", help="May also build rank indexes, collect garbage and clear."
        ),
    ] = None,
    database_url: DatabaseUrl = None,
    schema: Schema = DEFAULT_SCHEMA,
) -> None:
    """Let roles in, as the schema's owner; a role has one of the three levels.

    What later versions bring is granted to them by migrate up. A reader's searches are not counted:
    they say touch=False (--no-touch).
    """
    asked = {"reader": reader, "writer": writer, "maintainer": maintainer}
    given = [(role, level) for level, roles in asked.items() for role in roles or []]
    if not given:
        raise InputError("name a role: --reader NAME, --writer NAME or --maintainer NAME")
    with located(database_url) as (url, _):
        for role, level in given:
            migrate.grant(url, role, level, schema=schema)  # type: ignore[arg-type]
            console.print(f"{role} is a {level} of {schema}", markup=False, highlight=False)


@app.command()
def revoke(
    role: Annotated[str, typer.Argument(help="A role that was let in.")],
    database_url: DatabaseUrl = None,
    schema: Schema = DEFAULT_SCHEMA,
) -> None:
    """Take from a role all that it was granted in the schema."""
    with located(database_url) as (url, _):
        migrate.revoke(url, role, schema=schema)
    console.print(f"{role} has no access to {schema}", markup=False, highlight=False)


@app.command()
def language(
    name: Annotated[str, typer.Argument(help="A text search configuration; simple for any.")],
    database_url: DatabaseUrl = None,
    schema: Schema = DEFAULT_SCHEMA,
    json: AsJson = False,
) -> None:
    """Compare words by another language; takes all texts apart again, writing waits meanwhile."""
    with located(database_url) as (url, _):
        changed = migrate.change_language(url, name, schema=schema)
    if json:
        print_json({"language": name, "memories": changed})
    else:
        console.print(f"{changed:,} memories are compared by {name} now")


@app.command(name="embedding-index")
def embedding_index(
    drop: Annotated[bool, typer.Option("--drop", help="Drop it again.")] = False,
    database_url: DatabaseUrl = None,
    schema: Schema = DEFAULT_SCHEMA,
    json: AsJson = False,
) -> None:
    """Build an HNSW index over embeddings, for SQL of your own that orders by <=>.

    No search of pgrecall uses it. Its price: adding memories takes several times as long (make
    bench-life measures it), and the index about as much space as the embeddings.
    """
    with located(database_url) as (url, _):
        found = migrate.embedding_index(url, schema=schema, drop=drop)
    _show(found, json)


@app.command()
def sql(
    dimensions: Annotated[int, typer.Option(help="Length of embeddings.")] = (
        migrate.DEFAULT_DIMENSIONS
    ),
    embedding_type: Annotated[str, typer.Option(help="vector or halfvec.")] = "vector",
    language: Annotated[
        str, typer.Option(help="By which words are compared.")
    ] = migrate.DEFAULT_LANGUAGE,
    extension_schema: Annotated[
        str, typer.Option(help="Where pgvector is installed, or will be.")
    ] = migrate.DEFAULT_EXTENSION_SCHEMA,
    start: Annotated[str | None, typer.Option(help="Revision the database is at.")] = None,
    schema: Schema = DEFAULT_SCHEMA,
) -> None:
    """Print the upgrade as SQL for psql; needs no database."""
    text = migrate.sql(
        dimensions=dimensions,
        embedding_type=embedding_type,
        language=language,
        schema=schema,
        extension_schema=extension_schema,
        start=start,
    )
    print(text, end="")  # noqa: T201


def record(found: Status) -> dict[str, object]:
    """The status as plain JSON values."""
    return {
        "schema": found.schema,
        "revision": found.revision,
        "head": found.head,
        "pending": found.pending,
        "postgres": found.postgres,
        "pgvector": found.pgvector,
        "dimensions": found.dimensions,
        "embedding_type": found.embedding_type,
        "language": found.language,
        "invalid_indexes": found.invalid_indexes,
        "embedding_index": found.embedding_index,
    }


def _show(found: Status, json: bool) -> None:
    if json:
        print_json(record(found))
    else:
        _print(found)


def _print(found: Status) -> None:
    table = Table(show_header=False, show_edge=False)
    for name, value in record(found).items():
        shown = "\n".join(map(str, value)) if isinstance(value, list) else value
        table.add_row(name.replace("_", " "), "–" if shown in (None, "") else str(shown))
    console.print(table)
