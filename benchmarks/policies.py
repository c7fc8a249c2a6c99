"""`python -m benchmarks.policies`: what row-level security costs a search."""

from __future__ import annotations

import subprocess
from functools import partial
from typing import Annotated, Any

import psycopg
import typer
from rich.console import Console
from sqlalchemy import Engine, create_engine, event, text

from benchmarks.data import AGENT, Corpus
from benchmarks.loading import Order, load
from benchmarks.measurement import Measurement, print_table
from benchmarks.measuring import measured
from benchmarks.progress import progress_bar
from benchmarks.server import server
from pgrecall import MemoryRepository, embedded, migrate
from pgrecall.core.resources import sql_folder
from pgrecall.migrate.connecting import database_url

GOAL = 1.1
SEARCHES: dict[str, dict[str, Any]] = {
    "five_factor": {"profile": "five_factor"},
    "tiered": {"profile": "tiered"},
    "five_factor with a team": {"profile": "five_factor", "teams": ["crew"]},
    "hybrid, three words": {"profile": "hybrid", "query_text": "deadline invoice report"},
}


def main(
    rows: Annotated[int, typer.Option(min=1_000, help="Memories of ten agents.")] = 100_000,
    rounds: Annotated[int, typer.Option(min=10)] = 60,
    seed: Annotated[int, typer.Option(help="Decides all the data.")] = 0,
) -> None:
    """Searches as the owner, whom no policy concerns, and as a writer behind the recipe."""
    corpus = Corpus.of(rows, seed)
    queries = [list(map(float, query)) for query in corpus.queries(20)]
    with progress_bar() as progress, server() as url:
        load(url, corpus, Order.INTERLEAVED, progress)
        with psycopg.connect(url, autocommit=True) as connection:
            connection.execute("CREATE ROLE tenant")
        migrate.grant(url, "tenant", "writer")
        script = sql_folder() / "policies" / "row_level_security.sql"
        subprocess.run([embedded.binaries() / "psql", "-q", "-f", script, url], check=True)
        engines = {"owner": create_engine(database_url(url)), "tenant": _tenant(url)}
        found = []
        for name, asked in SEARCHES.items():
            contenders = {
                who: partial(
                    MemoryRepository(engine).search,
                    AGENT,
                    touch=False,
                    strategy="exact",
                    **asked,
                )
                for who, engine in engines.items()
            }
            timings = measured(contenders, queries, rounds, progress, what=name)
            ratio = timings["tenant"].over(timings["owner"])
            found += [
                Measurement(f"{name}, no policy", timings["owner"].median * 1000, "ms"),
                Measurement("  behind policies", ratio, "×", GOAL),
            ]
        for engine in engines.values():
            engine.dispose()
    title = f"searches of one of ten agents among {rows:,} memories"
    print_table(Console(), title, found)


def _tenant(url: str) -> Engine:
    engine = create_engine(database_url(url))

    @event.listens_for(engine, "connect")
    def act(connection: psycopg.Connection, _: object) -> None:
        connection.execute("SET ROLE tenant")
        connection.execute(f"SET pgrecall.owners = '{{{AGENT},team:crew}}'".encode())
        connection.commit()

    with engine.connect() as connection:
        connection.execute(text("SELECT 1"))
    return engine


if __name__ == "__main__":
    typer.run(main)
