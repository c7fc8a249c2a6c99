"""pgrecall status"""

from __future__ import annotations

from rich.table import Table
from rich.text import Text
from sqlalchemy import Connection

from pgrecall import migrate
from pgrecall.cli.app import App
from pgrecall.cli.database import AsJson, DatabaseUrl, Schema, located
from pgrecall.cli.migrate_commands import record
from pgrecall.cli.output import console, plain, print_json
from pgrecall.execution import MemoryRepository
from pgrecall.memories.overview import Overview, overview
from pgrecall.migrate.connecting import engine_of
from pgrecall.rank_index.index import RankIndexStatus
from pgrecall.schema import DEFAULT_SCHEMA

app = App(panel="The database")


@app.command()
def status(
    database_url: DatabaseUrl = None, schema: Schema = DEFAULT_SCHEMA, json: AsJson = False
) -> None:
    """Show what the database holds: versions, memories of agents and teams, sizes, indexes."""
    with located(database_url) as (url, _):
        found = migrate.status(url, schema=schema)
        with engine_of(url).connect() as connection:
            held = overview(connection, schema) if found.dimensions else None
            indexes = {} if found.pending or held is None else _rank_indexes(connection, schema)
    if json:
        print_json(record(found) | (_numbers(held, indexes) if held else {}))
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
        owners = f"{about}{held.owners:,} agents and teams"
        table.add_row("memories", f"{about}{held.memories:,} of {owners}")
        table.add_row("retrieved at least once", f"{about}{held.used:,}")
        table.add_row(
            "size",
            f"{held.bytes / 2**20:,.1f} MiB, of it indexes {held.index_bytes / 2**20:,.1f} MiB",
        )
        for whose, statuses in indexes.items():
            built = sum(status.index is not None for status in statuses)
            if statuses:
                table.add_row(f"rank indexes of {whose}", f"{built:,}")
            run = f"run `pgrecall index maintain{' --of-team' if whose == 'teams' else ''}`"
            for status in statuses:
                if status.due:
                    said = f"{plain(status.agent_id)}: {status.due}; {run}"
                    table.add_row("rank index due", Text(said))
        for index in found.invalid_indexes:
            table.add_row("invalid index", f"{index}: run `pgrecall migrate embedding-index`")
    console.print(table)


def _rank_indexes(connection: Connection, schema: str) -> dict[str, list[RankIndexStatus]]:
    repo = MemoryRepository(connection, schema=schema)
    return {"agents": repo.rank_indexes.status(), "teams": repo.teams.rank_indexes.status()}


def _numbers(held: Overview, indexes: dict[str, list[RankIndexStatus]]) -> dict[str, object]:
    return {
        "memories": held.memories,
        "owners": held.owners,
        "memories_retrieved": held.used,
        "estimated": held.estimated,
        "bytes": held.bytes,
        "index_bytes": held.index_bytes,
        "rank_indexes": {
            whose: sum(status.index is not None for status in statuses)
            for whose, statuses in indexes.items()
        },
        "rank_indexes_due": {
            whose: {status.agent_id: status.due for status in statuses if status.due}
            for whose, statuses in indexes.items()
        },
    }
