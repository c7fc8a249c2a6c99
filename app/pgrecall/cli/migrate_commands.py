"""pgrecall migrate up, down, distribute, grant, protect, language, embedding-model, sql"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from typing import Annotated, get_args

import typer

from pgrecall import migrate
from pgrecall.cli.app import App
from pgrecall.cli.call import Call
from pgrecall.cli.database import Database, Schema
from pgrecall.cli.output import Output, counted, facts
from pgrecall.cli.parsers import argument, option
from pgrecall.errors import InputError
from pgrecall.migrate import Status
from pgrecall.migrate.access import Level
from pgrecall.schema import DEFAULT_SCHEMA

app = App(
    name="migrate",
    help="Create the schema, upgrade it, and give roles access to it.",
    no_args_is_help=True,
)

LANGUAGE = "Language that words are compared in: a text search configuration, simple for any."
INDEX = (
    "Build or drop an HNSW index over embeddings, for your own SQL that orders by <=>. It makes "
    "adding memories several times slower. Default: as it was."
)


@app.method(
    migrate.upgrade,
    "pgrecall migrate up",
    "pgrecall migrate up --dimensions 1536",
    "pgrecall migrate up --embedding-index",
    without=("revision",),
    dimensions=option("Length of embeddings, for a new schema; it cannot change. Default: 256."),
    embedding_type=option(
        "vector (4 bytes per number) or halfvec (2), for a new schema. Default: vector."
    ),
    language=option(f"{LANGUAGE} Default: english."),
    embedding_index=option(INDEX),
)
def up(call: Call) -> Output:
    """Create the schema, or upgrade it to this version.

    It can be repeated, and run by several at once. Indexes are built without blocking writers.
    """
    return _status(call())


@app.method(
    migrate.downgrade,
    "pgrecall migrate down",
    revision=argument("Revision to go down to."),
)
def down(
    call: Call,
    yes: Annotated[bool, option("Do not ask for confirmation.", "--yes", "-y")] = False,
) -> Output:
    """Downgrade the schema. Down to base, it deletes all memories in it."""
    if not yes:
        revision = call.arguments["revision"]
        what = "deletes ALL memories in" if revision == "base" else f"goes to {revision} in"
        question = f"This {what} schema {call.schema!r}. Continue?"
        typer.confirm(question, abort=True, err=True)
    return _status(call())


@app.function(
    "pgrecall migrate grant --reader dashboard --writer app", "pgrecall migrate grant --none app"
)
def grant(
    database: Database,
    reader: Annotated[
        list[str] | None, option("May search, explain and read histories.", metavar="ROLE")
    ] = None,
    writer: Annotated[list[str] | None, option("May also change memories.", metavar="ROLE")] = None,
    maintainer: Annotated[
        list[str] | None,
        option("May also build rank indexes, run maintenance, and erase.", metavar="ROLE"),
    ] = None,
    none: Annotated[list[str] | None, option("Has no access any more.", metavar="ROLE")] = None,
) -> Output:
    """Give roles access to the schema, or take it away, as its owner. A role has one level.

    `migrate up` extends the access to what later versions add. Readers search with --no-touch,
    since counting a retrieval is a write.
    """
    by_level = zip(get_args(Level), (reader, writer, maintainer), strict=True)
    grants = [(role, level) for level, roles in by_level for role in roles or []]
    if not grants and not none:
        raise InputError("name a role: --reader, --writer, --maintainer or --none ROLE")
    with database.url() as url:
        for role, level in grants:
            migrate.grant(url, role, level, schema=database.schema)
        for role in none or []:
            migrate.revoke(url, role, schema=database.schema)
    return Output(
        [
            *({"role": role, "level": level} for role, level in grants),
            *({"role": role, "level": None} for role in none or []),
        ],
        *(f"{role} is a {level} of {database.schema}" for role, level in grants),
        *(f"{role} has no access to {database.schema}" for role in none or []),
    )


@app.method(
    migrate.protect,
    "pgrecall migrate protect",
    "pgrecall migrate protect --role pgrecall_service",
    role=option("A role that the service may run as; created if it is not there."),
)
def protect(call: Call) -> Output:
    """Put row-level security on every table of memories, as the schema's owner.

    Other roles then see the memories of the owners that their session names in pgrecall.owners.
    Repeat it after an upgrade.
    """
    call()
    role = call.arguments.get("role")
    lines = [f"row-level security protects the memories in {call.schema}"]
    if role is not None:
        lines.append(f"pgrecall serve --role {role} runs under it")
    return Output([{"schema": call.schema, "role": role}], *lines)


@app.method(
    migrate.change_language, "pgrecall migrate language german", language=argument(LANGUAGE)
)
def language(call: Call) -> Output:
    """Change the language that words are compared in. Rewrites all memories; writers wait."""
    changed, name = call(), call.arguments["language"]
    text = counted(changed, "memory rewritten", "memories rewritten")
    return Output([{"language": name, "memories": changed}], f"{text} for {name}")


@app.method(
    migrate.change_embedding_model,
    "pgrecall migrate embedding-model text-embedding-3-small",
    model=argument("What its embedder calls it.", metavar="NAME"),
)
def embedding_model(call: Call) -> Output:
    """Record which model makes the embeddings; embedders of another are refused.

    The first one is recorded by itself. This is for a model with a new name: the embeddings stay as
    they are.
    """
    call()
    model = call.arguments["model"]
    record = {"schema": call.schema, "embedding_model": model}
    return Output([record], f"{call.schema} holds embeddings of {model}")


@app.method(migrate.distribute, "pgrecall migrate distribute")
def distribute(call: Call) -> Output:
    """Distribute the tables over the nodes of a Citus cluster, each owner's rows on one node.

    Run it on the coordinator, as the schema's owner. Writers wait until it is done. It can be
    repeated, and `migrate up` works as before. Rank indexes are dropped: build them again.
    """
    done = call()
    numbers = (
        (done.distributed_tables, "table distributed by owner", "tables distributed by owner"),
        (done.reference_tables, "table copied to every node", "tables copied to every node"),
        (done.functions, "function distributed", "functions distributed"),
        (done.dropped_rank_indexes, "rank index dropped", "rank indexes dropped"),
    )
    lines = (counted(len(names), one, several) for names, one, several in numbers)
    return Output([done], *lines, *shards(done.nodes))


@app.function("pgrecall migrate sql > upgrade.sql")
def sql(
    dimensions: Annotated[int, option("Length of embeddings.")] = (migrate.DEFAULT_DIMENSIONS),
    embedding_type: Annotated[str, option("vector or halfvec.")] = "vector",
    language: Annotated[str, option(LANGUAGE)] = migrate.DEFAULT_LANGUAGE,
    extension_schema: Annotated[
        str, option("Schema in which pgvector is installed, or will be.")
    ] = migrate.DEFAULT_EXTENSION_SCHEMA,
    embedding_index: Annotated[bool | None, option(INDEX)] = None,
    start: Annotated[str | None, option("Revision of the database now.")] = None,
    schema: Schema = DEFAULT_SCHEMA,
) -> None:
    """Print the upgrade as SQL for psql. Needs no database."""
    text = migrate.sql(
        dimensions=dimensions,
        embedding_type=embedding_type,
        language=language,
        schema=schema,
        extension_schema=extension_schema,
        embedding_index=embedding_index,
        start=start,
    )
    print(text, end="")  # noqa: T201


def shards(nodes: Mapping[str, int]) -> list[str]:
    """A line for each node."""
    return [f"{node}: {counted(number, 'shard', 'shards')}" for node, number in nodes.items()]


def _status(status: Status) -> Output:
    rows = []
    for name, value in asdict(status).items():
        if isinstance(value, dict):
            value = shards(value)
        shown = "\n".join(map(str, value)) if isinstance(value, list) else value
        rows.append((name.replace("_", " "), "–" if shown in (None, "") else shown))
    return Output([status], facts(rows))
