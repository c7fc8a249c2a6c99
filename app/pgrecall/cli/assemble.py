"""pgrecall context"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Unpack

from rich.console import RenderableType
from rich.table import Column

from pgrecall.cli.app import App
from pgrecall.cli.database import Agent
from pgrecall.cli.embedding import EmbedsOne
from pgrecall.cli.options import Query, UseIndex, between
from pgrecall.cli.output import Output, Verbatim, cell, counted, right, table
from pgrecall.cli.written import option
from pgrecall.context.assembled import Context, LeftOut, Packed
from pgrecall.context.styles import STYLES
from pgrecall.ranking.arguments import SearchArguments

app = App(panel="Store and search")

REASONS = {
    "min_score": "score below --min-score",
    "min_relevance": "not relevant enough",
    "too_long": "longer than the rest",
    "reserved": "rest reserved for other types",
    "near_duplicate": "nearly the same as one above",
    "stopped": "too many before it did not fit",
    "limit": "enough are included",
}


class Packing(SearchArguments, total=False):
    """The arguments of `context`."""

    max_tokens: Annotated[int, option("Budget of the whole text, in tokens. Default: 4000.")]
    k: Annotated[int, option("How many memories to include at most. Default: 20.", "-k")]
    style: Annotated[str, option(f"Format of the text: {', '.join(STYLES)}. Default: plain.")]
    reserve: Annotated[
        Mapping[str, float],
        option(
            "Reserve a share of the budget for a type, such as fact=0.5. May be repeated.",
            metavar="TYPE=SHARE",
        ),
    ]
    diversity: Annotated[
        float, option("Rank memories lower that are similar to those above, 0 to 1.")
    ]
    max_similarity: Annotated[
        float, option("Leave out memories more similar to one above, such as 0.92.")
    ]
    consider: Annotated[int, option("How many of the best memories to look at.")]


@app.declare(
    'pgrecall context "which instrument?" --agent zoe --max-tokens 800 --style xml',
    'pgrecall context "which instrument?" --agent zoe --reserve fact=0.5 --max-similarity 0.92',
)
def context(
    repo: EmbedsOne,
    query: Query,
    agent: Agent,
    strategy: UseIndex = "auto",
    touch: Annotated[bool, option("Count this retrieval of the included memories.")] = True,
    **arguments: Unpack[Packing],
) -> Output:
    """Write the best memories for a text as part of a prompt, within a budget of tokens.

    Standard output gets the text. Standard error gets a table of what was included, and what was
    left out and why. Unless --min-relevance is given, the profile's is used.
    """
    found = repo.context(agent, query, strategy=strategy, touch=touch, **arguments)
    return Output([found.record()], Verbatim(found.text), notes=_account(found))


def _account(found: Context) -> list[RenderableType]:
    shown = table(
        *right("score", "tokens"),
        Column("type", no_wrap=True, max_width=16),
        Column("memory", ratio=2, overflow="ellipsis", no_wrap=True),
        Column("left out", ratio=1, overflow="fold"),
        rows=((*_row(one), "") for one in found.packed),
        expand=True,
    )
    for out in found.left_out:
        shown.add_row(*map(cell, (*_row(out), REASONS[out.reason])), style="dim")
    notes: list[RenderableType] = [shown]
    if found.emptied_by == "min_relevance":
        notes.append(
            f"nothing relevant: the best memory has relevance {found.best_relevance:.3f}, "
            f"the limit is {found.min_relevance:g}"
        )
    included = counted(len(found.packed), "memory", "memories")
    tokens = f"{found.tokens:,} of {found.max_tokens:,} tokens"
    return [*notes, f"{included} in {tokens}{between(found.query_time)}"]


def _row(one: Packed | LeftOut) -> tuple[str, ...]:
    memory = one.hit.memory
    return f"{one.hit.score:.3f}", f"{one.tokens:,}", memory.memory_type, memory.content
