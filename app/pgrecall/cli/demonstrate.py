"""pgrecall demo"""

from __future__ import annotations

import time
from datetime import UTC, datetime
from typing import Annotated

from pgrecall.cli import demo as demo_
from pgrecall.cli.app import App
from pgrecall.cli.database import Database
from pgrecall.cli.output import console, shown_hits
from pgrecall.cli.written import option
from pgrecall.scoring.profiles import DEFAULT

app = App(panel="Administer")


@app.declare("pgrecall demo")
def demo(
    database: Database,
    k: Annotated[int, option("How many memories each search returns.", "-k")] = 5,
) -> None:
    """Store realistic memories and search them four times; the last query has no answer."""
    with database.repository() as repo:
        start = time.monotonic()
        added = demo_.store(repo)
        seconds = time.monotonic() - start
        total = repo.count(demo_.AGENT)
        formula = " + ".join(f"{weight:g} {name}" for name, weight in DEFAULT.weights.items())
        what = f"stored in {seconds:.1f} s" if added else "stored by an earlier run"
        console.print(
            f"[bold]{total} memories of an assistant[/], {what}. Scored by {DEFAULT.name}: "
            f"{formula}; each number is what a signal contributes. Memories with a relevance below "
            f"{demo_.MIN_RELEVANCE} are left out: relevance is the mean of similarity and "
            "keyword.\n",
            highlight=False,
        )
        for query in demo_.QUERIES:
            start = time.monotonic()
            hits = repo.search(demo_.AGENT, query, k=k, min_relevance=demo_.MIN_RELEVANCE)
            milliseconds = (time.monotonic() - start) * 1000
            ids = repo.ids.shorten(demo_.AGENT, [hit.memory.id for hit in hits])
            title = f"“{query}”  ({milliseconds:.0f} ms)"
            for part in shown_hits(hits, ids, datetime.now(UTC), title):
                console.print(part)
            console.print()
    console.print(
        f'Try your own: pgrecall search "what does Ines like?" --agent {demo_.AGENT}',
        markup=False,
        highlight=False,
    )
