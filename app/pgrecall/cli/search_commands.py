"""pgrecall search, explain, context"""

from __future__ import annotations

from datetime import datetime
from typing import Annotated

from pgrecall.cli.app import App
from pgrecall.cli.call import Call
from pgrecall.cli.memory_ids import short_ids
from pgrecall.cli.output import Output
from pgrecall.cli.parsers import option
from pgrecall.context.assembled import account_grid
from pgrecall.context.styles import STYLES
from pgrecall.core.dates import period_record, period_text
from pgrecall.core.display import Verbatim
from pgrecall.ranking.hits import rerank_record, rerank_text
from pgrecall.scoring.scored_memory import hit_grid
from pgrecall.search.explanation import Explanation

app = App()


@app.method(
    "search",
    'pgrecall search "which instrument?" --agent zoe -k 5',
    """pgrecall search cello --agent zoe --filter '{"metadata.priority": {"$gte": 3}}'""",
    'pgrecall search "what did she play?" --agent zoe --period 2026-03-01..2026-04-01',
    linked=option("Add memories linked to the hits, up to this many links away."),
)
def search(
    call: Call,
    plan: Annotated[
        bool,
        option("Show the SQL statement and its query plan instead of running it.", "--plan"),
    ] = False,
) -> Output:
    """Find an agent's best memories for a text, and show what each score is made of."""
    if plan:
        after = ("linked", "rerank", "touch")  # work on the hits of the statement
        asked = {name: value for name, value in call.arguments.items() if name not in after}
        planned = call.repo.plan(**asked)
        return Output([planned], Verbatim(f"{planned}\n"))
    hits, agent = call(), call.agent
    teams = call.arguments.get("teams", ())
    ids = short_ids(call.repo, agent, (hit.memory.id for hit in hits), teams)
    reranked = f", {rerank_text(hits)}" if hits.reranked is not None else ""
    how = "" if hits.candidates is None else f", {hits.candidates:,} scored of the rank index"
    query, period = call.arguments["query"], period_text(hits.period)
    title = f"“{query}” for {agent}, by {hits.profile}{how}{reranked}{period}"
    notes = [] if hits or call.repo.count(agent) else [f"{agent} has no memories"]
    notes += [hits.notice] if hits.notice else []
    about = period_record(hits.period) | rerank_record(hits)
    records = (hit.record() | about for hit in hits)
    as_of: datetime | None = call.arguments.get("as_of")
    shown = hit_grid(hits, title=title, ids=ids, as_of=as_of)
    return Output(records, shown, otherwise="nothing found", notes=notes)


@app.method("explain", 'pgrecall explain 0197a3c2 "which instrument?" --agent zoe')
def explain(call: Call) -> Output:
    """Explain why a search finds a memory, or why not.

    Takes the options of the search. Shows the memory's rank and score, and the value, weight and
    share of each signal. For a memory that is not found, it shows which filter or limit excludes
    it, or which score it needs.
    """
    explanation: Explanation = call()
    return Output([explanation], *explanation._parts())


@app.method(
    "context",
    'pgrecall context "which instrument?" --agent zoe --max-tokens 800 --style xml',
    'pgrecall context "which instrument?" --agent zoe --reserve fact=0.5 --max-similarity 0.92',
    max_tokens=option("Budget of the whole text, in tokens."),
    style=option(f"Format of the text: {', '.join(STYLES)}."),
    reserve=option(
        "Reserve a share of the budget for a type, such as fact=0.5. May be repeated.",
        metavar="TYPE=SHARE",
    ),
    max_similarity=option("Leave out memories more similar to one above, such as 0.92."),
    fetch_k=option("How many of the best memories to look at."),
)
def context(call: Call) -> Output:
    """Write the best memories for a text as part of a prompt, within a budget of tokens.

    Standard output gets the text. Standard error gets a table of what was included, and what was
    left out and why. Unless --min-relevance is given, the profile's is used.
    """
    packed = call()
    return Output([packed], Verbatim(packed.text), notes=[account_grid(packed), *packed.notes])
