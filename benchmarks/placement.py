"""Where embeddings live: in agent_memories, or in a table of each model that every statement joins.

`python -m benchmarks.placement`. Both databases hold the same memories. The statement is the one
that the repository sends; in the second database it reads a view, which PostgreSQL takes apart, so
it is planned as if the join stood in it.
"""

from __future__ import annotations

import random
from typing import Annotated, Any
from unittest.mock import patch
from uuid import UUID

import numpy as np
import psycopg
import typer
from pgvector.psycopg import register_vector
from rich.console import Console
from rich.progress import Progress
from rich.table import Table
from sqlalchemy import create_engine, make_url

from benchmarks.index.machine import machine
from benchmarks.loading import vacuum
from benchmarks.measuring import measured
from benchmarks.server import server
from pgrecall import MemoryRepository, NewMemory, migrate
from pgrecall.core.ids import new_id
from pgrecall.execution import driver, synchronous
from pgrecall.testing import new_database

OWNERS = {"thousand": 1_000, "ten thousand": 10_000, "others": 20_000}
SEARCHES: dict[str, dict[str, Any]] = {
    "vector": {"profile": "five_factor"},
    "words too": {"profile": "hybrid", "query_text": "tea milk"},
    "a filter, 1 %": {"profile": "five_factor", "tags": ["rare"]},
}
APART = """
CREATE TABLE pgrecall.embeddings (
    agent_id text, memory_id uuid, embedding vector({dimensions}) NOT NULL,
    PRIMARY KEY (agent_id, memory_id));
ALTER TABLE pgrecall.embeddings ALTER COLUMN embedding SET STORAGE PLAIN;
"""
JOINED = """
CREATE VIEW pgrecall.joined AS
SELECT {columns}, e.embedding FROM pgrecall.agent_memories m
  LEFT JOIN pgrecall.embeddings e ON e.agent_id = m.agent_id AND e.memory_id = m.id
"""
COLUMNS = """
SELECT string_agg('m.' || attname, ', ' ORDER BY attnum) FROM pg_attribute
 WHERE attrelid = 'pgrecall.agent_memories'::regclass AND attnum > 0 AND NOT attisdropped
   AND attname <> 'embedding'
"""
SIZES = """
SELECT sum(pg_table_size(c.oid)) FROM pg_class c
 WHERE c.oid IN (to_regclass('pgrecall.agent_memories'), to_regclass('pgrecall.embeddings'))
"""


def main(
    dimensions: Annotated[list[int] | None, typer.Option(help="Of the embeddings.")] = None,
    rounds: Annotated[int, typer.Option(min=5, help="Rounds of each search.")] = 100,
) -> None:
    """Prints times in both, and their ratio within a round."""
    console = Console()
    console.print(machine(), highlight=False)
    with server() as here:
        for number in dimensions or [256, 1536]:
            with new_database(here) as one, new_database(here) as other:
                _fill(one, other, number)
                console.print(_measured(one, other, number, rounds))


def _fill(inline: str, apart: str, dimensions: int) -> None:
    numbers = np.random.default_rng(1)
    every: list[tuple[str, UUID, Any]] = []
    for url in (inline, apart):
        migrate.upgrade(url, dimensions=dimensions)
    engines = [
        create_engine(make_url(url).set(drivername="postgresql+psycopg")) for url in (inline, apart)
    ]
    names = [name for name, size in OWNERS.items() for _ in range(size // 100)]
    random.Random(1).shuffle(names)  # owners' rows lie in parts of a hundred
    for name in names:
        batch = []
        for place in range(100):
            vector = numbers.standard_normal(dimensions).astype(np.float32)
            batch.append(
                NewMemory(
                    f"memory {len(every)} about {'tea' if place % 7 else 'milk'}",
                    id=new_id(),
                    embedding=vector,
                    tags=["rare"] if place == 50 else ["common"],
                    importance=place / 100,
                )
            )
            every.append((name, batch[-1].id, vector))  # type: ignore[arg-type]
        MemoryRepository(engines[0]).add_many(name, batch)
        without = [
            NewMemory(m.content, id=m.id, embedding=None, tags=m.tags, importance=m.importance)
            for m in batch
        ]
        MemoryRepository(engines[1]).add_many(name, without)
    with psycopg.connect(apart, autocommit=True) as connection:
        connection.execute(APART.format(dimensions=dimensions))
        register_vector(connection)
        copied = "COPY pgrecall.embeddings FROM STDIN (FORMAT BINARY)"
        with connection.cursor() as cursor, cursor.copy(copied) as copy:
            copy.set_types(("text", "uuid", "vector"))
            for row in every:
                copy.write_row(row)
        [[columns]] = connection.execute(COLUMNS)
        connection.execute(JOINED.format(columns=columns))
    vacuum(inline, "agent_memories", "memory_usage")
    vacuum(apart, "agent_memories", "memory_usage", "embeddings")
    for engine in engines:
        engine.dispose()


def _measured(inline: str, apart: str, dimensions: int, rounds: int) -> Table:
    table = Table(
        "memories",
        "search",
        "inline, ms",
        "apart, ms",
        "apart / inline",
        title=f"{dimensions} dimensions",
    )
    query = np.random.default_rng(2).standard_normal(dimensions).astype(np.float32)
    with psycopg.connect(inline) as one, psycopg.connect(apart) as other:
        for connection in (one, other):
            driver.send_vectors(connection)
        [[size]], [[apart_size]] = one.execute(SIZES), other.execute(SIZES)
        for owner in ("thousand", "ten thousand"):
            for name, arguments in SEARCHES.items():
                text, values = _sent(inline, owner, query, arguments)
                moved = text.replace(b"pgrecall.agent_memories", b"pgrecall.joined")
                cursors = [psycopg.RawCursor(connection) for connection in (one, other)]
                ids = [
                    [row[:3] for row in cursor.execute(sent, values, binary=True)]
                    for cursor, sent in zip(cursors, (text, moved), strict=True)
                ]
                assert ids[0] == ids[1], "the same memories"
                contenders = {
                    "inline": lambda _, c=cursors[0], t=text, v=values: c.execute(
                        t, v, prepare=True, binary=True
                    ).fetchall(),
                    "apart": lambda _, c=cursors[1], t=moved, v=values: c.execute(
                        t, v, prepare=True, binary=True
                    ).fetchall(),
                }
                with Progress(transient=True) as progress:
                    times = measured(contenders, [None], rounds, progress)
                table.add_row(
                    f"{OWNERS[owner]:,}",
                    name,
                    f"{times['inline'].median * 1e3:.2f}",
                    f"{times['apart'].median * 1e3:.2f}",
                    f"{times['apart'].over(times['inline']):.2f}",
                )
    table.add_section()
    table.add_row(
        "",
        "size of both tables, MB",
        f"{size / 2**20:.0f}",
        f"{apart_size / 2**20:.0f}",
        f"{apart_size / size:.2f}",
    )
    return table


def _sent(url: str, owner: str, query: Any, arguments: dict[str, Any]) -> tuple[bytes, list[Any]]:
    """The text and the values that the repository sends for a search."""
    found: list[tuple[bytes, list[Any]]] = []
    execute = synchronous._execute

    def noting(connection: Any, step: Any) -> Any:
        statement = step.statement
        found.append((statement.numbered, statement.values(step.parameters)))
        return execute(connection, step)

    engine = create_engine(make_url(url).set(drivername="postgresql+psycopg"))
    with patch.object(synchronous, "_execute", noting):
        MemoryRepository(engine).search(owner, query, touch=False, **arguments)
    engine.dispose()
    return found[-1]


if __name__ == "__main__":
    typer.run(main)
