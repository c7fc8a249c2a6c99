"""pgrecall search, plan"""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Annotated, Unpack

from pgrecall.cli.app import App
from pgrecall.cli.database import Agent
from pgrecall.cli.embedding import EmbedsOne
from pgrecall.cli.memory_ids import short_ids
from pgrecall.cli.options import K, Query, UseIndex, between
from pgrecall.cli.output import Output, Verbatim, shown_hits
from pgrecall.cli.written import option
from pgrecall.core.dates import period_record
from pgrecall.ranking.arguments import SearchArguments

app = App(panel="Store and search")


@app.declare(
    'pgrecall search "which instrument?" --agent zoe -k 5',
    "pgrecall search cello --agent zoe --type fact --metadata 'priority>=3'",
    'pgrecall search "what did she play last week?" --agent zoe --dates auto',
)
def search(
    repo: EmbedsOne,
    query: Query,
    agent: Agent,
    k: K = 10,
    expand: Annotated[
        int, option("Add memories linked to the hits, up to this many links away.")
    ] = 0,
    strategy: UseIndex = "auto",
    touch: Annotated[bool, option("Count this retrieval of the hits.")] = True,
    **arguments: Unpack[SearchArguments],
) -> Output:
    """Find an agent's best memories for a text, and show what each score is made of."""
    hits = repo.search(
        agent, query, k=k, expand=expand, strategy=strategy, touch=touch, **arguments
    )
    ids = short_ids(repo, agent, (hit.memory.id for hit in hits), arguments.get("teams", ()))
    how = "" if hits.candidates is None else f", {hits.candidates:,} scored of the rank index"
    title = f"“{query}” for {agent}, by {hits.profile}{how}{between(hits.query_time)}"
    at = arguments.get("as_of") or datetime.now(UTC)
    notes = [] if hits or repo.count(agent) else [f"{agent} has no memories"]
    records = (hit.record() | period_record(hits.query_time) for hit in hits)
    return Output(records, *shown_hits(hits, ids, at, title), notes=notes)


@app.declare('pgrecall plan "which instrument?" --agent zoe --run')
def plan(
    repo: EmbedsOne,
    query: Query,
    agent: Agent,
    k: K = 10,
    strategy: UseIndex = "auto",
    run: Annotated[
        bool, option("Run the statement, to measure times and buffers.", "--run")
    ] = False,
    **arguments: Unpack[SearchArguments],
) -> Output:
    """Show the SQL statement of a search, and PostgreSQL's plan for it."""
    found = repo.plan(agent, query, k=k, strategy=strategy, run=run, **arguments)
    return Output([found.record()], Verbatim(f"{found.statement}\n\n{found.plan}\n"))
