"""pgrecall explain"""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Annotated

import typer
from rich.table import Table
from rich.text import Text

from pgrecall.cli.app import App
from pgrecall.cli.database import Agent, AsJson, DatabaseUrl, Schema, repository
from pgrecall.cli.options import (
    AsOf,
    ExpandSession,
    K,
    Lend,
    MinRelevance,
    MinScore,
    MinSimilarity,
    ProfileName,
    QueryEntities,
    Teams,
    between,
    with_filters,
)
from pgrecall.cli.output import age, console, plain, print_json
from pgrecall.cli.profile_commands import named_or_loaded
from pgrecall.cli.show import MemoryId, id_of
from pgrecall.cli.times import moment
from pgrecall.ranking.filters import FilterArguments
from pgrecall.schema import DEFAULT_SCHEMA
from pgrecall.scoring.profiles import DEFAULT
from pgrecall.search.explanation import Explanation

app = App(panel="Remember and recall")


MAX_TERMS = 40
"""Shown; --json tells all."""


@app.command()
@with_filters
def explain(
    memory: MemoryId,
    text: Annotated[str, typer.Argument(help="What was looked for.")],
    agent: Agent,
    k: K = 10,
    as_of: AsOf = None,
    profile: ProfileName = DEFAULT.name,
    min_score: MinScore = None,
    min_similarity: MinSimilarity = None,
    min_relevance: MinRelevance = None,
    *,
    filters: FilterArguments,
    team: Teams = None,
    query_entity: QueryEntities = None,
    expand_session: ExpandSession = 0,
    lend: Lend = None,
    database_url: DatabaseUrl = None,
    schema: Schema = DEFAULT_SCHEMA,
    json: AsJson = False,
) -> None:
    """Show why a search returns a memory, or why not.

    Takes the options of search. Tells the memory's rank and score, each signal's value, weight and
    share, and if it is not among the k: which filter or threshold keeps it out, or what score it
    would have needed and where it falls behind.
    """
    at = moment("--as-of", as_of)
    with repository(database_url, schema) as repo:
        found = repo.explain(
            agent,
            id_of(repo, agent, memory, team or ()),
            text,
            k=k,
            profile=named_or_loaded(profile),
            min_score=min_score,
            min_similarity=min_similarity,
            min_relevance=min_relevance,
            teams=team or (),
            query_entities=query_entity,
            expand_session=expand_session,
            lend=lend,
            as_of=at,
            **filters,
        )
    if json:
        print_json(found.record())
    else:
        _print(found, at or datetime.now(UTC))


def _print(found: Explanation, at: datetime) -> None:
    memory = found.hit.memory
    console.print(Text(plain(memory.content)))
    verdict = "[green]returned[/]" if found.returned else "[red]not returned[/]"
    rank = "rank" if found.passes else "its score would be rank"
    console.print(
        f"{verdict}: {rank} {found.rank:,} of {found.ranked:,} that pass, "
        f"score {found.hit.score:.6f}, "
        f"relevance {found.hit.relevance:.3f}, "
        f"age {age(memory.created_at, at)}{between(found.query_time)}",
        highlight=False,
    )
    if found.hit.lender is not None:
        lent = f"  {found.hit.lent:.6f} of it lent by {found.hit.lender}, in the same session"
        console.print(lent, highlight=False)
    if found.hit.beside is not None:
        console.print(f"  comes along with {found.hit.beside}", highlight=False)
    for reason in found.reasons:
        console.print(Text(f"  {plain(reason)}"))
    table = Table(show_edge=False)
    table.add_column("signal")
    for name in ("value", "weight", "contribution", "share"):
        table.add_column(name, justify="right")
    table.add_column(
        f"behind number {found.k}" if found.needed_score is not None else "", justify="right"
    )
    for signal in found.signals:
        behind = "" if signal.behind is None else f"{signal.behind:+.4f}"
        worst = signal.name == found.loses_most_in and not found.returned
        table.add_row(
            signal.name,
            f"{signal.value:.4f}",
            f"{signal.weight:g}",
            f"{signal.contribution:.4f}",
            f"{signal.share:.0%}",
            f"[bold red]{behind}[/]" if worst else behind,
        )
    console.print(table)
    for signal in found.signals:
        if signal.of_terms is not None:
            console.print(
                f"{signal.name}: {signal.of_terms:.4f} of the terms by weight "
                f"x {signal.length_factor:.4f} for its length",
                highlight=False,
            )
    if found.terms:
        console.print(_terms(found))


def _terms(found: Explanation) -> Table:
    table = Table(show_edge=False)
    table.add_column("term of the query")
    table.add_column("in the memory")
    for name in ("weight", "share", "memories"):
        table.add_column(name, justify="right")
    for term in found.terms[:MAX_TERMS]:
        table.add_row(
            plain(term.term),
            "[green]yes[/]" if term.matched else "left out" if term.left_out else "no",
            f"{term.weight:.3f}",
            f"{term.share:.0%}",
            f"{term.memories:,}",
        )
    if len(found.terms) > MAX_TERMS:
        table.add_row(f"and {len(found.terms) - MAX_TERMS:,} lighter ones", "", "", "", "")
    return table
