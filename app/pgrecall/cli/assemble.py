"""pgrecall context"""

from __future__ import annotations

from typing import Annotated, cast

import typer
from rich.table import Table
from rich.text import Text

from pgrecall.cli.app import App
from pgrecall.cli.database import Agent, AsJson, DatabaseUrl, Schema, repository
from pgrecall.cli.options import (
    AsOf,
    ExpandSession,
    Lend,
    MinScore,
    MinSimilarity,
    ProfileName,
    QueryEntities,
    Teams,
    between,
    with_filters,
)
from pgrecall.cli.output import complaints, plain, print_json
from pgrecall.cli.profile_commands import named_or_loaded
from pgrecall.cli.times import moment
from pgrecall.context.assembled import Context, LeftOut, Packed
from pgrecall.context.styles import STYLES
from pgrecall.core.quoting import shortened
from pgrecall.errors import InputError
from pgrecall.ranking.filters import FilterArguments
from pgrecall.ranking.hits import Strategy
from pgrecall.schema import DEFAULT_SCHEMA
from pgrecall.scoring.profiles import DEFAULT

app = App(panel="Remember and recall")


REASONS = {
    "min_score": "its score is below the floor",
    "min_relevance": "it has too little to do with the text",
    "too_long": "it does not fit into what is left",
    "reserved": "what is left is kept for other types",
    "near_duplicate": "it says much the same as one that is in",
    "stopped": "too many before it did not fit",
    "limit": "enough are in",
}


@app.command()
@with_filters
def context(
    text: Annotated[str, typer.Argument(help="What the prompt is about.")],
    agent: Agent,
    max_tokens: Annotated[int, typer.Option(help="What the text may take up.")] = 4000,
    k: Annotated[int, typer.Option("-k", help="How many memories at most.")] = 20,
    style: Annotated[str, typer.Option(help=f"One of {', '.join(STYLES)}.")] = "plain",
    min_score: MinScore = None,
    min_relevance: Annotated[
        float | None,
        typer.Option(
            help="Leave out what has less to do with the text; 0: nothing.",
            show_default="the profile's",
        ),
    ] = None,
    reserve: Annotated[
        list[str] | None,
        typer.Option(help="Keep a share of the budget for a type: fact=0.5. May be repeated."),
    ] = None,
    max_skips: Annotated[
        int, typer.Option(help="Stop after so many in a row that do not fit.")
    ] = 3,
    diversity: Annotated[
        float, typer.Option(help="0 to 1: how much a memory loses by being like one that is in.")
    ] = 0.0,
    max_similarity: Annotated[
        float | None, typer.Option(help="Leave out what is more like one that is in, say 0.92.")
    ] = None,
    consider: Annotated[
        int | None, typer.Option(help="How many of the best to look at.", show_default=False)
    ] = None,
    as_of: AsOf = None,
    profile: ProfileName = DEFAULT.name,
    min_similarity: MinSimilarity = None,
    *,
    filters: FilterArguments,
    team: Teams = None,
    query_entity: QueryEntities = None,
    expand_session: ExpandSession = 0,
    lend: Lend = None,
    strategy: Annotated[str, typer.Option(help="auto, exact, or index.")] = "auto",
    touch: Annotated[bool, typer.Option(help="Count this retrieval of what is in.")] = True,
    database_url: DatabaseUrl = None,
    schema: Schema = DEFAULT_SCHEMA,
    json: AsJson = False,
) -> None:
    """Write the best memories for a text down for a prompt, within a budget of tokens.

    The text goes to standard output; what is in it, and what was left out and why, to standard
    error.
    """
    shares = _shares(reserve or [])
    chosen = named_or_loaded(profile)
    at = moment("--as-of", as_of)
    with repository(database_url, schema) as repo:
        found = repo.context(
            agent,
            text,
            max_tokens=max_tokens,
            k=k,
            style=style,
            min_score=min_score,
            min_relevance=min_relevance,
            reserve=shares,
            max_skips=max_skips,
            diversity=diversity,
            max_similarity=max_similarity,
            consider=consider,
            as_of=at,
            profile=chosen,
            min_similarity=min_similarity,
            teams=team or (),
            query_entities=query_entity,
            expand_session=expand_session,
            lend=lend,
            strategy=cast("Strategy", strategy),  # checked there
            touch=touch,
            **filters,
        )
    if json:
        print_json(found.record())
        return
    print(found.text, end="")  # noqa: T201
    _print_account(found)


def _shares(given: list[str]) -> dict[str, float]:
    shares: dict[str, float] = {}
    for name, share in map(_share, given):
        if name in shares:
            raise InputError(f"--reserve names {name} twice")
        shares[name] = share
    return shares


def _share(given: str) -> tuple[str, float]:
    name, sign, number = given.rpartition("=")
    try:
        share = float(number)
    except ValueError:
        share = -1.0
    if not sign or not name or share < 0:
        raise InputError(
            f"--reserve takes a type and its share, as in fact=0.5, got {shortened(given)}"
        )
    return name, share


def _print_account(found: Context) -> None:
    table = Table(show_edge=False, pad_edge=False)
    for column in ("score", "tokens"):
        table.add_column(column, justify="right", no_wrap=True)
    table.add_column("type", no_wrap=True, max_width=16)
    table.add_column("memory", ratio=2, overflow="ellipsis", no_wrap=True)
    table.add_column("left out: why", ratio=1, overflow="fold")
    for one in found.packed:
        table.add_row(*_row(one), "")
    for out in found.left_out:
        table.add_row(*_row(out), REASONS[out.reason], style="dim")
    complaints.print(table)
    if found.emptied_by == "min_relevance":
        complaints.print(
            f"nothing known: the best memory has relevance {found.best_relevance:.3f}, "
            f"the floor is {found.min_relevance:g}",
            highlight=False,
        )
    complaints.print(
        f"{len(found.packed)} memories in {found.tokens:,} of {found.max_tokens:,} tokens"
        f"{between(found.query_time)}",
        highlight=False,
    )


def _row(one: Packed | LeftOut) -> tuple[str, str, Text, Text]:
    memory = one.hit.memory
    return (
        f"{one.hit.score:.3f}",
        f"{one.tokens:,}",
        Text(plain(memory.memory_type)),
        Text(plain(memory.content)),
    )
