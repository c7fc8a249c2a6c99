"""`python -m benchmarks.moving_from`: imports from the tables of other systems.

The tables are those that the systems make, filled by COPY with texts of 60 words and vectors.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from time import perf_counter, process_time
from typing import Annotated, Any

import numpy as np
import psutil
import psycopg
import typer
from rich.console import Console
from sqlalchemy import create_engine, make_url

from benchmarks.data import VOCABULARY, WORDS
from benchmarks.measurement import Measurement, print_table
from benchmarks.server import server
from pgrecall import MemoryRepository, import_from, migrate
from pgrecall.core.vectors import Vector
from pgrecall.testing import new_database

MODEL = "text-embedding-3-small"
VECTORS = 1_000
"""Different ones: writing them as text takes longer than importing them."""
GOAL = 180
"""Seconds for 100,000 rows on two cores."""
TABLES = {
    "mem0": "CREATE TABLE mem0 (id uuid PRIMARY KEY, vector vector({}), payload jsonb)",
    "langgraph": "CREATE TABLE store (prefix text, key text, value jsonb NOT NULL, "
    "created_at timestamptz DEFAULT now(), updated_at timestamptz DEFAULT now(), "
    "expires_at timestamptz, ttl_minutes integer, PRIMARY KEY (prefix, key)); "
    "CREATE TABLE store_vectors (prefix text, key text, field_name text, embedding vector({}), "
    "PRIMARY KEY (prefix, key, field_name))",
    "langchain": "CREATE TABLE langchain_pg_collection (uuid uuid PRIMARY KEY, name text, "
    "cmetadata json); CREATE TABLE langchain_pg_embedding (id text PRIMARY KEY, "
    "collection_id uuid, embedding vector, document text, cmetadata jsonb); -- {}",
    "letta": "CREATE TABLE archival_passages (id text PRIMARY KEY, text text, "
    "embedding_config json, metadata_ json, embedding vector(4096), created_at timestamptz "
    "DEFAULT now(), is_deleted boolean DEFAULT false, archive_id text); -- {}",
    "table": "CREATE TABLE items (id bigint PRIMARY KEY, owner text, body text, "
    "embedding vector({}))",
}


def main(
    systems: Annotated[list[str] | None, typer.Argument(help="Default: all.")] = None,
    rows: Annotated[int, typer.Option(min=100)] = 100_000,
    dimensions: Annotated[int, typer.Option(min=8, max=1850)] = 1536,
    owners: Annotated[int, typer.Option(min=1, help="Agents that the rows belong to.")] = 100,
    seed: Annotated[int, typer.Option(help="Decides all the data.")] = 0,
) -> None:
    """Moves rows with vectors that are taken over, from one database of a server into another."""
    with server() as url:
        for system in systems or TABLES:
            with new_database(url) as source, new_database(url) as target:
                migrate.upgrade(target, dimensions=dimensions)
                _fill(system, source, rows, dimensions, owners, seed)
                found = [*_measured(system, source, target, rows)]
            print_table(
                Console(),
                f"{system}: {rows:,} rows of {owners:,} owners, {dimensions} dimensions",
                found,
            )


def _measured(system: Any, source: str, target: str, rows: int) -> Iterator[Measurement]:
    engine = create_engine(target.replace("postgresql:", "postgresql+psycopg:"))
    repo = MemoryRepository(engine)
    given: dict[str, Any] = {"model": MODEL}
    if system == "table":
        given |= {"table": "items", "fields": {"body": "content", "owner": "agent_id"}}
    if system == "langchain":
        given |= {"fields": {"cmetadata.user": "agent_id"}}
    for what, expected in (
        ("dry run", (rows, 0)),
        ("import", (rows, 0)),
        ("import again", (0, rows)),
    ):
        given["dry_run"] = what == "dry run"
        began, used = perf_counter(), _cpu(source)
        done = import_from(repo, None, system, source, **given)
        seconds, spent = perf_counter() - began, _cpu(source) - used
        assert (done.added, done.already_there) == expected, done
        assert done.vectors.startswith(f"{rows:,} of"), done.vectors
        goal = GOAL * rows / 100_000 if what == "import" else None
        yield Measurement(what, seconds, "s", goal)
        yield Measurement(f"{what}: CPU of client and server", spent, "s")
    engine.dispose()


def _cpu(url: str) -> float:
    """Seconds of this process and of the server, also of its sessions that have ended."""
    folder = Path(str(make_url(url).query["host"]))
    main = psutil.Process(int((folder / "postmaster.pid").read_text().splitlines()[0]))
    sessions = sum(sum(one.cpu_times()[:2]) for one in main.children())
    return float(process_time() + sum(main.cpu_times()[:4]) + sessions)


def _fill(system: str, url: str, rows: int, dimensions: int, owners: int, seed: int) -> None:
    dice = np.random.default_rng(seed)
    with psycopg.connect(url) as connection:
        connection.execute("CREATE EXTENSION vector")
        for statement in TABLES[system].format(dimensions).split(";"):
            connection.execute(statement.encode())
        if system == "langchain":
            connection.execute(
                "INSERT INTO langchain_pg_collection VALUES (gen_random_uuid(), 'notes')"
            )
        with _staging(connection) as add:
            vectors = [Vector(one).to_text() for one in dice.standard_normal((VECTORS, dimensions))]
            for number in range(rows):
                words = " ".join(dice.choice(VOCABULARY, WORDS))
                owner = f"agent {dice.integers(owners)}"
                add((number, owner, f"{number} {words}", vectors[number % VECTORS]))
        connection.execute(MOVED[system].encode())
        connection.execute("DROP TABLE given")
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute("VACUUM ANALYZE")


@contextmanager
def _staging(connection: psycopg.Connection[Any]) -> Iterator[Any]:
    """A table of what every system gets."""
    connection.execute("CREATE TABLE given (n int, owner text, body text, embedding vector)")
    with connection.cursor().copy("COPY given FROM STDIN") as copy:
        yield copy.write_row


MOVED = {
    "mem0": "INSERT INTO mem0 SELECT gen_random_uuid(), embedding, jsonb_build_object("
    "'data', body, 'hash', md5(body), 'user_id', owner, 'created_at', now(), 'updated_at', now(), "
    "'text_lemmatized', body) FROM given",
    "langgraph": "WITH s AS (INSERT INTO store SELECT 'memories.' || owner, n, "
    "jsonb_build_object('text', body) FROM given) INSERT INTO store_vectors "
    "SELECT 'memories.' || owner, n, 'text', embedding FROM given",
    "langchain": "INSERT INTO langchain_pg_embedding SELECT n, uuid, embedding, body, "
    "jsonb_build_object('user', owner) FROM given, langchain_pg_collection",
    "letta": "INSERT INTO archival_passages SELECT 'passage-' || n, body, json_build_object("
    f"'embedding_model', '{MODEL}', 'embedding_dim', vector_dims(embedding)), '{{}}', "
    "(embedding::real[] || array_fill(0::real, ARRAY[4096 - vector_dims(embedding)]))::vector, "
    "now(), false, owner FROM given",
    "table": "INSERT INTO items SELECT n, owner, body, embedding FROM given",
}


if __name__ == "__main__":
    typer.run(main)
