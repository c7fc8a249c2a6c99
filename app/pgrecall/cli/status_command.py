"""pgrecall status"""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from sqlalchemy import Connection

from pgrecall import migrate
from pgrecall.cli.app import App
from pgrecall.cli.database import Database
from pgrecall.cli.migrate_commands import shards
from pgrecall.cli.output import Output, facts, size
from pgrecall.execution import MemoryRepository
from pgrecall.memories.overview import Overview, overview
from pgrecall.migrate import Status
from pgrecall.migrate.connecting import engine_of
from pgrecall.rank_index.index import RankIndexStatus
from pgrecall.schema import migrate_up

_HNSW = {
    "accepted": "; its indexes are accepted, though they can be corrupted: install 0.8.3 or newer",
    "refused": "; its indexes are refused: install 0.8.3 or newer",
}
app = App()


@app.function("pgrecall status", "pgrecall status --json")
def status(database: Database) -> Output:
    """Show what the database holds: versions, memories, sizes, and rank indexes that are due."""
    with database.url() as url:
        schema = migrate.status(url, schema=database.schema)
        with engine_of(url).connect() as connection:
            several = bool(schema.nodes)
            held = (
                overview(connection, schema.schema, distributed=several)
                if schema.dimensions
                else None
            )
            indexes = {} if schema.pending or held is None else _indexes(connection, schema.schema)
    record = asdict(schema) | (_numbers(held, indexes) if held else {})
    return Output([record], facts(_rows(schema, held, indexes)))


def _indexes(connection: Connection, schema: str) -> dict[str, list[RankIndexStatus]]:
    repo = MemoryRepository(connection, schema=schema)
    return {"agents": repo.rank_indexes.status(), "teams": repo.teams.rank_indexes.status()}


def _rows(
    schema: Status, held: Overview | None, indexes: dict[str, list[RankIndexStatus]]
) -> list[tuple[str, str]]:
    pgvector = f"{schema.pgvector or 'none'}{_HNSW.get(schema.hnsw or '', '')}"
    rows = [("PostgreSQL, pgvector", f"{schema.postgres}, {pgvector}")]
    if held is None:
        return [*rows, ("schema", f"{schema.schema} does not exist: {migrate_up(schema.schema)}")]
    pending = (
        f", {len(schema.pending)} pending: {migrate_up(schema.schema)}" if schema.pending else ""
    )
    about = "about " if held.estimated else ""
    rows += [
        ("schema", f"{schema.schema} at revision {schema.revision}{pending}"),
        ("embeddings", f"{schema.embedding_type}({schema.dimensions}){_made_by(schema)}"),
        (
            "memories",
            f"{about}{held.memories:,} of {about}{held.owners:,} agents and teams",
        ),
        ("retrieved at least once", f"{about}{held.memories_retrieved:,}"),
        ("size", f"{size(held.bytes)}, {size(held.index_bytes)} of it indexes"),
    ]
    if schema.nodes:
        rows.append(("distributed over", "\n".join(shards(schema.nodes))))
    for owners, statuses in indexes.items():
        if statuses:
            built = sum(status.index is not None for status in statuses)
            rows.append((f"rank indexes of {owners}", f"{built:,}"))
        run = f"run `pgrecall index maintain{' --of-team' if owners == 'teams' else ''}`"
        rows += [
            ("rank index due", f"{status.agent_id}: {status.due}; {run}")
            for status in statuses
            if status.due
        ]
    invalid = "run `pgrecall migrate embedding-index`"
    return [*rows, *(("invalid index", f"{name}: {invalid}") for name in schema.invalid_indexes)]


def _made_by(schema: Status) -> str:
    return f" by {schema.embedding_model}" if schema.embedding_model else ""


def _numbers(held: Overview, indexes: dict[str, list[RankIndexStatus]]) -> dict[str, Any]:
    return asdict(held) | {
        "rank_indexes": {
            owners: sum(status.index is not None for status in statuses)
            for owners, statuses in indexes.items()
        },
        "rank_indexes_due": {
            owners: {status.agent_id: status.due for status in statuses if status.due}
            for owners, statuses in indexes.items()
        },
    }
