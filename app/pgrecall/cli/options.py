"""The options that search, explain and context share."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from inspect import Parameter, signature
from typing import Annotated, Any

import typer

from pgrecall.cli.times import ISO_8601, moment
from pgrecall.core.dates import Period
from pgrecall.scoring.profiles import BUILT_IN

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
MinRelevance = Annotated[
    float | None,
    typer.Option(help="Leave out what has less to do with the text, by similarity and words."),
]
Teams = Annotated[
    list[str] | None, typer.Option("--team", help="Also the memories of these teams.")
]

QueryEntities = Annotated[
    list[str] | None,
    typer.Option("--query-entity", help="An entity of the query; else found in its text."),
]
ExpandSession = Annotated[
    int, typer.Option(help="Bring along so many turns before and after each hit of a session.")
]
Lend = Annotated[
    float | None,
    typer.Option(
        help="Rank these turns instead, each raised by this share of the best hit beside it."
    ),
]


def _option(name: str) -> str:
    return f"--{name.replace('_', '-')}"


Dates = Annotated[
    str | None,
    typer.Option(
        "--dates",
        help="Find the period in the text, such as last week: auto (English), or a language, "
        "such as de.",
    ),
]
_Between = Annotated[
    tuple[str, str] | None,
    typer.Option(
        "--between", metavar="FROM TO", help="The period asked for: two times, the end excluded."
    ),
]
_Texts = list[str] | None
_MOMENTS = ("created_after", "created_before")
FILTERS: dict[str, Any] = {
    "memory_types": Annotated[
        _Texts, typer.Option("--type", help="Any of these types; may be given repeatedly.")
    ],
    "tiers": Annotated[_Texts, typer.Option("--tier", help="Any of these tiers.")],
    "tags": Annotated[_Texts, typer.Option("--tag", help="Any of these tags.")],
    "entities": Annotated[_Texts, typer.Option("--entity", help="Any of these entities.")],
    "labels": Annotated[_Texts, typer.Option("--label", help="Any of these labels.")],
    "text": Annotated[
        str | None,
        typer.Option(
            "--text", help='Only what has these words; understands "a phrase", or, and -without.'
        ),
    ],
    **{
        name: Annotated[str | None, typer.Option(_option(name), help=ISO_8601)] for name in _MOMENTS
    },
}
"""Filter → its option."""
_OPTIONS = FILTERS | {"query_time": _Between, "dates": Dates}


def between(period: Period | None) -> str:
    """The period that was asked for, to end a line."""
    if period is None:
        return ""
    ends = (f"{one:%Y-%m-%d %H:%M}".removesuffix(" 00:00") for one in period)
    return f", between {' and '.join(ends)}"


def with_filters(command: Callable[..., None]) -> Callable[..., None]:
    """The command with these options, --between and --dates in the place of its parameter
    `filters`, which gets what was given of them."""

    @wraps(command)
    def asked(**given: Any) -> None:
        values = {name: given.pop(f"by_{name}") for name in _OPTIONS}
        for name in _MOMENTS:
            values[name] = moment(_option(name), values[name])
        if values["query_time"] is not None:
            values["query_time"] = tuple(moment("--between", one) for one in values["query_time"])
        filters: Any = {name: value for name, value in values.items() if value not in (None, [])}
        command(**given, filters=filters)

    options = {f"by_{name}": option for name, option in _OPTIONS.items()}
    parameters: list[Parameter] = []
    for one in signature(command, eval_str=True).parameters.values():
        own = options if one.name == "filters" else {one.name: one.annotation}
        default = None if one.name == "filters" else one.default
        parameters += [
            Parameter(name, Parameter.KEYWORD_ONLY, default=default, annotation=annotation)
            for name, annotation in own.items()
        ]
    asked.__signature__ = signature(command).replace(parameters=parameters)  # type: ignore[attr-defined]
    asked.__annotations__ = {one.name: one.annotation for one in parameters}
    return asked
