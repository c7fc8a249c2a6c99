"""The options that search and explain share."""

from __future__ import annotations

from typing import Annotated

import typer

from pgrecall.cli.times import moment
from pgrecall.filters import FilterArguments
from pgrecall.profiles import BUILT_IN

K = Annotated[int, typer.Option("-k", help="How many memories.")]
AsOf = Annotated[
    str | None,
    typer.Option(
        help="The moment asked about: ISO 8601, such as 2026-11-21 or 2026-11-21T08:00+01:00; "
        "UTC if no zone. Hides what was created later."
    ),
]
ProfileName = Annotated[
    str,
    typer.Option(
        "--profile", "-p", help=f"One of {', '.join(BUILT_IN)}, or a .toml or .json file."
    ),
]
MinScore = Annotated[float | None, typer.Option(help="Leave out lower scores.")]
MinSimilarity = Annotated[
    float | None, typer.Option(help="Leave out less similar ones before scoring.")
]
MemoryTypes = Annotated[
    list[str] | None, typer.Option("--type", help="Any of these types; may be given repeatedly.")
]
Tiers = Annotated[list[str] | None, typer.Option("--tier", help="Any of these tiers.")]
Tags = Annotated[list[str] | None, typer.Option("--tag", help="Any of these tags.")]
Entities = Annotated[list[str] | None, typer.Option("--entity", help="Any of these entities.")]
Labels = Annotated[list[str] | None, typer.Option("--label", help="Any of these labels.")]
Teams = Annotated[
    list[str] | None, typer.Option("--team", help="Also the memories of these teams.")
]


Words = Annotated[
    str | None,
    typer.Option(
        "--text", help='Only what has these words; understands "a phrase", or, and -without.'
    ),
]
QueryEntities = Annotated[
    list[str] | None,
    typer.Option("--query-entity", help="An entity of the query; else found in its text."),
]


def filters_of(
    memory_types: list[str] | None,
    tiers: list[str] | None,
    tags: list[str] | None,
    entities: list[str] | None,
    created_after: str | None,
    created_before: str | None,
    labels: list[str] | None = None,
    text: str | None = None,
) -> FilterArguments:
    """Only what was given."""
    filters: FilterArguments = {}
    if memory_types:
        filters["memory_types"] = memory_types
    if tiers:
        filters["tiers"] = tiers
    if tags:
        filters["tags"] = tags
    if labels:
        filters["labels"] = labels
    if text is not None:
        filters["text"] = text
    if entities:
        filters["entities"] = entities
    if (after := moment("--created-after", created_after)) is not None:
        filters["created_after"] = after
    if (before := moment("--created-before", created_before)) is not None:
        filters["created_before"] = before
    return filters
