"""pgrecall search, plan, explain, context"""

from __future__ import annotations

from datetime import UTC, datetime

from rich.console import RenderableType
from rich.table import Column, Table
from rich.text import Text

from pgrecall.cli.app import App
from pgrecall.cli.call import Call
from pgrecall.cli.hit_table import render_hits
from pgrecall.cli.memory_ids import short_ids
from pgrecall.cli.output import Output, Verbatim, age, cell, counted, right, table
from pgrecall.cli.parsers import option
from pgrecall.context.assembled import Context, LeftOut, Packed
from pgrecall.context.styles import STYLES
from pgrecall.core.dates import Period, period_record
from pgrecall.search.explanation import Explanation

app = App()

MAX_TERMS = 40
"""Shown; --json has all."""
REASONS = {
    "min_score": "score below --min-score",
    "min_relevance": "not relevant enough",
    "too_long": "longer than the rest",
    "reserved": "rest reserved for other types",
    "near_duplicate": "nearly the same as one above",
    "stopped": "too many before it did not fit",
    "limit": "enough are included",
}


def _as_of(call: Call) -> datetime:
    """The moment at which ages are shown."""
    moment: datetime = call.arguments.get("as_of") or datetime.now(UTC)
    return moment


def _between(period: Period | None) -> str:
    """The period of a query, as the end of a line."""
    if period is None:
        return ""
    ends = (f"{end:%Y-%m-%d %H:%M}".removesuffix(" 00:00") for end in period)
    return f", between {' and '.join(ends)}"


@app.method(
    "search",
    'pgrecall search "which instrument?" --agent zoe -k 5',
    "pgrecall search cello --agent zoe --type fact --metadata 'priority>=3'",
    'pgrecall search "what did she play last week?" --agent zoe --dates auto',
    expand=option("Add memories linked to the hits, up to this many links away."),
)
def search(call: Call) -> Output:
    """Find an agent's best memories for a text, and show what each score is made of."""
    hits, agent = call(), call.agent
    teams = call.arguments.get("teams", ())
    ids = short_ids(call.repo, agent, (hit.memory.id for hit in hits), teams)
    how = "" if hits.candidates is None else f", {hits.candidates:,} scored of the rank index"
    query, period = call.arguments["query"], _between(hits.query_time)
    title = f"“{query}” for {agent}, by {hits.profile}{how}{period}"
    notes = [] if hits or call.repo.count(agent) else [f"{agent} has no memories"]
    records = (hit.record() | period_record(hits.query_time) for hit in hits)
    return Output(records, *render_hits(hits, ids, _as_of(call), title), notes=notes)


@app.method(
    "plan",
    'pgrecall plan "which instrument?" --agent zoe --run',
    run=option("Run the statement, to measure times and buffers."),
)
def plan(call: Call) -> Output:
    """Show the SQL statement of a search, and PostgreSQL's plan for it."""
    planned = call()
    return Output([planned], Verbatim(f"{planned.statement}\n\n{planned.plan}\n"))


@app.method("explain", 'pgrecall explain 0197a3c2 "which instrument?" --agent zoe')
def explain(call: Call) -> Output:
    """Explain why a search finds a memory, or why not.

    Takes the options of the search. Shows the memory's rank and score, and the value, weight and
    share of each signal. For a memory that is not found, it shows which filter or limit excludes
    it, or which score it needs.
    """
    explanation = call()
    return Output([explanation], *_explanation(explanation, _as_of(call)))


def _explanation(explanation: Explanation, as_of: datetime) -> list[RenderableType]:
    hit = explanation.hit
    verdict = Text("returned" if explanation.returned else "not returned")
    verdict.stylize("green" if explanation.returned else "red")
    rank = "rank" if explanation.passes else "its score would be rank"
    verdict.append(
        f": {rank} {explanation.rank:,} of {explanation.ranked:,} that pass, score "
        f"{hit.score:.6f}, relevance {hit.relevance:.3f}, age {age(hit.memory.created_at, as_of)}"
        f"{_between(explanation.query_time)}",
        style="default",
    )
    lines: list[RenderableType] = [hit.memory.content, verdict]
    if hit.lender is not None:
        lines.append(f"{hit.lent:.6f} of it lent by {hit.lender}, in the same session")
    if hit.beside is not None:
        lines.append(f"comes along with {hit.beside}")
    lines += [*explanation.reasons, _signals(explanation)]
    lines += [
        f"{signal.name}: {signal.of_terms:.4f} of the terms by weight "
        f"x {signal.length_factor:.4f} for its length"
        for signal in explanation.signals
        if signal.of_terms is not None
    ]
    return [*lines, _terms(explanation)] if explanation.terms else lines


def _signals(explanation: Explanation) -> Table:
    behind = "" if explanation.needed_score is None else f"behind number {explanation.k}"
    loser = None if explanation.returned else explanation.loses_most_in
    rows = (
        (
            signal.name,
            f"{signal.value:.4f}",
            f"{signal.weight:g}",
            f"{signal.contribution:.4f}",
            f"{signal.share:.0%}",
            Text(
                "" if signal.behind is None else f"{signal.behind:+.4f}",
                style="bold red" if signal.name == loser else "",
            ),
        )
        for signal in explanation.signals
    )
    return table("signal", *right("value", "weight", "contribution", "share", behind), rows=rows)


def _terms(explanation: Explanation) -> Table:
    matched = Text("yes", style="green")
    rows = (
        (
            term.term,
            matched if term.matched else "left out" if term.left_out else "no",
            f"{term.weight:.3f}",
            f"{term.share:.0%}",
            f"{term.memories:,}",
        )
        for term in explanation.terms[:MAX_TERMS]
    )
    numbers = right("weight", "share", "memories")
    shown = table("term of the query", "in the memory", *numbers, rows=rows)
    if len(explanation.terms) > MAX_TERMS:
        shown.add_row(f"and {len(explanation.terms) - MAX_TERMS:,} with less weight")
    return shown


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
    diversity=option("Rank memories lower that are similar to those above, 0 to 1."),
    max_similarity=option("Leave out memories more similar to one above, such as 0.92."),
    consider=option("How many of the best memories to look at."),
)
def context(call: Call) -> Output:
    """Write the best memories for a text as part of a prompt, within a budget of tokens.

    Standard output gets the text. Standard error gets a table of what was included, and what was
    left out and why. Unless --min-relevance is given, the profile's is used.
    """
    packed = call()
    return Output([packed], Verbatim(packed.text), notes=_account(packed))


def _account(context: Context) -> list[RenderableType]:
    shown = table(
        *right("score", "tokens"),
        Column("type", no_wrap=True, max_width=16),
        Column("memory", ratio=2, overflow="ellipsis", no_wrap=True),
        Column("left out", ratio=1, overflow="fold"),
        rows=((*_row(one), "") for one in context.packed),
        expand=True,
    )
    for out in context.left_out:
        shown.add_row(*map(cell, (*_row(out), REASONS[out.reason])), style="dim")
    notes: list[RenderableType] = [shown]
    if context.empty_because == "min_relevance":
        notes.append(
            f"nothing relevant: the best memory has relevance {context.best_relevance:.3f}, "
            f"the limit is {context.min_relevance:g}"
        )
    included = counted(len(context.packed), "memory", "memories")
    tokens = f"{context.tokens:,} of {context.max_tokens:,} tokens"
    return [*notes, f"{included} in {tokens}{_between(context.query_time)}"]


def _row(one: Packed | LeftOut) -> tuple[str, ...]:
    memory = one.hit.memory
    return f"{one.hit.score:.3f}", f"{one.tokens:,}", memory.memory_type, memory.content
