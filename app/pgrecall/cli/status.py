"""pgrecall status"""

from __future__ import annotations

from rich.table import Table

from pgrecall import migrate
from pgrecall.cli.database import AsJson, DatabaseUrl, Schema, located
from pgrecall.cli.migrating import record
from pgrecall.cli.output import console, print_json
from pgrecall.migrate.connecting import engine_of
from pgrecall.overview import Overview, overview
from pgrecall.schema import DEFAULT_SCHEMA


def status(
    database_url: DatabaseUrl = None, schema: Schema = DEFAULT_SCHEMA, json: AsJson = False
) -> None:
    """Show what the database holds: versions, memories, agents, sizes, indexes."""
    with located(database_url) as (url, _):
        found = migrate.status(url, schema=schema)
        with engine_of(url).connect() as connection:
            held = overview(connection, schema) if found.dimensions else None
    if json:
        print_json(record(found) | (_numbers(held) if held else {}))
        return
    table = Table(show_header=False, show_edge=False)
    table.add_row("PostgreSQL, pgvector", f"{found.postgres}, {found.pgvector or 'none'}")
    if held is None:
        table.add_row("schema", f"{schema}: not there yet; run `pgrecall migrate up`")
    else:
        pending = f", {len(found.pending)} pending: `pgrecall migrate up`" if found.pending else ""
        table.add_row("schema", f"{schema} at revision {found.revision}{pending}")
        table.add_row("embeddings", f"{found.embedding_type}({found.dimensions})")
        about = "about " if held.estimated else ""
        table.add_row("memories", f"{about}{held.memories:,} of {about}{held.agents:,} agents")
        table.add_row("retrieved at least once", f"{about}{held.used:,}")
        table.add_row(
            "size",
            f"{held.bytes / 2**20:,.1f} MiB, of it indexes {held.index_bytes / 2**20:,.1f} MiB",
        )
        for index in found.invalid_indexes:
            table.add_row("invalid index", f"{index}: run `pgrecall migrate up`")
    console.print(table)


def _numbers(held: Overview) -> dict[str, object]:
    return {
        "memories": held.memories,
        "agents": held.agents,
        "memories_retrieved": held.used,
        "estimated": held.estimated,
        "bytes": held.bytes,
        "index_bytes": held.index_bytes,
    }
