"""pgrecall status"""

from __future__ import annotations

from dataclasses import asdict
from importlib.metadata import version
from typing import Annotated, Any

import typer

from pgrecall import migrate
from pgrecall.cli.app import App
from pgrecall.cli.database import Database
from pgrecall.cli.migrate_commands import shards
from pgrecall.cli.output import Output, facts, size, table
from pgrecall.cli.parsers import option
from pgrecall.core.quoting import cut
from pgrecall.execution import MemoryRepository
from pgrecall.lifecycle.health import MOST_MEMORIES, Health, LastMaintenance, Problem
from pgrecall.memories.overview import Overview, overview
from pgrecall.migrate import Status
from pgrecall.migrate.connecting import engine_of
from pgrecall.schema import migrate_up

_HNSW = {"refused": "; its indexes are refused: install 0.8.3 or newer"}
app = App()


@app.function("pgrecall status", "pgrecall status --json")
def status(
    database: Database,
    max_memories: Annotated[
        int, option("Owners of more memories are a problem.", min=1)
    ] = MOST_MEMORIES,
) -> Output:
    """Show what the database holds: versions, memories, sizes, and what needs doing.

    Exits with 1 if anything needs doing: migrations, invalid indexes, statistics, dead rows, rank
    indexes that are due or missing, owners that are too large, or maintenance.
    """
    with database.url() as url:
        schema = migrate.status(url, schema=database.schema)
        with engine_of(url).connect() as connection:
            several = bool(schema.nodes)
            held = (
                overview(connection, schema.schema, distributed=several)
                if schema.dimensions
                else None
            )
            health = (
                None
                if schema.pending or held is None
                else MemoryRepository(connection, schema=schema.schema).maintenance.health(
                    max_memories=max_memories
                )
            )
    problems = [*_of_schema(schema), *(health.problems if health else ())]
    record = {"pgrecall": version("pgrecall")} | asdict(schema) | (asdict(held) if held else {})
    record |= {
        "problems": [asdict(one) for one in problems],
        "last_maintenance": asdict(health.last_maintenance)
        if health and health.last_maintenance
        else None,
    }
    found = [(one.problem, one.name, one.why, one.remedy) for one in problems]
    parts: list[Any] = [facts(_rows(schema, held, health))]
    if found:
        parts += ["", table("needs doing", "of", "why", "what to do", rows=found)]
    return Output([record], *parts, problem=typer.Exit(1) if found else None)


def _of_schema(schema: Status) -> list[Problem]:
    """The problems that functions of the schema cannot tell of."""
    name, remedy = schema.schema, migrate_up(schema.schema)
    if schema.dimensions is None:
        return [Problem("migration", name, "the schema does not exist", remedy)]
    pending = f"pending: {cut(', '.join(schema.pending))}"
    return [
        *([Problem("migration", name, pending, remedy)] if schema.pending else ()),
        *(Problem("invalid index", index, "not built", remedy) for index in schema.invalid_indexes),
    ]


def _rows(schema: Status, held: Overview | None, health: Health | None) -> list[tuple[str, str]]:
    pgvector = f"{schema.pgvector or 'none'}{_HNSW.get(schema.hnsw or '', '')}"
    rows = [
        ("pgrecall", version("pgrecall")),
        ("PostgreSQL, pgvector", f"{schema.postgres}, {pgvector}"),
    ]
    if held is None:
        return rows
    about = "about " if held.estimated else ""
    rows += [
        ("schema", f"{schema.schema} at revision {schema.revision}"),
        ("embeddings", f"{schema.embedding_type}({schema.dimensions}){_made_by(schema)}"),
        (
            "memories",
            f"{about}{held.memories:,} of {about}{held.owners:,} agents and teams",
        ),
        ("retrieved at least once", f"{about}{held.memories_retrieved:,}"),
        ("size", f"{size(held.bytes)}, {size(held.index_bytes)} of it indexes"),
        ("rank indexes", f"{held.rank_indexes:,}"),
    ]
    if schema.nodes:
        rows.append(("distributed over", "\n".join(shards(schema.nodes))))
    if health:
        rows.append(("last maintenance", _of_maintenance(health.last_maintenance)))
    return rows


def _of_maintenance(last: LastMaintenance | None) -> str:
    if last is None:
        return "never"
    tasks = ", ".join(f"{task} {number:,}" for task, number in last.tasks.items())
    return f"{last.started_at:%Y-%m-%d %H:%M}, {last.seconds:,.1f} s: {tasks or 'nothing was due'}"


def _made_by(schema: Status) -> str:
    return f" by {schema.embedding_model}" if schema.embedding_model else ""
