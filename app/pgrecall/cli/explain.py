"""pgrecall explain"""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Unpack

from rich.console import RenderableType
from rich.table import Column, Table
from rich.text import Text

from pgrecall.cli.app import App
from pgrecall.cli.database import Agent
from pgrecall.cli.embedding import EmbedsOne
from pgrecall.cli.memory_ids import MemoryId
from pgrecall.cli.options import K, Query, between
from pgrecall.cli.output import Output, age, right, table
from pgrecall.ranking.arguments import SearchArguments
from pgrecall.search.explanation import Explanation

app = App(panel="Store and search")

MAX_TERMS = 40
"""Shown; --json has all."""


@app.declare('pgrecall explain 0197a3c2 "which instrument?" --agent zoe')
def explain(
    repo: EmbedsOne,
    memory: MemoryId,
    query: Query,
    agent: Agent,
    k: K = 10,
    **arguments: Unpack[SearchArguments],
) -> Output:
    """Explain why a search finds a memory, or why not.

    Takes the options of the search. Shows the memory's rank and score, and the value, weight and
    share of each signal. For a memory that is not found, it shows which filter or limit excludes
    it, or which score it needs.
    """
    found = repo.explain(agent, memory, query, k=k, **arguments)
    at = arguments.get("as_of") or datetime.now(UTC)
    return Output([found.record()], *_lines(found, at))


def _lines(found: Explanation, at: datetime) -> list[RenderableType]:
    hit = found.hit
    verdict = Text("returned" if found.returned else "not returned")
    verdict.stylize("green" if found.returned else "red")
    rank = "rank" if found.passes else "its score would be rank"
    verdict.append(
        f": {rank} {found.rank:,} of {found.ranked:,} that pass, score {hit.score:.6f}, "
        f"relevance {hit.relevance:.3f}, age {age(hit.memory.created_at, at)}"
        f"{between(found.query_time)}",
        style="default",
    )
    lines: list[RenderableType] = [hit.memory.content, verdict]
    if hit.lender is not None:
        lines.append(f"{hit.lent:.6f} of it lent by {hit.lender}, in the same session")
    if hit.beside is not None:
        lines.append(f"comes along with {hit.beside}")
    lines += [*found.reasons, _signals(found)]
    lines += [
        f"{signal.name}: {signal.of_terms:.4f} of the terms by weight "
        f"x {signal.length_factor:.4f} for its length"
        for signal in found.signals
        if signal.of_terms is not None
    ]
    return [*lines, _terms(found)] if found.terms else lines


def _signals(found: Explanation) -> Table:
    behind = f"behind number {found.k}" if found.needed_score is not None else ""
    return table(
        "signal",
        *right("value", "weight", "contribution", "share", behind),
        rows=(
            (
                signal.name,
                f"{signal.value:.4f}",
                f"{signal.weight:g}",
                f"{signal.contribution:.4f}",
                f"{signal.share:.0%}",
                Text(
                    "" if signal.behind is None else f"{signal.behind:+.4f}",
                    style="bold red"
                    if signal.name == found.loses_most_in and not found.returned
                    else "",
                ),
            )
            for signal in found.signals
        ),
    )


def _terms(found: Explanation) -> Table:
    shown = table(
        "term of the query",
        Column("in the memory"),
        *right("weight", "share", "memories"),
        rows=(
            (
                term.term,
                Text("yes", style="green")
                if term.matched
                else "left out"
                if term.left_out
                else "no",
                f"{term.weight:.3f}",
                f"{term.share:.0%}",
                f"{term.memories:,}",
            )
            for term in found.terms[:MAX_TERMS]
        ),
    )
    if len(found.terms) > MAX_TERMS:
        shown.add_row(f"and {len(found.terms) - MAX_TERMS:,} with less weight")
    return shown
