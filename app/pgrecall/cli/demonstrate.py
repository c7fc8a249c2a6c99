"""pgrecall demo"""

from __future__ import annotations

import time
from datetime import UTC, datetime
from typing import Annotated

import typer

from pgrecall.cli import demo as demo_
from pgrecall.cli.app import App
from pgrecall.cli.database import DatabaseUrl, Schema, repository
from pgrecall.cli.output import console, print_hits
from pgrecall.schema import DEFAULT_SCHEMA
from pgrecall.scoring.profiles import DEFAULT

app = App(panel="The database")


@app.command()
def demo(
    k: Annotated[int, typer.Option("-k", help="Hits per search.")] = 5,
    database_url: DatabaseUrl = None,
    schema: Schema = DEFAULT_SCHEMA,
) -> None:
    """Store a set of realistic memories and run four searches over them, one without an answer."""
    with repository(database_url, schema) as repo:
        start = time.monotonic()
        added = demo_.store(repo)
        seconds = time.monotonic() - start
        total = repo.count(demo_.AGENT)
        formula = " + ".join(f"{weight:g} {name}" for name, weight in DEFAULT.weights.items())
        what = f"stored in {seconds:.1f} s" if added else "stored by an earlier run"
        console.print(
            f"[bold]{total} memories of an assistant[/], {what}. Scored by {DEFAULT.name}: "
            f"{formula}; each number is a signal's share of the score. Memories of a relevance "
            f"below {demo_.MIN_RELEVANCE} are left out: the mean of similarity and keyword, with "
            "the words that nobody has among those asked for.\n",
            highlight=False,
        )
        for query in demo_.QUERIES:
            start = time.monotonic()
            hits = repo.search(demo_.AGENT, query, k=k, min_relevance=demo_.MIN_RELEVANCE)
            milliseconds = (time.monotonic() - start) * 1000
            ids = repo.ids.shorten(demo_.AGENT, [hit.memory.id for hit in hits])
            print_hits(hits, ids, datetime.now(UTC), f"“{query}”  ({milliseconds:.0f} ms)")
            console.print()
    console.print(
        f'Ask your own: pgrecall search "what does Ines like?" --agent {demo_.AGENT}',
        markup=False,
        highlight=False,
    )
