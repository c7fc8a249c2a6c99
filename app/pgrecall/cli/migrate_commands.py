"""pgrecall migrate up, down, status, distribute, grant, protect, language, embedding-…, accept-…"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from typing import Annotated, get_args

import typer

from pgrecall import migrate
from pgrecall.cli.app import App
from pgrecall.cli.database import Database, Schema
from pgrecall.cli.output import Output, counted, facts
from pgrecall.cli.written import argument, option
from pgrecall.errors import InputError
from pgrecall.migrate import Status
from pgrecall.migrate.access import Level
from pgrecall.schema import DEFAULT_SCHEMA

app = App(
    name="migrate",
    panel="Administer",
    help="Create the schema, upgrade it, and give roles access to it.",
    no_args_is_help=True,
)

LANGUAGE = "Language that words are compared in: a text search configuration, simple for any."


@app.declare("pgrecall migrate up", "pgrecall migrate up --dimensions 1536")
def up(
    database: Database,
    dimensions: Annotated[
        int | None,
        option("Length of embeddings, for a new schema; it cannot change. Default: 256."),
    ] = None,
    embedding_type: Annotated[
        str | None,
        option("vector (4 bytes per number) or halfvec (2), for a new schema. Default: vector."),
    ] = None,
    language: Annotated[str | None, option(f"{LANGUAGE} Default: english.")] = None,
) -> Output:
    """Create the schema, or upgrade it to this version.

    It can be repeated, and run by several at once. Indexes are built without blocking writers.
    """
    with database.url() as url:
        return _shown(
            migrate.upgrade(
                url,
                dimensions=dimensions,
                embedding_type=embedding_type,
                language=language,
                schema=database.schema,
            )
        )


@app.declare("pgrecall migrate down")
def down(
    database: Database,
    revision: Annotated[str, argument("Revision to go down to.")] = "base",
    yes: Annotated[bool, option("Do not ask for confirmation.", "--yes", "-y")] = False,
) -> Output:
    """Downgrade the schema. Down to base, it deletes all memories in it."""
    with database.url() as url:
        if not yes:
            what = "deletes ALL memories in" if revision == "base" else f"goes to {revision} in"
            question = f"This {what} schema {database.schema!r}. Continue?"
            typer.confirm(question, abort=True, err=True)
        return _shown(migrate.downgrade(url, schema=database.schema, revision=revision))


@app.declare("pgrecall migrate status --json")
def status(database: Database) -> Output:
    """Show the revision of the schema, and what is pending."""
    with database.url() as url:
        return _shown(migrate.status(url, schema=database.schema))


@app.declare("pgrecall migrate grant --reader dashboard --writer app")
def grant(
    database: Database,
    reader: Annotated[
        list[str] | None, option("May search, explain and read histories.", metavar="ROLE")
    ] = None,
    writer: Annotated[list[str] | None, option("May also change memories.", metavar="ROLE")] = None,
    maintainer: Annotated[
        list[str] | None,
        option("May also build rank indexes, collect garbage, and erase.", metavar="ROLE"),
    ] = None,
) -> Output:
    """Give roles access to the schema, as its owner. Each role has one of three levels.

    `migrate up` extends the access to what later versions add. Readers search with --no-touch,
    since counting a retrieval is a write.
    """
    asked = dict(zip(get_args(Level), (reader, writer, maintainer), strict=True))
    given = [(role, level) for level, roles in asked.items() for role in roles or []]
    if not given:
        raise InputError("name a role: --reader ROLE, --writer ROLE or --maintainer ROLE")
    with database.url() as url:
        for role, level in given:
            migrate.grant(url, role, level, schema=database.schema)
    return Output(
        ({"role": role, "level": level} for role, level in given),
        *(f"{role} is a {level} of {database.schema}" for role, level in given),
    )


@app.declare("pgrecall migrate revoke dashboard")
def revoke(database: Database, role: Annotated[str, argument("Role that has access.")]) -> Output:
    """Take all access to the schema from a role."""
    with database.url() as url:
        migrate.revoke(url, role, schema=database.schema)
    record = {"role": role, "level": None}
    return Output([record], f"{role} has no access to {database.schema}")


@app.declare("pgrecall migrate protect", "pgrecall migrate protect --role pgrecall_service")
def protect(
    database: Database,
    role: Annotated[
        str | None, option("A role that the service may run as; created if it is not there.")
    ] = None,
) -> Output:
    """Put row-level security on every table of memories, as the schema's owner.

    Other roles then see the memories of the owners that their session names in pgrecall.owners.
    Repeat it after an upgrade.
    """
    with database.url() as url:
        migrate.protect(url, role, schema=database.schema)
    said = f"row-level security protects the memories in {database.schema}"
    extra = () if role is None else (f"pgrecall serve --role {role} runs under it",)
    return Output([{"schema": database.schema, "role": role}], said, *extra)


@app.declare("pgrecall migrate language german")
def language(database: Database, name: Annotated[str, argument(LANGUAGE)]) -> Output:
    """Change the language that words are compared in. Rewrites all memories; writers wait."""
    with database.url() as url:
        changed = migrate.change_language(url, name, schema=database.schema)
    said = counted(changed, "memory rewritten", "memories rewritten")
    return Output([{"language": name, "memories": changed}], f"{said} for {name}")


@app.declare("pgrecall migrate embedding-model text-embedding-3-small")
def embedding_model(
    database: Database, name: Annotated[str, argument("What its embedder calls it.")]
) -> Output:
    """Record which model makes the embeddings; embedders of another are refused.

    The first one is recorded by itself. This is for a model with a new name: the embeddings stay as
    they are.
    """
    with database.url() as url:
        migrate.change_embedding_model(url, name, schema=database.schema)
    record = {"schema": database.schema, "embedding_model": name}
    return Output([record], f"{database.schema} holds embeddings of {name}")


@app.declare("pgrecall migrate embedding-index", "pgrecall migrate embedding-index --drop")
def embedding_index(
    database: Database, drop: Annotated[bool, option("Drop it again.", "--drop")] = False
) -> Output:
    """Build an HNSW index over embeddings, for your own SQL that orders by <=>.

    pgrecall does not use it. It makes adding memories several times slower, and takes about as
    much space as the embeddings.
    """
    with database.url() as url:
        return _shown(migrate.embedding_index(url, schema=database.schema, drop=drop))


@app.declare("pgrecall migrate accept-pgvector 0.8.0")
def accept_pgvector(
    database: Database, version: Annotated[str, argument("The version that is installed.")]
) -> Output:
    """Accept the risk of HNSW indexes in a version of pgvector older than 0.8.3, as the owner.

    It can corrupt an index that is written and vacuumed. Any other old version is refused again.
    """
    with database.url() as url:
        return _shown(migrate.accept_pgvector(url, version, schema=database.schema))


@app.declare("pgrecall migrate distribute")
def distribute(database: Database) -> Output:
    """Distribute the tables over the nodes of a Citus cluster, each owner's rows on one node.

    Run it on the coordinator, as the schema's owner. Writers wait until it is done. It can be
    repeated, and `migrate up` works as before. Rank indexes are dropped: build them again.
    """
    with database.url() as url:
        done = migrate.distribute(url, schema=database.schema)
    numbers = (
        counted(
            len(done.distributed_tables),
            "table distributed by owner",
            "tables distributed by owner",
        ),
        counted(
            len(done.reference_tables), "table copied to every node", "tables copied to every node"
        ),
        counted(len(done.functions), "function distributed", "functions distributed"),
        counted(len(done.dropped_rank_indexes), "rank index dropped", "rank indexes dropped"),
    )
    return Output([asdict(done)], *numbers, *shards(done.nodes))


@app.declare("pgrecall migrate sql > upgrade.sql")
def sql(
    dimensions: Annotated[int, option("Length of embeddings.")] = (migrate.DEFAULT_DIMENSIONS),
    embedding_type: Annotated[str, option("vector or halfvec.")] = "vector",
    language: Annotated[str, option(LANGUAGE)] = migrate.DEFAULT_LANGUAGE,
    extension_schema: Annotated[
        str, option("Schema in which pgvector is installed, or will be.")
    ] = migrate.DEFAULT_EXTENSION_SCHEMA,
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
        start=start,
    )
    print(text, end="")  # noqa: T201


def shards(nodes: Mapping[str, int]) -> list[str]:
    return [f"{node}: {counted(number, 'shard', 'shards')}" for node, number in nodes.items()]


def _shown(found: Status) -> Output:
    record = asdict(found)
    rows = []
    for name, value in record.items():
        if isinstance(value, dict):
            value = shards(value)
        shown = "\n".join(map(str, value)) if isinstance(value, list) else value
        rows.append((name.replace("_", " "), "–" if shown in (None, "") else shown))
    return Output([record], facts(rows))
