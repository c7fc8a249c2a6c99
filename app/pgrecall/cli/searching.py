"""pgrecall search"""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Annotated

import typer

from pgrecall.cli.database import Agent, AsJson, DatabaseUrl, Schema, repository
from pgrecall.cli.output import print_hits, print_json
from pgrecall.cli.times import When, moment
from pgrecall.filters import FilterArguments
from pgrecall.profiles import BUILT_IN
from pgrecall.schema import DEFAULT_SCHEMA

Several = Annotated[list[str] | None, typer.Option(help="May be given several times: any of.")]


def search(
    text: Annotated[str, typer.Argument(help="What to look for.")],
    agent: Agent,
    k: Annotated[int, typer.Option("-k", help="How many memories.")] = 10,
    as_of: When = None,
    profile: Annotated[
        str, typer.Option("--profile", "-p", help=f"One of: {', '.join(BUILT_IN)}.")
    ] = "five_factor",
    min_score: Annotated[float | None, typer.Option(help="Leave out lower scores.")] = None,
    min_similarity: Annotated[
        float | None, typer.Option(help="Leave out less similar ones before scoring.")
    ] = None,
    memory_type: Annotated[
        list[str] | None, typer.Option("--type", help="May be given several times: any of.")
    ] = None,
    tier: Several = None,
    tag: Several = None,
    entity: Several = None,
    created_after: When = None,
    created_before: When = None,
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
    filters: FilterArguments = {}
    if memory_type:
        filters["memory_types"] = memory_type
    if tier:
        filters["tiers"] = tier
    if tag:
        filters["tags"] = tag
    if entity:
        filters["entities"] = entity
    if (after := moment("--created-after", created_after)) is not None:
        filters["created_after"] = after
    if (before := moment("--created-before", created_before)) is not None:
        filters["created_before"] = before
    with repository(database_url, schema) as repo:
        hits = repo.search(
            agent,
            text,
            k=k,
            profile=profile,
            min_score=min_score,
            min_similarity=min_similarity,
            as_of=at,
            touch=touch,
            **filters,
        )
    if json:
        for hit in hits:
            print_json(hit.record())
    else:
        print_hits(hits, at or datetime.now(UTC), f"“{text}” for {agent}, by {profile}")
