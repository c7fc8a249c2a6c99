"""pgrecall search"""

from __future__ import annotations

from datetime import UTC, datetime
from functools import partial
from typing import Annotated, Any, cast

import typer

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
from pgrecall.cli.output import print_hits, print_json
from pgrecall.cli.profile_commands import named_or_loaded
from pgrecall.cli.show import short_ids
from pgrecall.cli.times import moment
from pgrecall.core.dates import period_record
from pgrecall.ranking.filters import FilterArguments
from pgrecall.ranking.hits import Strategy
from pgrecall.schema import DEFAULT_SCHEMA
from pgrecall.scoring.profiles import DEFAULT
from pgrecall.search.query_plan import QueryPlan

app = App(panel="Remember and recall")


@app.command()
@with_filters
def search(
    text: Annotated[str, typer.Argument(help="What to look for.")],
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
    expand: Annotated[
        int, typer.Option(help="Bring along what the hits are linked to, so many links away.")
    ] = 0,
    strategy: Annotated[
        str, typer.Option(help="auto, exact, or index: through the agent's rank index.")
    ] = "auto",
    plan: Annotated[
        bool, typer.Option("--plan", help="Show the statement and its plan, not the hits.")
    ] = False,
    touch: Annotated[bool, typer.Option(help="Count this retrieval of the hits.")] = True,
    database_url: DatabaseUrl = None,
    schema: Schema = DEFAULT_SCHEMA,
    json: AsJson = False,
) -> None:
    """Rank an agent's memories for a text and show what each score is made of.

    An explicit --as-of asks at that moment: ages are measured there, and memories created later
    are hidden.
    """
    at = moment("--as-of", as_of)
    chosen = named_or_loaded(profile)
    with repository(database_url, schema) as repo:
        asked: Any = partial(
            repo.plan if plan else repo.search,
            agent,
            text,
            k=k,
            profile=chosen,
            min_score=min_score,
            min_similarity=min_similarity,
            min_relevance=min_relevance,
            teams=team or (),
            query_entities=query_entity,
            expand_session=expand_session,
            lend=lend,
            as_of=at,
            strategy=cast("Strategy", strategy),  # checked there
            **filters,
        )
        if plan:
            _print_plan(asked(), json=json)
            return
        hits = asked(expand=expand, touch=touch)
        ids = short_ids(repo, agent, (hit.memory.id for hit in hits), team or ())
    if json:
        for hit in hits:
            print_json(hit.record() | period_record(hits.query_time))
    else:
        how = "" if hits.candidates is None else f", {hits.candidates:,} scored of the rank index"
        title = f"“{text}” for {agent}, by {chosen.name}{how}{between(hits.query_time)}"
        print_hits(hits, ids, at or datetime.now(UTC), title)


def _print_plan(found: QueryPlan, *, json: bool) -> None:
    if json:
        print_json(found.record())
    else:
        print(f"{found.statement}\n\n{found.plan}")  # noqa: T201
